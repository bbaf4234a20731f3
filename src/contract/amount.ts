/** Exact amounts: an integer with its scale, the exchange's form for collateral, margins, prices and sizes. */
import type { MarketScale } from "../domain/market-scale.ts";
import { decimalPlaces, lots, type Output, record, text, type Wire } from "./fields.ts";

/** `{ value, decimals, ui }`: compute from `value` / 10^`decimals`, show `ui`. */
export const tokenAmount = record({ value: lots, decimals: decimalPlaces, ui: text });
export type TokenAmount = Output<typeof tokenAmount>;

/** Returns the amount as a double, for ratios and display; exact comparisons use `value`. */
export function amountToNumber(amount: Pick<TokenAmount, "value" | "decimals">): number {
  return Number(decimalText(amount.value, amount.decimals));
}

/** Human decimal with exactly `decimals` fractional digits: (−567000000, 6) → "-567.000000". */
export function decimalText(value: bigint, decimals: number): string {
  if (decimals <= 0) return (value * 10n ** BigInt(-decimals)).toString();
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  return `${value < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/**
 * Reads a decimal as an integer of 10^-decimals: ("0.25", 4) → 2500n; negative decimals count tens, hundreds, …
 * @returns undefined for a text that is not a decimal, or is not a whole number of those steps
 */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const parts = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text.trim());
  if (!parts) return undefined;
  const [, sign, whole = "0", rawFraction = ""] = parts;
  const fraction = rawFraction.replace(/0+$/, "");
  const places = Math.max(0, decimals);
  if (fraction.length > places) return undefined;
  const step = 10n ** BigInt(Math.max(0, -decimals));
  const value = BigInt(whole + fraction.padEnd(places, "0"));
  if (value % step !== 0n) return undefined;
  return (sign ? -value : value) / step;
}

/** The shortest exact decimal text: (2500n, 4) → "0.25", (180n, 0) → "180". */
export function shortDecimal(value: bigint, decimals: number): string {
  const text = decimalText(value, decimals);
  return decimals > 0 ? text.replace(/\.?0+$/, "") : text;
}

/** Returns value × 10^exponent / by, rounded half away from zero. @param by positive */
export function scaledRound(value: bigint, exponent: number, by = 1n): bigint {
  const numerator = value * 10n ** BigInt(Math.max(0, exponent));
  const denominator = by * 10n ** BigInt(Math.max(0, -exponent));
  const size = ((numerator < 0n ? -numerator : numerator) * 2n + denominator) / (denominator * 2n);
  return numerator < 0n ? -size : size;
}

/** A price in ticks as USD per unit, exact: 10^-6 × tickSize × 10^baseLotsDecimals × ticks. */
export function priceText(ticks: bigint, { tickSize, baseLotsDecimals }: MarketScale): string {
  return shortDecimal(ticks * BigInt(tickSize), 6 - baseLotsDecimals);
}

/**
 * The tick nearest to a price, computed exactly; half a tick rounds up.
 * @param price USD per unit as a decimal
 * @returns undefined for a text that is not a decimal
 */
export function ticksNearest(price: string, { tickSize, baseLotsDecimals }: MarketScale): bigint | undefined {
  const places = /\.(\d+)\s*$/.exec(price)?.[1]?.length ?? 0;
  const value = parseDecimal(price, places);
  return value === undefined
    ? undefined
    : scaledRound(value, 6 - baseLotsDecimals - places, BigInt(tickSize));
}

/** The wire form of an amount; `value` is a JSON integer while a double holds it exactly, else a string. */
export function writeAmount(value: bigint, decimals: number): Wire<typeof tokenAmount> {
  const small = Number(value);
  return {
    value: Number.isSafeInteger(small) ? small : value.toString(),
    decimals,
    ui: decimalText(value, decimals),
  };
}
