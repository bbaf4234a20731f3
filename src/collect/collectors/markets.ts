/** Prices of every market in one request. */
import type { ExchangeCollector } from "../collector.ts";
import { marketPricesOf } from "../translate/market.ts";

export function marketsCollector(): ExchangeCollector {
  return {
    source: "markets",
    scope: "exchange",
    async run({ client, call, nowMs, observe }) {
      const { markets } = await client.latestMarketsStats({}, call());
      await observe({ kind: "prices", atMs: nowMs(), markets: markets.map(marketPricesOf) });
      return "done";
    },
  };
}
