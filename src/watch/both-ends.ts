/**
 * Judgements while the profit of a wallet lies between two ends because a change of its collateral is not explained: a rule is
 * judged at both. What holds at both is certain. What holds at one of them fires after a while and says so, and does not let
 * an alert end.
 */
import { type Severity, severityRank } from "../domain/alert.ts";
import { type ConditionRule, type Env, formatUsd, type Judgement, judge } from "../rules/index.ts";
import type { Doubt } from "./profit.ts";

/** A judgement, and what of it is certain. */
export type Judged = Judgement & {
  readonly doubt?: {
    /** The level that holds at both ends. */
    readonly certain: Severity | null;
    /** The change that is not explained, USD. */
    readonly usd: number;
    /** The figures depend on it. */
    readonly matters: boolean;
    /** The figures count all of it as profit or loss; else none of it. */
    readonly counted: boolean;
  };
};

/**
 * Judges at both ends, and leaves the figures at one of them; the caller removes them again (`Doubt.leave`). Where one end
 * calls for a higher level it is that one, else the milder one: what is told of it is so at the other end as well.
 */
export function judgeBothEnds(rule: ConditionRule, env: Env, current: Severity | null, doubt: Doubt): Judged {
  doubt.assume(true);
  const flowed = judge(rule, env, current);
  doubt.assume(false);
  const earned = judge(rule, env, current);
  if (earned.kind === "unknown") return earned;
  if (flowed.kind === "unknown") {
    doubt.assume(true);
    return flowed;
  }
  const { usd } = doubt;
  const matters =
    earned.value === null || earned.value !== flowed.value || earned.severity !== flowed.severity;
  const higher = rankOf(earned.severity) - rankOf(flowed.severity);
  const counted = higher === 0 ? isMilder(rule, env, earned, flowed, usd > 0) : higher > 0;
  if (counted) {
    env.value = earned.value ?? undefined;
    return { ...earned, doubt: { certain: flowed.severity, usd, matters, counted } };
  }
  doubt.assume(true);
  env.value = flowed.value ?? undefined;
  return { ...flowed, doubt: { certain: earned.severity, usd, matters, counted } };
}

/**
 * True if one of two judgements of the same level is less far beyond it than the other.
 * @param otherwise the answer where the rule has no direction
 */
function isMilder(
  { levels }: ConditionRule,
  env: Env,
  { severity, value }: Judgement & { readonly kind: "known" },
  other: Judgement,
  otherwise: boolean,
): boolean {
  const excess = levels.find((level) => level.severity === severity)?.excess;
  if (excess === undefined || value === null || other.value === null) return otherwise;
  env.value = value;
  const own = excess(env);
  env.value = other.value;
  const less = excess(env) - own;
  return less === 0 || Number.isNaN(less) ? otherwise : less > 0;
}

/** True if a level is held by one of the ends only. */
export function isUncertain({ doubt }: Judged, severity: Severity | null): boolean {
  return doubt !== undefined && rankOf(severity) > rankOf(doubt.certain);
}

/** States which end the figures are at: `not counting a withdrawal, or a loss of $3,000.00`. */
export function endText({ usd, counted }: NonNullable<Judged["doubt"]>): string {
  return `${counted ? "counting" : "not counting"} ${unexplainedText(usd)}`;
}

/** A change of collateral that is not explained, for people: `a withdrawal, or a loss of $3,000.00`. */
export function unexplainedText(usd: number): string {
  const size = formatUsd(Math.abs(usd));
  return usd < 0 ? `a withdrawal, or a loss of ${size}` : `a deposit, or a profit of ${size}`;
}

/** The same once it is known to be none of the latter. */
export function explainedText(usd: number): string {
  const size = formatUsd(Math.abs(usd));
  return usd < 0 ? `a withdrawal of ${size}, no loss` : `a deposit of ${size}, no profit`;
}

function rankOf(severity: Severity | null): number {
  return severity === null ? -1 : severityRank[severity];
}
