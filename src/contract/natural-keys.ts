/**
 * Natural keys of rows that are events: the same row, met again on another page, on the stream or after a restart,
 * has the same key. Keys start with their kind, so they are unique together.
 * Wallet and PDA index stand in a key where the row itself does not say whose it is.
 */
import type {
  CollateralEvent,
  Fill,
  FundingEvent,
  Liquidation,
  OrderHistoryItem,
} from "./records/history.ts";
import type { NotificationItem } from "./records/notifications.ts";
import type { TradeRow } from "./records/trader.ts";

/** Events by their five indices (ids of live copies do not last), the others by wallet and id: an announcement has one id, and a copy for each wallet. */
export function notificationKey(item: NotificationItem, authority: string): string {
  switch (item.source) {
    case "event":
      return `notification:event:${item.slot}:${item.slotIndex}:${item.instructionIndex}:${item.eventIndex}:${item.recipientIndex}`;
    case "admin":
      return `notification:admin:${authority}:${item.id}`;
    case "general":
      return `notification:general:${authority}:${item.id}`;
  }
}

/** One event of the ledger may concern a wallet in several roles: each is a row of its own. */
export function liquidationKey(row: Liquidation, authority: string): string {
  return `liquidation:${authority}:${row.slot}:${row.slotIndex}:${row.eventIndex}:${row.kind}:${row.role}`;
}

/**
 * The row does not say which subaccount held the position, so rows of one symbol held in several subaccounts share a
 * key; whoever stores them has to expect it.
 */
export function fundingKey(row: FundingEvent, authority: string, traderPdaIndex: number): string {
  return `funding:${authority}:${traderPdaIndex}:${row.symbol}:${row.timestamp}`;
}

export function collateralKey(row: CollateralEvent, authority: string): string {
  return `collateral:${authority}:${row.traderPdaIndex}:${row.traderSubaccountIndex}:${row.slot}:${row.slotIndex}:${row.eventIndex}`;
}

/** An order; its row changes while it lives. */
export function orderKey(
  row: Pick<OrderHistoryItem, "marketSymbol" | "orderSequenceNumber" | "side">,
): string {
  return `order:${row.marketSymbol}:${row.orderSequenceNumber}:${row.side}`;
}

/** A fill of the history or a trade of the stream: both tell of the same event. */
export function fillKey(row: Fill | TradeRow): string {
  if (row.fillId !== null) return `fill:${row.fillId}`;
  const market = "marketSymbol" in row ? row.marketSymbol : row.market;
  return `fill:${row.slot}:${row.slotIndex}:${row.instructionIndex}:${row.eventIndex}:${market}`;
}
