/**
 * Time in which the daemon ran no code although nobody stopped it: its machine slept, or its process was paused. Timers and
 * monotonic time know nothing of a sleep; that the machine's clock was set looks the same, until an answer of the exchange tells
 * them apart: it moves the daemon's time after a sleep alone.
 */
import type { Clock } from "../domain/clock.ts";

/** A shorter time is a delay, not a gap. */
const leastMs = 60_000;
/** A jump of the machine's clock that the exchange did not confirm by then, ms, was none of the time. */
const confirmedWithinMs = 3_600_000;

interface Moment {
  /** By the daemon's time, which follows the exchange's. */
  readonly atMs: number;
  readonly elapsedMs: number;
  readonly wallMs: number;
}

export class LostTime {
  readonly #machine: Clock;
  readonly #clock: Clock;
  #last: Moment;
  /** The moment before a jump of the machine's clock. */
  #jumpedAfter: Moment | null = null;

  /** @param clock the daemon's */
  constructor(machine: Clock, clock: Clock) {
    this.#machine = machine;
    this.#clock = clock;
    this.#last = this.#moment();
  }

  /** To be called each second. @returns when time was lost, by the daemon's clock, ms: from the last moment before it; null: it was not */
  look(): number | null {
    const [before, now] = [this.#last, this.#moment()];
    this.#last = now;
    const ranMs = now.elapsedMs - before.elapsedMs;
    if (ranMs >= leastMs) return before.atMs;
    if (now.wallMs - before.wallMs - ranMs >= leastMs) this.#jumpedAfter ??= before;
    const jumped = this.#jumpedAfter;
    if (jumped === null) return null;
    const sinceMs = now.elapsedMs - jumped.elapsedMs;
    const isLost = now.atMs - jumped.atMs - sinceMs >= leastMs;
    if (isLost || sinceMs > confirmedWithinMs) this.#jumpedAfter = null;
    return isLost ? jumped.atMs : null;
  }

  #moment(): Moment {
    const [atMs, elapsedMs, wallMs] = [this.#clock.nowMs(), this.#machine.elapsedMs(), this.#machine.nowMs()];
    return { atMs, elapsedMs, wallMs };
  }
}
