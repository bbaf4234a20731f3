/** Sums of integers, in doubles while those are exact. */
import type { Int } from "./model.ts";
import { isInteger } from "./sound-inputs.ts";
import { shrink } from "./units.ts";

export function add(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
    // An amount that is not an integer stays NaN; it has been reported.
    if (!isInteger(a) || !isInteger(b)) return Number.NaN;
  }
  if (!isInteger(a) || !isInteger(b)) return Number.NaN;
  return shrink(BigInt(a) + BigInt(b));
}

export function subtract(a: Int, b: Int): Int {
  return add(a, -b);
}
