/**
 * Turns many small changes into few observations: what comes is noted at once and handed on a moment later, all of it
 * together, the first at once and then at most four times a second. Where judging takes long the pauses are four times as
 * long, up to two seconds, so that polls have their share; what is noted meanwhile replaces what was noted before.
 */
import type { Clock } from "../domain/clock.ts";

const SHORTEST_MS = 250;
const LONGEST_MS = 2_000;
const TIMES_THE_COST = 4;

export class Coalescer {
  readonly #clock: Clock;
  readonly #handOn: () => Promise<void>;
  #cancel: (() => void) | null = null;
  #under: Promise<void> | null = null;
  #running = false;
  #again = false;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #stopped = false;

  /** @param handOn takes everything that is noted, and resolves when it is judged and stored */
  constructor(clock: Clock, handOn: () => Promise<void>) {
    this.#clock = clock;
    this.#handOn = handOn;
  }

  /** Something was noted. */
  noted(): void {
    if (this.#running) this.#again = true;
    else if (!this.#cancel && !this.#stopped) {
      const waitMs = Math.max(0, this.#notBeforeMs - this.#clock.elapsedMs());
      this.#cancel = this.#clock.after(waitMs, () => {
        this.#cancel = null;
        this.#under = this.#run();
      });
    }
  }

  /** Nothing is handed on any more; resolves when what is being handed on is stored. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    this.#cancel = null;
    await this.#under;
  }

  async #run(): Promise<void> {
    const startMs = this.#clock.elapsedMs();
    this.#again = false;
    this.#running = true;
    try {
      await this.#handOn();
    } finally {
      const endMs = this.#clock.elapsedMs();
      const pauseMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, TIMES_THE_COST * (endMs - startMs)));
      this.#notBeforeMs = endMs + pauseMs;
      this.#running = false;
      if (this.#again) this.noted();
    }
  }
}
