/**
 * Tells slots that the ledger can have come to from impossible ones, by the answer before: an answer far ahead of the ledger
 * would hold back all that follow. It is believed once the next one goes on from it.
 */

/** Slots a second that the ledger may make, several times what it does. */
const SLOTS_A_SECOND = 10;
const SLACK_SLOTS = 2_000;
/** A first answer has none before it: the ledger comes to this slot in 2034, at its present speed. */
const MAX_FIRST_SLOT = 1_000_000_000;
/** The reason not to take an answer whose slot is far ahead of the ledger. */
export const IMPOSSIBLE_SLOT = "a slot that cannot be";

interface Seen {
  readonly slot: number;
  /** In ms, as of `LedgerSlots`. */
  readonly atMs: number;
}

/** The answers about one account. Written by `LedgerSlots`. */
export interface AnswerSlots {
  /** The last answer, if its slot was impossible. */
  doubtedSlot: Seen | null;
}

/** Times are of one clock, ms. Answers of many accounts may be held against one ledger. */
export class LedgerSlots {
  /** The highest slot that was believed, and when it first was. Negative: none was. */
  #newestSlot = -1;
  #newestMs = 0;

  /** Returns true if the ledger can have come to a slot. */
  possible(slot: number, atMs: number): boolean {
    if (this.#newestSlot < 0) return slot >= 0 && slot <= MAX_FIRST_SLOT;
    return follows(slot, atMs, this.#newestSlot, this.#newestMs);
  }

  /** Takes the slot of an answer. @returns false if it is impossible: the answer is not to be taken */
  take(slot: number, atMs: number, answers: AnswerSlots): boolean {
    const { doubtedSlot: doubted } = answers;
    const goesOn = doubted !== null && slot > doubted.slot && follows(slot, atMs, doubted.slot, doubted.atMs);
    const believed = goesOn || this.possible(slot, atMs);
    answers.doubtedSlot = believed ? null : { slot, atMs };
    // An older answer than the newest says nothing new: a ledger goes on from where it was.
    if (believed && slot > this.#newestSlot) {
      this.#newestSlot = slot;
      this.#newestMs = atMs;
    }
    return believed;
  }
}

function follows(slot: number, atMs: number, sinceSlot: number, sinceMs: number): boolean {
  const seconds = Math.max(0, atMs - sinceMs) / 1_000;
  return slot >= 0 && slot <= sinceSlot + SLACK_SLOTS + SLOTS_A_SECOND * seconds;
}
