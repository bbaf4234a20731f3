/**
 * The common move of the market up to which the account is not liquidatable: one figure for an account with many positions,
 * whose liquidation prices each assume that the other marks stay.
 *
 *   together   every mark by the same percentage, up or down, whichever is nearer
 *   adverse    each mark against its own position, by the same percentage
 *
 * These figures are not the exchange's own: they are computed in doubles, found by search, and rounded down, which is the
 * cautious side. As for the liquidation price, orders do not fill during the move, and those that cross the present mark
 * reserve a loss. Spot collateral moves with the market that prices it.
 */

import { assessAccount } from "./assess.ts";
import { fastExcess, fastMarket } from "./fast.ts";
import { activeOrders } from "./leg.ts";
import type { AccountRisk, Assessment, Markets, MarkTicks, SpotRisk } from "./model.ts";

export interface Moves {
  /** Fraction of the marks: 0 liquidatable now, +∞ no move liquidates the account, NaN an input is unknown. */
  readonly together: number;
  /** The direction of the nearer common move; undefined: there is none. */
  readonly direction: "up" | "down" | undefined;
  /** Values as for `together`. */
  readonly adverse: number;
}

/** Maximum move that is searched, a fraction: prices eleven times as high count as never; downward the limit is a mark of 0. */
export const farthest = 10;
/** Results are at most this far from the boundary: 0.001 %. */
export const resolution = 1e-5;
/** Maximum number of secant steps before bisection. */
const maxChords = 12;

/** @param assessed the account at these marks, if the caller has it */
export function movesToLiquidation(
  account: AccountRisk,
  markets: Markets,
  marks: MarkTicks,
  assessed: Assessment = assessAccount(account, markets, marks, { liquidation: false }),
): Moves {
  const never = Number.POSITIVE_INFINITY;
  const { totals } = assessed;
  if (totals === undefined) return { together: Number.NaN, direction: undefined, adverse: Number.NaN };
  if (totals.effectiveCollateralQuoteLots < totals.maintenanceMarginQuoteLots) {
    return { together: 0, direction: undefined, adverse: 0 };
  }
  const orders = activeOrders(account.orders);
  const legs = assessed.markets.map(({ symbol, baseLots, markTicks }, i) => ({
    mark: markTicks!,
    against: baseLots > 0 ? -1 : baseLots < 0 ? 1 : 0,
    market: fastMarket(
      markets.get(symbol)!,
      Number(baseLots),
      // Positions come first and in their own order.
      Number(account.positions[i]?.virtualQuoteLots ?? 0),
      orders.get(symbol),
      markTicks!,
    ),
  }));
  const sides = new Map(assessed.markets.map((market, i) => [market.symbol, legs[i]!.against]));
  const spots = account.spot ?? [];
  const settled = Number(assessed.collateralQuoteLots) + Number(assessed.unsettledFundingQuoteLots);

  /** The excess after a move. Common moves have a `direction`; for adverse moves (0) each market has its own. */
  const left = (move: number, direction: -1 | 0 | 1): number => {
    let excess = settled;
    for (const leg of legs) {
      const signed = move * (direction === 0 ? leg.against : direction);
      excess += fastExcess(leg.market, 0, leg.mark * Math.max(0, 1 + signed));
    }
    for (const spot of spots) excess += spotAfter(spot, move, direction, sides);
    return excess;
  };

  const up = firstHit(0, farthest, (move) => left(move, 1));
  const down = firstHit(0, 1, (move) => left(move, -1));
  const together = Math.min(up, down);
  return {
    together,
    direction: together === never ? undefined : down <= up ? "down" : "up",
    // A mark cannot fall by more than 100 %: beyond 1 only marks of short positions move further.
    adverse:
      left(1, 0) < 0
        ? firstHit(0, 1, (move) => left(move, 0))
        : firstHit(1, farthest, (move) => left(move, 0)),
  };
}

function spotAfter(
  spot: SpotRisk,
  move: number,
  direction: -1 | 0 | 1,
  sides: ReadonlyMap<string, number>,
): number {
  const value = Number(spot.discountedQuoteLots);
  if (spot.repricing === undefined) return value;
  // Without a position in its market, spot collateral is only hurt by a fall.
  const own = sides.get(spot.repricing.symbol) || -1;
  return value * Math.max(0, 1 + move * (direction === 0 ? own : direction));
}

/**
 * The boundary of moves between two ends below which no move liquidates the account. The excess is concave in a common move
 * (profits are discounted, margin is a maximum of straight lines), so there is one boundary between an end that is not hit and
 * one that is, and none between two ends that are not hit.
 *
 * Found by the secant method (Illinois), which needs a third of the evaluations of bisection; bisection is used after
 * `maxChords` steps. In all cases the result is not hit, and one resolution further is.
 *
 * @param atFrom the excess there, if the caller knows it; likewise `atTo`
 */
export function firstHit(
  from: number,
  to: number,
  left: (move: number) => number,
  atFrom?: number,
  atTo?: number,
): number {
  let low = from;
  let high = to;
  let atHigh = atTo ?? left(to);
  if (!(atHigh < 0)) return Number.POSITIVE_INFINITY;
  let atLow = atFrom ?? left(from);
  let side = 0;
  for (let looks = 0; high - low > resolution; looks++) {
    let middle = low + (high - low) * (atLow / (atLow - atHigh));
    // At least half a resolution from each end, so that both ends converge.
    middle = Math.min(Math.max(middle, low + resolution / 2), high - resolution / 2);
    if (looks >= maxChords || Number.isNaN(middle)) middle = (low + high) / 2;
    const at = left(middle);
    if (at < 0) {
      high = middle;
      atHigh = at;
      if (side < 0) atLow /= 2;
      side = -1;
    } else {
      low = middle;
      atLow = at;
      if (side > 0) atHigh /= 2;
      side = 1;
    }
  }
  return low;
}
