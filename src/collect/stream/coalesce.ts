/**
 * Combines small changes into fewer observations. A change after the pause is passed on in the same turn of the event
 * loop, without a timer. After each of these there is a pause of four times its duration, at least 10 ms and at most
 * two seconds, so that polls keep their share of the process. Changes during the pause are passed on together at its
 * end.
 */
import type { Clock } from "../../domain/clock.ts";

const MIN_PAUSE_MS = 10;
const MAX_PAUSE_MS = 2_000;
const PAUSE_PER_COST = 4;

export class Coalescer {
  readonly #clock: Clock;
  readonly #passOn: () => Promise<void>;
  #cancel: (() => void) | null = null;
  #under: Promise<void> | null = null;
  #running = false;
  #again = false;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #stopped = false;

  /** @param passOn passes on all waiting changes, and resolves when they are judged and stored */
  constructor(clock: Clock, passOn: () => Promise<void>) {
    this.#clock = clock;
    this.#passOn = passOn;
  }

  /** Notes a change. */
  changed(): void {
    if (this.#running) this.#again = true;
    else if (!this.#cancel && !this.#stopped) {
      const waitMs = this.#notBeforeMs - this.#clock.elapsedMs();
      if (waitMs > 0) this.#cancel = this.#clock.after(waitMs, () => this.#begin());
      else {
        this.#cancel = () => {};
        queueMicrotask(() => this.#begin());
      }
    }
  }

  #begin(): void {
    this.#cancel = null;
    if (!this.#stopped) this.#under = this.#run();
  }

  /** Stops; resolves when the changes that are being passed on are stored. */
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
      await this.#passOn();
    } finally {
      const endMs = this.#clock.elapsedMs();
      const pauseMs = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, PAUSE_PER_COST * (endMs - startMs)));
      this.#notBeforeMs = endMs + pauseMs;
      this.#running = false;
      if (this.#again) this.changed();
    }
  }
}
