/** True if a rule's value got markedly worse, by the direction in which its condition holds the more. */
import { isWorse } from "../alerts/remind.ts";
import type { Severity } from "../domain/alert.ts";
import type { ConditionRule, Env } from "../rules/index.ts";

/** @returns false where the rule's value has no direction in which it gets worse */
export function hasDirection({ levels, value }: ConditionRule): boolean {
  return value !== null && levels.some(({ when }) => when.excess !== undefined);
}

/**
 * Whether `value` is worse than `told` by this share of it. On one side of a limit by how far it moved; where it went over to
 * the other of two sides (`value < -0.1 || value > 0.1`) by how much further it is beyond that.
 *
 * @param env by which the rule was judged just now; its `value` is overwritten
 */
export function isFurther(
  { levels }: ConditionRule,
  severity: Severity,
  env: Env,
  told: number,
  value: number,
  worseBy: number,
): boolean {
  const { excess } = levels.find((level) => level.severity === severity)?.when ?? {};
  if (excess === undefined || worseBy <= 0) return false;
  const at = (number: number): number => {
    env.value = number;
    return excess(env);
  };
  const more = at(value) - at(told);
  if (!(more > 0)) return false;
  if (!Number.isFinite(more)) return true;
  const slopeAt = (number: number): number => {
    const step = Math.max(Math.abs(number) * 1e-6, 1e-9);
    return Math.sign(at(number + step) - at(number - step));
  };
  const slope = slopeAt(value);
  if (slope !== 0 && slope === slopeAt(told)) return isWorse(told, value, slope < 0, worseBy);
  return more >= Math.abs(told) * worseBy;
}
