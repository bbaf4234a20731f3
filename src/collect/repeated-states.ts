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

export class RepeatedStates {
  readonly #boundMs: number;
  /** The newest slot of each account, and when it was first seen: monotonic ms, and by the clock, ms. */
  readonly #newest = new Map<string, { slot: number; sinceMs: number; atMs: number }>();
  #movedAlone = 0;
  /** The answer whose successor is held against it; null: the next answer of any account. */
  #before: (StateAnswer & { readonly account: string }) | null = null;

  /** @param boundMs the time for which a slot may stay the same */
  constructor(boundMs: number) {
    this.#boundMs = boundMs;
  }

  /** @returns the time at which an answer came that was repeated for too long, ms; null: it was not */
  take(account: string, answer: StateAnswer, elapsedMs: number, nowMs: number): number | null {
    if (this.#movedAlone < MOVED_ALONE) this.#compare(account, answer);
    const newest = this.#newest.get(account);
    if (newest === undefined || answer.slot > newest.slot) {
      this.#newest.set(account, { slot: answer.slot, sinceMs: elapsedMs, atMs: nowMs });
      return null;
    }
    const old = this.#movedAlone >= MOVED_ALONE && elapsedMs - newest.sinceMs >= this.#boundMs;
    return old ? newest.atMs : null;
  }

  #compare(account: string, answer: StateAnswer): void {
    const before = this.#before;
    if (before === null) {
      this.#before = { account, slot: answer.slot, snapshot: answer.snapshot };
      return;
    }
    if (before.account !== account) return;
    this.#before = null;
    if (answer.slot > before.slot && isDeepStrictEqual(answer.snapshot, before.snapshot)) this.#movedAlone++;
  }
}
