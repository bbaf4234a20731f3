/** Series over time, as plain floats in USD. `timestamp` is deprecated in favour of `startTime` and `endTime`. */
import { dec, int, listOf, lots, mapOf, num, type Output, record, text, time } from "../fields.ts";

const bucket = { timestamp: time, startTime: time, endTime: time };

export const pnlPoint = record({
  ...bucket,
  cumulativePnl: num,
  unrealizedPnl: num,
  cumulativeFundingPayment: num,
  cumulativeTakerFee: num,
});
export type PnlPoint = Output<typeof pnlPoint>;

export const portfolioValuePoint = record({
  ...bucket,
  value: num,
  /** By symbol. */
  positions: mapOf(record({ baseLots: lots, quoteLots: lots, positionValue: dec, initialMargin: dec })),
  spotCollaterals: mapOf(record({ assetIndex: int, balance: num, notional: num, discounted: num })),
});
export type PortfolioValuePoint = Output<typeof portfolioValuePoint>;

/** One market's profit and loss of one trader account. */
export const marketPnlSeries = record({
  marketId: int,
  symbol: text,
  tickSize: int,
  baseDecimals: int,
  points: listOf(
    record({
      ...bucket,
      realizedPnl: num,
      cumulativePnl: num,
      cumulativeFundingPayment: num,
      totalTakerFee: num,
      cumulativeTakerFee: num,
      unrealizedPnl: num,
      baseLots: lots,
      virtualQuoteLots: lots,
      /** Ticks. */
      markPrice: num,
    }),
  ),
});
export type MarketPnlSeries = Output<typeof marketPnlSeries>;
