/** Exact decimals: the text that people and the wire write, and the integers that the world counts in. */

/** Quote lots in one USD. */
export const usdDecimals = 6;

/**
 * A decimal text as an integer of its smallest units: ("0.25", 4) → 2500n.
 * @returns undefined for a text that is no decimal or has more digits than there are
 */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const parts = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text.trim());
  if (!parts) return undefined;
  const [, sign, whole = "0", rawFraction = ""] = parts;
  const fraction = rawFraction.replace(/0+$/, "");
  if (decimals < 0) {
    const scale = 10n ** BigInt(-decimals);
    if (fraction !== "" || BigInt(whole) % scale !== 0n) return undefined;
    return (sign ? -1n : 1n) * (BigInt(whole) / scale);
  }
  if (fraction.length > decimals) return undefined;
  const value = BigInt(whole + fraction.padEnd(decimals, "0"));
  return sign ? -value : value;
}

/** The shortest exact decimal text: (2500n, 4) → "0.25", (180n, 0) → "180". */
export function writeDecimal(value: bigint, decimals: number): string {
  if (decimals <= 0) return (value * 10n ** BigInt(-decimals)).toString();
  const digits = abs(value)
    .toString()
    .padStart(decimals + 1, "0");
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -decimals)}${fraction === "" ? "" : `.${fraction}`}`;
}

export const abs = (value: bigint): bigint => (value < 0n ? -value : value);
export const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);
export const sign = (value: bigint): -1n | 0n | 1n => (value < 0n ? -1n : value > 0n ? 1n : 0n);

/** Rounded half away from zero; `by` is positive. */
export function divideRound(value: bigint, by: bigint): bigint {
  const half = (abs(value) * 2n + by) / (by * 2n);
  return value < 0n ? -half : half;
}

/** Of numbers that are not negative. */
export function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
