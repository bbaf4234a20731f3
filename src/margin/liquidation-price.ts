/** The liquidation price of a position, with the rest of the account unchanged. */

import {
  type ExactMarket,
  exactLiquidationTicks,
  exactMarket,
  highestBelow,
  liquidatableAt,
  lowestAbove,
} from "./exact.ts";
import { add, subtract } from "./exact-sum.ts";
import { fastExcess, fastLimit } from "./fast.ts";
import type { Leg } from "./leg.ts";
import type { AccountFigures, AccountRisk, Int, Liquidation } from "./model.ts";
import { usdFromTicks } from "./units.ts";

const none: Liquidation = { kind: "none" };

export function liquidationOf(
  account: AccountRisk,
  leg: Leg,
  sums: AccountFigures,
  funding: Int,
): Liquidation {
  const market = leg.market!;
  const mark = leg.markTicks!;
  if (leg.baseLots === 0) return none;
  const ticks = liquidationTicks(account, leg, sums, funding);
  if (ticks === undefined) return none;
  return { kind: "price", ticks, usd: usdFromTicks(ticks, market), distance: Math.abs(mark - ticks) / mark };
}

/**
 * The same bisection steps as in `exact.ts`, so that the result is the same even where rounding makes the boundary irregular. Each
 * step is evaluated in doubles if they are certain to be exact.
 */
function liquidationTicks(
  account: AccountRisk,
  leg: Leg,
  sums: AccountFigures,
  funding: Int,
): number | undefined {
  const { fast, figures } = leg;
  const mark = leg.markTicks!;
  const spots = account.spot ?? [];
  const moving = spots.filter((spot) => spot.repricing?.symbol === leg.symbol);
  let collateral = add(
    add(account.collateralQuoteLots, funding),
    subtract(sums.discountedQuoteLots, figures!.discountedQuoteLots),
  );
  for (const spot of spots) {
    if (!moving.includes(spot)) collateral = add(collateral, spot.discountedQuoteLots);
  }
  const maintenance = subtract(sums.maintenanceMarginQuoteLots, figures!.maintenanceMarginQuoteLots);
  const rest = subtract(collateral, maintenance);

  let exact: ExactMarket | undefined;
  const exactly = (): ExactMarket =>
    (exact ??= exactMarket(leg.market!, leg.baseLots, leg.virtualQuoteLots, leg.orders ?? [], mark));
  const exactRest = () => ({
    collateral: BigInt(collateral),
    maintenance: BigInt(maintenance),
    spot: moving,
  });
  const restBound = typeof rest === "number" ? Math.abs(rest) : Number.POSITIVE_INFINITY;
  if (fast === undefined || moving.length > 0 || fast.bound + restBound > fastLimit) {
    return exactLiquidationTicks(exactly(), exactRest(), mark);
  }

  const restNumber = rest as number;
  // Up to here doubles are exact. Beyond, each of a few dozen roundings has an error of less than 2^-52 of the bound.
  const exactUpTo = mark + Math.floor((fastLimit - fast.bound - restBound) / Math.max(fast.growth, 1));
  const hit = (ticks: number): boolean => {
    const excess = fastExcess(fast, restNumber, ticks);
    if (ticks <= exactUpTo) return excess < 0;
    const doubt = (fast.bound + restBound + fast.growth * ticks) * 2 ** -44 + 16;
    if (Math.abs(excess) > doubt) return excess < 0;
    return liquidatableAt(exactly(), exactRest(), BigInt(ticks));
  };
  if (hit(mark)) return mark;
  return fast.size > 0 ? highestBelow(mark, hit) : lowestAbove(mark, hit);
}
