/** An alert's value beside the limit that it exceeded, in words. */

import type { Severity } from "../../domain/alerts/alert.ts";
import { parseDurationMs } from "../../domain/text/duration.ts";
import { type ConditionRule, formatNumber, unitOfValue } from "../../rules/index.ts";
import { comparedSize } from "../reminders/remind.ts";

/** The value alone, and a number alone: neither is part of an expression. */
const comparison =
  /(?<![-+*/%]\s*|[.\w])value\s*([<>]=?)\s*(?:(-?[\d.]+(?:e[-+]?\d+)?)|duration\("(\w+)"\))(?![\w.]|\s*[-+*/%])/gi;

export interface LimitWords {
  /**
   * `4.13%, critical below 5%`; for a value that has improved, but not by enough to end the level: `61.9%, warning
   * until below 60%`. Empty if the limit is 0.
   */
  readonly text: string;
  /**
   * @param by a share of the value, or of the distance to the worst value of the rule
   * @returns `falls below 3.3%`, the value that is worse by this share; empty for a value of 0; undefined if its
   * condition gives no direction, or both
   */
  readonly worse: (by: number) => string | undefined;
  /** The value alone. */
  readonly value: string;
  /**
   * `stays critical until above 6%`, for a value better than where its level begins; `at least until` if that alone
   * does not end the level; undefined: it is not better.
   */
  readonly until?: string;
}

interface Limit {
  readonly isFalling: boolean;
  readonly isReached: boolean;
  readonly number: number;
  /** `above`, `below`, `from`, `down to` */
  readonly comparison: string;
}

/**
 * The text is empty if the level's condition is no comparison of its value with a number, or holds for another reason.
 * @returns null for a rule or an alert without a value
 */
export function limitWords(
  rule: ConditionRule,
  severity: Severity,
  value: number | null,
  compared: Compared,
): LimitWords | null {
  const level = rule.levels.find((one) => one.severity === severity);
  if (rule.value === null || value === null || level === undefined) return null;
  const unit = unitOfValue(rule);
  const begins = limitsIn(level.when.text, value);
  const beyond = begins.find(({ isReached }) => isReached);
  const until = limitsIn(level.resolveWhen?.text ?? "", value).find(({ isReached }) => !isReached);
  const worse = (by: number) => worseText(rule, level, value, by, compared);
  if (beyond === undefined && (begins.length !== 1 || until === undefined))
    return {
      text: "",
      worse,
      value: formatNumber(value, unit),
    };
  const shown = beyond ?? until!;
  const bound = `${shown.comparison} ${formatNumber(shown.number, unit)}`;
  // With `&&` another condition has to hold as well.
  const least = level.resolveWhen?.text.includes("&&") ? "at least until" : "until";
  const words = beyond ? `${severity} ${bound}` : `${severity} ${least} ${bound}`;
  return {
    // A limit of 0 adds nothing to the title.
    text: shown.number === 0 ? "" : `${formatNumber(value, unit)}, ${words}`,
    worse,
    value: formatNumber(value, unit),
    ...(beyond ? {} : { until: `stays ${severity} ${least} ${bound}` }),
  };
}

/** Compares values at a level. */
export interface Compared {
  /** Returns true if one value is worse than another; null: no direction is known. */
  readonly isFurther: (value: number, than: number) => boolean | null;
  /** Returns true if it is worse by this share. */
  readonly isWorse: (value: number, than: number, by: number) => boolean;
}

function worseText(
  rule: ConditionRule,
  level: ConditionRule["levels"][number],
  value: number,
  by: number,
  { isFurther, isWorse }: Compared,
): string | undefined {
  const isFalling = level.isEitherSide ? value < 0 : fallsToWorse(level.when.text, value, isFurther);
  const further = comparedSize(value, isFalling === true, rule.worst) * by;
  if (further === 0) return "";
  const named = isFalling ? value - further : value + further;
  const beyond = isFalling ? named - further * 1e-6 : named + further * 1e-6;
  if (isFalling === undefined || !isWorse(beyond, value, by))
    return rule.worst === null ? undefined : "gets markedly worse";
  const unit = unitOfValue(rule);
  return isFalling ? `falls below ${formatNumber(named, unit)}` : `rises above ${formatNumber(named, unit)}`;
}

/** Returns undefined if neither direction is worse, or both are, also on the other side of 0. */
function fallsToWorse(
  condition: string,
  value: number,
  isFurther: Compared["isFurther"],
): boolean | undefined {
  if (/\bvalue\s*</.test(condition) && /\bvalue\s*>/.test(condition)) return undefined;
  const step = Math.max(Math.abs(value) * 1e-6, 1e-9);
  const [down, up] = [isFurther(value - step, value), isFurther(value + step, value)];
  if (down === up) return undefined;
  const further = down ? value - step : value + step;
  const isAwayFromZero = Math.abs(further) > Math.abs(value);
  return isAwayFromZero && isFurther(-further, value) ? undefined : down === true;
}

/** The comparisons of a value in a condition. */
function limitsIn(text: string, value: number): readonly Limit[] {
  return [...text.matchAll(comparison)].map(([, operator = "", digits, duration = ""]) => {
    const number = digits === undefined ? (parseDurationMs(duration) ?? Number.NaN) : Number(digits);
    const isFalling = operator.startsWith("<");
    const isReached =
      (isFalling ? value < number : value > number) || (operator.endsWith("=") && value === number);
    const words = isFalling ? (["below", "down to"] as const) : (["above", "from"] as const);
    return { isFalling, isReached, number, comparison: words[operator.length - 1]! };
  });
}
