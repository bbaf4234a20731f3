/** An alert's value beside the limit that it went beyond, in words. */
import type { Severity } from "../domain/alert.ts";
import { parseDurationMs } from "../domain/duration.ts";
import { type ConditionRule, formatNumber } from "../rules/index.ts";

const comparison = /\bvalue\s*([<>])=?\s*(?:(-?[\d.]+)|duration\("(\w+)"\))/;

/**
 * `4.13%, critical below 5%`
 * @returns null where the level's condition is no comparison of its value with a number, or holds for another reason
 */
export function limitText(rule: ConditionRule, severity: Severity, value: number | null): string | null {
  const when = rule.levels.find((level) => level.severity === severity)?.when.text;
  const [, operator, number, duration = ""] = comparison.exec(when ?? "") ?? [];
  if (rule.value === null || value === null || operator === undefined) return null;
  const limit = number === undefined ? (parseDurationMs(duration) ?? Number.NaN) : Number(number);
  const isBeyond = operator === "<" ? value < limit : value > limit;
  if (!isBeyond) return null;
  const { unit } = rule.value;
  const word = operator === "<" ? "below" : "above";
  return `${formatNumber(value, unit)}, ${severity} ${word} ${formatNumber(limit, unit)}`;
}
