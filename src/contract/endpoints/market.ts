/** Market data: prices, statistics, candles, funding rates, calendars. */
import { get, group } from "../endpoint.ts";
import { path, query } from "../params.ts";
import { fundingOverview, fundingRate, fundingRatesHead, marketFill } from "../records/history.ts";
import {
  candle,
  commodityCalendar,
  commodityMarketTransition,
  latestMarketStats,
  marketCalendar,
  marketCalendarRecord,
  marketCalendarTransition,
  marketStatsHead,
  marketStatsPoint,
  markPrice,
  orderbook,
} from "../records/market.ts";
import { one, pageOf, rowsIn, rowsOf } from "../reply.ts";
import { ONE_YEAR_MS } from "../time.ts";

const symbol = path.string("The market's symbol, as the market list spells it.");
const oldestKept = "`limit` keeps the oldest rows of the window: for the latest, ask with a late start.";
const yearOfTime = [{ kind: "range", from: "startTime", to: "endTime", maxMs: ONE_YEAR_MS }] as const;
const anyTime = [{ kind: "range", from: "startTime", to: "endTime", maxMs: null }] as const;

export const TIMEFRAMES = ["1s", "5s", "1m", "5m", "15m", "30m", "1h", "4h", "1d"] as const;

export const marketEndpoints = group("market", {
  orderbook: get("/v1/view/orderbook/{symbol}", {
    summary: "Price levels of one market, best first.",
    params: {
      symbol,
      includeSplines: query.boolean("Add the market makers' splines and let them count in the levels.", {
        wire: "include_splines",
        aliases: ["includeSplines"],
      }),
      bypassExecutionBand: query.boolean("Show the full book of a commodity after hours.", {
        wire: "bypass_execution_band",
        aliases: ["bypassExecutionBand"],
      }),
    },
    reply: one(orderbook),
    errors: [400, 404, 500],
  }),
  markPrice: get("/v1/market/{symbol}/mark-price", {
    summary: "Mark price of one market in USD.",
    params: { symbol },
    reply: one(markPrice),
  }),
  marketStats: get("/v1/market/{symbol}/stats", {
    summary: "Statistics of one market over time.",
    params: {
      symbol,
      startTime: query.iso("First instant.", {
        wire: "start_time",
        defaultAgoMs: 3_600_000,
        defaultNote: "now − 1 h",
      }),
      endTime: query.iso("Last instant.", { wire: "end_time", defaultAgoMs: 0, defaultNote: "now" }),
      limit: query.integer("Most points.", { min: 1, max: 10_000, default: 1000 }),
      timeframe: query.choice("Length of a bucket.", TIMEFRAMES),
    },
    constraints: anyTime,
    reply: rowsIn("stats", marketStatsPoint, marketStatsHead),
    order: "oldestFirst",
    notes: [oldestKept],
    errors: [400, 404, 500],
  }),
  latestMarketStats: get("/v1/market/{symbol}/stats/latest", {
    summary: "Newest statistics of one market.",
    params: { symbol },
    reply: one(latestMarketStats),
    errors: [404],
  }),
  latestMarketsStats: get("/v1/markets/stats/latest", {
    summary: "Newest statistics of every market: the cheap way to watch them all.",
    reply: rowsIn("markets", latestMarketStats, {}),
  }),
  candles: get("/v1/candles/{symbol}", {
    summary: "Candles of one market.",
    params: {
      symbol,
      timeframe: query.string("Length of a candle; the stream knows 1s 5s 1m 5m 15m 30m 1h 4h 1d.", {
        required: true,
      }),
      startTime: query.ms("First instant."),
      endTime: query.ms("Last instant."),
      limit: query.integer("Most candles.", { min: 1, default: 2500 }),
      enableExternalSource: query.boolean("Add candles of other venues that the service stores.", {
        default: false,
      }),
    },
    constraints: anyTime,
    reply: rowsOf(candle),
    order: "oldestFirst",
    notes: ["`limit` keeps the newest candles."],
    errors: [400, 404, 500],
  }),
  fundingRates: get("/v1/funding/{symbol}/rates", {
    summary: "Funding rates of one market over time, in percent for one funding interval.",
    params: {
      symbol,
      startTime: query.ms("First instant.", { defaultAgoMs: 7 * 86_400_000, defaultNote: "now − 7 d" }),
      endTime: query.ms("Last instant.", { defaultAgoMs: 0, defaultNote: "now" }),
      limit: query.integer("Most rates.", { min: 1, max: 10_000, default: 1000 }),
    },
    constraints: yearOfTime,
    reply: rowsIn("rates", fundingRate, fundingRatesHead),
    order: "oldestFirst",
    notes: [oldestKept],
    errors: [400, 404, 500],
  }),
  fundingOverview: get("/v1/funding/overview", {
    summary: "Funding of every market over time.",
    params: {
      startTime: query.ms("First instant.", { defaultAgoMs: 7 * 86_400_000, defaultNote: "now − 7 d" }),
      endTime: query.ms("Last instant.", { defaultAgoMs: 0, defaultNote: "now" }),
      perMarketLimit: query.integer("Most points a market; the newest are kept.", {
        min: 1,
        max: 5000,
        default: 500,
      }),
    },
    constraints: yearOfTime,
    reply: one(fundingOverview),
    order: "oldestFirst",
    errors: [400, 500],
    weight: 2,
  }),
  marketFills: get("/v1/trades/{symbol}/fills", {
    summary: "Public fills of one market.",
    params: {
      symbol,
      limit: query.integer("Most fills.", { min: 1, max: 10_000, default: 100 }),
      cursor: query.string("Where to go on."),
      startTime: query.ms("First instant, included."),
      endTime: query.ms("Last instant, excluded."),
    },
    constraints: anyTime,
    reply: pageOf(marketFill),
    paging: {
      older: { field: "nextCursor", argument: "cursor" },
      newer: { field: "prevCursor", argument: "cursor" },
    },
    order: "newestFirst",
    errors: [400, 404, 500],
  }),
  nextMarketCalendarTransition: get("/v1/market/{symbol}/next-market-calendar-transition", {
    summary: "When one market's calendar next opens or closes it.",
    params: { symbol },
    reply: one(marketCalendarTransition),
    errors: [400, 404, 500, 503],
  }),
  nextCommodityMarketTransition: get("/v1/market/next-commodity-market-transition", {
    summary: "When the commodity markets next open or close.",
    reply: one(commodityMarketTransition),
    errors: [400, 404, 500, 503],
  }),
  marketCalendar: get("/v1/market/{symbol}/market-calendar", {
    summary: "Opening hours of one market.",
    params: { symbol },
    reply: one(marketCalendar),
    errors: [400, 404, 500, 503],
  }),
  marketCalendarById: get("/v1/market-calendar/{market_calendar_id}", {
    summary: "A calendar by its id.",
    params: { marketCalendarId: path.string("The calendar's id.", { wire: "market_calendar_id" }) },
    reply: one(marketCalendarRecord),
    errors: [404],
  }),
  commodityCalendar: get("/v1/market/commodity-calendar", {
    summary: "Opening hours of the commodity markets.",
    reply: one(commodityCalendar),
    errors: [400, 404, 500, 503],
  }),
});
