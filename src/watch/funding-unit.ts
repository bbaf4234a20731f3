/**
 * The unit of the funding rates in market statistics, which the exchange does not state: a fraction an hour or percent an
 * hour. It is decided by comparison with the funding history, whose unit is stated: a market's running rate is of the
 * size of its last settled hour, and the two units are a factor of 100 apart. One unit holds for all markets.
 */

export const fundingUnits = ["fraction", "percent"] as const;
export type FundingUnit = (typeof fundingUnits)[number];

/** A settled rate closer to 0 than this (a fraction an hour) has no size that could be compared. */
const minSettledRate = 1e-6;
/** Markets that have to be compared, where the exchange lists that many. */
const minCompared = 3;
/** Powers of ten between stated and settled rate: 0 for a fraction, 2 for percent; not decided between these two. */
const maxForFraction = 0.7;
const minForPercent = 1.3;

export interface ComparedRates {
  /** As the statistics state it; null: not read. */
  readonly stated: number | null;
  /** Of the last settled hour, a fraction; null: not read. */
  readonly settled: number | null;
  /** The highest rate that the market allows, a fraction an hour; null: not known. */
  readonly cap: number | null;
}

/** Returns the running rate as a fraction an hour. */
export function inFraction(stated: number, unit: FundingUnit): number {
  return unit === "percent" ? stated / 100 : stated;
}

/**
 * Compares all markets at once: the median of their ratios decides.
 * @param known decided before; it takes half of the markets to change it
 */
export function decideFundingUnit(
  markets: readonly ComparedRates[],
  known: FundingUnit | null,
): { readonly unit: FundingUnit | null; readonly compared: number } {
  const powers = markets.flatMap((market) => powerOf(market) ?? []).sort((a, b) => a - b);
  const compared = powers.length;
  const needed =
    known === null ? Math.min(minCompared, markets.length) : Math.max(minCompared, markets.length / 2);
  if (compared === 0 || compared < needed) return { unit: known, compared };
  const median = (powers[(compared - 1) >> 1]! + powers[compared >> 1]!) / 2;
  if (median <= maxForFraction) return { unit: "fraction", compared };
  return { unit: median >= minForPercent ? "percent" : known, compared };
}

/** Powers of ten from the settled to the stated rate; null where they cannot be compared. */
function powerOf({ stated, settled, cap }: ComparedRates): number | null {
  if (stated === null || stated === 0) return null;
  // A fraction above the cap cannot be.
  if (cap !== null && cap > 0 && Math.abs(stated) > cap * 1.01) return 2;
  if (settled === null || Math.abs(settled) < minSettledRate) return null;
  return Math.log10(Math.abs(stated / settled));
}
