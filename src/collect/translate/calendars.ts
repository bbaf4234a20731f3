/** The state of a market's calendar: in session or not, and the next transition. */
import { CALENDAR_STATES, type MarketCalendarTransition } from "../../contract/index.ts";
import { type OnUnknownWord, wordOf } from "../anomalies/known-words.ts";

export interface SessionNow {
  /** `open` or `afterHours`; another value unchanged. */
  readonly sessionState: string;
  /** ms; null: unknown, or the reported one has passed. */
  readonly nextTransitionMs: number | null;
}

/** Trading around the clock: the state of a market without a calendar. */
export const alwaysOpen: SessionNow = { sessionState: "open", nextTransitionMs: null };

export function sessionOf(
  record: Pick<MarketCalendarTransition, "currentState" | "utcNextTransition">,
  nowMs: number,
  onUnknown: OnUnknownWord,
): SessionNow {
  const next = record.utcNextTransition;
  return {
    sessionState: wordOf(CALENDAR_STATES, record.currentState, "currentState", onUnknown),
    nextTransitionMs: next !== null && next > nowMs ? next : null,
  };
}
