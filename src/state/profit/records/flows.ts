/** Converts records of the histories to movements of an account's cash. */
import type { Event } from "../../../domain/event.ts";
import { accountName } from "../../../domain/subject.ts";
import type { TransferData } from "../../../domain/transfer.ts";
import { usdFromQuoteLots } from "../../../margin/units.ts";
import type { AccountEntry } from "../../accounts/account-entry.ts";
import type { CashRecord, FundingRecord } from "./cash-record.ts";
import { exactUsd } from "./record-order.ts";

/** Kinds of liquidations that have fills. */
const traded: ReadonlySet<unknown> = new Set(["market", "adl"]);

/** The account name of an event; null: the event names none. */
export function accountOf({ wallet, pdaIndex, subaccount }: Event): string | null {
  return wallet === null || pdaIndex === null || subaccount === null
    ? null
    : accountName({ wallet, pdaIndex, subaccount });
}

/**
 * Returns the amount that a record of the collateral history brought to its account or, negative, took from it, USD; null if
 * neither the record nor the earlier collateral shows the direction of a transfer.
 */
export function flowOf(event: Event, account: AccountEntry | undefined): number | null {
  const { amountUsd, eventType, after } = event.fields;
  const transfer = eventType === "transfer" ? (event.data as TransferData | null) : null;
  if (typeof amountUsd === "number" && !transfer?.guessed) return amountUsd;
  if (transfer === null || typeof after !== "number") return null;
  // The state before shows whether its account had more or less.
  const before = account?.collaterals.findLast(({ slot, index = Number.POSITIVE_INFINITY }) =>
    slot === event.slot ? index < event.slotIndex : slot < event.slot,
  );
  if (!before) return null;
  // Inconclusive if something else moved the collateral as well.
  const usd = after - before.usd;
  if (Math.abs(Math.abs(usd) - transfer.transferUsd) > exactUsd) return null;
  // The size in the record is exact; a difference of doubles would not cancel with the other side.
  return Math.sign(usd) * transfer.transferUsd;
}

/** The likely flow of a transfer, USD; null: the record has no size. */
export function guessOf(event: Event): number | null {
  const { amountUsd } = event.fields;
  return transferOf(event)?.guessed && typeof amountUsd === "number" ? amountUsd : null;
}

/** The record of the other side of a transfer among those read with it; undefined: not there. */
export function otherSide(event: Event, read: readonly Event[]): Event | undefined {
  const { transferUsd, within } = event.data as TransferData;
  if (!within) return undefined;
  return read.find(
    (one) =>
      one.kind === "collateral" &&
      one.slot === event.slot &&
      one.slotIndex === event.slotIndex &&
      transferOf(one)?.transferUsd === transferUsd &&
      accountOf(one) !== accountOf(event),
  );
}

/** The size of a transfer whose direction is not known, and if both of its sides are watched. */
export function transferOf({ fields, data }: Event): TransferData | null {
  return fields.eventType === "transfer" ? (data as TransferData | null) : null;
}

/**
 * A fill, a takeover or a sale of collateral in another asset as a movement of cash; null: it is none, or has no account.
 * Sales in the market, and closes against another position, have fills of their own.
 */
export function tradeOf(event: Event): CashRecord | null {
  if (event.kind === "notification") return saleOf(event);
  const { kind, fields, slot, slotIndex: index, symbol } = event;
  const account = accountOf(event);
  if (account === null) return null;
  if (kind === "liquidation") return traded.has(fields.kind) ? null : takeoverOf(event, account);
  const { side, size, price, fee } = fields;
  if (kind !== "fill" || symbol === null || typeof size !== "number" || typeof price !== "number")
    return null;
  const units = side === "ask" ? -size : size;
  const usd = -units * price - (typeof fee === "number" ? fee : 0);
  return { kind: "fill", account, slot, index, symbol: symbol.toUpperCase(), units, usd };
}

/** A row of the funding history; null: it has no account. */
export function paymentOf({ key, kind, pdaIndex, symbol, happenedMs, fields }: Event): FundingRecord | null {
  const { payment } = fields;
  if (kind !== "funding" || pdaIndex === null || symbol === null || typeof payment !== "number") return null;
  return { key, pdaIndex, symbol: symbol.toUpperCase(), usd: payment, endMs: happenedMs };
}

/**
 * The backstop takes a position over with its quote side, so the value in the record is the entry value. A notification that
 * arrived before the list of markets states neither market nor amount.
 */
function takeoverOf({ fields, slot, slotIndex: index, symbol }: Event, account: string): CashRecord {
  const { kind, side, size, notional: entryUsd, collateralChange: changeUsd } = fields;
  if (kind !== "backstop" || typeof entryUsd !== "number" || typeof changeUsd !== "number")
    return { kind: "takeover", account, slot, index };
  const market =
    symbol === null || typeof size !== "number" ? null : { symbol: symbol.toUpperCase(), units: size };
  return {
    kind: "takeover",
    account,
    slot,
    index,
    handed: {
      ...{ market, entryUsd, changeUsd },
      ...(side === "long" || side === "short" ? { side } : {}),
    },
  };
}

/** Data of the notification; integers are numbers or text. */
interface SaleData {
  readonly liquidatedTrader?: unknown;
  readonly assetIndex?: unknown;
  readonly liquidationSize?: unknown;
  readonly quoteLotsDeposited?: unknown;
}

/** Collateral in other assets is in the cross account only, whichever account's inbox contains the notification. */
function saleOf({ wallet, pdaIndex, slot, slotIndex: index, fields, data, inbox }: Event): CashRecord | null {
  if (fields.type !== "spot_collateral_liquidation" || wallet === null || pdaIndex === null) return null;
  if (inbox?.unread) return null;
  const { liquidatedTrader, assetIndex, liquidationSize, quoteLotsDeposited } = (data ?? {}) as SaleData;
  // The inbox may be the liquidator's, which may be watched as well.
  if (typeof liquidatedTrader === "string" && inbox !== null && inbox.traderPubkey !== liquidatedTrader)
    return null;
  // A stored message may have data that do not match its type.
  const units = countOf(liquidationSize);
  const usd = usdFromQuoteLots(countOf(quoteLotsDeposited));
  const asset = countOf(assetIndex);
  if (!(units > 0) || !(usd >= 0) || Number.isNaN(asset)) return null;
  const account = accountName({ wallet, pdaIndex, subaccount: 0 });
  return { kind: "sale", account, slot, index, assetIndex: asset, units, usd };
}

/** A number of lots, or of an asset; NaN: not a whole non-negative number (or text of one) in the exchange's range. */
function countOf(value: unknown): number {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
  return typeof value === "string" && /^\d{1,39}$/.test(value) ? Number(value) : Number.NaN;
}
