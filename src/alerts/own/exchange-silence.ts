/** Silence of the exchange: no read succeeds, and the stream delivers nothing. */

import type { Observation } from "../../domain/observation.ts";
import type { Source } from "../../domain/sources.ts";
import { noDataForMs } from "../patience.ts";
import type { NoDataText } from "./no-data-text.ts";

/** Number of read schedules without an answer that count as silence of the exchange. */
export const silentSchedules = 3;

export class ExchangeSilence {
  /** The start of watching, ms; a reload does not change it. */
  readonly #startedMs: number;
  readonly #afterMs: number;
  /** The time of the last successful read, ms; null: none since the start. */
  #answeredMs: number | null = null;
  /** The time of the first successful read after a silence, ms. */
  #endedMs = Number.NEGATIVE_INFINITY;

  /** @param before the state of the watch that is replaced at a reload */
  constructor(
    startedMs: number,
    scheduleMs: Readonly<Record<Source, number>>,
    before: ExchangeSilence | undefined,
  ) {
    this.#startedMs = startedMs;
    if (before) {
      this.#answeredMs = before.#answeredMs;
      this.#endedMs = before.#endedMs;
    }
    // Due as soon as the most frequently read source is missing.
    this.#afterMs = noDataForMs + silentSchedules * Math.min(scheduleMs.traderState, scheduleMs.markets);
  }

  /** The time from which the exchange counts as silent if nothing is answered, ms. */
  get fromMs(): number {
    return (this.#answeredMs ?? this.#startedMs) + this.#afterMs;
  }

  /** The time since the last answer, ms; infinite: none since the start. */
  unansweredMs(nowMs: number): number {
    return nowMs - (this.#answeredMs ?? Number.NEGATIVE_INFINITY);
  }

  /** Called when a read of the exchange succeeded, or its stream delivered something. */
  answered(atMs: number): void {
    if (this.isSilent(atMs)) this.#endedMs = atMs;
    this.#answeredMs = atMs;
  }

  isSilent(nowMs: number): boolean {
    return nowMs - (this.#answeredMs ?? this.#startedMs) > this.#afterMs;
  }

  /** Returns true if the last silence ended so recently that it may have been interrupted by single answers. */
  endedJustNow(nowMs: number): boolean {
    return nowMs - this.#endedMs <= this.#afterMs;
  }

  /** Returns the silence for texts; null: it is not silent. */
  at(nowMs: number): NoDataText["silence"] {
    return this.isSilent(nowMs) ? { sinceMs: this.#answeredMs } : null;
  }
}

/** Returns true for an observation with data from the exchange or its stream. */
export function bringsData(observation: Observation): boolean {
  switch (observation.kind) {
    case "accounts":
    case "prices":
    case "marketConfig":
    case "collateralAssets":
    case "fundingRate":
    case "depth":
    case "external":
    case "exchangeStatus":
    case "traderView":
    case "portfolio":
    case "events":
    case "backfill":
      return true;
    case "calendar":
      // After a reload a market without a calendar is reported as such without a request.
      return observation.nextTransitionMs !== null;
    case "figures":
      return observation.given.some(({ owner }) => owner !== "daemon");
    default:
      return false;
  }
}
