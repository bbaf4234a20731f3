/** Numbers as messages print them, with the precision of what is printed. */

export interface Printed {
  readonly value: number;
  /** Half a unit of the last printed digit. */
  readonly half: number;
  /** Nothing but that the figure lies there: `over 10,000%`. */
  readonly beyond?: "over" | "below";
}

/** Percentages beyond this are not written out. */
const maxRatio = 100;

/** Reads `4.37%`, `$1,234.50`, `-$0.42`, `12,000`, `∞`, `over 10,000%`, `over 100×`. Undefined where the text is no number. */
export function printed(text: string): Printed | undefined {
  const infinite = /^(-?)∞%?$/.exec(text);
  const bound = /^(over|below) (.*?)×?$/.exec(text);
  const limit = bound && printed(bound[2]!);
  if (limit) return { ...limit, beyond: bound[1] as "over" | "below" };
  if (infinite) return { value: infinite[1] ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY, half: 0 };
  const found = /^(-?)\$?(\d[\d,]*)(?:\.(\d+))?(%?)$/.exec(text);
  if (!found) return undefined;
  const [, minus, whole = "", decimals = "", percent] = found;
  const scale = percent ? 0.01 : 1;
  const number = Number(`${whole.replaceAll(",", "")}.${decimals || "0"}`) * scale;
  if (percent && Math.abs(number) > maxRatio) return undefined;
  // A percentage has three digits and no trailing zeros: `12%` may stand for 12.0%.
  const digits = percent ? Math.max(decimals.length, 3 - whole.length) : decimals.length;
  return { value: minus ? -number : number, half: 0.5 * 10 ** -Math.max(0, digits) * scale };
}

/** The least and the greatest that a figure was within some time. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

/**
 * Returns true if what is printed lies in the range, as far as its digits tell.
 * @param slack share of the value by which it may be off beside that
 * @param room the same, in units of the value
 */
export function fits(
  { value, half, beyond }: Printed,
  { low, high }: Range,
  slack = 1e-4,
  room = 0,
): boolean {
  if (beyond === "over") return high > value - room;
  if (beyond === "below") return low < value + room;
  if (value === low || value === high) return true;
  const most = half * 1.02 + Math.abs(value) * slack + room;
  return value >= low - most && value <= high + most;
}

export function rangeOf(values: Iterable<number>): Range | undefined {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  let any = false;
  for (const value of values) {
    any = true;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return any ? { low, high } : undefined;
}

export function shown({ low, high }: Range): string {
  const one = (value: number) =>
    Number.isFinite(value) ? String(Number(value.toPrecision(6))) : String(value);
  return one(low) === one(high) ? one(low) : `${one(low)} … ${one(high)}`;
}
