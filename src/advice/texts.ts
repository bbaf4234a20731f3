/** The ways to clear an account, in words. Amounts are written so that what is read is enough. */
import { significant } from "../domain/number-text.ts";
import type { ClearAmounts } from "../domain/what-if.ts";
import { formatUsd } from "../rules/index.ts";

type Reduction = ClearAmounts["reductions"][number];

/** Each alone is enough. @param name of the account */
export function waysOf(name: string, { depositUsd, reductions }: ClearAmounts): readonly string[] {
  return [
    ...(depositUsd === null ? [] : [`deposit ${enoughUsd(depositUsd)} to ${name}`]),
    ...reductions.flatMap((one) => (one.units === null ? [] : [tradesOf(one, one.units)])),
  ];
}

/** Ways that are not offered although they might be expected, and why. */
export function obstaclesOf(name: string, { reductions }: ClearAmounts): readonly string[] {
  return reductions.flatMap(({ symbol, units, along, obstacle }) => {
    if (obstacle !== null) return [obstacle];
    if (units !== null || along.length === 0) return [];
    const accounts = along.map(({ account }) => account);
    return [`closing the hedge in ${symbol} of ${name} and ${listed(accounts)} is not enough`];
  });
}

/** `sell 23.1 SOL`, `sell 23.1 SOL and buy 23.1 SOL in hedge/0.0`. */
function tradesOf({ symbol, trade, along }: Reduction, units: number): string {
  const others = along.map((one) => `${one.trade} ${unitsText(one.units)} ${symbol} in ${one.account}`);
  return listed([`${trade} ${unitsText(units)} ${symbol}`, ...others]);
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(parts: readonly string[]): string {
  const last = parts.at(-1) ?? "";
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
}

/** Every digit of a size: a rounded one might be a lot too small. */
function unitsText(units: number): string {
  return significant(units, 15);
}

/** Rounded up to what is written: whole USD from 100,000 on, cents below. */
function enoughUsd(usd: number): string {
  const step = usd < 100_000 ? 0.01 : 1;
  // Less than a thousandth of a quote lot is what the division left.
  return formatUsd(Math.ceil(usd / step - 1e-9 / step) * step);
}
