/**
 * Detects time in which the daemon ran no code although it was not stopped: its machine slept, or its process was
 * paused. Timers and monotonic time do not advance during a sleep. A changed machine clock looks the same until the
 * next answer of the exchange, which advances the daemon's time only after a sleep.
 */
import type { Clock } from "../domain/clock.ts";

/** A shorter time is a delay, not a gap. */
const minLostMs = 60_000;
/** A jump of the machine's clock that the exchange does not confirm within this time was a clock change, ms. */
const confirmedWithinMs = 3_600_000;

interface Moment {
  /** In the daemon's time, which follows the exchange's. */
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

  /**
   * Call it each second.
   * @returns the beginning of the lost time, in the daemon's time, ms; null: no time was lost
   */
  check(): number | null {
    const [before, now] = [this.#last, this.#moment()];
    this.#last = now;
    const ranMs = now.elapsedMs - before.elapsedMs;
    if (ranMs >= minLostMs) return before.atMs;
    if (now.wallMs - before.wallMs - ranMs >= minLostMs) this.#jumpedAfter ??= before;
    const jumped = this.#jumpedAfter;
    if (jumped === null) return null;
    const sinceMs = now.elapsedMs - jumped.elapsedMs;
    const isLost = now.atMs - jumped.atMs - sinceMs >= minLostMs;
    if (isLost || sinceMs > confirmedWithinMs) this.#jumpedAfter = null;
    return isLost ? jumped.atMs : null;
  }

  #moment(): Moment {
    const [atMs, elapsedMs, wallMs] = [this.#clock.nowMs(), this.#machine.elapsedMs(), this.#machine.nowMs()];
    return { atMs, elapsedMs, wallMs };
  }
}
