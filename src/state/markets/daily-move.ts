import type { Facts } from "../../rules/index.ts";

/** Minimum daily move, a fraction: used for a market whose price hardly moved lately. */
const minDailyMove = 0.01;

/** Returns the daily move of a market, a fraction; NaN: its volatility is not known. */
export function dailyMoveOf(market: Facts | undefined): number {
  const daily = market?.values.dailyVolatility;
  return typeof daily === "number" && daily >= 0 ? Math.max(daily, minDailyMove) : Number.NaN;
}
