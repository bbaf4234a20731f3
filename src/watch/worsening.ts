/** Compares a rule's value with those that were notified before: is it markedly worse, or markedly another one? */
import { isBeyond, isWorse, type Notified } from "../alerts/remind.ts";
import type { Severity } from "../domain/alert.ts";
import type { ConditionRule, Env } from "../rules/index.ts";

/** `either`: worse further from 0, on either side. */
export type Comparison = "worse" | "either" | "changed";

/**
 * @returns the comparison of this level's value with the one notified before; null where there is none: without a value, or
 * without a direction where time alone moves the value
 */
export function comparisonOf(rule: ConditionRule, severity: Severity): Comparison | null {
  if (rule.value === null) return null;
  const level = levelOf(rule, severity);
  if (level?.excess !== undefined) return level.isEitherSide ? "either" : "worse";
  return rule.valueReadsNow ? null : "changed";
}

/**
 * The change to notify: `worsened` where `value` is worse than the last one by this share of it. On one side of a limit by how
 * far it moved; where it went over to the other of two sides (`value < -0.1 || value > 0.1`) by how much further it is beyond
 * that. `changed` where it went over and is no worse, or where no direction is known and it is that far outside of all that were
 * notified.
 *
 * @param env by which the rule was judged just now; its `value` is overwritten
 */
export function movement(
  rule: ConditionRule,
  severity: Severity,
  env: Env,
  notified: Notified,
  value: number,
  worseBy: number,
): "worsened" | "changed" | null {
  const { excess } = levelOf(rule, severity) ?? {};
  const { last } = notified;
  const at = (number: number): number => {
    env.value = number;
    return excess === undefined ? Number.NaN : excess(env);
  };
  const more = at(value) - at(last);
  const isTold = worseBy > 0;
  if (Number.isNaN(more))
    return isTold && !rule.valueReadsNow && isBeyond(notified, value, worseBy) ? "changed" : null;
  if (!Number.isFinite(more)) return isTold && more > 0 ? "worsened" : null;
  const slopeAt = (number: number): number => {
    const step = Math.max(Math.abs(number) * 1e-6, 1e-9);
    return Math.sign(at(number + step) - at(number - step));
  };
  const [slope, slopeBefore] = [slopeAt(value), slopeAt(last)];
  const isFurther =
    slope !== 0 && slope === slopeBefore
      ? isWorse(last, value, slope < 0, worseBy)
      : more > 0 && more >= Math.abs(last) * worseBy;
  if (isTold && isFurther) return "worsened";
  return slope * slopeBefore < 0 ? "changed" : null;
}

/**
 * @param env by which the rule was judged last; its `value` is overwritten
 * @returns true if a value is worse than another at a level; null where no direction is known
 */
export function isFurther(
  rule: ConditionRule,
  severity: Severity,
  env: Env,
  value: number,
  than: number,
): boolean | null {
  const { excess } = levelOf(rule, severity) ?? {};
  if (excess === undefined) return null;
  const at = (number: number): number => {
    env.value = number;
    return excess(env);
  };
  const more = at(value) - at(than);
  return Number.isNaN(more) ? null : more > 0;
}

function levelOf({ levels }: ConditionRule, severity: Severity): ConditionRule["levels"][number] | undefined {
  return levels.find((level) => level.severity === severity);
}
