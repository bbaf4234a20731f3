/** Counts the exchange's refusals of one wallet: access tokens, refreshes and sign-ins. */
import type { Clock } from "../../domain/clock.ts";
import type { SessionFigures } from "./session-parts.ts";

/** Maximum time between refusals that belong together, ms. */
const refusalsApartMs = 900_000;
/** Time within which one lost session causes up to three refusals, of its token, its refresh and a sign-in, ms. */
const oneLossMs = 60_000;

export class AuthRefusals {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #figures: SessionFigures;
  /** The last counted refusal, monotonic ms. */
  #lastMs = Number.NEGATIVE_INFINITY;
  #firstMs = 0;

  constructor(clock: Pick<Clock, "elapsedMs">, figures: SessionFigures) {
    this.#clock = clock;
    this.#figures = figures;
  }

  /** Returns true if something was refused within this time, ms. */
  within(ms: number): boolean {
    return this.#clock.elapsedMs() - this.#lastMs <= ms;
  }

  note(): void {
    const nowMs = this.#clock.elapsedMs();
    this.#figures.authFailures++;
    if (nowMs - this.#lastMs > refusalsApartMs) this.#firstMs = nowMs;
    this.#lastMs = nowMs;
    if (nowMs - this.#firstMs > oneLossMs) this.#figures.repeatedAuthFailures++;
  }
}
