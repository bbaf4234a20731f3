/** The exchange's notifications, their data, and the bodies of acknowledgements. */
import { z } from "zod";
import {
  anything,
  dec,
  flag,
  int,
  key,
  lots,
  maybe,
  num,
  type Open,
  type Output,
  record,
  type Schema,
  scalar,
  sequence,
  side,
  text,
  time,
  type Wire,
  word,
} from "../fields.ts";

export const EVENT_NOTIFICATION_TYPES = [
  "order_filled",
  "liquidation",
  "backstop_liquidation",
  "adl",
  "risk_engine_cancel_order",
  "stop_loss_executed",
  "conditional_order_executed",
  "stop_loss_order_placed",
  "spot_collateral_liquidation",
] as const;
export type EventNotificationType = (typeof EVENT_NOTIFICATION_TYPES)[number];

/**
 * Summary of an event for display. One schema for all types, because its fields are in camelCase or snake_case and may be
 * missing; fields of other types are null. Unknown fields are kept, in camelCase.
 */
const detailFields = record({
  type: maybe(text),
  symbol: maybe(text),
  side: maybe(side),
  baseLotsFilled: maybe(num),
  price: maybe(num),
  baseAmount: maybe(num),
  quoteAmount: maybe(num),
  assetId: maybe(int),
  baseLotsTransferred: maybe(num),
  virtualQuoteLotsTransferred: maybe(num),
  haircutRate: maybe(num),
  baseLotsClosed: maybe(num),
  baseLotsReleased: maybe(num),
  triggerType: maybe(word(["take_profit", "stop_loss"])),
  priceInTicks: maybe(num),
  baseLotsRemaining: maybe(num),
  filledBaseAmount: maybe(num),
  filledQuoteAmount: maybe(num),
});
export type NotificationDetails = Output<typeof detailFields>;

/** Null if it does not match the schema: an event is not rejected for its summary. */
const details = scalar<NotificationDetails | null, Wire<typeof detailFields>>("details", (wire) => {
  if (typeof wire !== "object" || wire === null) return null;
  const parsed = z.safeParse(detailFields, camelKeys(wire));
  return parsed.success ? parsed.data : null;
});

/** Returns the object with snake_case keys turned into camelCase; if both exist, camelCase wins. */
export function camelKeys(object: object): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) {
    const camel = name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());
    if (camel === name || !Object.hasOwn(object, camel)) out[camel] = value;
  }
  return out;
}

const common = {
  id: int,
  notificationType: text,
  createdAt: time,
  acked: flag,
};

/** An event of a trader account on the ledger. The five indices identify it; a live copy's id may change. */
export const eventNotification = record({
  source: z.literal("event"),
  ...common,
  notificationType: word(EVENT_NOTIFICATION_TYPES),
  slot: int,
  slotIndex: int,
  instructionIndex: int,
  eventIndex: int,
  recipientIndex: int,
  /** Raw, in either casing; `eventData` parses the known types. */
  data: anything,
  details: maybe(details),
});
const announcementFields = {
  ...common,
  title: maybe(text),
  body: maybe(text),
  data: anything,
};
/** An announcement to everyone. */
export const adminNotification = record({ source: z.literal("admin"), ...announcementFields });
/** A message to this user. */
export const generalNotification = record({ source: z.literal("general"), ...announcementFields });

export type EventNotification = Output<typeof eventNotification>;
export type AdminNotification = Output<typeof adminNotification>;
export type GeneralNotification = Output<typeof generalNotification>;
export type NotificationItem = EventNotification | AdminNotification | GeneralNotification;
type NotificationWire =
  | Wire<typeof eventNotification>
  | Wire<typeof adminNotification>
  | Wire<typeof generalNotification>;

/** One item of the list or the stream, by its `source`. */
export const notificationItem: Schema<NotificationItem, NotificationWire> = z.discriminatedUnion("source", [
  eventNotification,
  adminNotification,
  generalNotification,
]) as unknown as Schema<NotificationItem, NotificationWire>;

const eventHead = { slot: int, slotIndex: int, timestamp: time };

/** A taker's trade; in a liquidation `ask` closes a long. Fees in quote lots. */
export const tradeData = record({
  ...eventHead,
  symbol: text,
  taker: key,
  tradeSequenceNumber: sequence,
  side,
  baseLotsFilled: lots,
  quoteLotsFilled: lots,
  feeInQuoteLots: lots,
  baseAmount: num,
  quoteAmount: num,
  numFills: int,
});
export const orderFillData = record({
  ...eventHead,
  symbol: text,
  maker: key,
  taker: key,
  orderSequenceNumber: sequence,
  tradeSequenceNumber: sequence,
  makerFee: lots,
  takerFee: lots,
  priceInTicks: lots,
  price: num,
  side,
  baseLotsFilled: lots,
  quoteLotsFilled: lots,
  quantityRemaining: lots,
  orderbookSequenceNumber: sequence,
});
export const orderModifiedData = record({
  ...eventHead,
  symbol: text,
  orderSequenceNumber: sequence,
  side,
  trader: key,
  priceInTicks: lots,
  baseLotsReleased: lots,
  quoteLotsReleased: lots,
  baseLotsRemaining: lots,
  orderbookSequenceNumber: maybe(sequence),
  reason: maybe(text),
});
export const liquidationTransferData = record({
  ...eventHead,
  assetId: int,
  liquidatee: key,
  liquidator: key,
  baseLotsTransferred: lots,
  virtualQuoteLotsTransferred: lots,
  haircutRate: int,
  liquidateeCollateralChange: lots,
  liquidatorCollateralChange: lots,
});
export const closeMatchedData = record({
  ...eventHead,
  assetId: int,
  caller: key,
  closedShort: key,
  closedLong: key,
  inProfitAccount: key,
  baseLotsClosed: lots,
  atLossCloseValue: lots,
  inProfitCloseValue: lots,
  atLossCollateralChange: lots,
  inProfitCollateralChange: lots,
});
export const stopLossPlacedData = record({
  ...eventHead,
  symbol: text,
  orderSequenceNumber: sequence,
  trader: key,
  orderFlags: maybe(int),
  clientOrderId: maybe(sequence),
  orderId: maybe(sequence),
  price: maybe(dec),
  quantity: maybe(dec),
  side,
  lastValidSlot: maybe(int),
  initialSlot: maybe(int),
  orderbookSequenceNumber: maybe(sequence),
});
export const spotCollateralLiquidationData = record({
  ...eventHead,
  liquidator: key,
  liquidatedTrader: key,
  assetIndex: int,
  liquidationSize: lots,
  overCapExcess: maybe(lots),
  quoteLotsDeposited: lots,
  oracleNotional: maybe(lots),
  liquidationDiscountBps: maybe(int),
});

/** Schema of `data`, by notification type. */
export const EVENT_DATA = {
  order_filled: orderFillData,
  liquidation: tradeData,
  backstop_liquidation: liquidationTransferData,
  adl: closeMatchedData,
  risk_engine_cancel_order: orderModifiedData,
  stop_loss_executed: tradeData,
  conditional_order_executed: tradeData,
  stop_loss_order_placed: stopLossPlacedData,
  spot_collateral_liquidation: spotCollateralLiquidationData,
} as const satisfies Record<EventNotificationType, Schema>;

export type EventData = {
  [T in EventNotificationType]: { readonly type: T; readonly data: Output<(typeof EVENT_DATA)[T]> };
}[EventNotificationType];

/**
 * Parses the `data` of an event by its type. Null for an unknown type or data that does not match it: the event itself
 * stays valid, with its raw `data`.
 */
export function eventData(item: {
  notificationType: Open<EventNotificationType>;
  data: unknown;
}): EventData | null {
  const type = item.notificationType as EventNotificationType;
  if (!Object.hasOwn(EVENT_DATA, type) || typeof item.data !== "object" || item.data === null) return null;
  const parsed = z.safeParse(EVENT_DATA[type] as Schema, camelKeys(item.data));
  return parsed.success ? ({ type, data: parsed.data } as EventData) : null;
}

/** Fields beside `items` in the list. */
export const notificationsHead = { nextCursor: maybe(text) };

/** The item to acknowledge. Prefer the five indices for events: they are valid for items of the stream too. */
export const ackItem = z.union([
  z.object({
    type: z.literal("event"),
    slot: z.int().min(0),
    slotIndex: z.int().min(0),
    instructionIndex: z.int().min(0),
    eventIndex: z.int().min(0),
    recipientIndex: z.int().min(0),
  }),
  z.object({ type: z.enum(["event", "admin", "general"]), id: z.int() }),
]);
export type AckItem = Output<typeof ackItem>;

/** At least one; the maximum is not documented, 100 is safe. */
export const ackItems = z.array(ackItem).min(1);

/** The acknowledgement of one notification. */
export function ackItemOf(item: NotificationItem): AckItem {
  if (item.source !== "event") return { type: item.source, id: item.id };
  const { slot, slotIndex, instructionIndex, eventIndex, recipientIndex } = item;
  return { type: "event", slot, slotIndex, instructionIndex, eventIndex, recipientIndex };
}
