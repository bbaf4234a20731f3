/** An ending that waits for an explanation. */

import type { Ending, RuleRow } from "../../domain/alerts/alert.ts";
import type { Event } from "../../domain/event.ts";
import type { Due } from "../../domain/structures/deadlines.ts";
import type { AccountRef } from "../../domain/subject.ts";
import type { AlertText, LiveAlert } from "../live-alert.ts";
import type { FillTrail } from "./fill-trail.ts";

/**
 * The exchange derives its histories from the ledger with a delay. A history without a liquidation that was read this
 * long after the disappearance rules one out.
 */
export const settledAfterMs = 15_000;
/** Allowance for a state that was in transit when a fill happened and does not show it yet. */
const readSlackMs = 2_000;

/** An alert whose subject no longer exists, or whose condition no longer holds, with the known reasons. */
export interface EndedAlert {
  readonly live: LiveAlert;
  readonly row: RuleRow | null;
  readonly account: AccountRef;
  /** Null: the account as a whole. */
  readonly symbol: string | null;
  readonly fallback: Ending;
  /**
   * A condition that recovered, as of `judgedAs`: it may hold again before its end is reported. Absent: none did, or
   * unknown.
   */
  readonly judgedAs?: string | undefined;
  /** The text at its recovery; null: it is no recovery, or the text is unknown. */
  readonly text: AlertText | null;
  /** Returns the text for the time when the wait is over; null: no newer one. */
  readonly textAt?: (nowMs: number) => AlertText | null;
  /**
   * True while its rule cannot be judged yet, so that a text is still expected; absent: a text is known, or none is
   * expected.
   */
  readonly isUnread?: ((nowMs: number) => boolean) | undefined;
  /** The last known text, if its subject no longer exists. Null: the last reported one. */
  readonly before?: AlertText | null;
  /** The time at which it was last seen unchanged, ms: an earlier liquidation did not end it. */
  readonly fromMs: number;
  /** Slot of the last state that showed it, or of the state in which its condition last held; 0: not known. */
  readonly fromSlot: number;
  /** Size of the position in that state, in units, and its side; absent: no position, or unknown. */
  readonly size?: number | undefined;
  readonly side?: string | undefined;
  /** True if fills before a restart showed that its last part was closed by a liquidation or a deleveraging. */
  readonly taken?: boolean | undefined;
  /** The time at which the end was seen, ms; left out: now. A clearly later liquidation did not end it. */
  readonly goneMs?: number;
  /** Slot of the state that shows its end; absent: unknown. */
  readonly goneSlot?: number | undefined;
  /** Another position of the same market exists now. */
  readonly another: boolean;
  /** True if holdings of the account disappeared recently: a liquidation record may be on its way. */
  readonly suspicious: boolean;
}

export interface WaitingEnding extends Due, Omit<EndedAlert, "suspicious" | "taken"> {
  readonly goneMs: number;
  /** Start of the wait in this run, ms: time without a running watch does not count. */
  readonly sinceMs: number;
  readonly fills: FillTrail;
}

/** Returns true if no more data of it is expected: it is no recovery, or its figures are known or will not arrive. */
export function isReadable({ fallback, isUnread }: WaitingEnding, nowMs: number): boolean {
  return fallback !== "recovered" || isUnread?.(nowMs) !== true;
}

/** Returns the text of an ending, for one that continues after a reload. */
export function wordsOf(
  waiting: WaitingEnding,
): Pick<WaitingEnding, "text" | "textAt" | "isUnread" | "before"> {
  const { text, textAt, isUnread, before } = waiting;
  return {
    text,
    ...(textAt ? { textAt } : {}),
    // A known text stays known, whatever the exchange answers after a reload.
    isUnread,
    ...(before === undefined ? {} : { before }),
  };
}

/** Returns true if an event is a fill, since it was last seen, of the position whose end waits for an explanation. */
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
