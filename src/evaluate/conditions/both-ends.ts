/**
 * Judgements while the profit of a wallet is a range because a change of its collateral is not explained: a rule is judged at
 * both ends. A result at both ends is certain. A result at one end fires after a while, with a note in its text, and does not
 * end an alert.
 */
import { type Severity, severityRank } from "../../domain/alerts/alert.ts";
import { type ConditionRule, type Env, formatUsd, type Judgement, judge } from "../../rules/index.ts";
import type { OpenRange } from "../../state/profit/changes/open-range.ts";
import type { Doubt } from "../../state/profit/profit-doubt.ts";

/** A judgement, with the part of it that is certain. */
export type Judged = Judgement & {
  readonly doubt?: OpenRange & {
    /** The level that holds at both ends. */
    readonly certain: Severity | null;
    /** True if the result depends on the range: the judgement, or a figure in its text. */
    readonly matters: (text: () => string) => boolean;
    /** Removes the figures that depend on it. */
    readonly leave: () => void;
    /** The figures are at the high end: money in is profit, and money out was withdrawn. */
    readonly high: boolean;
  };
};

/**
 * Judges at both ends, and leaves the figures at one of them; the caller removes them again (`Doubt.leave`). If one end has a
 * higher level it is that end, else the milder one, so that the text is also true at the other end.
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
  const [chosen, other] = high ? [best, worst] : [worst, best];
  if (high) doubt.assume(true);
  env.value = chosen.value ?? undefined;
  const matters = (text: () => string): boolean => {
    if (!isSame) return true;
    const own = text();
    doubt.assume(!high);
    const ofOther = text();
    doubt.assume(high);
    return own !== ofOther;
  };
  return {
    ...chosen,
    doubt: { certain: other.severity, inUsd, outUsd, matters, high, leave: () => doubt.leave() },
  };
}

/** True if the first of two judgements of the same level exceeds it by less; false if the rule has no direction. */
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

/** True if a level holds at one end only. */
export function isUncertain({ doubt }: Judged, severity: Severity | null): boolean {
  return doubt !== undefined && rankOf(severity) > rankOf(doubt.certain);
}

/** The text for the end that the figures are at: `not counting a withdrawal, or a loss of $3,000.00`. */
export function endText({ inUsd, outUsd, high }: NonNullable<Judged["doubt"]>): string {
  if (inUsd === 0 || outUsd === 0) {
    const counted = inUsd === 0 ? !high : high;
    return `${counted ? "counting" : "not counting"} ${unexplainedText({ inUsd, outUsd })}`;
  }
  const came = unexplainedText({ inUsd, outUsd: 0 });
  const left = unexplainedText({ inUsd: 0, outUsd });
  return high ? `counting ${came}, not counting ${left}` : `counting ${left}, not counting ${came}`;
}

/** The text for changes of collateral that are not explained: `a withdrawal, or a loss of $3,000.00`. */
export function unexplainedText({ inUsd, outUsd }: OpenRange): string {
  const came = `a deposit, or a profit of ${formatUsd(inUsd)}`;
  const left = `a withdrawal, or a loss of ${formatUsd(-outUsd)}`;
  return outUsd === 0 ? came : inUsd === 0 ? left : `${left}; and ${came}`;
}

/** The text for an explained change. @param usd amount paid in or, negative, out; 0: moved between accounts */
export function explainedText(usd: number): string {
  if (usd === 0) return "a transfer between accounts, no profit or loss";
  const size = formatUsd(Math.abs(usd));
  return usd < 0 ? `a withdrawal of ${size}, no loss` : `a deposit of ${size}, no profit`;
}

function rankOf(severity: Severity | null): number {
  return severity === null ? -1 : severityRank[severity];
}
