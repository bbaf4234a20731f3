/**
 * The daemon's time: the machine's, corrected to the exchange's. It never goes back, since windows, `for` and staleness
 * run on it, and it never stands still either: where it turns out to be ahead (a clock that was fast until the first answer
 * of the exchange said so) it goes on at half its pace until the truth has caught up. Its times are whole milliseconds,
 * which database keys and the ids of buttons rely on.
 */
import type { Clock } from "../domain/clock.ts";

/** `agreedOffsetMs`: the machine's clock less the exchange's, as far as it is known. */
interface Time {
  readonly agreedOffsetMs: number;
}

export interface SteadyClock extends Clock {
  /** Corrects the machine's time by this from here on. */
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
