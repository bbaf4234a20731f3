/** Counts what the exchange refuses of one wallet: access tokens, refreshes and sign-ins. */
import type { Clock } from "../domain/clock.ts";
import type { SessionFigures } from "./session-parts.ts";

/** Refusals no further apart belong together, ms. */
const refusalsApartMs = 900_000;
/** One session that is lost costs up to three refusals, of its token, its refresh and a sign-in, within this time, ms. */
const oneLossMs = 60_000;

export class AuthRefusals {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #figures: SessionFigures;
  /** The last refusal that counts, monotonic ms. */
  #lastMs = Number.NEGATIVE_INFINITY;
  #firstMs = 0;

  constructor(clock: Pick<Clock, "elapsedMs">, figures: SessionFigures) {
    this.#clock = clock;
    this.#figures = figures;
  }

  /** Returns true if something was refused within so long, ms. */
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
