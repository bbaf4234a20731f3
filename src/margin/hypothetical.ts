/**
 * Hypothetical accounts: after a deposit or a withdrawal, after a reduction of a position, at other marks.
 *
 * A reduction is computed as the exchange's taker fill: the position's funding is settled, the closed share of its quote side is
 * realized, and the fee is taken from collateral. Resting orders stay, except reduce-only ones with nothing left to reduce.
 */

import type { AccountRisk, Markets, MarkTicks, SpotRisk } from "./model.ts";
import { isSound } from "./sound-inputs.ts";
import { shrink } from "./units.ts";

export interface Reduction {
  readonly symbol: string;
  /** Base lots to close, positive; more than the size closes the position. */
  readonly lots: bigint;
  readonly priceTicks: number;
  /** Taker fee, a fraction of the traded value. */
  readonly fee: number;
}

const millionths = 1_000_000;

/** @param quoteLots negative: a withdrawal */
export function withDeposit(account: AccountRisk, quoteLots: bigint): AccountRisk {
  return { ...account, collateralQuoteLots: shrink(BigInt(account.collateralQuoteLots) + quoteLots) };
}

/** @returns undefined if there is no such position, or its market is not known */
export function withReduction(
  account: AccountRisk,
  markets: Markets,
  { symbol, lots, priceTicks, fee }: Reduction,
): AccountRisk | undefined {
  const position = account.positions.find((one) => one.symbol === symbol);
  const market = markets.get(symbol);
  if (position === undefined || market === undefined || !isSound(market)) return undefined;
  const size = BigInt(position.baseLots);
  const held = size < 0n ? -size : size;
  if (held === 0n) return undefined;
  const closed = lots < held ? lots : held;
  const virtual = BigInt(position.virtualQuoteLots);
  const value = closed * BigInt(priceTicks) * BigInt(market.tickSize);
  const closedQuote = (virtual * closed) / held;
  const left = size > 0n ? size - closed : size + closed;
  const collateral =
    BigInt(account.collateralQuoteLots) +
    BigInt(position.unsettledFundingQuoteLots) +
    closedQuote +
    (size > 0n ? value : -value) -
    feeOf(value, fee);
  const reduced = {
    symbol,
    baseLots: shrink(left),
    virtualQuoteLots: shrink(virtual - closedQuote),
    unsettledFundingQuoteLots: 0,
  };
  return {
    ...account,
    collateralQuoteLots: shrink(collateral),
    positions: account.positions.flatMap((one) => (one !== position ? one : left === 0n ? [] : reduced)),
    orders:
      left === 0n
        ? account.orders.filter((order) => order.symbol !== symbol || !order.reduceOnly)
        : account.orders,
  };
}

/** The fee of a fill, rounded up, quote lots. */
function feeOf(value: bigint, fee: number): bigint {
  // A rate such as 0.00035 is slightly inexact as a double; the intended value is a whole number of millionths.
  const rate = BigInt(Math.ceil(fee * millionths - 1e-6));
  return (value * rate + BigInt(millionths) - 1n) / BigInt(millionths);
}

/**
 * The marks of an account's markets after each moved against its own position. Of markets without a position, those that value spot
 * collateral fall, and the others stay.
 * @param shareOf the move, a fraction of the mark
 * @param isNearest true: rounded to the nearest tick; false: rounded away from the present mark
 */
export function adverseMarks(
  account: AccountRisk,
  marks: MarkTicks,
  shareOf: (symbol: string) => number,
  isNearest = false,
): Map<string, number> {
  const moved = new Map(marks);
  const valuing = new Set(account.spot?.flatMap(({ repricing }) => repricing?.symbol ?? []));
  const sides = new Map(account.positions.map(({ symbol, baseLots }) => [symbol, baseLots > 0 ? -1 : 1]));
  for (const symbol of new Set([...sides.keys(), ...valuing])) {
    const mark = marks.get(symbol);
    if (mark === undefined) continue;
    const isUp = sides.get(symbol) === 1;
    const share = shareOf(symbol);
    const exact = isUp ? mark * (1 + share) : mark * (1 - share);
    const to = isNearest ? Math.round(exact) : isUp ? Math.ceil(exact) : Math.floor(exact);
    // A mark of 0 is no mark.
    moved.set(symbol, Math.max(1, to));
  }
  return moved;
}

/** The account with revalued spot collateral: index prices are assumed to move as marks do. */
export function atMarks(
  account: AccountRisk,
  markets: Markets,
  before: MarkTicks,
  after: MarkTicks,
): AccountRisk {
  const { spot } = account;
  if (spot === undefined || spot.length === 0) return account;
  return { ...account, spot: spot.map((one) => revalued(one, markets, before, after)) };
}

function revalued(spot: SpotRisk, markets: Markets, before: MarkTicks, after: MarkTicks): SpotRisk {
  const { repricing, notionalQuoteLots } = spot;
  if (repricing === undefined) return spot;
  const { symbol, retainedBps } = repricing;
  const [from, to, market] = [before.get(symbol), after.get(symbol), markets.get(symbol)];
  if (from === undefined || to === undefined || market === undefined || from === to) return spot;
  const [balance, unitsPerLot] = [BigInt(repricing.balance), BigInt(repricing.unitsPerLot)];
  const perTick = balance * BigInt(market.tickSize);
  if (perTick <= 0n) return spot;
  // The index price of the valuation: the value of a balance is rounded down.
  const index = (BigInt(notionalQuoteLots) * unitsPerLot + perTick - 1n) / perTick;
  const notional = (perTick * ((index * BigInt(to)) / BigInt(from))) / unitsPerLot;
  return {
    ...spot,
    notionalQuoteLots: shrink(notional),
    discountedQuoteLots: shrink((notional * BigInt(retainedBps)) / 10_000n),
  };
}
