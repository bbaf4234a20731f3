/**
 * Collateral in assets other than the quote token, valued at the index price of the market that each asset is bound to.
 *
 *   balances (account state) + discounts (collateral assets) + index prices (market statistics) ──► SpotRisk
 */
import type { SubaccountState } from "../../domain/account.ts";
import type { SpotRisk } from "../../margin/model.ts";
import { priceSpot } from "../../margin/spot.ts";
import { ticksFromUsd } from "../../margin/units.ts";
import type { Markets } from "./markets.ts";

/** Returns true if the account holds collateral in another asset than the quote token. */
export function hasSpot({ spotCollaterals }: Pick<SubaccountState, "spotCollaterals">): boolean {
  for (const { balance } of spotCollaterals) if (balance > 0n) return true;
  return false;
}

/**
 * Values the balances of an account.
 * @returns null if an input is not known: the list of assets, an asset in it, its market or the market's index price
 */
export function priceBalances(
  { spotCollaterals }: SubaccountState,
  markets: Markets,
): readonly SpotRisk[] | null {
  if (markets.assets === null) return null;
  const priced: SpotRisk[] = [];
  for (const { assetIndex, balance } of spotCollaterals) {
    if (balance <= 0n) continue;
    const asset = markets.assets.get(assetIndex);
    if (asset === undefined) return null;
    if (markets.countsForNothing(asset)) continue;
    const symbol = markets.symbolOfAsset(assetIndex);
    const market = symbol === undefined ? undefined : markets.risk.get(symbol);
    const oracleUsd = symbol === undefined ? undefined : markets.entries.get(symbol)?.prices?.oraclePriceUsd;
    if (market === undefined || oracleUsd === undefined) return null;
    const risk = priceSpot(asset, balance, market, ticksFromUsd(oracleUsd, market));
    if (risk === undefined) return null;
    priced.push(risk);
  }
  return priced;
}
