/**
 * The margin arithmetic in bigints, as simple as possible. It is correct for numbers of any size, and is the reference for
 * `fast.ts`, which computes the same in doubles if they are exact. Figures are as the exchange computes them, including all
 * rounding and its direction.
 */

import type { Int, LeverageTier, MarketFigures, MarketRisk, OrderRisk, SpotRisk } from "./model.ts";
import { leverageAt, limitOrderFactorAt } from "./tiers.ts";

/** The highest mark that the exchange can express. */
export const maxTicks = 2 ** 32 - 1;

/** Resting orders of one market, as margin counts them. Best prices are 0 if no order crosses the mark. */
export interface Resting<N> {
  /** Lots that can increase a position. */
  readonly bids: N;
  readonly asks: N;
  /** Including reduce-only orders, up to the size that they can reduce. */
  readonly allBids: N;
  readonly allAsks: N;
  /** Ticks of the highest bid above the mark, of the lowest ask below it. */
  readonly highestBid: N;
  readonly lowestAsk: N;
}

/** One market of one account, ready to be evaluated at any mark. */
export interface ExactMarket {
  readonly market: MarketRisk;
  readonly baseLots: bigint;
  readonly virtualQuoteLots: bigint;
  readonly resting: Resting<bigint>;
}

/** The rest of the account, which is constant while one market's mark moves. */
export interface ExactRest {
  /** Collateral, all unsettled funding, the other markets' discounted results and unmoved spot collateral. */
  readonly collateral: bigint;
  /** The maintenance margin of the other markets. */
  readonly maintenance: bigint;
  /** Spot collateral that the moving market prices. */
  readonly spot: readonly SpotRisk[];
}

export function exactMarket(
  market: MarketRisk,
  baseLots: Int,
  virtualQuoteLots: Int,
  orders: readonly OrderRisk[],
  markTicks: number,
): ExactMarket {
  const size = BigInt(baseLots);
  return {
    market,
    baseLots: size,
    virtualQuoteLots: BigInt(virtualQuoteLots),
    resting: restingOrders(orders, size, BigInt(markTicks)),
  };
}

/** Sums the orders, all of them active, at the current mark. The set of crossing orders is that of the current mark in all trials. */
function restingOrders(orders: readonly OrderRisk[], size: bigint, mark: bigint): Resting<bigint> {
  let bids = 0n;
  let asks = 0n;
  let reducingBids = 0n;
  let reducingAsks = 0n;
  let highestBid = 0n;
  let lowestAsk = 0n;
  for (const order of orders) {
    const lots = BigInt(order.remainingLots);
    const price = BigInt(order.priceTicks);
    if (order.side === "bid") {
      if (order.reduceOnly) reducingBids += lots;
      else bids += lots;
      if (price > mark && price > highestBid) highestBid = price;
    } else {
      if (order.reduceOnly) reducingAsks += lots;
      else asks += lots;
      if (price < mark && (lowestAsk === 0n || price < lowestAsk)) lowestAsk = price;
    }
  }
  return {
    bids,
    asks,
    allBids: bids + min(reducingBids, max(-size, 0n)),
    allAsks: asks + min(reducingAsks, max(size, 0n)),
    highestBid,
    lowestAsk,
  };
}

/** All figures of one market at one mark. */
export function exactFigures(it: ExactMarket, ticks: bigint): MarketFigures<bigint> {
  const { market } = it;
  const factors = market.riskFactors;
  const value = it.baseLots * ticks * BigInt(market.tickSize);
  const unrealized = it.virtualQuoteLots + value;
  const position = positionMargin(it, ticks);
  const initial = initialMargin(it, ticks, true);
  return {
    positionValueQuoteLots: value,
    unrealizedQuoteLots: unrealized,
    discountedQuoteLots: discounted(unrealized, factors.upnl),
    discountedForWithdrawalsQuoteLots: discounted(unrealized, factors.upnlForWithdrawals),
    positionInitialMarginQuoteLots: position,
    limitOrderMarginQuoteLots: initial - position,
    initialMarginQuoteLots: initial,
    initialMarginForWithdrawalsQuoteLots: initialMargin(it, ticks, false),
    cancelMarginQuoteLots: shareDown(initial, factors.cancelOrder),
    maintenanceMarginQuoteLots: shareDown(initial, factors.maintenance),
    backstopMarginQuoteLots: shareDown(initial, factors.backstop),
    highRiskMarginQuoteLots: shareDown(initial, factors.highRisk),
  };
}

function positionMargin(it: ExactMarket, ticks: bigint): bigint {
  return it.baseLots === 0n ? 0n : leveraged(it.market, abs(it.baseLots), ticks);
}

function initialMargin(it: ExactMarket, ticks: bigint, withOrderFactor: boolean): bigint {
  const { market, baseLots: size, resting } = it;
  const base = positionMargin(it, ticks);
  // Orders against the position cost nothing up to twice its size.
  const increase = (lots: bigint, after: bigint, signed: bigint): bigint => {
    if (lots === 0n || lots + signed - abs(size) <= 0n) return 0n;
    const more = max(leveraged(market, after, ticks) - base, 0n);
    return withOrderFactor ? shareUp(more, limitOrderFactorAt(market.leverageTiers, after)) : more;
  };
  const tickSize = BigInt(market.tickSize);
  const crossedBids =
    resting.highestBid > ticks ? resting.allBids * (resting.highestBid - ticks) * tickSize : 0n;
  const crossedAsks =
    resting.lowestAsk > 0n && resting.lowestAsk < ticks
      ? resting.allAsks * (ticks - resting.lowestAsk) * tickSize
      : 0n;
  return (
    base +
    max(
      increase(resting.bids, abs(size + resting.bids), size),
      increase(resting.asks, abs(size - resting.asks), -size),
    ) +
    crossedBids +
    crossedAsks
  );
}

function leveraged(
  market: { tickSize: number; leverageTiers: readonly LeverageTier[] },
  size: bigint,
  ticks: bigint,
) {
  const leverage = BigInt(leverageAt(market.leverageTiers, size));
  return divideUp(size * ticks * BigInt(market.tickSize), leverage);
}

/** True if the account would be liquidatable with this market's mark at `ticks` and all else unchanged. */
export function liquidatableAt(it: ExactMarket, rest: ExactRest, ticks: bigint): boolean {
  const factors = it.market.riskFactors;
  const tickSize = BigInt(it.market.tickSize);
  const unrealized = it.virtualQuoteLots + it.baseLots * ticks * tickSize;
  let effective = rest.collateral + discounted(unrealized, factors.upnl);
  for (const spot of rest.spot) {
    const priced = spot.repricing!;
    const notional = (BigInt(priced.balance) * ticks * tickSize) / BigInt(priced.unitsPerLot);
    effective += shareDown(notional, priced.retainedBps);
  }
  if (effective < 0n) return true;
  return effective < rest.maintenance + shareDown(initialMargin(it, ticks, true), factors.maintenance);
}

/**
 * The liquidation price by bisection, as the estimate is defined: the mark itself if the account is liquidatable now, else for a
 * long position the highest liquidatable tick below it, for a short one the lowest above.
 * @returns ticks, or undefined if no mark liquidates the account
 */
export function exactLiquidationTicks(
  it: ExactMarket,
  rest: ExactRest,
  markTicks: number,
): number | undefined {
  if (it.baseLots === 0n) return undefined;
  const hit = (ticks: number) => liquidatableAt(it, rest, BigInt(ticks));
  if (hit(markTicks)) return markTicks;
  return it.baseLots > 0n ? highestBelow(markTicks, hit) : lowestAbove(markTicks, hit);
}

/** Bisects [0, mark]; undefined if 0 does not hit. */
export function highestBelow(markTicks: number, hit: (ticks: number) => boolean): number | undefined {
  if (!hit(0)) return undefined;
  let low = 0;
  let high = markTicks;
  while (low + 1 < high) {
    const middle = low + Math.floor((high - low) / 2);
    if (hit(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Bisects [mark, 2³² − 1]; undefined if the upper end does not hit. */
export function lowestAbove(markTicks: number, hit: (ticks: number) => boolean): number | undefined {
  if (markTicks >= maxTicks || !hit(maxTicks)) return undefined;
  let low = markTicks;
  let high = maxTicks;
  while (low + 1 < high) {
    const middle = low + Math.floor((high - low) / 2);
    if (hit(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** A profit counts partly, rounded up; a loss counts in full. */
function discounted(unrealized: bigint, bps: number): bigint {
  return unrealized > 0n ? shareUp(unrealized, bps) : unrealized;
}

function shareDown(value: bigint, bps: number): bigint {
  return (value * BigInt(bps)) / 10_000n;
}

function shareUp(value: bigint, bps: number): bigint {
  return divideUp(value * BigInt(bps), 10_000n);
}

/** Division of non-negative numbers, rounded up. */
function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}

const abs = (value: bigint) => (value < 0n ? -value : value);
const min = (a: bigint, b: bigint) => (a < b ? a : b);
const max = (a: bigint, b: bigint) => (a > b ? a : b);
