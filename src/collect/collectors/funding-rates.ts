/**
 * The newest funding rate of every market, from the funding history, whose unit is stated. A small limit would keep the
 * oldest rows of the window, so the window starts late instead.
 *
 * A new market's past is read once in the last lane, a market at a time: marks by the hour, and rates.
 */
import type { Tick } from "../../domain/observation.ts";
import { ExchangeError, lanes } from "../../exchange/index.ts";
import { noteOf } from "../accounts.ts";
import type { ExchangeCollector, Run, RunOutcome } from "../collector.ts";
import type { MarketBook } from "../market-book.ts";
import { newestRate, ratePerHour } from "../translate/market.ts";
import { eachMarket } from "./by-market.ts";

/** Intervals that the window covers: a late index must not empty it. */
const INTERVALS = 4;
const HOUR_MS = 3_600_000;
const PAST_MS = 30 * 24 * HOUR_MS;

const cursorOf = (symbol: string) => `past/market/${symbol}`;

export function fundingRatesCollector(
  book: MarketBook,
  cursors: ReadonlyMap<string, string>,
): ExchangeCollector {
  const withHistory = new Set<string>();
  const withoutPast = () =>
    book.symbols.find((symbol) => !withHistory.has(symbol) && !cursors.has(cursorOf(symbol)));

  async function readNewest(run: Run): Promise<void> {
    const { client, call, nowMs, observe } = run;
    const symbols = book.symbols.filter((symbol) => (book.of(symbol)?.fundingIntervalSeconds ?? 0) > 0);
    await eachMarket(run, "fundingRates", symbols, async (symbol) => {
      // The list may have changed while others were read.
      const intervalSeconds = book.of(symbol)?.fundingIntervalSeconds;
      if (intervalSeconds === undefined) return;
      const startTime = Math.floor(nowMs() - INTERVALS * intervalSeconds * 1_000);
      const { rates } = await client.fundingRates({ symbol, startTime }, call());
      const newest = newestRate(rates, intervalSeconds);
      if (newest) await observe({ kind: "fundingRate", atMs: nowMs(), symbol, ...newest });
    });
  }

  async function readPast({ client, call, nowMs, observe }: Run, symbol: string): Promise<void> {
    const endTime = Math.floor(nowMs());
    const startTime = endTime - PAST_MS;
    const name = symbol.toUpperCase();
    const window = { symbol, startTime, endTime };
    const candles = await client.candles({ ...window, timeframe: "1h" }, call(lanes.catchUp));
    const { rates } = await client.fundingRates(window, call(lanes.catchUp));
    const markSeries = [`market[${name}].markPrice`];
    const rateSeries = [`market[${name}].fundingRate`];
    const intervalSeconds = book.of(symbol)?.fundingIntervalSeconds ?? 0;
    const ticks: Tick[] = [];
    for (const candle of candles) {
      const atMs = candle.time + HOUR_MS;
      // Candles of other venues, and the unfinished one, are no marks.
      if (atMs > endTime || candle.isExternal === true) continue;
      ticks.push({ atMs, owner: "markets", series: markSeries, values: [candle.markClose ?? candle.close] });
    }
    for (const rate of intervalSeconds > 0 ? rates : []) {
      const values = [ratePerHour(rate, intervalSeconds)];
      ticks.push({ atMs: rate.timestamp, owner: "fundingRates", series: rateSeries, values });
    }
    ticks.sort((a, b) => a.atMs - b.atMs);
    if (ticks.length > 0)
      await observe({ kind: "backfill", source: "fundingRates", wallet: null, atMs: nowMs(), ticks });
    await observe(noteOf(cursorOf(symbol), String(endTime), nowMs()));
  }

  async function readPastOnce(run: Run, symbol: string): Promise<void> {
    try {
      await readPast(run, symbol);
    } catch (error) {
      // A refused request is not repeated all day.
      if (!(error instanceof ExchangeError) || error.retryable) throw error;
    }
    withHistory.add(symbol);
  }

  return {
    source: "fundingRates",
    scope: "exchange",
    async run(run): Promise<RunOutcome> {
      if (!book.known) return "later";
      if (!run.catchUp) await readNewest(run);
      else {
        const symbol = withoutPast();
        if (symbol !== undefined) await readPastOnce(run, symbol);
      }
      return withoutPast() === undefined ? "done" : "more";
    },
  };
}
