/** The fixed properties of the simulated markets. */
import type { MarketRisk } from "../../margin/model.ts";

export interface MarketSpec {
  readonly symbol: string;
  readonly name: string;
  readonly assetId: number;
  readonly marketPubkey: string;
  /** Quote lots per base lot per tick. */
  readonly tickSize: number;
  readonly baseLotsDecimals: number;
  /** Millionths of the notional: 350 is 3.5 bps. */
  readonly takerFeeMillionths: bigint;
  readonly makerFeeMillionths: bigint;
  readonly leverageTiers: readonly {
    readonly maxLeverage: number;
    readonly maxSizeBaseLots: number;
    /** Percent. */
    readonly limitOrderRiskFactor: number;
  }[];
  readonly maxFundingRatePerInterval: number;
  readonly maxFundingRatePerIntervalPercentage: number;
  readonly openInterestCapBaseLots: bigint;
  readonly maxLiquidationSizeBaseLots: bigint;
  readonly isolatedOnly: boolean;
  readonly commodity: boolean;
  readonly equity?: boolean;
  readonly startTicks: number;
  /** Standard deviation of a year's log return. */
  readonly yearlyVolatility: number;
  /** Typical volume of outsiders, units a minute. */
  readonly crowdUnitsPerMinute: number;
}

export const fundingIntervalMs = 3_600_000;
export const fundingPeriodMs = 86_400_000;

/** Percent, the same in every market. */
export const riskFactors = {
  maintenance: 50,
  backstop: 20,
  highRisk: 10,
  upnl: 100,
  upnlForWithdrawals: 1,
  cancelOrder: 75,
} as const;

const fees = { takerFeeMillionths: 350n, makerFeeMillionths: 50n } as const;

export const marketSpecs: readonly MarketSpec[] = [
  {
    symbol: "SOL",
    name: "Solana",
    assetId: 0,
    marketPubkey: "Ac1YUrvRysk37ukazMSMKH3LSp1Vb9Pn2kqnZEG1FjcP",
    tickSize: 100,
    baseLotsDecimals: 2,
    ...fees,
    leverageTiers: [{ maxLeverage: 15, maxSizeBaseLots: 12_000_000, limitOrderRiskFactor: 100 }],
    maxFundingRatePerInterval: 300,
    maxFundingRatePerIntervalPercentage: 0.2,
    openInterestCapBaseLots: 90_000_000n,
    maxLiquidationSizeBaseLots: 900_000n,
    isolatedOnly: false,
    commodity: false,
    startTicks: 15_135,
    yearlyVolatility: 0.8,
    crowdUnitsPerMinute: 180,
  },
  {
    symbol: "BTC",
    name: "Bitcoin",
    assetId: 1,
    marketPubkey: "LxLFny4WTvj1MickooQFcvo3wHb1YeATVSvRQcRhQ32",
    tickSize: 100,
    baseLotsDecimals: 4,
    ...fees,
    leverageTiers: [
      { maxLeverage: 20, maxSizeBaseLots: 2_000_000, limitOrderRiskFactor: 60 },
      { maxLeverage: 10, maxSizeBaseLots: 8_000_000, limitOrderRiskFactor: 100 },
    ],
    maxFundingRatePerInterval: 120,
    maxFundingRatePerIntervalPercentage: 0.2,
    openInterestCapBaseLots: 20_000_000n,
    maxLiquidationSizeBaseLots: 200_000n,
    isolatedOnly: false,
    commodity: false,
    startTicks: 60_400,
    yearlyVolatility: 0.5,
    crowdUnitsPerMinute: 1.5,
  },
  {
    symbol: "ETH",
    name: "Ether",
    assetId: 2,
    marketPubkey: "BNcpJZJyE7aSX8BXNY4rnZNGLDmzXVnk18QvL1rU7E2H",
    tickSize: 100,
    baseLotsDecimals: 3,
    ...fees,
    leverageTiers: [
      { maxLeverage: 20, maxSizeBaseLots: 4_000_000, limitOrderRiskFactor: 60 },
      { maxLeverage: 10, maxSizeBaseLots: 20_000_000, limitOrderRiskFactor: 100 },
    ],
    maxFundingRatePerInterval: 240,
    maxFundingRatePerIntervalPercentage: 0.2,
    openInterestCapBaseLots: 60_000_000n,
    maxLiquidationSizeBaseLots: 600_000n,
    isolatedOnly: false,
    commodity: false,
    startTicks: 30_124,
    yearlyVolatility: 0.65,
    crowdUnitsPerMinute: 14,
  },
  {
    symbol: "GOLD",
    name: "Gold",
    assetId: 13,
    marketPubkey: "53Mshv8Gd2pbwnPam1B2FJ5i4fDEhdzHDbP1ETCVBhs1",
    tickSize: 100,
    baseLotsDecimals: 3,
    ...fees,
    leverageTiers: [{ maxLeverage: 10, maxSizeBaseLots: 1_500_000, limitOrderRiskFactor: 100 }],
    maxFundingRatePerInterval: 90,
    maxFundingRatePerIntervalPercentage: 0.2,
    openInterestCapBaseLots: 5_000_000n,
    maxLiquidationSizeBaseLots: 50_000n,
    isolatedOnly: true,
    commodity: true,
    startTicks: 24_116,
    yearlyVolatility: 0.15,
    crowdUnitsPerMinute: 4,
  },
];

/** Markets that are listed on request (`markets`), besides those of `marketSpecs`. */
export const moreMarketSpecs: readonly MarketSpec[] = [
  {
    symbol: "PUMP",
    name: "Pump",
    assetId: 27,
    marketPubkey: "7xkZPTP5ifKYG1aTLQJYqphXrrTsxmVTzXgcuFZAiegx",
    tickSize: 100,
    // One base lot is 100 units.
    baseLotsDecimals: -2,
    ...fees,
    leverageTiers: [{ maxLeverage: 5, maxSizeBaseLots: 4_000_000, limitOrderRiskFactor: 100 }],
    maxFundingRatePerInterval: 1,
    maxFundingRatePerIntervalPercentage: 0.2,
    openInterestCapBaseLots: 30_000_000n,
    maxLiquidationSizeBaseLots: 300_000n,
    isolatedOnly: false,
    commodity: false,
    startTicks: 4_520,
    yearlyVolatility: 1.4,
    crowdUnitsPerMinute: 900_000,
  },
  {
    symbol: "TSLA",
    name: "Tesla",
    assetId: 31,
    marketPubkey: "4jfEg9wCxGDEkrQHnP3fnUTWDBnEVcFCQyWYMVSbUsy2",
    tickSize: 10,
    baseLotsDecimals: 3,
    ...fees,
    leverageTiers: [{ maxLeverage: 10, maxSizeBaseLots: 2_000_000, limitOrderRiskFactor: 100 }],
    maxFundingRatePerInterval: 40,
    maxFundingRatePerIntervalPercentage: 0.2,
    openInterestCapBaseLots: 6_000_000n,
    maxLiquidationSizeBaseLots: 60_000n,
    isolatedOnly: true,
    commodity: false,
    equity: true,
    startTicks: 43_512,
    yearlyVolatility: 0.55,
    crowdUnitsPerMinute: 20,
  },
];

/** The part of a market that margin arithmetic needs. */
export function riskOf(spec: MarketSpec): MarketRisk {
  return {
    symbol: spec.symbol,
    tickSize: spec.tickSize,
    baseLotsDecimals: spec.baseLotsDecimals,
    leverageTiers: spec.leverageTiers.map((tier) => ({
      maxLeverage: tier.maxLeverage,
      maxSizeBaseLots: tier.maxSizeBaseLots,
      limitOrderRiskFactorBps: tier.limitOrderRiskFactor * 100,
    })),
    riskFactors: {
      maintenance: riskFactors.maintenance * 100,
      cancelOrder: riskFactors.cancelOrder * 100,
      backstop: riskFactors.backstop * 100,
      highRisk: riskFactors.highRisk * 100,
      upnl: riskFactors.upnl * 100,
      upnlForWithdrawals: riskFactors.upnlForWithdrawals * 100,
    },
  };
}
