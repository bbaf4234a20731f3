/**
 * Distinguishes slots that the ledger can have reached from impossible ones, by the previous answer: an answer far
 * ahead of the ledger would block all later ones. It is accepted once the next one continues from it.
 */

/** Upper limit of slots a second, several times the real rate. */
const SLOTS_A_SECOND = 10;
const SLACK_SLOTS = 2_000;
/** Limit for a first answer: the ledger reaches this slot in 2034, at its present speed. */
const MAX_FIRST_SLOT = 1_000_000_000;
/** The reason to reject an answer whose slot is far ahead of the ledger. */
export const IMPOSSIBLE_SLOT = "a slot that cannot be";

interface Seen {
  readonly slot: number;
  /** In ms, see `LedgerSlots`. */
  readonly atMs: number;
}

/** The answers about one account. Written by `LedgerSlots`. */
export interface AnswerSlots {
  /** The last answer, if its slot was impossible. */
  doubtedSlot: Seen | null;
}

/** Times are of one clock, ms. Answers of several accounts may be checked against one ledger. */
export class LedgerSlots {
  /** The highest accepted slot, and the time at which it first was. Negative: none. */
  #newestSlot = -1;
  #newestMs = 0;

  /** Returns true if the ledger can have reached a slot. */
  possible(slot: number, atMs: number): boolean {
    if (this.#newestSlot < 0) return slot >= 0 && slot <= MAX_FIRST_SLOT;
    return follows(slot, atMs, this.#newestSlot, this.#newestMs);
  }

  /** Takes the slot of an answer. @returns false if it is impossible and the answer is to be rejected */
  take(slot: number, atMs: number, answers: AnswerSlots): boolean {
    const { doubtedSlot: doubted } = answers;
    const goesOn = doubted !== null && slot > doubted.slot && follows(slot, atMs, doubted.slot, doubted.atMs);
    const believed = goesOn || this.possible(slot, atMs);
    answers.doubtedSlot = believed ? null : { slot, atMs };
    // An answer older than the newest adds nothing.
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
