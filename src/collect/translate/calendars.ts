/** The state of a market's calendar: in session or not, and until when. */
import { CALENDAR_STATES, type MarketCalendarTransition } from "../../contract/index.ts";
import { type OnUnknownWord, wordOf } from "../known-words.ts";

export interface SessionNow {
  /** `open` or `afterHours`; another word as it came. */
  readonly sessionState: string;
  /** ms; null: none is known, or the one that is told of has passed. */
  readonly nextTransitionMs: number | null;
}

/** Trades around the clock: what a market without a calendar does. */
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
