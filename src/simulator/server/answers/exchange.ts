/** The exchange and its configuration. */
import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import { type Handlers, PROGRAM_ID, SYSTEM_KEY, type WireFor, writeAmount } from "../../../contract/index.ts";
import { spotAsset } from "../../accounts/spot.ts";
import { scaledRound } from "../../decimals.ts";
import { derivedAddress, splineOf } from "../../ledger/program-addresses.ts";
import { fundingIntervalMs, fundingPeriodMs, riskFactors } from "../../markets/markets.ts";
import type { Market, World } from "../../state.ts";
import { present } from "../../world.ts";
import { executionBand, sessionNow } from "./calendars.ts";
import { type Context, marketOf, seconds } from "./context.ts";
import { bits } from "./prices.ts";

/** A public key without a known private key, always the same for a name. */
export function keyNamed(name: string): string {
  return base58.encode(createHash("sha256").update(`simulator ${name}`).digest());
}

const authorityNames = [
  "rootAuthority",
  "riskAuthority",
  "marketAuthority",
  "oracleAuthority",
  "adlAuthority",
  "cancelAuthority",
  "backstopAuthority",
] as const;
type Authorities = Record<(typeof authorityNames)[number], string>;
const authorities = (key: (name: string) => string) =>
  Object.fromEntries(authorityNames.map((name) => [name, key(name)])) as Authorities;

const usdcMint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
export const exchangeAccounts = {
  globalConfig: derivedAddress("global"),
  currentAuthorities: authorities(keyNamed),
  canonicalMint: usdcMint,
  globalVault: derivedAddress("vault", usdcMint),
  perpAssetMap: keyNamed("perpAssetMap"),
  globalTraderIndex: [keyNamed("globalTraderIndex 0"), keyNamed("globalTraderIndex 1")],
  activeTraderBuffer: [keyNamed("activeTraderBuffer 0")],
  withdrawQueue: keyNamed("withdrawQueue"),
};

const exchangeKeys = (): WireFor<"exchangeKeys"> => ({
  ...exchangeAccounts,
  pendingAuthorities: authorities(() => SYSTEM_KEY),
  programId: PROGRAM_ID,
});

const fee = (millionths: bigint): number => Number(millionths) / 1e6;
const factors = {
  ...riskFactors,
  ...Object.fromEntries(Object.entries(riskFactors).map(([name, percent]) => [`${name}Bps`, percent * 100])),
};

/** Fields that the live exchange adds for equities; its contract lacks them. */
const equityMetadata = ({ name, symbol }: Market["spec"]) => ({
  earningsDates: ["2026-10-21"],
  searchAliases: [name.toLowerCase(), symbol.toLowerCase()],
  classifications: ["equity"],
});

/** The fields that list and snapshot share. */
function common(market: Market, nowMs: number) {
  const { spec } = market;
  return {
    symbol: spec.symbol,
    assetId: spec.assetId,
    marketStatus: market.status,
    ...(spec.commodity ? { commodityMetadata: commodityOf(market, nowMs) } : {}),
    metadata: {
      name: spec.name,
      description: `${spec.name} perpetual`,
      logoUri: null,
      coinGeckoId: null,
      coinMarketCapId: null,
      tokensXyzAssetId: null,
      calendar: null,
      displayColor: null,
      ...(spec.equity ? equityMetadata(spec) : {}),
    },
    marketPubkey: spec.marketPubkey,
    splinePubkey: splineOf(spec),
    tickSize: spec.tickSize,
    baseLotsDecimals: spec.baseLotsDecimals,
    takerFee: fee(spec.takerFeeMillionths),
    makerFee: fee(spec.makerFeeMillionths),
    riskFactors: factors,
    openInterestCapBaseLots: spec.openInterestCapBaseLots.toString(),
    maxLiquidationSizeBaseLots: spec.maxLiquidationSizeBaseLots.toString(),
    isolatedOnly: spec.isolatedOnly,
  };
}

function commodityOf(market: Market, nowMs: number) {
  const afterHours = sessionNow(market, nowMs).state === "afterHours";
  const band = executionBand(market, nowMs);
  const price = scaledRound(BigInt(market.oracleTicks) * market.tickSize, market.spec.baseLotsDecimals);
  return {
    isCommodity: true,
    isReopen: false,
    isAfterHours: afterHours,
    status: afterHours ? "afterHours" : "active",
    afterHoursRadius: writeAmount(price / 100n, 6),
    lastKnownIndexPrice: writeAmount(price, 6),
    markPriceBand: null,
    executionPriceBand: band && {
      min: writeAmount(scaledRound(BigInt(band.min) * market.tickSize, market.spec.baseLotsDecimals), 6),
      max: writeAmount(scaledRound(BigInt(band.max) * market.tickSize, market.spec.baseLotsDecimals), 6),
    },
    lastIndexExpiryTimestamp: null,
  };
}

export function marketConfig(world: World, market: Market): WireFor<"market"> {
  const { spec } = market;
  const { slot, slotIndex } = present(world);
  return {
    ...common(market, world.nowMs),
    ...(spec.commodity
      ? { commodityStatus: sessionNow(market, world.nowMs).state === "open" ? "active" : "afterHours" }
      : {}),
    leverageTiers: spec.leverageTiers.map((tier) => ({
      ...tier,
      limitOrderRiskFactorBps: tier.limitOrderRiskFactor * 100,
    })),
    fundingIntervalSeconds: fundingIntervalMs / 1000,
    fundingPeriodSeconds: fundingPeriodMs / 1000,
    maxFundingRatePerInterval: spec.maxFundingRatePerInterval,
    maxFundingRatePerIntervalPercentage: spec.maxFundingRatePerIntervalPercentage,
    statsSnapshot: {
      slot,
      slotIndex,
      openInterestBaseLots: market.openInterestLots.toString(),
      fundingStartIntervalTimestamp: String(seconds(world.nowMs - (world.nowMs % fundingIntervalMs))),
      cumulativeFundingRate: market.fundingIndex.toString(),
    },
  };
}

function snapshot(world: World): WireFor<"exchangeSnapshot"> {
  const { active, gated, withdrawalsAvailable } = world.exchange;
  const features = ["initialized", ...(active ? ["active"] : []), ...(gated ? ["gated"] : [])];
  return {
    version: 1,
    sequenceNumber: String(world.exchangeSequence),
    ...present(world),
    exchange: {
      ...exchangeAccounts,
      programId: PROGRAM_ID,
      usdcMint,
      exchangeStatusBits: bits(world.exchange),
      exchangeStatusFeatures: features,
      active,
      gated,
      withdrawalsAvailable,
    },
    markets: [...world.markets.values()].map((market) => ({
      ...common(market, world.nowMs),
      leverageTiers: market.spec.leverageTiers.map((tier) => ({
        maxLeverage: tier.maxLeverage,
        maxSizeBaseLots: String(tier.maxSizeBaseLots),
        limitOrderRiskFactor: tier.limitOrderRiskFactor * 100,
      })),
      fundingConfig: {
        fundingIntervalSeconds: fundingIntervalMs / 1000,
        fundingPeriodSeconds: fundingPeriodMs / 1000,
        maxFundingRatePerInterval: market.spec.maxFundingRatePerInterval,
      },
      markPriceParameters,
    })),
    spotCollaterals: [spotAsset(world)],
  };
}

const markPriceParameters = {
  emaPeriodSlots: "750",
  emaDiffRadius: "100",
  bookPriceRadius: "100",
  commoditiesAfterHoursRadius: "100",
  adjustedExchangeSpotPriceWeight: "1",
  bookPriceWeight: "1",
  exchangePerpPriceWeight: "1",
  spotPriceStaleThreshold: "25",
  bookPriceStaleThreshold: "25",
  perpPriceStaleThreshold: "25",
  oracleDivergenceRadius: 500,
  minOracleResponses: 1,
  riskActionPriceValidityRules: [[["require"]]],
};

export const exchangeAnswers = {
  exchange: (_args, { world }) => ({
    keys: exchangeKeys(),
    markets: [...world.markets.values()].map((market) => marketConfig(world, market)),
  }),
  exchangeKeys,
  markets: (_args, { world }) => [...world.markets.values()].map((market) => marketConfig(world, market)),
  market: ({ symbol }, { world }) => marketConfig(world, marketOf(world, symbol)),
  exchangeStatus: (_args, { world }) => ({ ...world.exchange }),
  exchangeSnapshot: (_args, { world }) => snapshot(world),
  collateralAssets: (_args, { world }) => ({
    assets: [{ assetIndex: 0, symbol: "USDC", decimals: 6, spot: null }, spotAsset(world)],
  }),
} satisfies Partial<Handlers<Context>>;
