/** Compares the durations by which two rules of one condition judge. */
import type { ConditionRule } from "../../rules/index.ts";

/** True if two rules of one condition have the same durations. */
export function isSameJudging(one: ConditionRule, other: ConditionRule): boolean {
  return one === other || timesOf(one) === timesOf(other);
}

const times = new WeakMap<ConditionRule, string>();

function timesOf(rule: ConditionRule): string {
  const known = times.get(rule);
  if (known !== undefined) return known;
  const { forMs, keepFiringForMs, staleAfterMs, noData, windows } = rule;
  const text = JSON.stringify([forMs, keepFiringForMs, staleAfterMs, noData, windows.map(({ key }) => key)]);
  times.set(rule, text);
  return text;
}
