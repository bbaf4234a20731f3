/**
 * Decides which message gets the next slot of a channel that takes only so many messages in a time. Times are monotonic ms.
 *
 * From the first "wait" on, and for a while after the last one, slots are scarce: nothing is made into a message before the
 * next slot is due by the pace that the other side was seen to keep, since what comes meanwhile could not join it any more.
 * What is not critical stands back while something critical waits; but not for ever: after a while the next slot is its own.
 */

/** Slots are scarce until so long after the end of the last wait. */
const scarceForMs = 30_000;
/** The time for which a critical message waits at most for a slot that is not due yet: the pace may be misjudged. */
const criticalPatienceMs = 2_000;
/** The rest stands back for so long at most. */
const restPatienceMs = 10_000;
/** For so long a critical message leaves the slot to what stood back for long, even when that has no answer yet. */
const yieldMs = 1_500;

export class Slots {
  #scarceUntilMs = Number.NEGATIVE_INFINITY;
  /** Since the last wait: when the first message was accepted, and how many were. */
  #firstMs = 0;
  #accepted = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #paceMs = 0;
  /** Since when the rest stands back. */
  #backSinceMs: number | null = null;
  #yieldUntilMs = Number.NEGATIVE_INFINITY;

  /** The other side said to wait until then. */
  limited(untilMs: number): void {
    if (this.#accepted > 0) this.#paceMs = Math.max(0, untilMs - this.#firstMs) / this.#accepted;
    this.#accepted = 0;
    this.#scarceUntilMs = untilMs + scarceForMs;
  }

  accepted(critical: boolean, nowMs: number): void {
    if (this.#accepted === 0) this.#firstMs = nowMs;
    this.#accepted++;
    this.#lastMs = nowMs;
    if (!critical) this.#backSinceMs = null;
  }

  /** The rest stood back for so long that the next slot is its own. */
  restIsFirst(nowMs: number): boolean {
    return this.areScarce(nowMs) && nowMs >= (this.#backSinceMs ?? nowMs) + restPatienceMs;
  }

  /**
   * @param criticalLeaves whether something critical is under way: the slot is taken
   * @param criticalWaits whether something critical could leave
   */
  restMayGo(nowMs: number, criticalLeaves: boolean, criticalWaits: () => boolean): boolean {
    if (!this.areScarce(nowMs)) {
      this.#backSinceMs = null;
      return true;
    }
    if (criticalLeaves || (!this.restIsFirst(nowMs) && criticalWaits())) {
      this.#backSinceMs ??= nowMs;
      return false;
    }
    if (nowMs < this.#lastMs + this.#paceMs) return false;
    if (this.restIsFirst(nowMs)) this.#yieldUntilMs = nowMs + yieldMs;
    return true;
  }

  /** True if something critical that is new may leave now, or had better wait for the slot that is due soon. */
  criticalMayBegin(nowMs: number): boolean {
    return !this.areScarce(nowMs) || nowMs >= this.#criticalSlotMs;
  }

  get #criticalSlotMs(): number {
    return this.#lastMs + Math.min(this.#paceMs, criticalPatienceMs);
  }

  /** True if critical messages leave a slot to the rest that is under way. */
  criticalYields(nowMs: number): boolean {
    return nowMs < this.#yieldUntilMs;
  }

  /** The times at which something of this may change. */
  *changesAtMs(): Iterable<number> {
    yield this.#lastMs + this.#paceMs;
    yield this.#criticalSlotMs;
    yield this.#yieldUntilMs;
    yield this.#scarceUntilMs;
    if (this.#backSinceMs !== null) yield this.#backSinceMs + restPatienceMs;
  }

  areScarce(nowMs: number): boolean {
    return nowMs < this.#scarceUntilMs;
  }
}
