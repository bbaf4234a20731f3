/**
 * Checks that levels rise, and that each level and its `resolveWhen` exclude each other, as far as they compare the same expression
 * with literal numbers.
 */
import type { Severity } from "../../domain/alerts/alert.ts";
import type { Bound, Compiled } from "../rule.ts";

export interface LevelText {
  readonly severity: Severity;
  readonly when: Compiled<boolean>;
  readonly resolveWhen: Compiled<boolean> | null;
}

const isBelow = ({ operator }: Bound) => operator === "<" || operator === "<=";

/** @returns a text if the higher level is not stricter than the lower one, or null */
export function notRising(lower: LevelText, higher: LevelText): string | null {
  const [a, b] = [lower.when.bound, higher.when.bound];
  if (a === undefined || b === undefined || a.of !== b.of || isBelow(a) !== isBelow(b)) return null;
  const rises = isBelow(a) ? b.limit < a.limit : b.limit > a.limit;
  // The limit itself belongs to only one of `<` and `<=`.
  const stricter = a.limit === b.limit && a.operator.length === 2 && b.operator.length === 1;
  if (rises || stricter) return null;
  return `the levels do not rise: ${higher.severity} (${higher.when.text}) is no further than ${lower.severity} (${lower.when.text})`;
}

/** @returns a text if `resolveWhen` can hold while the level holds, or null */
export function overlapping({ when, resolveWhen }: LevelText): string | null {
  const [a, b] = [when.bound, resolveWhen?.bound];
  if (a === undefined || b === undefined || a.of !== b.of) return null;
  const problem = `resolveWhen (${resolveWhen!.text}) overlaps when (${when.text}): both can hold at once`;
  if (isBelow(a) === isBelow(b)) return problem;
  const [below, above] = isBelow(a) ? [a, b] : [b, a];
  if (above.limit > below.limit) return null;
  const both = above.operator.length === 2 && below.operator.length === 2;
  return above.limit < below.limit || both ? problem : null;
}
