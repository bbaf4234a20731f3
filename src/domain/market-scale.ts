/**
 * Conversions between a market's integers and human numbers, in doubles. `baseLotsDecimals` may be negative: −2 means
 * that one base lot is 100 units. Each power of ten is applied as a product or quotient of a whole power, so that a
 * result is rounded once where the integers fit a double.
 */

export interface MarketScale {
  /** Quote lots per base lot and tick. */
  readonly tickSize: number;
  /** One unit of the base asset is 10^baseLotsDecimals base lots. */
  readonly baseLotsDecimals: number;
}

type LotScale = Pick<MarketScale, "baseLotsDecimals">;
type Int = number | bigint;

const quoteLotsPerUsd = 1e6;

/** 10^0 … 10^22, the powers that a double holds exactly; looked up because every price needs one. */
const powersOfTen = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/** Returns value × 10^exponent. */
export function timesPowerOfTen(value: number, exponent: number): number {
  return exponent < 0
    ? value / (powersOfTen[-exponent] ?? 10 ** -exponent)
    : value * (powersOfTen[exponent] ?? 10 ** exponent);
}

/** Returns the tick nearest to a price in USD; NaN for a price that is not a number. */
export function ticksFromUsd(priceUsd: number, { tickSize, baseLotsDecimals }: MarketScale): number {
  const quoteLots = priceUsd * quoteLotsPerUsd;
  return baseLotsDecimals < 0
    ? Math.round(timesPowerOfTen(quoteLots, -baseLotsDecimals) / tickSize)
    : Math.round(quoteLots / timesPowerOfTen(tickSize, baseLotsDecimals));
}

/** Returns a price in USD per unit. */
export function usdFromTicks(ticks: Int, { tickSize, baseLotsDecimals }: MarketScale): number {
  return timesPowerOfTen(Number(ticks) * tickSize, baseLotsDecimals - 6);
}

/** Returns the average entry price, |virtual quote| / |size|, in USD per unit. */
export function entryPriceUsd(baseLots: Int, virtualQuoteLots: Int, { baseLotsDecimals }: LotScale): number {
  const perLot = Math.abs(Number(virtualQuoteLots) / Number(baseLots));
  return timesPowerOfTen(perLot, baseLotsDecimals - 6);
}

export function unitsFromBaseLots(baseLots: Int, { baseLotsDecimals }: LotScale): number {
  return timesPowerOfTen(Number(baseLots), -baseLotsDecimals);
}

/** Returns the base lot nearest to a size in units of the asset. */
export function baseLotsFromUnits(units: number, { baseLotsDecimals }: LotScale): number {
  return Math.round(timesPowerOfTen(units, baseLotsDecimals));
}
