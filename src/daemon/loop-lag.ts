/** Measures the delay of timers in this process, which shows a stalled event loop. */
import type { Clock } from "../domain/clock.ts";

const everyMs = 500;
/** Number of samples over which the maximum is reported. */
const maxSamples = 20;

export class LoopLag {
  readonly #clock: Clock;
  readonly #lags: number[] = [];
  #cancel: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The maximum lag of the last ten seconds, ms. */
  get worstMs(): number {
    return Math.max(0, ...this.#lags);
  }

  start(): void {
    const dueMs = this.#clock.elapsedMs() + everyMs;
    this.#cancel = this.#clock.after(everyMs, () => {
      this.#lags.push(Math.max(0, this.#clock.elapsedMs() - dueMs));
      if (this.#lags.length > maxSamples) this.#lags.shift();
      this.start();
    });
  }

  stop(): void {
    this.#cancel?.();
  }
}
