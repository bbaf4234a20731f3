/** Detects comparisons with implausible numbers: mostly a percentage instead of a fraction. */
import { formatAmount, formatPercent } from "../format.ts";
import type { Range, Unit } from "../vocabulary/field-types.ts";
import { rangeOf, type StaticType, unitOf } from "./types.ts";

const fractions: Partial<Readonly<Record<Unit, string>>> = {
  ratio: "a fraction",
  rate: "a fraction an hour",
  yearlyRate: "a fraction a year",
};

const maxShown = 60;

/**
 * @param of text of the other side of the comparison
 * @returns a warning, or null for a number within the range of that side, or if the range is not known
 */
export function implausible(
  of: string,
  type: StaticType,
  limit: number,
): { readonly message: string; readonly nearest: string | null } | null {
  const range = rangeOf(type);
  if (range === undefined || within(range, limit)) return null;
  const shown = of.length > maxShown ? `${of.slice(0, maxShown - 1)}…` : of;
  const fraction = fractions[unitOf(type)];
  const meant = Number((limit / 100).toPrecision(12));
  if (fraction !== undefined && within(range, meant))
    return {
      message: `${shown} is ${fraction}: ${limit} is ${formatPercent(limit)}, and ${limit}% is ${meant}`,
      nearest: String(meant),
    };
  // A fraction far above any percentage is a test for +∞.
  if (fraction !== undefined && limit > range.most) return null;
  const bounds = `${formatAmount(range.least)} to ${formatAmount(range.most)}`;
  return { message: `${shown} is compared with ${limit}: plausible are ${bounds}`, nearest: null };
}

const within = ({ least, most }: Range, value: number): boolean => value >= least && value <= most;

/** Finds `80%` in an expression: the language has no percent sign, and `%` alone is the remainder of a division. */
export function percentIn(text: string): { readonly start: number; readonly message: string } | null {
  const bare = text.replace(/"[^"]*"|'[^']*'/g, (quoted) => " ".repeat(quoted.length));
  const found = /(?<![\w.])(\d+(?:\.\d+)?)\s*%(?=\s*(?:$|[)\]&|?:,<>=!]))/.exec(bare);
  if (found === null) return null;
  const fraction = Number((Number(found[1]) / 100).toPrecision(12));
  return {
    start: found.index,
    message: `a percentage is written as a fraction: ${found[1]}% is ${fraction}`,
  };
}
