/** An alert's value beside the limit that it went beyond, in words. */
import type { Severity } from "../domain/alert.ts";
import { parseDurationMs } from "../domain/duration.ts";
import { type ConditionRule, formatNumber, unitOfValue } from "../rules/index.ts";

const comparison = /\bvalue\s*([<>])=?\s*(?:(-?[\d.]+)|duration\("(\w+)"\))/g;

export interface LimitWords {
  /** `4.13%, critical below 5%`; empty where the limit is 0, which says nothing beside the value. */
  readonly text: string;
  /** @param by a share of the value   @returns `falls below 3.3%`, the value that is worse by it; `gets worse` for a value of 0 */
  readonly worse: (by: number) => string;
}

/** @returns null where the level's condition is no comparison of its value with a number, or holds for another reason */
export function limitWords(rule: ConditionRule, severity: Severity, value: number | null): LimitWords | null {
  const when = rule.levels.find((level) => level.severity === severity)?.when.text;
  if (rule.value === null || value === null || when === undefined) return null;
  const limits = [...when.matchAll(comparison)].map(([, operator, number, duration = ""]) => ({
    isFalling: operator === "<",
    limit: number === undefined ? (parseDurationMs(duration) ?? Number.NaN) : Number(number),
  }));
  const beyond = limits.find(({ isFalling, limit }) => (isFalling ? value < limit : value > limit));
  if (beyond === undefined) return null;
  const { isFalling, limit } = beyond;
  const unit = unitOfValue(rule);
  const shown = `${formatNumber(value, unit)}, ${severity} ${isFalling ? "below" : "above"} ${formatNumber(limit, unit)}`;
  return {
    text: limit === 0 ? "" : shown,
    worse: (by) => {
      const further = Math.abs(value) * by;
      if (further === 0) return "gets worse";
      return isFalling
        ? `falls below ${formatNumber(value - further, unit)}`
        : `rises above ${formatNumber(value + further, unit)}`;
    },
  };
}
