/** Checks of the inputs of an assessment: amounts are integers, and terms of markets are consistent. */
import type { AccountRisk, Int, MarketRisk, OrderRisk } from "./model.ts";

const soundMarkets = new WeakSet<MarketRisk>();
/** Maximum leverage and order factor of a tier: the lines between tiers are computed in doubles. */
const maxTierValue = 1e6;

/**
 * True if margin can be computed from a market's configuration. Checks each configuration once, as they rarely change and are
 * needed at every mark.
 */
export function isSound(market: MarketRisk): boolean {
  if (soundMarkets.has(market)) return true;
  const { riskFactors: factors } = market;
  const sound =
    Number.isSafeInteger(market.tickSize) &&
    market.tickSize > 0 &&
    Number.isSafeInteger(market.baseLotsDecimals) &&
    [
      factors.maintenance,
      factors.cancelOrder,
      factors.backstop,
      factors.highRisk,
      factors.upnl,
      factors.upnlForWithdrawals,
    ].every((bps) => Number.isSafeInteger(bps) && bps >= 0) &&
    market.leverageTiers.every(
      (tier) =>
        isInteger(tier.maxSizeBaseLots) &&
        isWithin(tier.maxLeverage, maxTierValue) &&
        isWithin(tier.limitOrderRiskFactorBps, maxTierValue),
    );
  if (sound) soundMarkets.add(market);
  return sound;
}

export function isInteger(value: Int): boolean {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

function isWithin(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}

/** True if an order has a size and a price that are non-negative integers. */
export function hasIntegers({ remainingLots, priceTicks }: OrderRisk): boolean {
  return isInteger(remainingLots) && isInteger(priceTicks) && remainingLots >= 0 && priceTicks >= 0;
}

export function areIntegers(account: AccountRisk): boolean {
  return (
    isInteger(account.collateralQuoteLots) &&
    (account.spot ?? []).every(
      (spot) => isInteger(spot.notionalQuoteLots) && isInteger(spot.discountedQuoteLots),
    )
  );
}
