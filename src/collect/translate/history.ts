/** Rows of paged histories as events, with the fields that rules see. */
import {
  type Fill,
  type FundingEvent,
  fillKey,
  fundingKey,
  ORDER_STATUSES,
  type OrderHistoryItem,
  orderKey,
  TRADE_TYPES,
} from "../../contract/index.ts";
import { orderName } from "../../domain/account.ts";
import type { Event } from "../../domain/event.ts";
import { type OnUnknownWord, wordOf } from "../anomalies/known-words.ts";
import type { CollectedWallet } from "../collector.ts";
import { walletEvent } from "./event.ts";

/**
 * Returns the funding of one market and hour. Rows do not name the subaccount of the position: those with the same key
 * are distinguished by `ordinal`, their order.
 */
export function fundingOf(
  row: FundingEvent,
  ordinal: number,
  wallet: CollectedWallet,
  pdaIndex: number,
  seenMs: number,
  onUnknown: OnUnknownWord,
): Event {
  const key = fundingKey(row, wallet.authority, pdaIndex);
  return walletEvent("funding", wallet, {
    key: ordinal === 0 ? key : `${key}#${ordinal + 1}`,
    pdaIndex,
    symbol: row.symbol,
    happenedMs: row.timestamp,
    seenMs,
    fields: {
      payment: Number(row.fundingPayment),
      // The row covers an hour and states percent.
      rate: Number(row.fundingRatePercentage) / 100,
      size: Math.abs(Number(row.positionSize)),
      side: wordOf(["long", "short", "flat"], row.positionSide, "positionSide", onUnknown),
    },
  });
}

/** Returns an order in one of its statuses: each status that it reaches is an event. */
export function orderOf(
  row: OrderHistoryItem,
  wallet: CollectedWallet,
  seenMs: number,
  onUnknown: OnUnknownWord,
): Event {
  const status = wordOf(ORDER_STATUSES, row.status, "status", onUnknown);
  const size = Number(row.baseQty);
  const happenedMs = status === "active" ? row.placedAt : (row.completedAt ?? row.placedAt);
  return walletEvent("order", wallet, {
    key: `${orderKey(row)}:${wallet.authority}:${row.status}`,
    symbol: row.marketSymbol,
    happenedMs: happenedMs ?? seenMs,
    seenMs,
    data: { order: orderName(row.marketSymbol, row.orderSequenceNumber, row.side) },
    fields: {
      status,
      side: row.side,
      price: Number(row.price),
      size,
      filledRatio: size === 0 ? null : Number(row.filledBaseQty) / size,
      placedAgo: row.placedAt === null ? null : seenMs - row.placedAt,
    },
  });
}

export function fillOf(row: Fill, wallet: CollectedWallet, seenMs: number, onUnknown: OnUnknownWord): Event {
  const { slot, slotIndex, eventIndex, traderPdaIndex, subaccountIndex } = row;
  const delta = Number(row.baseLotsDelta);
  const price = Number(row.price);
  const [before, after] = [Math.sign(Number(row.baseLotsBefore)), Math.sign(Number(row.baseLotsAfter))];
  return walletEvent("fill", wallet, {
    // Both sides of a fill may be watched: the account is part of the key.
    key: `${fillKey(row)}:${wallet.authority}:${traderPdaIndex}.${subaccountIndex}`,
    pdaIndex: traderPdaIndex,
    subaccount: subaccountIndex,
    symbol: row.marketSymbol,
    happenedMs: row.timestamp,
    seenMs,
    slot,
    slotIndex,
    eventIndex,
    data: turnOf(before, after),
    fields: {
      side: delta < 0 ? "ask" : "bid",
      price,
      size: Math.abs(delta),
      notional: Math.abs(delta) * price,
      fee: Number(row.fees),
      realizedPnl: Number(row.realizedPnl),
      liquidity: wordOf(["maker", "taker"], row.liquidity, "liquidity", onUnknown),
      tradeType: wordOf(TRADE_TYPES, row.tradeType, "tradeType", onUnknown),
    },
  });
}

/**
 * Returns the effect of a fill on the side of a position (-1, 0, 1). A fill that leaves nothing explains the end of the
 * position; after a turn to the other side it is not flat.
 */
function turnOf(before: number, after: number): { closed?: true; flat?: boolean; opened?: true } | null {
  if (before === after) return null;
  return {
    ...(before === 0 ? {} : { closed: true, flat: after === 0 }),
    ...(after === 0 ? {} : { opened: true }),
  };
}
