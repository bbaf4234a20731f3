/** Conversions between the exchange's integers and human numbers. Doubles out: for ratios and display only. */

import type { Int, MarketRisk } from "./model.ts";

const quoteLotsPerUsd = 1e6;

type PriceScale = Pick<MarketRisk, "tickSize" | "baseLotsDecimals">;

const powersOfTen = Array.from({ length: 41 }, (_, i) => 10 ** (i - 20));

/** Looked up: it is asked for with every price. */
function powerOfTen(exponent: number): number {
  return powersOfTen[exponent + 20] ?? 10 ** exponent;
}

/** The nearest tick to a price in USD. NaN for a price that is none. */
export function ticksFromUsd(priceUsd: number, market: PriceScale): number {
  return Math.round((priceUsd * quoteLotsPerUsd) / (market.tickSize * powerOfTen(market.baseLotsDecimals)));
}

export function usdFromTicks(ticks: Int, market: PriceScale): number {
  return (Number(ticks) * market.tickSize * powerOfTen(market.baseLotsDecimals)) / quoteLotsPerUsd;
}

export function usdFromQuoteLots(quoteLots: Int): number {
  return Number(quoteLots) / quoteLotsPerUsd;
}

/** What a position was entered at, on average: |virtual quote| / |size|, in USD a unit. */
export function entryPriceUsd(
  baseLots: Int,
  virtualQuoteLots: Int,
  market: Pick<MarketRisk, "baseLotsDecimals">,
): number {
  const perLot = Math.abs(Number(virtualQuoteLots) / Number(baseLots));
  return (perLot * powerOfTen(market.baseLotsDecimals)) / quoteLotsPerUsd;
}

/** The nearest quote lot to an amount in USD. */
export function quoteLotsFromUsd(usd: number): number {
  return Math.round(usd * quoteLotsPerUsd);
}

export function unitsFromBaseLots(baseLots: Int, market: Pick<MarketRisk, "baseLotsDecimals">): number {
  return market.baseLotsDecimals >= 0
    ? Number(baseLots) / powerOfTen(market.baseLotsDecimals)
    : Number(baseLots) * powerOfTen(-market.baseLotsDecimals);
}

/** The nearest base lot to a size in units of the asset. */
export function baseLotsFromUnits(units: number, market: Pick<MarketRisk, "baseLotsDecimals">): number {
  return Math.round(units * 10 ** market.baseLotsDecimals);
}

/** Risk factors come as percents over HTTP; margin wants bps. */
export function bpsFromPercent(percent: number): number {
  return Math.round(percent * 100);
}

/** Reads an integer from the wire: a JSON integer, a decimal string of any length, or a bigint. NaN otherwise. */
export function intFrom(raw: unknown): Int {
  if (typeof raw === "number") return Number.isSafeInteger(raw) ? raw : Number.NaN;
  if (typeof raw === "bigint") return shrink(raw);
  if (typeof raw !== "string" || !/^-?\d+$/.test(raw)) return Number.NaN;
  const value = Number(raw);
  return Number.isSafeInteger(value) ? value + 0 : shrink(BigInt(raw));
}

/** A bigint as a number where that is exact. */
export function shrink(value: Int): Int {
  if (typeof value === "number") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
