/**
 * Two questions about a connection that says nothing, kept apart: is anybody there, and does it still tell?
 *
 *   link   nothing heard for 20 s ─► ping ─► nothing heard for 10 s more ─► dead
 *   data   no message of any channel for a minute ─► quiet, and again every minute
 *
 * A pong answers the first and never the second: a socket that answers pings and tells nothing is half-open all the same.
 * Whether quiet is an error only the other way to the exchange can say, since markets do stand still.
 */
import type { Clock } from "../domain/clock.ts";

export interface LivenessLimits {
  /** Without anything heard, ms; then a ping. */
  readonly pingAfterMs: number;
  /** For an answer to the ping, ms. */
  readonly answerMs: number;
  /** Without data, ms. */
  readonly quietMs: number;
}

export const livenessLimits: LivenessLimits = { pingAfterMs: 20_000, answerMs: 10_000, quietMs: 60_000 };

export interface LivenessOptions {
  readonly clock: Clock;
  readonly limits?: LivenessLimits;
  readonly ping: () => void;
  readonly onDead: () => void;
  readonly onQuiet: () => void;
}

export class Liveness {
  readonly #options: LivenessOptions;
  readonly #limits: LivenessLimits;
  #heardMs = 0;
  #toldMs = 0;
  #quietFromMs = 0;
  #pingedMs: number | null = null;
  #cancel: (() => void) | null = null;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#limits = options.limits ?? livenessLimits;
  }

  start(): void {
    this.#heardMs = this.#toldMs = this.#quietFromMs = this.#options.clock.elapsedMs();
    this.#pingedMs = null;
    this.#plan();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  /** Anything was heard. Called for every frame, so it only notes the moment: the timer looks when it is due. */
  heard(): void {
    this.#heardMs = this.#options.clock.elapsedMs();
    this.#pingedMs = null;
  }

  /** A message of a channel was heard. */
  told(): void {
    this.#toldMs = this.#quietFromMs = this.#options.clock.elapsedMs();
  }

  /** Since the last message of a channel, or the start, ms. */
  get quietMs(): number {
    return this.#options.clock.elapsedMs() - this.#toldMs;
  }

  #plan(): void {
    const { clock } = this.#options;
    const { pingAfterMs, answerMs, quietMs } = this.#limits;
    const linkMs = this.#pingedMs === null ? this.#heardMs + pingAfterMs : this.#pingedMs + answerMs;
    const dueMs = Math.min(linkMs, this.#quietFromMs + quietMs);
    this.#cancel = clock.after(Math.max(0, dueMs - clock.elapsedMs()), () => this.#look());
  }

  #look(): void {
    const { clock, ping, onDead, onQuiet } = this.#options;
    const { pingAfterMs, answerMs, quietMs } = this.#limits;
    const now = clock.elapsedMs();
    if (this.#pingedMs !== null && now - this.#pingedMs >= answerMs) {
      this.#cancel = null;
      onDead();
      return;
    }
    if (this.#pingedMs === null && now - this.#heardMs >= pingAfterMs) {
      this.#pingedMs = now;
      ping();
    }
    if (now - this.#quietFromMs >= quietMs) {
      this.#quietFromMs = now;
      onQuiet();
      // Whoever was told may have ended this.
      if (this.#cancel === null) return;
    }
    this.#plan();
  }
}
