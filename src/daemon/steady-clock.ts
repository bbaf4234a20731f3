/**
 * The daemon's time: the machine's, corrected to the exchange's. It never goes back, because windows, `for` and
 * staleness use it, and it never stops: while it is ahead (a fast machine clock before the exchange's first answer), it
 * runs at half speed until the corrected time has caught up. Times are whole milliseconds, which database keys and
 * button ids rely on.
 */
import type { Clock } from "../domain/clock.ts";

/** `agreedOffsetMs`: the machine's clock minus the exchange's, as far as it is known. */
interface Time {
  readonly agreedOffsetMs: number;
}

export interface SteadyClock extends Clock {
  /** Corrects the machine's time by this offset from now on. */
  follow(time: Time): void;
}

export function steadyClock(machine: Clock): SteadyClock {
  let time: Time = { agreedOffsetMs: 0 };
  let elapsedMs = machine.elapsedMs();
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    follow(other) {
      time = other;
    },
    nowMs() {
      const nowElapsedMs = machine.elapsedMs();
      const ranMs = nowElapsedMs - elapsedMs;
      elapsedMs = nowElapsedMs;
      lastMs = Math.max(machine.nowMs() - time.agreedOffsetMs, lastMs + ranMs / 2);
      return Math.floor(lastMs);
    },
    elapsedMs: () => machine.elapsedMs(),
    sleep: (ms, signal) => machine.sleep(ms, signal),
    after: (ms, run) => machine.after(ms, run),
  };
}
