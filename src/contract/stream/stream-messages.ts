/** The messages of the stream's channels. */
import {
  accountIndex,
  flag,
  int,
  key,
  level,
  listOf,
  lots,
  mapOf,
  maybe,
  num,
  type Output,
  orElse,
  record,
  sequence,
  text,
  time,
  word,
} from "../fields.ts";
import { collateralAsset, exchangeState, marketSnapshot } from "../records/exchange.ts";
import { marketFill } from "../records/history.ts";
import { candle } from "../records/market.ts";
import { notificationItem } from "../records/notifications.ts";
import { stateCapabilities, subaccountDelta, subaccountSnapshots } from "../records/trader.ts";

/**
 * Snapshot or delta of all subaccounts of one (authority, PDA index). A snapshot has all header fields and all
 * subaccounts; a delta has the changes in `deltas`, and null in each header field that did not change.
 */
export const traderStateMessage = record({
  authority: key,
  traderPdaIndex: accountIndex,
  slot: int,
  messageType: word(["snapshot", "delta"]),
  version: maybe(int),
  capabilities: maybe(stateCapabilities),
  makerFeeOverrideMultiplier: maybe(num),
  takerFeeOverrideMultiplier: maybe(num),
  /** Null in a delta. */
  subaccounts: maybe(subaccountSnapshots),
  deltas: listOf(subaccountDelta),
});
export type TraderStateMessage = Output<typeof traderStateMessage>;

/** A copy of an inbox item. The id of an event may change later; its five indices do not. */
export const notificationMessage = record({
  payload: notificationItem,
  authority: key,
  traderPubkey: maybe(key),
  traderPdaIndex: maybe(int),
});
export type NotificationMessage = Output<typeof notificationMessage>;

const marketStatsFields = {
  symbol: text,
  timestamp: time,
  openInterest: num,
  markPrice: num,
  oraclePrice: num,
  prevDayMarkPrice: num,
  dayVolumeUsd: num,
  dayVolumeBase: num,
  currentFundingRate: num,
  eightHourFundingRate: num,
  annualizedFundingRate: num,
};

/** Newest statistics of one market. */
export const marketStatsMessage = record(marketStatsFields);
export type MarketStatsMessage = Output<typeof marketStatsMessage>;

/** The same of several markets in one message. */
export const marketStatsV2Message = record({
  stats: listOf(record({ ...marketStatsFields, midPrice: maybe(num) })),
});
export type MarketStatsV2Message = Output<typeof marketStatsV2Message>;

/** The exchange's status changed. */
export const exchangeStatusMessage = record({
  id: text,
  notificationType: text,
  data: record({
    exchangeStatusBits: int,
    previousExchangeStatusBits: int,
    active: flag,
    gated: flag,
    withdrawalsAvailable: orElse(flag, true),
    authority: maybe(key),
  }),
  isRead: orElse(flag, false),
  createdAt: time,
  traderId: maybe(int),
  readAt: maybe(time),
});
export type ExchangeStatusMessage = Output<typeof exchangeStatusMessage>;

export const markPriceMessage = record({ symbol: text, slot: int, slotIndex: int, markPrice: num });
export type MarkPriceMessage = Output<typeof markPriceMessage>;
export const allMidsMessage = record({ mids: mapOf(num), slot: int, slotIndex: int });
export type AllMidsMessage = Output<typeof allMidsMessage>;
export const fundingRateMessage = record({ symbol: text, funding: num });
export type FundingRateMessage = Output<typeof fundingRateMessage>;
/** Public trades of one market, one for each taker order. Lots and sequence numbers are decimal strings. */
export const tradesMessage = record({
  symbol: text,
  trades: listOf(
    record({
      slot: int,
      slotIndex: int,
      timestamp: time,
      symbol: text,
      taker: key,
      tradeSequenceNumber: sequence,
      side: text,
      baseLotsFilled: lots,
      quoteLotsFilled: lots,
      feeInQuoteLots: lots,
      baseAmount: num,
      quoteAmount: num,
      numFills: int,
    }),
  ),
});
export type TradesMessage = Output<typeof tradesMessage>;
export const fillsMessage = record({ symbol: text, fills: listOf(marketFill) });
export type FillsMessage = Output<typeof fillsMessage>;

/** Candle lengths of the stream. */
export const TIMEFRAMES = ["1s", "5s", "1m", "5m", "15m", "30m", "1h", "4h", "1d"] as const;
export type Timeframe = (typeof TIMEFRAMES)[number];

/** The current candle, sent at each change. */
export const candleMessage = record({ symbol: text, timeframe: word(TIMEFRAMES), candle });
export type CandleMessage = Output<typeof candleMessage>;
/** The whole book, best first, USD and units. */
export const orderbookMessage = record({
  symbol: text,
  orderbook: record({ bids: listOf(level), asks: listOf(level), mid: maybe(num) }),
  bypassExecutionBand: maybe(flag),
});
export type OrderbookMessage = Output<typeof orderbookMessage>;
/** The same book in another form: with `coin` for the symbol, and with a time. */
export const l2BookMessage = record({
  coin: text,
  timestamp: time,
  slot: int,
  bids: listOf(level),
  asks: listOf(level),
  bypassExecutionBand: maybe(flag),
});
export type L2BookMessage = Output<typeof l2BookMessage>;
/** Newest statistics of one market, in short. USD and units; `funding` as in `fundingRate`. */
export const marketMessage = record({
  symbol: text,
  openInterest: num,
  markPx: num,
  midPx: maybe(num),
  oraclePx: num,
  prevDayPx: num,
  dayNtlVlm: num,
  funding: num,
});
export type MarketMessage = Output<typeof marketMessage>;

/** Forms of the first message of `exchange`. */
export const SNAPSHOT_ENCODINGS = ["json", "base64+zstd"] as const;
export type SnapshotEncoding = (typeof SNAPSHOT_ENCODINGS)[number];

/**
 * The exchange's configuration: a snapshot, then changes. Snapshots have `exchange` and `markets`, or, if they are
 * encoded, `payload`: base64 of the zstd-compressed JSON of such a snapshot. Deltas have `ops`, whose fields depend
 * on `kind`. The sequence grows by one with each message: after a gap, subscribe again.
 */
export const exchangeMessage = record({
  messageType: word(["snapshot", "encodedSnapshot", "delta"]),
  version: int,
  sequenceNumber: sequence,
  slot: int,
  slotIndex: int,
  reason: maybe(text),
  exchange: maybe(exchangeState),
  markets: listOf(marketSnapshot),
  spotCollaterals: listOf(collateralAsset),
  encoding: maybe(word(SNAPSHOT_ENCODINGS)),
  payload: maybe(text),
  ops: listOf(record({ kind: text })),
});
export type ExchangeMessage = Output<typeof exchangeMessage>;
