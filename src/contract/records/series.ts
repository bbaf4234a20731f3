/** Series over time, as plain floats in USD. `timestamp` is deprecated in favour of `startTime` and `endTime`. */
import {
  dec,
  decimalPlaces,
  flag,
  int,
  listOf,
  lots,
  mapOf,
  maybe,
  num,
  type Output,
  record,
  text,
  time,
  word,
} from "../fields.ts";

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
  baseDecimals: decimalPlaces,
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

/** Returns that deposits and withdrawals do not distort. */
export const timeWeightedReturns = record({
  method: text,
  scope: record({ traderPubkey: maybe(text), userId: maybe(int), traderPdaIndex: maybe(int) }),
  valuationIntervalSeconds: int,
  exactFlowBoundaryValuations: flag,
  totalReturn: maybe(num),
  returnStartTime: maybe(time),
  equityDefinition: text,
  window: record({
    requestedStartTime: time,
    requestedEndTime: time,
    calculationEndTime: time,
    dataStartTime: maybe(time),
    dataEndTime: maybe(time),
    truncatedByLimit: flag,
  }),
  points: listOf(
    record({
      ...bucket,
      periodReturn: maybe(num),
      cumulativeReturn: maybe(num),
      netExternalFlow: maybe(num),
      qualityFlags: listOf(text),
    }),
  ),
  quality: record({
    coverageStart: maybe(time),
    coverageEnd: maybe(time),
    requestedStartCovered: flag,
    containsGaps: flag,
    resetCount: int,
    refreshedAt: maybe(time),
    completeness: word(["complete", "partial", "unavailable"]),
  }),
});
export type TimeWeightedReturns = Output<typeof timeWeightedReturns>;
