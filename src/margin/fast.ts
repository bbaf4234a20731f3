/**
 * The margin arithmetic of `exact.ts` in doubles, for amounts at which doubles are exact; about thirty times as fast. Both give
 * the same figures, which a property test checks.
 *
 * Reason for exactness: `bound` is an upper bound, computed beforehand, of every product and sum that can occur at the mark or
 * anywhere between it and 0. While it is within 2^52, each is an integer that a double represents. A quotient a / b of such
 * integers differs from the next integer by at least 1 / b, which is more than the rounding error of a double, so Math.floor and
 * Math.ceil are correct. Shares in bps of large amounts are split so that no product is larger than its result.
 *
 * Above the mark there is no such bound (the search of a short position goes up to tick 2³² − 1). There `excess` gives the possible
 * rounding error, and the caller uses the exact arithmetic if the result is within it.
 */

import type { MarketFigures, MarketRisk, OrderRisk } from "./model.ts";
import { leverageAt, limitOrderFactorAt } from "./tiers.ts";

/** Maximum of any figure of an account that is computed in doubles. */
export const fastLimit = 2 ** 52;

/** One market of one account, with all that does not depend on the mark precomputed. "Unit": quote lots per tick. */
export interface FastMarket {
  readonly size: number;
  readonly signedUnit: number;
  readonly virtualQuoteLots: number;
  readonly positionUnit: number;
  readonly positionLeverage: number;
  /** 0: orders of that side add nothing. */
  readonly bidUnit: number;
  readonly bidLeverage: number;
  readonly bidFactorBps: number;
  readonly askUnit: number;
  readonly askLeverage: number;
  readonly askFactorBps: number;
  /** Resting orders that cross the mark; 0: none. */
  readonly crossedBidUnit: number;
  readonly highestBid: number;
  readonly crossedAskUnit: number;
  readonly lowestAsk: number;
  readonly maintenanceBps: number;
  readonly upnlBps: number;
  /** Upper bound of all figures at marks between 0 and the present one. */
  readonly bound: number;
  /** Sum of all units: an upper bound of the figures' growth per tick. */
  readonly growth: number;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Always returns figures: exact while `bound` is within `fastLimit`, approximate beyond. */
export function fastMarket(
  market: MarketRisk,
  size: number,
  virtualQuoteLots: number,
  orders: readonly OrderRisk[] | undefined,
  markTicks: number,
): FastMarket {
  const it = new ReusableFastMarket();
  fillFastMarket(it, market, size, virtualQuoteLots, orders, null, markTicks);
  return it;
}

/** A reusable object for one market. Fields always hold doubles, so that writing them allocates no memory. */
export class ReusableFastMarket implements FastMarket {
  size = Number.NaN;
  signedUnit = Number.NaN;
  virtualQuoteLots = Number.NaN;
  positionUnit = Number.NaN;
  positionLeverage = Number.NaN;
  bidUnit = Number.NaN;
  bidLeverage = Number.NaN;
  bidFactorBps = Number.NaN;
  askUnit = Number.NaN;
  askLeverage = Number.NaN;
  askFactorBps = Number.NaN;
  crossedBidUnit = Number.NaN;
  highestBid = Number.NaN;
  crossedAskUnit = Number.NaN;
  lowestAsk = Number.NaN;
  maintenanceBps = Number.NaN;
  upnlBps = Number.NaN;
  bound = Number.NaN;
  growth = Number.NaN;
}

/**
 * As `fastMarket`, but writes into an existing object.
 * @param ofSymbol market whose active orders count; null: all of them count
 */
export function fillFastMarket(
  into: Writable<FastMarket>,
  market: MarketRisk,
  size: number,
  virtualQuoteLots: number,
  orders: readonly OrderRisk[] | undefined,
  ofSymbol: string | null,
  markTicks: number,
): void {
  const { tickSize, leverageTiers: tiers, riskFactors: factors } = market;
  const absolute = Math.abs(size);
  let bids = 0;
  let asks = 0;
  let reducingBids = 0;
  let reducingAsks = 0;
  let highestBid = 0;
  let lowestAsk = 0;
  if (orders !== undefined) {
    for (const order of orders) {
      if (ofSymbol !== null && !(order.symbol === ofSymbol && isActive(order))) continue;
      // A value that does not fit a number exceeds the bound.
      const lots = Number(order.remainingLots);
      const price = Number(order.priceTicks);
      if (order.side === "bid") {
        if (order.reduceOnly) reducingBids += lots;
        else bids += lots;
        if (price > markTicks && price > highestBid) highestBid = price;
      } else {
        if (order.reduceOnly) reducingAsks += lots;
        else asks += lots;
        if (price < markTicks && (lowestAsk === 0 || price < lowestAsk)) lowestAsk = price;
      }
    }
  }
  const allBids = bids + Math.min(reducingBids, size < 0 ? absolute : 0);
  const allAsks = asks + Math.min(reducingAsks, size > 0 ? absolute : 0);
  const afterBids = bids > 0 && bids + size - absolute > 0 ? Math.abs(size + bids) : 0;
  const afterAsks = asks > 0 && asks - size - absolute > 0 ? Math.abs(size - asks) : 0;
  const crossedBidUnit = highestBid === 0 ? 0 : allBids * tickSize;
  const crossedAskUnit = lowestAsk === 0 ? 0 : allAsks * tickSize;
  const growth = (absolute + afterBids + afterAsks) * tickSize + crossedBidUnit + crossedAskUnit;
  // The bound includes every order, as sums of lots have to be exact as well.
  const lotsBound = absolute + bids + asks + reducingBids + reducingAsks;
  const bound =
    Math.abs(virtualQuoteLots) + growth * markTicks + crossedBidUnit * highestBid + lotsBound * tickSize;
  const bidFactorBps = afterBids === 0 ? 0 : limitOrderFactorAt(tiers, afterBids);
  const askFactorBps = afterAsks === 0 ? 0 : limitOrderFactorAt(tiers, afterAsks);
  // A share above 100 % could exceed the bound.
  const shares = Math.max(
    bidFactorBps,
    askFactorBps,
    factors.maintenance,
    factors.cancelOrder,
    factors.backstop,
    factors.highRisk,
    factors.upnl,
    factors.upnlForWithdrawals,
  );
  into.size = size;
  into.signedUnit = size * tickSize;
  into.virtualQuoteLots = virtualQuoteLots;
  into.positionUnit = absolute * tickSize;
  into.positionLeverage = size === 0 ? 1 : leverageAt(tiers, absolute);
  into.bidUnit = afterBids * tickSize;
  into.bidLeverage = afterBids === 0 ? 1 : leverageAt(tiers, afterBids);
  into.bidFactorBps = bidFactorBps;
  into.askUnit = afterAsks * tickSize;
  into.askLeverage = afterAsks === 0 ? 1 : leverageAt(tiers, afterAsks);
  into.askFactorBps = askFactorBps;
  into.crossedBidUnit = crossedBidUnit;
  into.highestBid = highestBid;
  into.crossedAskUnit = crossedAskUnit;
  into.lowestAsk = lowestAsk;
  into.maintenanceBps = factors.maintenance;
  into.upnlBps = factors.upnl;
  into.bound = shares <= 10_000 ? bound : Number.POSITIVE_INFINITY;
  into.growth = growth;
}

/** True if an order counts. */
export function isActive({ status }: OrderRisk): boolean {
  return status === undefined || status === "active";
}

/** All figures of one market at one mark. */
export function fastFigures(it: FastMarket, market: MarketRisk, ticks: number): MarketFigures<number> {
  const figures = new ReusableFigures();
  fillFigures(figures, it, market, ticks);
  return figures;
}

/** A reusable object for the figures of one market. */
export class ReusableFigures implements MarketFigures<number> {
  positionValueQuoteLots = Number.NaN;
  unrealizedQuoteLots = Number.NaN;
  discountedQuoteLots = Number.NaN;
  discountedForWithdrawalsQuoteLots = Number.NaN;
  positionInitialMarginQuoteLots = Number.NaN;
  limitOrderMarginQuoteLots = Number.NaN;
  initialMarginQuoteLots = Number.NaN;
  initialMarginForWithdrawalsQuoteLots = Number.NaN;
  cancelMarginQuoteLots = Number.NaN;
  maintenanceMarginQuoteLots = Number.NaN;
  backstopMarginQuoteLots = Number.NaN;
  highRiskMarginQuoteLots = Number.NaN;
}

/** As `fastFigures`, but writes into an existing object. */
export function fillFigures(
  into: Writable<MarketFigures<number>>,
  it: FastMarket,
  market: MarketRisk,
  ticks: number,
): void {
  const factors = market.riskFactors;
  // Adding 0 converts −0 to 0.
  const value = it.signedUnit * ticks + 0;
  const unrealized = it.virtualQuoteLots + value;
  const position = Math.ceil((it.positionUnit * ticks) / it.positionLeverage);
  const bidMore =
    it.bidUnit === 0 ? 0 : Math.max(Math.ceil((it.bidUnit * ticks) / it.bidLeverage) - position, 0);
  const askMore =
    it.askUnit === 0 ? 0 : Math.max(Math.ceil((it.askUnit * ticks) / it.askLeverage) - position, 0);
  const crossed = crossedLoss(it, ticks);
  const orders = crossed + Math.max(shareUp(bidMore, it.bidFactorBps), shareUp(askMore, it.askFactorBps));
  const initial = position + orders;
  into.positionValueQuoteLots = value;
  into.unrealizedQuoteLots = unrealized;
  into.discountedQuoteLots = discounted(unrealized, it.upnlBps);
  into.discountedForWithdrawalsQuoteLots = discounted(unrealized, factors.upnlForWithdrawals);
  into.positionInitialMarginQuoteLots = position;
  into.limitOrderMarginQuoteLots = orders;
  into.initialMarginQuoteLots = initial;
  into.initialMarginForWithdrawalsQuoteLots = position + crossed + Math.max(bidMore, askMore);
  into.cancelMarginQuoteLots = shareDown(initial, factors.cancelOrder);
  into.maintenanceMarginQuoteLots = shareDown(initial, it.maintenanceBps);
  into.backstopMarginQuoteLots = shareDown(initial, factors.backstop);
  into.highRiskMarginQuoteLots = shareDown(initial, factors.highRisk);
}

/**
 * Effective collateral less maintenance margin with this market's mark at `ticks`; liquidatable below 0, since maintenance is
 * never negative.
 * @param restCollateral collateral of the account without this market's result, less the others' maintenance margin
 */
export function fastExcess(it: FastMarket, restCollateral: number, ticks: number): number {
  const unrealized = it.virtualQuoteLots + it.signedUnit * ticks;
  const position = Math.ceil((it.positionUnit * ticks) / it.positionLeverage);
  let more = 0;
  if (it.bidUnit !== 0) {
    more = shareUp(Math.max(Math.ceil((it.bidUnit * ticks) / it.bidLeverage) - position, 0), it.bidFactorBps);
  }
  if (it.askUnit !== 0) {
    const asks = shareUp(
      Math.max(Math.ceil((it.askUnit * ticks) / it.askLeverage) - position, 0),
      it.askFactorBps,
    );
    if (asks > more) more = asks;
  }
  const initial = position + more + crossedLoss(it, ticks);
  return restCollateral + discounted(unrealized, it.upnlBps) - shareDown(initial, it.maintenanceBps);
}

/** The loss of resting orders that cross the mark, if they filled at once. */
function crossedLoss(it: FastMarket, ticks: number): number {
  let loss = 0;
  if (it.highestBid > ticks) loss += it.crossedBidUnit * (it.highestBid - ticks);
  if (it.lowestAsk !== 0 && it.lowestAsk < ticks) loss += it.crossedAskUnit * (ticks - it.lowestAsk);
  return loss;
}

function discounted(unrealized: number, bps: number): number {
  return unrealized > 0 ? shareUp(unrealized, bps) : unrealized;
}

function shareDown(value: number, bps: number): number {
  const times = value * bps;
  return times <= fastLimit ? Math.floor(times / 10_000) : largeShareDown(value, bps);
}

function shareUp(value: number, bps: number): number {
  if (bps === 10_000) return value;
  const times = value * bps;
  return times <= fastLimit ? Math.ceil(times / 10_000) : largeShareUp(value, bps);
}

function largeShareDown(value: number, bps: number): number {
  const thousands = Math.floor(value / 10_000);
  return thousands * bps + Math.floor(((value - thousands * 10_000) * bps) / 10_000);
}

function largeShareUp(value: number, bps: number): number {
  const thousands = Math.floor(value / 10_000);
  return thousands * bps + Math.ceil(((value - thousands * 10_000) * bps) / 10_000);
}
