/**
 * Spot collateral: assets other than the quote token that count as collateral of subaccount 0, at the **index**
 * price of the market that prices them, less a discount that grows with the balance.
 */

import type { Int, MarketRisk, SpotRisk } from "./model.ts";
import { shrink } from "./units.ts";

/** Maximum exponent of native units per base lot, a power of ten. */
const maxExponent = 60;

/** The exchange's settings of one spot collateral asset. Balances in native units. */
export interface SpotAsset {
  readonly decimals: number;
  readonly maxGlobalBalance: Int;
  readonly minMarginDiscountBps: number;
  readonly maxMarginDiscountBps: number;
}

/**
 * Prices a balance of an asset.
 * @param balance native units, not negative
 * @param indexTicks the index price of `market`, never its mark
 * @returns undefined if the asset cannot be priced by that market
 */
export function priceSpot(
  asset: SpotAsset,
  balance: Int,
  market: Pick<MarketRisk, "symbol" | "tickSize" | "baseLotsDecimals">,
  indexTicks: number,
): SpotRisk | undefined {
  const exponent = asset.decimals - market.baseLotsDecimals;
  if (!(exponent >= 0 && exponent <= maxExponent) || !(indexTicks > 0) || !Number.isSafeInteger(indexTicks))
    return undefined;
  const held = BigInt(balance);
  const maxHeld = BigInt(asset.maxGlobalBalance);
  if (held < 0n || maxHeld <= 0n) return undefined;
  const unitsPerLot = 10n ** BigInt(exponent);
  const notional = (held * BigInt(indexTicks) * BigInt(market.tickSize)) / unitsPerLot;
  const counted = held < maxHeld ? held : maxHeld;
  const slope = BigInt(asset.maxMarginDiscountBps - asset.minMarginDiscountBps);
  const retained = 10_000n - BigInt(asset.minMarginDiscountBps) - (slope * counted) / maxHeld;
  return {
    notionalQuoteLots: shrink(notional),
    discountedQuoteLots: shrink((notional * retained) / 10_000n),
    repricing: {
      symbol: market.symbol,
      balance: shrink(held),
      unitsPerLot: shrink(unitsPerLot),
      retainedBps: Number(retained),
    },
  };
}
