/**
 * Figures from candles that the statistics do not contain: the price on other venues, and the volatility of the mark.
 */
import type { Candle } from "../../contract/index.ts";

const DAY_MS = 86_400_000;
/** Minimum steps for a volatility. */
const minSteps = 24;

/**
 * Returns the median of the newest closes of other venues (the mean of the middle two): one stale or wrong venue does
 * not move it.
 * @returns USD; null: these candles name no other venue
 */
export function externalPriceOf(candles: readonly Candle[]): number | null {
  const newest = new Map<string, Candle>();
  for (const candle of candles) {
    if (!ofAnotherVenue(candle) || !(candle.close > 0)) continue;
    const venue = candle.externalSource ?? "";
    const known = newest.get(venue);
    if (!known || candle.time >= known.time) newest.set(venue, candle);
  }
  const closes = [...newest.values()].map((candle) => candle.close).sort((a, b) => a - b);
  if (closes.length === 0) return null;
  const half = closes.length >> 1;
  return closes.length % 2 === 1 ? closes[half]! : (closes[half - 1]! + closes[half]!) / 2;
}

/**
 * Returns the daily volatility of the mark: the square root of its squared log returns, from candle to candle, scaled
 * to a day. The mean is taken as 0, as over so short a time it is noise; an hour without a candle makes a longer step.
 * The unfinished candle and those of other venues are left out.
 * @param frameMs length of a candle
 * @returns a fraction (0.04: one standard deviation of a day's move is 4 %); null: too few candles
 */
export function dailyVolatilityOf(candles: readonly Candle[], frameMs: number, nowMs: number): number | null {
  const closes = new Map<number, number>();
  for (const candle of candles) {
    const close = candle.markClose ?? candle.close;
    if (!ofAnotherVenue(candle) && close > 0 && candle.time + frameMs <= nowMs)
      closes.set(candle.time, close);
  }
  const steps = [...closes].sort(([a], [b]) => a - b);
  if (steps.length <= minSteps) return null;
  let squares = 0;
  for (let i = 1; i < steps.length; i++) squares += Math.log(steps[i]![1] / steps[i - 1]![1]) ** 2;
  const spanMs = steps.at(-1)![0] - steps[0]![0];
  return Math.sqrt((squares * DAY_MS) / spanMs);
}

function ofAnotherVenue({ externalSource, isExternal }: Candle): boolean {
  return isExternal === true || (externalSource !== null && externalSource !== "");
}
