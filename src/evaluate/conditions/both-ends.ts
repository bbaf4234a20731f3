/**
 * Judgements while the profit of a wallet lies between two ends because a change of its collateral is not explained: a rule is
 * judged at both. What holds at both is certain. What holds at one of them fires after a while and says so, and does not let
 * an alert end.
 */
import { type Severity, severityRank } from "../../domain/alert.ts";
import { type ConditionRule, type Env, formatUsd, type Judgement, judge } from "../../rules/index.ts";
import type { OpenRange } from "../../state/profit/changes/open-range.ts";
import type { Doubt } from "../../state/profit/profit-doubt.ts";

/** A judgement, and what of it is certain. */
export type Judged = Judgement & {
  readonly doubt?: OpenRange & {
    /** The level that holds at both ends. */
    readonly certain: Severity | null;
    /** True if what is told depends on it: the judgement, or a figure that its text names. */
    readonly matters: (text: () => string) => boolean;
    /** Removes the figures that depend on it. */
    readonly leave: () => void;
    /** The figures are at the high end: what came in is profit, and what went out was paid out. */
    readonly high: boolean;
  };
};

/**
 * Judges at both ends, and leaves the figures at one of them; the caller removes them again (`Doubt.leave`). Where one end
 * calls for a higher level it is that one, else the milder one: what is told of it is so at the other end as well.
 */
export function judgeBothEnds(rule: ConditionRule, env: Env, current: Severity | null, doubt: Doubt): Judged {
  doubt.assume(true);
  const best = judge(rule, env, current);
  doubt.assume(false);
  const worst = judge(rule, env, current);
  if (worst.kind === "unknown") return worst;
  if (best.kind === "unknown") {
    doubt.assume(true);
    return best;
  }
  const { inUsd, outUsd } = doubt;
  const isSame = worst.value !== null && worst.value === best.value && worst.severity === best.severity;
  const higher = rankOf(best.severity) - rankOf(worst.severity);
  const high = higher === 0 ? !isMilder(rule, env, worst, best) : higher > 0;
  const [told, other] = high ? [best, worst] : [worst, best];
  if (high) doubt.assume(true);
  env.value = told.value ?? undefined;
  const matters = (text: () => string): boolean => {
    if (!isSame) return true;
    const own = text();
    doubt.assume(!high);
    const ofOther = text();
    doubt.assume(high);
    return own !== ofOther;
  };
  return {
    ...told,
    doubt: { certain: other.severity, inUsd, outUsd, matters, high, leave: () => doubt.leave() },
  };
}

/** True if one of two judgements of the same level is less far beyond it than the other; false where the rule has no direction. */
function isMilder(
  { levels }: ConditionRule,
  env: Env,
  { severity, value }: Judgement & { readonly kind: "known" },
  other: Judgement,
): boolean {
  const excess = levels.find((level) => level.severity === severity)?.excess;
  if (excess === undefined || value === null || other.value === null) return false;
  env.value = value;
  const own = excess(env);
  env.value = other.value;
  return excess(env) - own > 0;
}

/** True if a level is held by one of the ends only. */
export function isUncertain({ doubt }: Judged, severity: Severity | null): boolean {
  return doubt !== undefined && rankOf(severity) > rankOf(doubt.certain);
}

/** States which end the figures are at: `not counting a withdrawal, or a loss of $3,000.00`. */
export function endText({ inUsd, outUsd, high }: NonNullable<Judged["doubt"]>): string {
  if (inUsd === 0 || outUsd === 0) {
    const counted = inUsd === 0 ? !high : high;
    return `${counted ? "counting" : "not counting"} ${unexplainedText({ inUsd, outUsd })}`;
  }
  const came = unexplainedText({ inUsd, outUsd: 0 });
  const left = unexplainedText({ inUsd: 0, outUsd });
  return high ? `counting ${came}, not counting ${left}` : `counting ${left}, not counting ${came}`;
}

/** Changes of collateral that are not explained, for people: `a withdrawal, or a loss of $3,000.00`. */
export function unexplainedText({ inUsd, outUsd }: OpenRange): string {
  const came = `a deposit, or a profit of ${formatUsd(inUsd)}`;
  const left = `a withdrawal, or a loss of ${formatUsd(-outUsd)}`;
  return outUsd === 0 ? came : inUsd === 0 ? left : `${left}; and ${came}`;
}

/** The same once it is known to be none of the latter. @param usd what was paid in or, negative, out; 0: moved between accounts */
export function explainedText(usd: number): string {
  if (usd === 0) return "a transfer between accounts, no profit or loss";
  const size = formatUsd(Math.abs(usd));
  return usd < 0 ? `a withdrawal of ${size}, no loss` : `a deposit of ${size}, no profit`;
}

function rankOf(severity: Severity | null): number {
  return severity === null ? -1 : severityRank[severity];
}
