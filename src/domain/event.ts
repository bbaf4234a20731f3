/**
 * Events: things that happened once. Each has a natural key, so that ingesting the same page twice changes nothing.
 * Fields are named as rules name them (`event.<field>`); money is USD, ratios are fractions.
 */

export type EventKind =
  | "notification"
  | "liquidation"
  | "funding"
  | "collateral"
  | "order"
  | "fill"
  | "exchangeStatus"
  | "marketChange"
  | "capability";

/** A value that a rule can see. Lists and objects appear in `data` only. */
export type FieldValue = string | number | boolean | null;

export interface Event {
  readonly kind: EventKind;
  /** Natural key, unique together with `kind`. One canonical liquidation has one key, whichever source reported it first. */
  readonly key: string;
  /** Null for an event of the exchange or of a market. */
  readonly wallet: string | null;
  readonly pdaIndex: number | null;
  readonly subaccount: number | null;
  readonly symbol: string | null;
  /** The time at which it happened at the exchange, ms. */
  readonly happenedMs: number;
  /** The time at which we first saw it, ms. */
  readonly seenMs: number;
  /** Orders events inside the exchange; 0 where the record has none. */
  readonly slot: number;
  readonly slotIndex: number;
  readonly eventIndex: number;
  /** The fields that rules see, by the table of event kinds. An absent optional field is null. */
  readonly fields: Readonly<Record<string, FieldValue>>;
  /** The raw record, where it is kept (notifications of unknown types, among others). */
  readonly data: unknown;
  /** True if it was read as history of a new wallet or market, or stored at a first start: windows contain it, and it fires nothing. */
  readonly backfilled: boolean;
  /** Only notifications: the data that acknowledging it needs. */
  readonly inbox: InboxItem | null;
  /** Only canonical liquidations: the key of the notification that reported it; null: none did. */
  readonly notificationKey: string | null;
}

/** The exchange's key of a notification, and its acknowledgement state. */
export interface InboxItem {
  readonly source: "event" | "admin" | "general";
  readonly notificationType: string;
  /** The trader account's address that the acknowledgement is addressed to. */
  readonly traderPubkey: string;
  readonly item:
    | {
        readonly type: "event";
        readonly slot: number;
        readonly slotIndex: number;
        readonly instructionIndex: number;
        readonly eventIndex: number;
        readonly recipientIndex: number;
      }
    | { readonly type: "admin" | "general"; readonly id: number };
  readonly acked: boolean;
  /** Key of the canonical liquidation that this notification reports; null: none. */
  readonly liquidationKey: string | null;
  /** True for a notification of a type that reports liquidations with unreadable data: the key of the liquidation is not known. */
  readonly unread?: true;
}

/**
 * The key under which earlier versions stored an event; null where it is the same. They stored one row of an announcement
 * for all wallets, so its copies count as stored.
 */
export function earlierKeyOf(key: string): string | null {
  return /^notification:admin:[^:]+:\d+$/.test(key)
    ? `notification:admin:${key.slice(key.lastIndexOf(":") + 1)}`
    : null;
}

/** The name of an event in sets and maps: its key is unique only together with its kind. */
export function eventName(kind: EventKind, key: string): string {
  return `${kind}/${key}`;
}

/** Prefix of the type of a notification of unknown type; the received type follows. */
export const unknownType = "unknown type ";

/** Prefix of the keys of the exchange's announcements. */
export const announcementKey = "notification:notification:admin:";
