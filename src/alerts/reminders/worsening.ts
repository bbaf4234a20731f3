/** Compares a rule's value with the previously notified ones: clearly worse, or clearly different. */

import type { Severity } from "../../domain/alerts/alert.ts";
import type { ConditionRule, Env } from "../../rules/index.ts";
import { isBeyond, isWorse, type Notified } from "./remind.ts";

/** `either`: worse further from 0, on either side. */
export type Comparison = "worse" | "either" | "changed";

/**
 * @returns the comparison of this level's value with the one notified before; null if there is none: without a value,
 * or without a direction if time alone changes the value
 */
export function comparisonOf(rule: ConditionRule, severity: Severity): Comparison | null {
  if (rule.value === null) return null;
  const level = levelOf(rule, severity);
  if (level?.excess !== undefined) return level.isEitherSide ? "either" : "worse";
  return rule.valueReadsNow ? null : "changed";
}

/**
 * Returns the change to notify. `worsened`: `value` is worse than the last one by this share of it (with a worst value:
 * of the distance to that). On one side of a limit this is the distance it moved; after a switch between two sides
 * (`value < -0.1 || value > 0.1`) the increase of its distance beyond the limit. `changed`: no direction is known and
 * it is that far outside of all notified values, or a value that is worse on either side of 0 moved to a side not
 * notified since the alert fired.
 * @param env the environment of the last judgement; its `value` is overwritten
 * @param mayReturn a return to an already notified side is notified as well
 */
export function movement(
  rule: ConditionRule,
  severity: Severity,
  env: Env,
  notified: Notified,
  value: number,
  worseBy: number,
  mayReturn: boolean,
): "worsened" | "changed" | null {
  const { excess, isEitherSide = false } = levelOf(rule, severity) ?? {};
  const { last, everLow, everHigh } = notified;
  const at = (number: number): number => {
    env.value = number;
    return excess === undefined ? Number.NaN : excess(env);
  };
  const more = at(value) - at(last);
  const isKnownSide = value < 0 ? everLow < 0 : everHigh > 0;
  const turned = isEitherSide && value * last < 0 && (mayReturn || !isKnownSide) ? "changed" : null;
  if (worseBy <= 0) return turned;
  if (Number.isNaN(more)) return !rule.valueReadsNow && isBeyond(notified, value, worseBy) ? "changed" : null;
  if (more <= 0) return turned;
  if (!Number.isFinite(more)) return "worsened";
  const slopeAt = (number: number): number => {
    const step = Math.max(Math.abs(number) * 1e-6, 1e-9);
    return Math.sign(at(number + step) - at(number - step));
  };
  const slope = slopeAt(value);
  const isFurther =
    slope !== 0 && slope === slopeAt(last)
      ? isWorse(last, value, slope < 0, worseBy, rule.worst)
      : more >= Math.abs(last) * worseBy;
  return isFurther ? "worsened" : turned;
}

/**
 * @param env the environment of the last judgement; its `value` is overwritten
 * @returns true if a value is worse than another at a level; null if no direction is known
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
