/** Prices of every market in one request; the fallback for the stream. */
import { ExchangeError } from "../../exchange/index.ts";
import { RepeatedPrices } from "../anomalies/repeated-prices.ts";
import type { ExchangeCollector } from "../collector.ts";
import type { StreamFeed } from "../stream/feed.ts";
import { marketPricesOf } from "../translate/market.ts";

/**
 * @param live merges an answer with the data that the stream sent meanwhile
 * @param elapsedMs monotonic
 */
export function marketsCollector(
  live: Pick<StreamFeed, "polledPrices"> | null,
  elapsedMs: () => number,
): ExchangeCollector {
  const repeated = new RepeatedPrices();
  return {
    source: "markets",
    scope: "exchange",
    async run({ client, call, nowMs, observe }) {
      const askedMs = elapsedMs();
      const { markets } = await client.latestMarketsStats({}, call());
      const rows = markets.map(marketPricesOf);
      const oldMs = repeated.take(rows, elapsedMs());
      if (oldMs !== null)
        throw new ExchangeError({
          endpoint: "latestMarketsStats",
          reason: "server-error",
          what: `the same prices since ${new Date(oldMs).toISOString().slice(11, 19)} UTC`,
        });
      await observe({ kind: "prices", atMs: nowMs(), markets: live?.polledPrices(rows, askedMs) ?? rows });
      return "done";
    },
  };
}
