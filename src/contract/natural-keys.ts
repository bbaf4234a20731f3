/**
 * Natural keys of event rows: the same row has the same key on another page, on the stream and after a restart. Keys
 * start with their kind, so keys of different kinds never collide. A key contains the wallet and the PDA index if the
 * row itself does not.
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

/**
 * Events have the key of their five indices (ids of live copies may change), the others that of wallet and id: an
 * announcement has one id, and a copy for each wallet.
 */
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

/** One event of the ledger may concern a wallet in several roles; each role is its own row. */
export function liquidationKey(row: Liquidation, authority: string): string {
  return `liquidation:${authority}:${row.slot}:${row.slotIndex}:${row.eventIndex}:${row.kind}:${row.role}`;
}

/**
 * The row does not contain the subaccount of the position. Rows of one symbol in several subaccounts share a key, which
 * stores must allow for.
 */
export function fundingKey(row: FundingEvent, authority: string, traderPdaIndex: number): string {
  return `funding:${authority}:${traderPdaIndex}:${row.symbol}:${row.timestamp}`;
}

export function collateralKey(row: CollateralEvent, authority: string): string {
  return `collateral:${authority}:${row.traderPdaIndex}:${row.traderSubaccountIndex}:${row.slot}:${row.slotIndex}:${row.eventIndex}`;
}

/** An order; its row changes while the order is open. */
export function orderKey(
  row: Pick<OrderHistoryItem, "marketSymbol" | "orderSequenceNumber" | "side">,
): string {
  return `order:${row.marketSymbol}:${row.orderSequenceNumber}:${row.side}`;
}

/** A fill of the history or a trade of the stream: both describe the same event. */
export function fillKey(row: Fill | TradeRow): string {
  if (row.fillId !== null) return `fill:${row.fillId}`;
  const market = "marketSymbol" in row ? row.marketSymbol : row.market;
  return `fill:${row.slot}:${row.slotIndex}:${row.instructionIndex}:${row.eventIndex}:${market}`;
}
