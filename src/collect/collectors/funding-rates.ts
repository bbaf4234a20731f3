/**
 * The newest funding rate of every market, from the funding history, whose unit is stated. A small limit would keep the
 * oldest rows of the window, so the window starts late instead.
 */
import { ExchangeError, failureOf } from "../../exchange/index.ts";
import type { ExchangeCollector } from "../collector.ts";
import type { MarketBook } from "../market-book.ts";
import { newestRate } from "../translate/market.ts";

/** Intervals that the window covers: one that is late being indexed must not empty it. */
const INTERVALS = 4;

export function fundingRatesCollector(book: MarketBook): ExchangeCollector {
  return {
    source: "fundingRates",
    scope: "exchange",
    async run({ client, call, nowMs, observe }) {
      if (!book.known) return "later";
      let read = 0;
      let failure: unknown = null;
      for (const symbol of book.symbols) {
        const intervalSeconds = book.of(symbol)?.fundingIntervalSeconds ?? 0;
        if (intervalSeconds <= 0) continue;
        const startTime = Math.floor(nowMs() - INTERVALS * intervalSeconds * 1_000);
        try {
          const { rates } = await client.fundingRates({ symbol, startTime }, call());
          read++;
          const newest = newestRate(rates, intervalSeconds);
          if (newest) await observe({ kind: "fundingRate", atMs: nowMs(), symbol, ...newest });
        } catch (error) {
          // One market that cannot be read costs only itself; an exchange that is unwell ends the round.
          if (!(error instanceof ExchangeError) || error.retryable) throw error;
          failure = error;
          await observe({
            kind: "failed",
            source: "fundingRates",
            wallet: null,
            symbol,
            atMs: nowMs(),
            ...failureOf(error),
          });
        }
      }
      if (read === 0 && failure !== null) throw failure;
      return "done";
    },
  };
}
