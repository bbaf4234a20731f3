/** Native SOL as collateral: an account's balance and its value. */
import { writeAmount } from "../../contract/index.ts";
import type { SpotRisk } from "../../margin/model.ts";
import { priceSpot } from "../../margin/spot.ts";
import type { Account, Market, World } from "../state.ts";

/** Balances in native units. The discount is the same for every balance. */
const asset = {
  assetIndex: 4_294_901_760,
  symbol: "SOL",
  decimals: 9,
  maxPerTraderBalance: 1_000_000_000_000_000n,
  maxGlobalBalance: 100_000_000_000_000_000n,
  minMarginDiscountBps: 1_000,
  maxMarginDiscountBps: 1_000,
} as const;

export const spotDecimals = asset.decimals;
/** The market whose oracle price values it. */
export const spotMarket = asset.symbol;

/** Valued at the oracle price of its market; undefined without a balance. */
export function spotRisk(world: World, account: Account): SpotRisk | undefined {
  const market = world.markets.get(spotMarket);
  if (!account.spot || !market) return undefined;
  return priceSpot(asset, account.spot, market.risk, market.oracleTicks);
}

/** Value of a balance at a price in ticks, quote lots. */
export function spotNotional(market: Market, balance: bigint, ticks: number): bigint {
  return BigInt(priceSpot(asset, balance, market.risk, ticks)?.notionalQuoteLots ?? 0);
}

/** Balances in the form of trader states. */
export function spotBalances({ spot }: Account) {
  if (!spot) return [];
  const { assetIndex, symbol, decimals } = asset;
  return [{ assetIndex, symbol, balance: spot.toString(), decimals }];
}

/** Balances with their value, in the form of trader views. */
export function spotView(world: World, account: Account) {
  const risk = spotRisk(world, account);
  if (!risk || !account.spot) return [];
  const { assetIndex, symbol, decimals } = asset;
  return [
    {
      assetIndex,
      symbol,
      balance: writeAmount(account.spot, decimals),
      notional: writeAmount(BigInt(risk.notionalQuoteLots), 6),
      discounted: writeAmount(BigInt(risk.discountedQuoteLots), 6),
      withdrawable: writeAmount(account.spot, decimals),
    },
  ];
}

/** The asset in the exchange's form. */
export function spotAsset(world: World) {
  let held = 0n;
  for (const account of world.accounts.values()) held += account.spot ?? 0n;
  const { assetIndex, symbol, decimals } = asset;
  return {
    assetIndex,
    symbol,
    decimals,
    spot: {
      isActive: true,
      perpAssetIndex: world.markets.get(symbol)?.spec.assetId ?? null,
      maxPerTraderBalance: asset.maxPerTraderBalance.toString(),
      maxGlobalBalance: asset.maxGlobalBalance.toString(),
      currGlobalBalance: held.toString(),
      minMarginDiscountBps: asset.minMarginDiscountBps,
      maxMarginDiscountBps: asset.maxMarginDiscountBps,
      maxLiquidationDiscountBps: 500,
      minLiquidationSlippageBps: 50,
      maxLiquidationSize: "100000000000",
    },
  };
}
