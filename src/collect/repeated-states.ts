/**
 * Notices states of an account that the exchange repeats: an old answer of a cache or a replica that stands still.
 *
 * The slot of a state is that of the ledger at the answer, so it moves with every answer, and a change of the account moves its
 * sequence. The contract does not say so outright: an exchange that states the slot of the last change repeats it for as long as
 * nothing changes. The answers decide: nothing counts as repeated before slots were seen to move while all else stayed the same.
 */
import { isDeepStrictEqual } from "node:util";

/** So many times a slot has to move alone. */
const MOVED_ALONE = 3;

export interface StateAnswer {
  readonly slot: number;
  readonly snapshot: unknown;
}

/** The newest slot of one account; negative before the first answer. Written by `RepeatedStates`. */
export interface NewestSlot {
  newestSlot: number;
  /** The time at which it was first seen, monotonic ms. */
  newestSinceMs: number;
}

export class RepeatedStates {
  readonly #boundMs: number;
  #movedAlone = 0;
  /** The answer whose successor is held against it; null: the next answer of any account. */
  #before: { readonly account: NewestSlot; readonly answer: StateAnswer } | null = null;

  /** @param boundMs the time for which a slot may stay the same */
  constructor(boundMs: number) {
    this.#boundMs = boundMs;
  }

  /** @returns for how long an answer has been repeated that is too old, ms; null: it is not */
  take(account: NewestSlot, answer: StateAnswer, elapsedMs: number): number | null {
    if (this.#movedAlone < MOVED_ALONE) this.#compare(account, answer);
    if (answer.slot > account.newestSlot) {
      account.newestSlot = answer.slot;
      account.newestSinceMs = elapsedMs;
      return null;
    }
    const repeatedMs = elapsedMs - account.newestSinceMs;
    return this.#movedAlone >= MOVED_ALONE && repeatedMs >= this.#boundMs ? repeatedMs : null;
  }

  #compare(account: NewestSlot, answer: StateAnswer): void {
    const before = this.#before;
    if (before === null) {
      this.#before = { account, answer };
      return;
    }
    if (before.account !== account) return;
    this.#before = null;
    const { slot, snapshot } = before.answer;
    if (answer.slot > slot && isDeepStrictEqual(answer.snapshot, snapshot)) this.#movedAlone++;
  }
}
