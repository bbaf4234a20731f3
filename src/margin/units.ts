/** Conversions between the exchange's integers and display units. Results are doubles, for ratios and display only. */

import type { Int } from "./model.ts";

export {
  baseLotsFromUnits,
  entryPriceUsd,
  ticksFromUsd,
  unitsFromBaseLots,
  usdFromTicks,
} from "../domain/market-scale.ts";

const quoteLotsPerUsd = 1e6;

export function usdFromQuoteLots(quoteLots: Int): number {
  return Number(quoteLots) / quoteLotsPerUsd;
}

/** The quote lot nearest to an amount in USD. */
export function quoteLotsFromUsd(usd: number): number {
  return Math.round(usd * quoteLotsPerUsd);
}

/** Converts risk factors, which HTTP states in percent, to bps. */
export function bpsFromPercent(percent: number): number {
  return Math.round(percent * 100);
}

/** Reads an integer from a reply: a JSON integer, a decimal string of any length, or a bigint. NaN otherwise. */
export function intFrom(raw: unknown): Int {
  if (typeof raw === "number") return Number.isSafeInteger(raw) ? raw : Number.NaN;
  if (typeof raw === "bigint") return shrink(raw);
  if (typeof raw !== "string" || !/^-?\d+$/.test(raw)) return Number.NaN;
  const value = Number(raw);
  return Number.isSafeInteger(value) ? value + 0 : shrink(BigInt(raw));
}

/** Converts a bigint to a number if that is exact. */
export function shrink(value: Int): Int {
  if (typeof value === "number") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
