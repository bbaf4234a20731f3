/** The figures of facts, as readers get them. */
import type { Facts } from "../rules/index.ts";

/** Prices that rules know as 0 or infinite where there is none, so that comparisons come out right. */
const pricesOrNone = ["liquidationPrice", "stopLossPrice", "takeProfitPrice"];

/** For readers, no such price is null, whichever side the position is on. */
export function priced(figures: Record<string, number | null>): Record<string, number | null> {
  for (const name of pricesOrNone) {
    const price = figures[name];
    if (price === 0 || price === Number.POSITIVE_INFINITY) figures[name] = null;
  }
  return figures;
}

/** Those that are known. */
export function numbers(facts: Facts): Record<string, number | null> {
  const figures: Record<string, number | null> = {};
  for (const [name, value] of Object.entries(facts.values))
    if (typeof value === "number" && !Number.isNaN(value)) figures[name] = value;
  return figures;
}

/** The time at which the oldest of the state and the marks under these figures was seen. */
export function seenMsOf({ seenMs }: Facts): number | null {
  const { traderState, markets } = seenMs;
  return traderState === undefined ? null : Math.min(traderState, markets ?? traderState);
}
