/**
 * Detects repeated states of an account: old answers of a stale cache or replica.
 *
 * The slot of a state is that of the ledger at the answer, so it changes with every answer, and a change of the account
 * changes its sequence. The contract does not state this: an exchange that returns the slot of the last change repeats
 * it while nothing changes. So nothing counts as repeated before slots were seen to change while all else stayed the
 * same.
 */
import { isDeepStrictEqual } from "node:util";

/** Number of times that a slot has to change alone. */
const minMovedAlone = 3;

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
  /** The previous answer for comparison; null: none yet. */
  #before: { readonly account: NewestSlot; readonly answer: StateAnswer } | null = null;

  /** @param boundMs maximum time for which a slot may stay the same */
  constructor(boundMs: number) {
    this.#boundMs = boundMs;
  }

  /** @returns the time for which a too old answer has been repeated, ms; null: it is not */
  take(account: NewestSlot, answer: StateAnswer, elapsedMs: number): number | null {
    if (this.#movedAlone < minMovedAlone) this.#compare(account, answer);
    if (answer.slot > account.newestSlot) {
      account.newestSlot = answer.slot;
      account.newestSinceMs = elapsedMs;
      return null;
    }
    const repeatedMs = elapsedMs - account.newestSinceMs;
    return this.#movedAlone >= minMovedAlone && repeatedMs >= this.#boundMs ? repeatedMs : null;
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
