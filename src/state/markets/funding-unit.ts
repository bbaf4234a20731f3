/**
 * The unit of the funding rates in market statistics, which the exchange does not state: a fraction per hour or percent per
 * hour. It is determined by comparison with the funding history, whose unit is stated: a market's running rate has about the
 * size of its last settled hour, and the two units differ by a factor of 100. One unit applies to all markets.
 */

import { z } from "zod";
import { FactKind } from "../../domain/stored/facts.ts";

export const fundingUnits = ["fraction", "percent"] as const;
export type FundingUnit = (typeof fundingUnits)[number];

/** A settled rate closer to 0 than this (a fraction per hour) is not compared. */
const minSettledRate = 1e-6;
/** Minimum number of markets to compare, if the exchange lists that many. */
const minCompared = 3;
/** Powers of ten between stated and settled rate: 0 for a fraction, 2 for percent; between the two limits it is undecided. */
const maxForFraction = 0.7;
const minForPercent = 1.3;

/**
 * Time for which the comparison has to contradict a unit before the unit changes, ms. The rates of all markets may rise by a
 * factor of 100 within an hour, and are compared with those of that hour only after it was settled.
 */
const contradictedForMs = 3 * 3_600_000;

export interface ComparedRates {
  /** As stated in the statistics; null: not read. */
  readonly stated: number | null;
  /** The rate of the last settled hour, a fraction; null: not read. */
  readonly settled: number | null;
  /** The highest rate that the market allows, a fraction per hour; null: not known. */
  readonly cap: number | null;
}

export interface Comparison {
  readonly unit: FundingUnit | null;
  /** Number of markets that could be compared. */
  readonly compared: number;
  /** True if that number is enough to determine the unit. */
  readonly enough: boolean;
}

/** Returns the running rate as a fraction per hour. */
export function inFraction(stated: number, unit: FundingUnit): number {
  return unit === "percent" ? stated / 100 : stated;
}

/**
 * Compares all markets at once by the median of their ratios.
 * @param known the present unit; half of the markets have to contradict it
 */
export function decideFundingUnit(markets: readonly ComparedRates[], known: FundingUnit | null): Comparison {
  const powers = markets.flatMap((market) => powerOf(market) ?? []).sort((a, b) => a - b);
  const compared = powers.length;
  const needed =
    known === null ? Math.min(minCompared, markets.length) : Math.max(minCompared, markets.length / 2);
  if (compared === 0 || compared < needed) return { unit: known, compared, enough: false };
  const median = (powers[(compared - 1) >> 1]! + powers[compared >> 1]!) / 2;
  if (median <= maxForFraction) return { unit: "fraction", compared, enough: true };
  return { unit: median >= minForPercent ? "percent" : known, compared, enough: true };
}

/** Powers of ten from the settled to the stated rate; null if they cannot be compared. */
function powerOf({ stated, settled, cap }: ComparedRates): number | null {
  if (stated === null || stated === 0) return null;
  // A fraction above the cap is impossible.
  if (cap !== null && cap > 0 && Math.abs(stated) > cap * 1.01) return 2;
  if (settled === null || Math.abs(settled) < minSettledRate) return null;
  return Math.log10(Math.abs(stated / settled));
}

/** The unit, then the time since which it is contradicted, ms. The owner is `exchange`. */
export const fundingUnitFact = new FactKind(
  "fundingUnit",
  z.string().regex(new RegExp(`^(${fundingUnits.join("|")})?( \\d+)?$`)),
  "text",
);

/** The unit in use, stored over restarts. */
export class TakenUnit {
  #unit: FundingUnit | null = null;
  /** Time since which the comparison contradicts the unit, ms; null: it does not. */
  #contradictedMs: number | null = null;

  /** @param kept as returned by `toKeep`; null: none */
  constructor(kept: string | null) {
    const [unit, sinceMs] = kept?.split(" ") ?? [];
    this.#unit = fundingUnits.find((one) => one === unit) ?? null;
    if (sinceMs !== undefined && this.#unit !== null) this.#contradictedMs = Number(sinceMs);
  }

  get unit(): FundingUnit | null {
    return this.#unit;
  }

  /** Takes the result of a comparison. @returns true if the value to store changed */
  compared({ unit, enough }: Comparison, atMs: number): boolean {
    if (!enough) return false;
    const before = this.toKeep();
    if (unit === null || unit === this.#unit) this.#contradictedMs = null;
    else if (this.#unit !== null && atMs - (this.#contradictedMs ?? atMs) < contradictedForMs)
      this.#contradictedMs ??= atMs;
    else {
      this.#unit = unit;
      this.#contradictedMs = null;
    }
    return this.toKeep() !== before;
  }

  /** Returns the value to store: the unit, and the time since which it is contradicted. */
  toKeep(): string {
    const unit = this.#unit ?? "";
    return this.#contradictedMs === null ? unit : `${unit} ${this.#contradictedMs}`;
  }
}
