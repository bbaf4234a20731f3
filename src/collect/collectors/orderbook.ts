/**
 * Order books of the needed markets, with market makers' curves among the levels, since an order trades against those
 * as well. A book whose sides overlap is reported as a failed read, and the previous data becomes older.
 */
import type { ExchangeCollector } from "../collector.ts";
import { depthOf } from "../translate/orderbook.ts";
import { eachMarket, isWanted, type MarketReadParts, marketsToRead } from "./by-market.ts";

export function orderbookCollector(parts: MarketReadParts): ExchangeCollector {
  return {
    source: "orderbook",
    scope: "exchange",
    isNeeded: () => isWanted(parts, "orderbook"),
    async run(run) {
      const symbols = marketsToRead(parts, "orderbook");
      if (symbols === null) return "later";
      const { client, call, nowMs, observe } = run;
      await eachMarket(run, "orderbook", symbols, async (symbol) => {
        const depth = depthOf(await client.orderbook({ symbol, includeSplines: true }, call()));
        const atMs = nowMs();
        if (!("problem" in depth)) return observe({ kind: "depth", atMs, symbol, ...depth });
        const failed = { source: "orderbook", wallet: null, reason: "bad-record" } as const;
        return observe({ kind: "failed", ...failed, symbol, atMs, detail: `${symbol}: ${depth.problem}` });
      });
      return "done";
    },
  };
}
