/** Exact amounts: an integer with its scale, as the exchange writes collateral, margins, prices and sizes. */
import { int, lots, type Output, record, text, type Wire } from "./fields.ts";

/** `{ value, decimals, ui }`: compute from `value` / 10^`decimals`, show `ui`. */
export const tokenAmount = record({ value: lots, decimals: int, ui: text });
export type TokenAmount = Output<typeof tokenAmount>;

/** The amount as a double, for ratios and display; exact ones compare `value`. */
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

/** The wire form of an amount; `value` is a JSON integer while a double holds it exactly, else a string. */
export function writeAmount(value: bigint, decimals: number): Wire<typeof tokenAmount> {
  const small = Number(value);
  return {
    value: Number.isSafeInteger(small) ? small : value.toString(),
    decimals,
    ui: decimalText(value, decimals),
  };
}
