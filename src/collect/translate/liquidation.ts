/**
 * The canonical liquidation: one event with one key for what both the inbox and the liquidation history report. The key
 * consists of the wallet's authority, the position on the ledger and the wallet's role; both sources contain all of
 * them. If two accounts of a wallet were closed against each other there are two roles, and two events.
 */
import type { EventData, Liquidation } from "../../contract/index.ts";
import type { Event, FieldValue } from "../../domain/event.ts";
import type { KnownAccount } from "../accounts.ts";
import type { CollectedWallet } from "../collector.ts";
import { type MarketBook, unitsOf, usdOfQuoteLots } from "../market-book.ts";
import { numberOf, walletEvent } from "./event.ts";

type Role = "liquidatee" | "adl_counterparty";

interface Place {
  readonly slot: number;
  readonly slotIndex: number;
  readonly eventIndex: number;
}

interface ReportedLiquidation extends Place {
  readonly kind: "market" | "backstop" | "adl" | "other";
  readonly role: Role;
  readonly symbol: string | null;
  readonly pdaIndex: number | null;
  readonly subaccount: number | null;
  readonly side: "long" | "short" | null;
  readonly size: number | null;
  readonly price: number | null;
  readonly notional: number | null;
  readonly collateralChange: number | null;
  readonly positionClosed: boolean | null;
  readonly happenedMs: number;
  readonly seenMs: number;
  readonly data: unknown;
  readonly notificationKey: string | null;
}

export function canonicalLiquidationKey(authority: string, place: Place, role: Role): string {
  return `liquidation:${authority}:${place.slot}:${place.slotIndex}:${place.eventIndex}:${role}`;
}

/** Returns the liquidation of a history row; null for an account that only called an ADL. */
export function liquidationOfHistory(
  row: Liquidation,
  wallet: CollectedWallet,
  accounts: readonly KnownAccount[],
  pdaIndex: number,
  seenMs: number,
): Event | null {
  const { slot, slotIndex, eventIndex } = row;
  const part = partOf(row);
  if (part === null) return null;
  const account = part.address === null ? undefined : accounts.find((one) => one.address === part.address);
  const size = numberOf(row.size);
  const value = part.value === null ? null : Math.abs(part.value);
  const price = numberOf(row.price) ?? ratio(value, size);
  return liquidationEvent(wallet, {
    slot,
    slotIndex,
    eventIndex,
    kind: part.kind,
    role: part.role,
    symbol: row.symbol,
    pdaIndex: account?.pdaIndex ?? pdaIndex,
    subaccount: account?.subaccount ?? row.subaccountIndex,
    side: part.side,
    size,
    price,
    notional: value ?? product(size, price),
    collateralChange: part.collateralChange,
    positionClosed: part.positionClosed,
    happenedMs: row.timestamp,
    seenMs,
    data: row,
    notificationKey: null,
  });
}

interface Part {
  readonly kind: ReportedLiquidation["kind"];
  readonly role: Role;
  /** The affected account, if the row names it. */
  readonly address: string | null;
  readonly side: ReportedLiquidation["side"];
  /** The value of the size, USD. */
  readonly value: number | null;
  readonly collateralChange: number | null;
  readonly positionClosed: boolean | null;
}

function partOf(row: Liquidation): Part | null {
  const liquidatee = { role: "liquidatee", address: row.liquidatee } as const;
  switch (row.kind) {
    case "market_order": {
      const { quoteLotsFilled: quote, positionClosed } = row;
      const side = sideOf(row.side);
      const value = quote === null ? null : usdOfQuoteLots(quote);
      return { kind: "market", ...liquidatee, side, value, collateralChange: null, positionClosed };
    }
    case "backstop": {
      const value = numberOf(row.quoteSize);
      const collateralChange = numberOf(row.liquidateeCollateralChange);
      const side = sideOf(row.side);
      return { kind: "backstop", ...liquidatee, side, value, collateralChange, positionClosed: true };
    }
    case "adl": {
      if (row.role === "adl_caller") return null;
      const profited = row.inProfitAccount;
      const address =
        row.role === "adl_closed_short"
          ? row.closedShort
          : row.role === "adl_closed_long"
            ? row.closedLong
            : profited;
      return adlPart(address, row.closedShort, row.closedLong, profited, {
        atLoss: [numberOf(row.atLossCloseValue), numberOf(row.atLossCollateralChange)],
        inProfit: [numberOf(row.inProfitCloseValue), numberOf(row.inProfitCollateralChange)],
      });
    }
    default:
      if (row.role === "adl_caller") return null;
      return {
        kind: "other",
        ...liquidatee,
        side: sideOf(row.side),
        value: null,
        collateralChange: numberOf(row.liquidateeCollateralChange),
        positionClosed: row.positionClosed,
      };
  }
}

type Figures = readonly [value: number | null, collateralChange: number | null];

function adlPart(
  address: string | null,
  closedShort: string | null,
  closedLong: string | null,
  inProfit: string | null,
  figures: { readonly atLoss: Figures; readonly inProfit: Figures },
): Part {
  const profited = address !== null && address === inProfit;
  const [value, collateralChange] = profited ? figures.inProfit : figures.atLoss;
  return {
    kind: "adl",
    role: profited ? "adl_counterparty" : "liquidatee",
    address,
    side:
      address === null ? null : address === closedLong ? "long" : address === closedShort ? "short" : null,
    value,
    collateralChange,
    positionClosed: null,
  };
}

/**
 * Returns the liquidation that a notification reports; null if there is none, or it does not concern a position of this
 * account (a maker in it, the backstop that took over, the caller of an ADL).
 */
export function liquidationOfNotification(
  event: EventData | null,
  place: Place & {
    readonly happenedMs: number;
    readonly seenMs: number;
    readonly key: string;
    readonly data: unknown;
  },
  wallet: CollectedWallet,
  account: KnownAccount,
  book: MarketBook,
): Event | null {
  if (event === null) return null;
  const { slot, slotIndex, eventIndex, happenedMs, seenMs, data } = place;
  const common = {
    slot,
    slotIndex,
    eventIndex,
    pdaIndex: account.pdaIndex,
    subaccount: account.subaccount,
    happenedMs,
    seenMs,
    data,
    notificationKey: place.key,
  };
  switch (event.type) {
    case "liquidation": {
      if (event.data.taker !== account.address) return null;
      const size = Math.abs(event.data.baseAmount);
      const notional = usdOfQuoteLots(event.data.quoteLotsFilled);
      return liquidationEvent(wallet, {
        ...common,
        kind: "market",
        role: "liquidatee",
        symbol: event.data.symbol,
        // The taker's side: an ask closes a long.
        side: event.data.side === "ask" ? "long" : "short",
        size,
        price: ratio(notional, size),
        notional,
        collateralChange: null,
        positionClosed: null,
      });
    }
    case "backstop_liquidation": {
      if (event.data.liquidatee !== account.address) return null;
      const market = book.ofAsset(event.data.assetId);
      const units = unitsOf(event.data.baseLotsTransferred, market);
      const size = units === null ? null : Math.abs(units);
      const notional = Math.abs(usdOfQuoteLots(event.data.virtualQuoteLotsTransferred));
      return liquidationEvent(wallet, {
        ...common,
        kind: "backstop",
        role: "liquidatee",
        symbol: market?.symbol ?? null,
        side: event.data.baseLotsTransferred < 0n ? "short" : "long",
        size,
        price: ratio(notional, size),
        notional,
        collateralChange: usdOfQuoteLots(event.data.liquidateeCollateralChange),
        positionClosed: true,
      });
    }
    case "adl": {
      const { closedShort, closedLong, inProfitAccount } = event.data;
      if (account.address !== closedShort && account.address !== closedLong) return null;
      const market = book.ofAsset(event.data.assetId);
      const size = unitsOf(event.data.baseLotsClosed, market);
      const part = adlPart(account.address, closedShort, closedLong, inProfitAccount, {
        atLoss: [
          usdOfQuoteLots(event.data.atLossCloseValue),
          usdOfQuoteLots(event.data.atLossCollateralChange),
        ],
        inProfit: [
          usdOfQuoteLots(event.data.inProfitCloseValue),
          usdOfQuoteLots(event.data.inProfitCollateralChange),
        ],
      });
      const notional = part.value === null ? null : Math.abs(part.value);
      return liquidationEvent(wallet, {
        ...common,
        ...part,
        symbol: market?.symbol ?? null,
        size,
        price: ratio(notional, size),
        notional,
      });
    }
    default:
      return null;
  }
}

function liquidationEvent(wallet: CollectedWallet, reported: ReportedLiquidation): Event {
  const fields: Record<string, FieldValue> = {
    kind: reported.kind,
    role: reported.role,
    side: reported.side,
    size: reported.size,
    price: reported.price,
    notional: reported.notional,
    collateralChange: reported.collateralChange,
    positionClosed: reported.positionClosed,
  };
  const { slot, slotIndex, eventIndex, symbol, pdaIndex, subaccount, happenedMs, seenMs, data } = reported;
  return walletEvent("liquidation", wallet, {
    key: canonicalLiquidationKey(wallet.authority, reported, reported.role),
    pdaIndex,
    subaccount,
    symbol,
    happenedMs,
    seenMs,
    slot,
    slotIndex,
    eventIndex,
    fields,
    data,
    notificationKey: reported.notificationKey,
  });
}

function sideOf(side: string | null): "long" | "short" | null {
  return side === "long" || side === "short" ? side : null;
}

function ratio(value: number | null, size: number | null): number | null {
  return value === null || size === null || size === 0 ? null : value / Math.abs(size);
}

function product(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.abs(a * b);
}
