/** Prices of every market in one request; the floor under what the stream tells. */
import type { ExchangeCollector } from "../collector.ts";
import type { StreamFeed } from "../stream-feed.ts";
import { marketPricesOf } from "../translate/market.ts";

/** @param live takes an answer and gives it back with what the stream told meanwhile */
export function marketsCollector(
  live: Pick<StreamFeed, "elapsedMs" | "polledPrices"> | null = null,
): ExchangeCollector {
  return {
    source: "markets",
    scope: "exchange",
    async run({ client, call, nowMs, observe }) {
      const askedMs = live?.elapsedMs() ?? 0;
      const { markets } = await client.latestMarketsStats({}, call());
      const rows = markets.map(marketPricesOf);
      await observe({ kind: "prices", atMs: nowMs(), markets: live?.polledPrices(rows, askedMs) ?? rows });
      return "done";
    },
  };
}
