/** The age of data that rules bear: longer while schedules are stretched to the requests that the exchange grants. */
import type { EventLog } from "../log.ts";
import type { Terms } from "./terms.ts";

const intervals = 3;
/** Data by which positions are judged are never borne for longer than this, ms. */
const mostMs = 60_000;

/** The longest age of accounts that rules bore at some time of a scenario, ms. */
export function accountsBorneMs(log: EventLog, terms: Terms): number {
  const usualMs = intervals * terms.everyMs("traderState");
  const isStretched = log
    .of("said")
    .some(({ text }) => text.includes('"stretched"') && text.includes('"source":"traderState"'));
  return isStretched ? Math.max(usualMs, mostMs) : usualMs;
}
