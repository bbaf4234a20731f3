/** Market data: prices, statistics, candles, book, calendars. */

import { tokenAmount } from "../amount.ts";
import {
  flag,
  int,
  key,
  level,
  listOf,
  mapOf,
  maybe,
  num,
  type Output,
  record,
  text,
  time,
  word,
} from "../fields.ts";

/** The mark price of one market, USD; null: none. */
export const markPrice = record({
  slot: int,
  slotIndex: int,
  symbol: text,
  markPrice: maybe(record({ price: num, slot: int })),
});
export type MarkPrice = Output<typeof markPrice>;

/** The newest statistics of one market. Prices USD, open interest in units, rates as fractions. */
export const latestMarketStats = record({
  symbol: text,
  timestamp_ms: time,
  mark_price: num,
  oracle_price: num,
  prev_day_mark_price: num,
  open_interest: num,
  day_volume_usd: num,
  day_volume_base: num,
  current_funding_rate: num,
  eight_hour_funding_rate: num,
  annualized_funding_rate: num,
});
export type LatestMarketStats = Output<typeof latestMarketStats>;

export const marketStatsPoint = record({
  timestamp: time,
  /** Units. */
  open_interest: num,
  /** USD, cumulative. */
  total_maker_fees: maybe(num),
  total_taker_fees: maybe(num),
  mark_price: num,
  spot_price: num,
  slot: int,
});
export type MarketStatsPoint = Output<typeof marketStatsPoint>;

/** Fields beside `stats`. `market_id` is a database number, not the asset id. */
export const marketStatsHead = { market_id: int, symbol: text, timeframe: maybe(text) };

/** OHLC of one bucket; `time` is its start. */
export const candle = record({
  time,
  open: num,
  high: num,
  low: num,
  close: num,
  markOpen: maybe(num),
  markHigh: maybe(num),
  markLow: maybe(num),
  markClose: maybe(num),
  /** Units. */
  volume: maybe(num),
  volumeQuote: maybe(num),
  tradeCount: maybe(int),
  /** Another venue as the source of the candle. */
  externalSource: maybe(text),
  isExternal: maybe(flag),
});
export type Candle = Output<typeof candle>;

const splineRegion = record({
  start: num,
  end: num,
  density: num,
  totalSize: tokenAmount,
  filledSize: tokenAmount,
});

/** Price levels, best first, USD and units. */
export const orderbook = record({
  slot: int,
  symbol: text,
  bids: listOf(level),
  asks: listOf(level),
  mid: maybe(num),
  splines: listOf(
    record({
      traderKey: key,
      midPrice: num,
      bidFilledAmount: tokenAmount,
      askFilledAmount: tokenAmount,
      bidRegions: listOf(splineRegion),
      askRegions: listOf(splineRegion),
    }),
  ),
});
export type Orderbook = Output<typeof orderbook>;

export const CALENDAR_STATES = ["open", "afterHours"] as const;
const calendarState = word(CALENDAR_STATES);

const transition = {
  market: text,
  loadedAt: time,
  utcNextTransition: maybe(time),
  nextMarketState: maybe(calendarState),
  currentState: calendarState,
};

/** The time at which one market next opens or closes. */
export const marketCalendarTransition = record({ ...transition, marketCalendarId: text, calendarUri: text });
export type MarketCalendarTransition = Output<typeof marketCalendarTransition>;

/** The same for commodities together; `market` names the calendar, not a symbol. */
export const commodityMarketTransition = record(transition);
export type CommodityMarketTransition = Output<typeof commodityMarketTransition>;

const timeRange = record({ start: text, end: text });

/** A day of a calendar, in either of its two forms: sessions with modes, or active and inactive hours. */
export const calendarDay = record({
  sessions: listOf(
    record({
      start: text,
      end: text,
      mode: word([
        "EXTERNAL",
        "INTERNAL",
        "CASH_SESSION",
        "PRE_MARKET",
        "POST_MARKET",
        "OVERNIGHT",
        "FUTURES_SESSION",
      ]),
    }),
  ),
  activeHours: listOf(timeRange),
  inactiveHours: listOf(timeRange),
});
export type CalendarDay = Output<typeof calendarDay>;

/** Days by weekday name and by date. */
export const calendar = record({ weeklySchedule: mapOf(calendarDay), dateOverrides: mapOf(calendarDay) });
export type Calendar = Output<typeof calendar>;

const calendarFields = {
  marketCalendarId: text,
  kind: text,
  description: text,
  calendarUri: text,
  contentSha256: text,
  rawJson: text,
  loadedAt: time,
  calendar: maybe(calendar),
};

export const marketCalendar = record({ ...calendarFields, market: text });
export type MarketCalendar = Output<typeof marketCalendar>;

export const marketCalendarRecord = record({ ...calendarFields, s3Path: text, updatedAt: time });
export type MarketCalendarRecord = Output<typeof marketCalendarRecord>;

export const commodityCalendar = record({ market: text, loadedAt: time, rawJson: text, calendar });
export type CommodityCalendar = Output<typeof commodityCalendar>;
