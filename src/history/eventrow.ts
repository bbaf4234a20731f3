/** Rows of events: a column for each field, for different queries. */
import type { Event } from "../domain/event.ts";
import { decode } from "../domain/text/json.ts";
import { lengthen } from "./samples/compression.ts";

export interface EventRow {
  readonly kind: Event["kind"];
  readonly key: string;
  readonly wallet: string | null;
  readonly pda_index: number | null;
  readonly subaccount: number | null;
  readonly symbol: string | null;
  readonly happened_ms: number;
  readonly seen_ms: number;
  readonly slot: number;
  readonly slot_index: number;
  readonly event_index: number;
  readonly fields: string;
  readonly data: string | Buffer | null;
  readonly backfilled: number;
  readonly inbox: string | null;
  readonly notification_key: string | null;
}

export function eventOf(row: EventRow): Event {
  return {
    kind: row.kind,
    key: row.key,
    wallet: row.wallet,
    pdaIndex: row.pda_index,
    subaccount: row.subaccount,
    symbol: row.symbol,
    happenedMs: row.happened_ms,
    seenMs: row.seen_ms,
    slot: row.slot,
    slotIndex: row.slot_index,
    eventIndex: row.event_index,
    fields: decode<Event["fields"]>(row.fields),
    data: row.data === null ? null : (JSON.parse(lengthen(row.data)) as unknown),
    backfilled: row.backfilled === 1,
    inbox: row.inbox === null ? null : decode<Event["inbox"]>(row.inbox),
    notificationKey: row.notification_key,
  };
}
