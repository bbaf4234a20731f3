/** The subject of an event, and the facts that rules see of it. */
import type { Event } from "../domain/event.ts";
import { accountName } from "../domain/subject.ts";
import type { Facts } from "../rules/index.ts";

export function eventSubject(event: Event): string {
  if (event.wallet === null) return event.symbol === null ? "exchange" : `market/${event.symbol}`;
  if (event.pdaIndex === null || event.subaccount === null) {
    return event.symbol === null ? event.wallet : `${event.wallet}/${event.symbol}`;
  }
  const account = accountName({
    wallet: event.wallet,
    pdaIndex: event.pdaIndex,
    subaccount: event.subaccount,
  });
  return event.symbol === null ? account : `${account}/${event.symbol}`;
}

/** The facts behind `event.` in rules. An absent optional field has no fact, and so is unknown in a condition. */
export function eventFacts(event: Event, nowMs: number): Facts {
  const values: Facts["values"] = {
    kind: event.kind,
    at: event.happenedMs,
    age: nowMs - event.happenedMs,
    id: idOf(event),
  };
  if (event.symbol !== null) values.symbol = event.symbol;
  for (const [name, value] of Object.entries(event.fields)) if (value !== null) values[name] = value;
  if (event.kind === "notification") values.data = textsOf(event.data);
  return { values, seenMs: {} };
}

/** The id of a notification at the exchange: the number of an announcement, or the place of an event; else the natural key. */
function idOf({ key }: Event): string {
  return /^notification:(?:event|(?:admin|general):[^:]*):(.+)$/.exec(key)?.[1] ?? key;
}

/** Scalars of a raw record as text, by name. */
function textsOf(data: unknown): Record<string, string> {
  const texts: Record<string, string> = {};
  if (typeof data !== "object" || data === null) return texts;
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      texts[name] = String(value);
  }
  return texts;
}
