/** An ending that waits for word of its reason. */

import type { Ending, RuleRow } from "../../domain/alert.ts";
import type { Due } from "../../domain/deadlines.ts";
import type { Event } from "../../domain/event.ts";
import type { AccountRef } from "../../domain/subject.ts";
import type { AlertText, LiveAlert } from "../live-alert.ts";
import type { FillTrail } from "./fill-trail.ts";

/**
 * The exchange's histories are made from the ledger a moment later. One that was read this long after the disappearance
 * and has no liquidation settles the matter.
 */
export const settledAfterMs = 15_000;
/** Allowance for a state that was on its way when a fill happened that it does not show yet. */
const readSlackMs = 2_000;

/** An alert whose subject is gone, or whose condition holds no longer, with what is known of the reason. */
export interface EndedAlert {
  readonly live: LiveAlert;
  readonly row: RuleRow | null;
  readonly account: AccountRef;
  /** Null: the account as a whole. */
  readonly symbol: string | null;
  readonly fallback: Ending;
  /** A condition that recovered, as of `judgedAs`: it may hold again before its end is told. Absent: none did, or nobody knows. */
  readonly judgedAs?: string | undefined;
  /** The text at its recovery; null: it is none, or nobody knows. */
  readonly text: AlertText | null;
  /** The same for later, when the wait for word is over; null: nothing newer. */
  readonly textAt?: (nowMs: number) => AlertText | null;
  /** True while its rule cannot be judged yet, so that a text is still to come; absent: one is known, or none will be. */
  readonly isUnread?: ((nowMs: number) => boolean) | undefined;
  /** The last known text, if its subject is gone. Null: what was told last. */
  readonly before?: AlertText | null;
  /** The time at which it was last seen as it was, ms: a liquidation before that is not what ended it. */
  readonly fromMs: number;
  /** Slot of the last state that showed it, or of the state in which its condition last held; 0: not known. */
  readonly fromSlot: number;
  /** Size of the position in that state, in units, and its side; absent: it is none, or nobody knows. */
  readonly size?: number | undefined;
  readonly side?: string | undefined;
  /** Fills told before a restart that the last of it went in a liquidation or a deleveraging. */
  readonly taken?: boolean | undefined;
  /** The time at which it was seen to be gone, ms; left out: now. A liquidation well after that is not what ended it. */
  readonly goneMs?: number;
  /** Slot of the state that shows its end; absent: nobody knows. */
  readonly goneSlot?: number | undefined;
  /** Another position of its name stands there now. */
  readonly another: boolean;
  /** Something of the account's went away lately: word of a liquidation may be under way. */
  readonly suspicious: boolean;
}

export interface WaitingEnding extends Due, Omit<EndedAlert, "suspicious" | "taken"> {
  readonly goneMs: number;
  /** Since when it waits for word in this run, ms: nobody could hear it while nobody watched. */
  readonly sinceMs: number;
  readonly fills: FillTrail;
}

/** True if nothing of it is still to be read: it is no recovery, or its figures are known, or will never be. */
export function isReadable({ fallback, isUnread }: WaitingEnding, nowMs: number): boolean {
  return fallback !== "recovered" || isUnread?.(nowMs) !== true;
}

/** The text of an ending, for one that goes on after a reload. */
export function wordsOf(
  waiting: WaitingEnding,
): Pick<WaitingEnding, "text" | "textAt" | "isUnread" | "before"> {
  const { text, textAt, isUnread, before } = waiting;
  return {
    text,
    ...(textAt ? { textAt } : {}),
    // A text that is known stays known, whatever the exchange answers after a reload.
    isUnread,
    ...(before === undefined ? {} : { before }),
  };
}

/** True if an event is a fill of the position whose end waits for word, since it was last seen. */
export function concerns({ kind, happenedMs, ...of }: Event, waiting: WaitingEnding): boolean {
  const { account, symbol, fallback, fromMs } = waiting;
  return (
    kind === "fill" &&
    (fallback === "closed" || fallback === "flipped") &&
    symbol !== null &&
    of.wallet === account.wallet &&
    of.pdaIndex === account.pdaIndex &&
    of.subaccount === account.subaccount &&
    of.symbol?.toUpperCase() === symbol.toUpperCase() &&
    happenedMs >= fromMs - readSlackMs
  );
}
