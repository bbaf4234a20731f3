/** Translates markets of the exchange into domain types. */
import type {
  CollateralAsset as AssetRecord,
  MarketConfig as ConfigRecord,
  FundingRate,
  LatestMarketStats,
  MarketStatsMessage,
} from "../../contract/index.ts";
import { COMMODITY_STATUSES, MARKET_STATUSES } from "../../contract/index.ts";
import type { CollateralAsset, MarketConfig, MarketPrices } from "../../domain/account.ts";
import { type OnUnknownWord, wordOf } from "../anomalies/known-words.ts";

/** The market list states factors in percent; margin needs bps, which are included if the server writes both. */
export function marketConfigOf(record: ConfigRecord, onUnknown: OnUnknownWord): MarketConfig {
  const factor = (name: FactorName): number =>
    record.riskFactors[`${name}Bps`] ?? bpsFromPercent(record.riskFactors[name]);
  return {
    symbol: record.symbol,
    assetId: record.assetId,
    status: wordOf(MARKET_STATUSES, record.marketStatus, "marketStatus", onUnknown),
    tickSize: record.tickSize,
    baseLotsDecimals: record.baseLotsDecimals,
    takerFee: record.takerFee,
    makerFee: record.makerFee,
    leverageTiers: record.leverageTiers.map((tier) => ({
      maxLeverage: tier.maxLeverage,
      maxSizeBaseLots: tier.maxSizeBaseLots,
      limitOrderRiskFactorBps: tier.limitOrderRiskFactorBps ?? bpsFromPercent(tier.limitOrderRiskFactor),
    })),
    riskFactors: {
      maintenance: factor("maintenance"),
      backstop: factor("backstop"),
      highRisk: factor("highRisk"),
      upnl: factor("upnl"),
      upnlForWithdrawals: factor("upnlForWithdrawals"),
      cancelOrder: factor("cancelOrder"),
    },
    fundingIntervalSeconds: record.fundingIntervalSeconds,
    openInterestCapBaseLots: record.openInterestCapBaseLots,
    isolatedOnly: record.isolatedOnly,
    maxLiquidationSizeBaseLots: record.maxLiquidationSizeBaseLots,
    maxFundingRatePercent: record.maxFundingRatePerIntervalPercentage,
    commodityStatus:
      record.commodityStatus === null
        ? null
        : wordOf(COMMODITY_STATUSES, record.commodityStatus, "commodityStatus", onUnknown),
  };
}

/** Inactive assets, those without a market and the quote token do not count as additional collateral. */
export function collateralAssetOf({ assetIndex, symbol, decimals, spot }: AssetRecord): CollateralAsset {
  return {
    assetIndex,
    symbol,
    decimals,
    perpAssetId: spot?.isActive === true ? spot.perpAssetIndex : null,
    maxGlobalBalance: spot?.maxGlobalBalance ?? 0n,
    minMarginDiscountBps: spot?.minMarginDiscountBps ?? 0,
    maxMarginDiscountBps: spot?.maxMarginDiscountBps ?? 0,
  };
}

type FactorName = "maintenance" | "backstop" | "highRisk" | "upnl" | "upnlForWithdrawals" | "cancelOrder";

function bpsFromPercent(percent: number): number {
  return Math.round(percent * 100);
}

export function marketPricesOf(record: LatestMarketStats): MarketPrices {
  return {
    symbol: record.symbol,
    exchangeMs: record.timestamp_ms,
    markPriceUsd: record.mark_price,
    oraclePriceUsd: record.oracle_price,
    openInterestUnits: record.open_interest,
    dayVolumeUsd: record.day_volume_usd,
    prevDayMarkPriceUsd: record.prev_day_mark_price,
    statedFundingRate: record.current_funding_rate,
  };
}

/** The same from the stream, which states whole seconds. */
export function livePricesOf(message: MarketStatsMessage): MarketPrices {
  return {
    symbol: message.symbol,
    exchangeMs: message.timestamp,
    markPriceUsd: message.markPrice,
    oraclePriceUsd: message.oraclePrice,
    openInterestUnits: message.openInterest,
    dayVolumeUsd: message.dayVolumeUsd,
    prevDayMarkPriceUsd: message.prevDayMarkPrice,
    statedFundingRate: message.currentFundingRate,
  };
}

/** Returns a rate as a fraction an hour: rates are stated in percent of notional for one funding interval. */
export function ratePerHour(rate: FundingRate, fundingIntervalSeconds: number): number {
  return (Number(rate.fundingRatePercentage) / 100) * (3_600 / fundingIntervalSeconds);
}

/** Returns the newest of these rates; null if there is none. */
export function newestRate(
  rates: readonly FundingRate[],
  fundingIntervalSeconds: number,
): { readonly ratePerHour: number; readonly exchangeMs: number } | null {
  let newest: FundingRate | null = null;
  for (const rate of rates) if (newest === null || rate.timestamp >= newest.timestamp) newest = rate;
  if (newest === null || fundingIntervalSeconds <= 0) return null;
  return {
    ratePerHour: ratePerHour(newest, fundingIntervalSeconds),
    exchangeMs: newest.timestamp,
  };
}
