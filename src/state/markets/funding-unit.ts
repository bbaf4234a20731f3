/**
 * The unit of the funding rates in market statistics, which the exchange does not state: a fraction an hour or percent an
 * hour. It is decided by comparison with the funding history, whose unit is stated: a market's running rate is of the
 * size of its last settled hour, and the two units are a factor of 100 apart. One unit holds for all markets.
 */

import { z } from "zod";
import { FactKind } from "../../domain/facts.ts";

export const fundingUnits = ["fraction", "percent"] as const;
export type FundingUnit = (typeof fundingUnits)[number];

/** A settled rate closer to 0 than this (a fraction an hour) has no size that could be compared. */
const minSettledRate = 1e-6;
/** Markets that have to be compared, where the exchange lists that many. */
const minCompared = 3;
/** Powers of ten between stated and settled rate: 0 for a fraction, 2 for percent; not decided between these two. */
const maxForFraction = 0.7;
const minForPercent = 1.3;

/**
 * A decided unit changes once the comparison has contradicted it for so long: rates of all markets may rise by a factor of
 * 100 within an hour, and are compared with those of that hour only after it settled, ms.
 */
const contradictedForMs = 3 * 3_600_000;

export interface ComparedRates {
  /** As the statistics state it; null: not read. */
  readonly stated: number | null;
  /** The rate of the last settled hour, a fraction; null: not read. */
  readonly settled: number | null;
  /** The highest rate that the market allows, a fraction an hour; null: not known. */
  readonly cap: number | null;
}

export interface Comparison {
  readonly unit: FundingUnit | null;
  /** Number of markets that could be compared. */
  readonly compared: number;
  /** They are enough to decide by. */
  readonly enough: boolean;
}

/** Returns the running rate as a fraction an hour. */
export function inFraction(stated: number, unit: FundingUnit): number {
  return unit === "percent" ? stated / 100 : stated;
}

/**
 * Compares all markets at once: the median of their ratios decides.
 * @param known decided before; it takes half of the markets to change it
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

/** Powers of ten from the settled to the stated rate; null where they cannot be compared. */
function powerOf({ stated, settled, cap }: ComparedRates): number | null {
  if (stated === null || stated === 0) return null;
  // A fraction above the cap cannot be.
  if (cap !== null && cap > 0 && Math.abs(stated) > cap * 1.01) return 2;
  if (settled === null || Math.abs(settled) < minSettledRate) return null;
  return Math.log10(Math.abs(stated / settled));
}

/** The unit, then since when it is contradicted, ms; the owner is `exchange`. */
export const fundingUnitFact = new FactKind(
  "fundingUnit",
  z.string().regex(new RegExp(`^(${fundingUnits.join("|")})?( \\d+)?$`)),
  "text",
);

/** The unit that rates are taken in, kept over restarts. */
export class TakenUnit {
  #unit: FundingUnit | null = null;
  /** Since when the comparison contradicts the unit, ms; null: it does not. */
  #contradictedMs: number | null = null;

  /** @param kept what `toKeep` gave; null: none */
  constructor(kept: string | null) {
    const [unit, sinceMs] = kept?.split(" ") ?? [];
    this.#unit = fundingUnits.find((one) => one === unit) ?? null;
    if (sinceMs !== undefined && this.#unit !== null) this.#contradictedMs = Number(sinceMs);
  }

  get unit(): FundingUnit | null {
    return this.#unit;
  }

  /** Takes the result of a comparison. @returns true if what is to be kept changed */
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

  /** The unit, and since when it is contradicted. */
  toKeep(): string {
    const unit = this.#unit ?? "";
    return this.#contradictedMs === null ? unit : `${unit} ${this.#contradictedMs}`;
  }
}
