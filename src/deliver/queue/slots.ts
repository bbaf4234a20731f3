/**
 * Decides which message gets the next slot of a rate-limited channel. Times are monotonic ms.
 *
 * From the first "wait" until a while after the last one, slots are scarce: nothing is made into a message before the
 * next slot is due by the observed pace of the other side, since later items could not join it any more. Non-critical
 * messages yield to waiting critical ones, but only for a limited time: after that the next slot is theirs.
 */

/** Time after the end of the last wait for which slots count as scarce. */
const scarceForMs = 30_000;
/** Maximum time for which a critical message waits for a slot that is not due yet: the pace may be misjudged. */
const criticalPatienceMs = 2_000;
/** Maximum time for which non-critical messages yield. */
const restPatienceMs = 10_000;
/**
 * Time for which a critical message leaves the slot to a message that yielded for long, even while that has no answer.
 */
const yieldMs = 1_500;

export class Slots {
  #scarceUntilMs = Number.NEGATIVE_INFINITY;
  /** Since the last wait: the time of the first accepted message, and the number of accepted ones. */
  #firstMs = 0;
  #accepted = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #paceMs = 0;
  /** Time since which non-critical messages yield. */
  #backSinceMs: number | null = null;
  #yieldUntilMs = Number.NEGATIVE_INFINITY;

  /** Notes that the other side requested a wait until this time. */
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

  /** Returns true if non-critical messages yielded so long that the next slot is theirs. */
  restIsFirst(nowMs: number): boolean {
    return this.areScarce(nowMs) && nowMs >= (this.#backSinceMs ?? nowMs) + restPatienceMs;
  }

  /**
   * @param criticalLeaves true if a critical message is under way: the slot is taken
   * @param criticalWaits returns true if a critical message could leave
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

  /** Returns true if a new critical message may leave now, rather than wait for the slot that is due soon. */
  criticalMayBegin(nowMs: number): boolean {
    return !this.areScarce(nowMs) || nowMs >= this.#criticalSlotMs;
  }

  get #criticalSlotMs(): number {
    return this.#lastMs + Math.min(this.#paceMs, criticalPatienceMs);
  }

  /** Returns true if critical messages leave a slot to a non-critical one under way. */
  criticalYields(nowMs: number): boolean {
    return nowMs < this.#yieldUntilMs;
  }

  /** Yields the times at which one of these answers may change. */
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
