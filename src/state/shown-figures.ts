/** Figures of facts as shown to readers. */
import type { Facts } from "../rules/index.ts";

/** Prices that rules see as 0 or infinite where there is none, so that comparisons give the right result. */
const pricesOrNone = ["liquidationPrice", "stopLossPrice", "takeProfitPrice"];

/** Replaces prices that stand for "none" by null. */
export function priced(figures: Record<string, number | null>): Record<string, number | null> {
  for (const name of pricesOrNone) {
    const price = figures[name];
    if (price === 0 || price === Number.POSITIVE_INFINITY) figures[name] = null;
  }
  return figures;
}

/** The facts that are known numbers. */
export function numbers(facts: Facts): Record<string, number | null> {
  const figures: Record<string, number | null> = {};
  for (const [name, value] of Object.entries(facts.values))
    if (typeof value === "number" && !Number.isNaN(value)) figures[name] = value;
  return figures;
}

/** The time at which the older of the state and the marks under these figures was read, ms. */
export function seenMsOf({ seenMs }: Facts): number | null {
  const { traderState, markets } = seenMs;
  return traderState === undefined ? null : Math.min(traderState, markets ?? traderState);
}
