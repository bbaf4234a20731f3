/** Prices, statistics, candles, funding rates and fills of the markets. */
import type { Handlers, WireFor } from "../../../contract/index.ts";
import { timesPowerOfTen } from "../../../domain/market-scale.ts";
import { priceUsd } from "../../accounts/orders.ts";
import { currentRate, fractionOf, percentageOf } from "../../markets/funding.ts";
import { fundingIntervalMs } from "../../markets/markets.ts";
import { barMs } from "../../markets/prices.ts";
import type { Bar, Market, World } from "../../state.ts";
import { slotAt } from "../../time.ts";
import { present } from "../../world.ts";
import { type Context, iso, marketOf, NotFound, oracleUsd, seconds, unitsOf, usdOf } from "./context.ts";
import { book } from "./orderbook.ts";

const hourMs = 3_600_000;
const dayMs = 86_400_000;
const frames: Readonly<Record<string, number>> = {
  "1s": 1_000,
  "5s": 5_000,
  "1m": 60_000,
  "5m": 300_000,
  "15m": 900_000,
  "30m": 1_800_000,
  "1h": hourMs,
  "4h": 4 * hourMs,
  "1d": dayMs,
};

export function latestStats(world: World, market: Market): WireFor<"latestMarketStats"> {
  let volumeLots = 0n;
  let volumeQuote = 0n;
  let dayAgo: Bar | undefined;
  for (let i = market.bars.length - 1; i >= 0; i--) {
    const bar = market.bars[i]!;
    if (bar.startMs < world.nowMs - dayMs) break;
    dayAgo = bar;
    volumeLots += bar.volumeLots;
    volumeQuote += bar.volumeQuoteLots;
  }
  // Percent an hour at the live exchange; its contract states no unit.
  const rate = currentRate(market) * (world.observed ? 100 : 1);
  const intervalsADay = dayMs / fundingIntervalMs;
  return {
    symbol: market.spec.symbol,
    timestamp_ms: String(world.nowMs),
    mark_price: priceUsd(market, market.markTicks),
    oracle_price: oracleUsd(market),
    prev_day_mark_price: priceUsd(market, dayAgo?.open ?? market.markTicks),
    open_interest: unitsOf(market, market.openInterestLots),
    day_volume_usd: usdOf(volumeQuote),
    day_volume_base: unitsOf(market, volumeLots),
    current_funding_rate: rate,
    eight_hour_funding_rate: rate * (intervalsADay / 3),
    annualized_funding_rate: rate * intervalsADay * 365,
  };
}

/**
 * Bars of a window, merged into buckets of `frameMs`, oldest first. Buckets shorter than a minute consist of bars of a
 * second, which are kept for three hours.
 */
function buckets(market: Market, frameMs: number, fromMs: number, toMs: number): Bar[] {
  const bars = frameMs < barMs ? market.fineBars : market.bars;
  const bucketOf = (bar: Bar) => bar.startMs - (bar.startMs % frameMs);
  let first = bars.length;
  while (first > 0 && bucketOf(bars[first - 1]!) >= fromMs) first -= 1;
  const out: Bar[] = [];
  for (let i = first; i < bars.length; i++) {
    const bar = bars[i]!;
    const startMs = bucketOf(bar);
    if (bar.startMs > toMs) break;
    const last = out.at(-1);
    if (!last || last.startMs !== startMs) {
      out.push({ ...bar, startMs });
      continue;
    }
    last.high = Math.max(last.high, bar.high);
    last.low = Math.min(last.low, bar.low);
    last.close = bar.close;
    last.oracle = bar.oracle;
    last.volumeLots += bar.volumeLots;
    last.volumeQuoteLots += bar.volumeQuoteLots;
    last.trades += bar.trades;
    last.openInterestLots = bar.openInterestLots;
    last.makerFees = bar.makerFees;
    last.takerFees = bar.takerFees;
  }
  return out;
}

/** The present candle. */
export function candleNow(
  market: Market,
  timeframe: string,
  nowMs: number,
): ReturnType<typeof candle> | null {
  const frameMs = frames[timeframe] ?? barMs;
  const bar = buckets(market, frameMs, nowMs - (nowMs % frameMs), nowMs).at(-1);
  return bar === undefined ? null : candle(market, bar);
}

function candle(market: Market, bar: Bar) {
  const [open, high, low, close] = [bar.open, bar.high, bar.low, bar.close].map((it) => priceUsd(market, it));
  return {
    time: bar.startMs,
    open: open!,
    high: high!,
    low: low!,
    close: close!,
    markOpen: open!,
    markHigh: high!,
    markLow: low!,
    markClose: close!,
    volume: unitsOf(market, bar.volumeLots),
    volumeQuote: usdOf(bar.volumeQuoteLots),
    tradeCount: bar.trades,
  };
}

/** The overview multiplies rates by this factor: at the live exchange 10,000 for tickSize 100, 100 for tickSize 10. */
const overviewScale = (world: World, { spec }: Market): number => (world.observed ? spec.tickSize ** 2 : 1);

/** Other venues with candles; commodities have none. Their prices follow the oracle. */
const venues = ["venue-a", "venue-b"];

function elsewhere(market: Market, bar: Bar, externalSource: string) {
  const price = priceUsd(market, bar.oracle);
  const prices = { open: price, high: price, low: price, close: price };
  return { time: bar.startMs, ...prices, volume: 0, tradeCount: 0, externalSource };
}

export const marketAnswers = {
  orderbook: ({ symbol, includeSplines, bypassExecutionBand }, { world }) => {
    const market = world.markets.get(symbol.toUpperCase());
    if (!market) throw new NotFound(`Orderbook not found for symbol: ${symbol}`);
    return book(world, market, includeSplines === true, bypassExecutionBand === true);
  },
  markPrice: ({ symbol }, { world }) => {
    const market = marketOf(world, symbol);
    const { slot, slotIndex } = present(world);
    return {
      slot,
      slotIndex,
      symbol: market.spec.symbol,
      markPrice: { price: priceUsd(market, market.markTicks), slot },
    };
  },
  marketStats: ({ symbol, startTime, endTime, limit, timeframe }, { world }) => {
    const market = marketOf(world, symbol);
    const rows = buckets(market, frames[timeframe ?? "1m"]!, startTime, endTime);
    return {
      market_id: market.marketId,
      symbol: market.spec.symbol,
      timeframe: timeframe ?? null,
      stats: rows.slice(0, limit).map((bar) => ({
        timestamp: iso(bar.startMs),
        open_interest: unitsOf(market, bar.openInterestLots),
        total_maker_fees: usdOf(bar.makerFees),
        total_taker_fees: usdOf(bar.takerFees),
        mark_price: priceUsd(market, bar.close),
        spot_price: priceUsd(market, bar.oracle),
        slot: slotAt(bar.startMs),
      })),
    };
  },
  latestMarketStats: ({ symbol }, { world }) => latestStats(world, marketOf(world, symbol)),
  latestMarketsStats: (_args, { world }) => ({
    markets: [...world.markets.values()].map((market) => latestStats(world, market)),
  }),
  candles: ({ symbol, timeframe, startTime, endTime, limit, enableExternalSource }, { world, nowMs }) => {
    const market = marketOf(world, symbol);
    const frameMs = frames[timeframe];
    if (frameMs === undefined)
      throw new NotFound(
        `timeframe: must be one of ${Object.keys(frames).join(", ")}`,
        400,
        "invalid_request",
      );
    const all = buckets(market, frameMs, startTime ?? 0, endTime ?? nowMs);
    // The live exchange lists an hour after its end.
    const running = (bar: Bar) => world.observed && timeframe === "1h" && bar.startMs + frameMs > nowMs;
    const rows = all.filter((bar) => !running(bar));
    const others = enableExternalSource && !market.spec.commodity ? venues : [];
    return rows
      .flatMap((bar) => [candle(market, bar), ...others.map((venue) => elsewhere(market, bar, venue))])
      .slice(-limit);
  },
  fundingRates: ({ symbol, startTime, endTime, limit }, { world }) => {
    const market = marketOf(world, symbol);
    const rates = market.rates.filter((it) => it.atMs >= startTime && it.atMs <= endTime).slice(0, limit);
    return {
      marketId: market.marketId,
      symbol: market.spec.symbol,
      rates: rates.map((it) => ({ timestamp: seconds(it.atMs), fundingRatePercentage: percentageOf(it) })),
    };
  },
  fundingOverview: ({ startTime, endTime, perMarketLimit }, { world }) => {
    return {
      series: [...world.markets.values()].map((market) => ({
        marketId: market.marketId,
        symbol: market.spec.symbol,
        points: market.rates
          .filter((it) => it.atMs >= startTime && it.atMs <= endTime)
          .slice(-perMarketLimit)
          .map((it) => {
            const perUnit = (perLot: bigint) =>
              timesPowerOfTen(Number(perLot), market.spec.baseLotsDecimals - 6).toFixed(12);
            return {
              timestamp: seconds(it.atMs),
              fundingAmountPerUnit: perUnit(it.perLot),
              markPrice: perUnit(it.markPerLot),
              fundingRate: (fractionOf(it) * overviewScale(world, market)).toFixed(12),
            };
          }),
      })),
    };
  },
} satisfies Partial<Handlers<Context>>;
