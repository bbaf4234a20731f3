/** The pace of a wallet's renewals: the back-off after failures, and the maximum number after refusals in a minute. */
import type { Clock, Random } from "../../domain/clock.ts";
import type { ExchangeError } from "../errors.ts";
import { isRefusal } from "./sign-in-errors.ts";

const firstBackOffMs = 1_000;
const maxBackOffMs = 60_000;
const maxRecoveries = 6;
const recoveriesMs = 60_000;

export class RenewalPace {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #random: Random;
  #failures = 0;
  /** The earliest start of a renewal, monotonic ms. */
  #notBeforeMs = 0;
  /** The earliest start even if the exchange answers: set by refusals and requested waits, monotonic ms. */
  #heldUntilMs = 0;
  #recoveriesMs: number[] = [];

  constructor(clock: Pick<Clock, "elapsedMs">, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** The earliest start of a renewal, monotonic ms. */
  get notBeforeMs(): number {
    return this.#notBeforeMs;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** Ends the wait: the next renewal starts at once. */
  hurry(): void {
    this.#notBeforeMs = this.#heldUntilMs = 0;
  }

  /** The exchange answers again: the next renewal starts within this time, ms. @returns false if it was due earlier */
  endEarly(withinMs: number): boolean {
    const soonMs = Math.max(this.#clock.elapsedMs() + this.#random() * withinMs, this.#heldUntilMs);
    if (soonMs >= this.#notBeforeMs) return false;
    this.#notBeforeMs = soonMs;
    return true;
  }

  /** @param isSigners the signer failed, not the exchange: the wait ends when the signer is back */
  backOff(error: ExchangeError, isSigners = false): void {
    const jitter = 0.85 + 0.3 * this.#random();
    const delayMs = Math.min(maxBackOffMs, firstBackOffMs * 2 ** this.#failures) * jitter;
    this.#failures = Math.min(this.#failures + 1, 16);
    const askedMs = Math.min(maxBackOffMs, error.retryAfterMs ?? 0);
    const waitMs = Math.max(delayMs, askedMs);
    this.#wait(waitMs, isRefusal(error) && !isSigners ? waitMs : askedMs, this.#clock.elapsedMs());
  }

  /** Limits renewals in a minute: refusals that alternate with successes would renew endlessly. */
  holdRecoveries(): void {
    const nowMs = this.#clock.elapsedMs();
    this.#recoveriesMs = [...this.#recoveriesMs.filter((ms) => ms > nowMs - recoveriesMs), nowMs];
    const first = this.#recoveriesMs.at(-1 - maxRecoveries);
    if (first !== undefined) this.#wait(recoveriesMs, recoveriesMs, first);
  }

  /** @param heldMs the part that nothing shortens, ms */
  #wait(ms: number, heldMs: number, fromMs: number): void {
    this.#notBeforeMs = Math.max(this.#notBeforeMs, fromMs + ms);
    this.#heldUntilMs = Math.max(this.#heldUntilMs, fromMs + heldMs);
  }
}
