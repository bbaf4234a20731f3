/** The ages of the inputs of an account. */

import type { Markets } from "../markets/markets.ts";
import { hasSpot } from "../markets/spot-collateral.ts";
import type { AccountEntry } from "./account-entry.ts";

/** Updates the ages of an account's inputs after prices were read, also if they did not change. */
export function refreshAges(account: AccountEntry, all: Markets): void {
  const { positions, markets } = account;
  const { entries, pricesAtMs } = all;
  const seenMs = account.node.facts.seenMs;
  let oldestMarkMs = Number.POSITIVE_INFINITY;
  let newestMarkMs = Number.NEGATIVE_INFINITY;
  let oldestRateMs = Number.POSITIVE_INFINITY;
  let unpriced = false;
  let configMs = configMsOf(account, all);
  for (let i = 0; i < markets.length; i++) {
    const symbol = markets[i]!;
    const market = entries.get(symbol)?.facts.seenMs;
    const marketMs = market?.markets;
    const marketConfigMs = market?.marketConfig;
    if (marketMs === undefined) unpriced = true;
    else {
      if (marketMs < oldestMarkMs) oldestMarkMs = marketMs;
      if (marketMs > newestMarkMs) newestMarkMs = marketMs;
    }
    if (marketConfigMs === undefined) configMs = null;
    const own = positions.get(symbol)?.node.facts.seenMs;
    if (own === undefined) continue;
    oldestRateMs = Math.min(oldestRateMs, market?.fundingRates ?? Number.NEGATIVE_INFINITY);
    if (marketMs !== undefined) own.markets = marketMs;
    else if (own.markets !== undefined) delete own.markets;
    if (marketConfigMs !== undefined) own.marketConfig = marketConfigMs;
  }
  // A position's liquidation price depends on the marks of the whole account, which mostly have the same time.
  if (oldestMarkMs < newestMarkMs) {
    for (const { node } of positions.values()) {
      const own = node.facts.seenMs;
      if (own.markets !== undefined && oldestMarkMs < own.markets) own.markets = oldestMarkMs;
    }
  }
  if (configMs !== null) seenMs.marketConfig = configMs;
  else if (seenMs.marketConfig !== undefined) delete seenMs.marketConfig;
  const marksMs = markets.length === 0 ? pricesAtMs : oldestMarkMs;
  if (!unpriced && marksMs !== null && Number.isFinite(marksMs)) seenMs.markets = marksMs;
  else if (seenMs.markets !== undefined) delete seenMs.markets;
  // An account without positions pays no funding, so its rates are as fresh as its state.
  if (positions.size === 0) seenMs.fundingRates = account.seenMs;
  else if (Number.isFinite(oldestRateMs)) seenMs.fundingRates = oldestRateMs;
  // Tested first: deleting an absent property is the most expensive step here.
  else if (seenMs.fundingRates !== undefined) delete seenMs.fundingRates;
}

/** Time of the configuration that an account depends on, ms; null: not read. Spot collateral also needs the list of assets. */
function configMsOf({ state }: AccountEntry, all: Markets): number | null {
  const { configAtMs, assetsAtMs } = all;
  if (configAtMs === null || !hasSpot(state)) return configAtMs;
  return assetsAtMs === null ? null : Math.min(configAtMs, assetsAtMs);
}
