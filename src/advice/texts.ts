/** Texts for the ways to clear an account. Amounts are rounded up, so that the written amount is enough. */
import { significant } from "../domain/text/number-text.ts";
import type { ClearAmounts, Clearing, ClearingTrade, EnoughAmounts } from "../domain/what-if.ts";
import { formatUsd } from "../rules/index.ts";

type Reduction = ClearAmounts["reductions"][number];

/** The ways, in order of preference. Each alone is enough. @param name of the account */
export function waysOf(
  name: string,
  { order, transfer, deposit, reductions }: EnoughAmounts & Pick<ClearAmounts, "order">,
): readonly string[] {
  // Otherwise another way or its trades name the account.
  const where = transfer === null && deposit.usd === null ? ` in ${name}` : "";
  const ways: Readonly<Record<Clearing, readonly string[]>> = {
    transfer:
      transfer === null ? [] : [`transfer ${enoughUsd(transfer.usd)} from ${transfer.from} to ${name}`],
    reduce: reductions.flatMap((one) => (one.least === null ? [] : [tradesOf(one, one.least, where)])),
    deposit: deposit.usd === null ? [] : [`deposit ${enoughUsd(deposit.usd)} to ${name}`],
  };
  return order.flatMap((kind) => ways[kind]);
}

/** Expected ways that are not offered, with the reasons. */
export function obstaclesOf(name: string, { deposit, reductions }: EnoughAmounts): readonly string[] {
  const reasons = reductions.flatMap(({ symbol, least, along, obstacle }) => {
    if (obstacle !== null) return [obstacle];
    if (least !== null || along.length === 0) return [];
    const accounts = along.map(({ account }) => account);
    return [`closing the hedge in ${symbol} of ${name} and ${listed(accounts)} is not enough`];
  });
  return [...new Set([...(deposit.obstacle === null ? [] : [deposit.obstacle]), ...reasons])];
}

/** `sell 23.1 SOL reduce-only and buy 23.1 SOL reduce-only in hedge/0.0`: reduce-only, as the position may be closed by then. */
function tradesOf({ symbol, along }: Reduction, least: ClearingTrade, where: string): string {
  return listed([
    tradeOf(symbol, where, least),
    ...along.map((one) => tradeOf(symbol, ` in ${one.account}`, one)),
  ]);
}

function tradeOf(symbol: string, where: string, { trade, units, bookUsd }: ClearingTrade): string {
  const book = bookUsd === null ? "" : ` (the book takes ${formatUsd(bookUsd)} within 0.5% of its middle)`;
  return `${trade} ${unitsText(units)} ${symbol} reduce-only${where}${book}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(parts: readonly string[]): string {
  const last = parts.at(-1) ?? "";
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(", ")} and ${last}`;
}

/** Units with all digits: a rounded size might be a lot too small. */
function unitsText(units: number): string {
  return significant(units, 15);
}

/** USD, rounded up to the precision of texts. */
export function enoughUsd(usd: number): string {
  return formatUsd(Number(writtenQuoteLots(BigInt(Math.ceil(usd * 1e6 - 1e-3)))) / 1e6);
}

/** Rounds up to the precision of texts: whole USD from 100,000 on, cents below. */
export function writtenQuoteLots(quoteLots: bigint): bigint {
  const step = quoteLots < 100_000_000_000n ? 10_000n : 1_000_000n;
  return ((quoteLots + step - 1n) / step) * step;
}
