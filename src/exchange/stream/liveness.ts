/**
 * Checks two properties of a silent connection separately: the link and the data.
 *
 *   link   nothing received for 20 s ─► ping ─► nothing received for 10 s more ─► dead
 *   data   no message of any channel for a minute ─► quiet, and again every minute
 *
 * A pong shows only the link: a socket that answers pings without data may be half-open. Only the other access to the
 * exchange shows if quiet is an error, since markets do not always move.
 */
import type { Clock } from "../../domain/clock.ts";

export interface LivenessLimits {
  /** Time without any frame after which a ping is sent, ms. */
  readonly pingAfterMs: number;
  /** Maximum wait for the answer to the ping, ms. */
  readonly answerMs: number;
  /** Time without data after which it is quiet, ms. */
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
  #frameMs = 0;
  #dataMs = 0;
  #quietFromMs = 0;
  #pingedMs: number | null = null;
  #cancel: (() => void) | null = null;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#limits = options.limits ?? livenessLimits;
  }

  start(): void {
    this.#frameMs = this.#dataMs = this.#quietFromMs = this.#options.clock.elapsedMs();
    this.#pingedMs = null;
    this.#plan();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  /** Notes any received frame. Called for every frame, so it only stores the time: the timer checks it when due. */
  frameReceived(): void {
    this.#frameMs = this.#options.clock.elapsedMs();
    this.#pingedMs = null;
  }

  /** Notes a message of a channel. */
  dataReceived(): void {
    this.#dataMs = this.#quietFromMs = this.#options.clock.elapsedMs();
  }

  /** Time since the last message of a channel, or the start, ms. */
  get quietMs(): number {
    return this.#options.clock.elapsedMs() - this.#dataMs;
  }

  #plan(): void {
    const { clock } = this.#options;
    const { pingAfterMs, answerMs, quietMs } = this.#limits;
    const linkMs = this.#pingedMs === null ? this.#frameMs + pingAfterMs : this.#pingedMs + answerMs;
    const dueMs = Math.min(linkMs, this.#quietFromMs + quietMs);
    this.#cancel = clock.after(Math.max(0, dueMs - clock.elapsedMs()), () => this.#check());
  }

  #check(): void {
    const { clock, ping, onDead, onQuiet } = this.#options;
    const { pingAfterMs, answerMs, quietMs } = this.#limits;
    const now = clock.elapsedMs();
    if (this.#pingedMs !== null && now - this.#pingedMs >= answerMs) {
      this.#cancel = null;
      onDead();
      return;
    }
    if (this.#pingedMs === null && now - this.#frameMs >= pingAfterMs) {
      this.#pingedMs = now;
      ping();
    }
    if (now - this.#quietFromMs >= quietMs) {
      this.#quietFromMs = now;
      onQuiet();
      // The callback may have ended this.
      if (this.#cancel === null) return;
    }
    this.#plan();
  }
}
