/** The delay of timers in this process: a stalled event loop shows here before anything else does. */
import type { Clock } from "../domain/clock.ts";

const everyMs = 500;
/** The worst of this long is what is told. */
const rememberedRounds = 20;

export class LoopLag {
  readonly #clock: Clock;
  readonly #lags: number[] = [];
  #cancel: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The worst lag of the last ten seconds, ms. */
  get worstMs(): number {
    return Math.max(0, ...this.#lags);
  }

  start(): void {
    const dueMs = this.#clock.elapsedMs() + everyMs;
    this.#cancel = this.#clock.after(everyMs, () => {
      this.#lags.push(Math.max(0, this.#clock.elapsedMs() - dueMs));
      if (this.#lags.length > rememberedRounds) this.#lags.shift();
      this.start();
    });
  }

  stop(): void {
    this.#cancel?.();
  }
}
