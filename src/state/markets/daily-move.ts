import type { Facts } from "../../rules/index.ts";

/** A market that stood still lately is not taken to move less than this in a day, a fraction. */
const minDailyMove = 0.01;

/** The daily move of a market, a fraction; NaN: its volatility is not known. */
export function dailyMoveOf(market: Facts | undefined): number {
  const daily = market?.values.dailyVolatility;
  return typeof daily === "number" && daily >= 0 ? Math.max(daily, minDailyMove) : Number.NaN;
}
