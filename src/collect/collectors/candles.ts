/**
 * Candles of the needed markets: the newest minutes, including other venues, for the external price, and, once an hour,
 * a week of hours for the volatility of the mark.
 */
import type { ExchangeCollector } from "../collector.ts";
import { dailyVolatilityOf, externalPriceOf } from "../translate/candles.ts";
import { eachMarket, isWanted, type MarketReadParts, marketsToRead } from "./by-market.ts";

const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
/** Maximum age of a venue's last candle, ms. */
const RECENT_MS = 15 * 60_000;

export function candlesCollector(parts: MarketReadParts): ExchangeCollector {
  /** By market, with the hour of computation: recomputed each hour. */
  const volatility = new Map<string, { readonly hour: number; readonly daily: number | null }>();
  return {
    source: "candles",
    scope: "exchange",
    isNeeded: () => isWanted(parts, "candles"),
    async run(run) {
      const symbols = marketsToRead(parts, "candles");
      if (symbols === null) return "later";
      const { client, call, nowMs, observe } = run;
      await eachMarket(run, "candles", symbols, async (symbol) => {
        const askedMs = Math.floor(nowMs());
        const hour = Math.floor(askedMs / HOUR_MS);
        if (volatility.get(symbol)?.hour !== hour) {
          const week = { symbol, timeframe: "1h", startTime: askedMs - WEEK_MS, endTime: askedMs };
          const daily = dailyVolatilityOf(await client.candles(week, call()), HOUR_MS, askedMs);
          volatility.set(symbol, { hour, daily });
        }
        // Up to the answer: the request may wait for minutes until a limit ends.
        const recent = { symbol, timeframe: "1m", startTime: askedMs - RECENT_MS };
        const candles = await client.candles({ ...recent, enableExternalSource: true }, call());
        const externalPriceUsd = externalPriceOf(candles);
        const dailyVolatility = volatility.get(symbol)?.daily ?? null;
        await observe({ kind: "external", atMs: nowMs(), symbol, externalPriceUsd, dailyVolatility });
      });
      return "done";
    },
  };
}
