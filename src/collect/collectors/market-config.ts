/**
 * Configuration of every market: what margin is computed with, and which symbol an asset id means. With it the assets that
 * may be collateral beside the quote token.
 */
import { ExchangeError } from "../../exchange/index.ts";
import type { BadRecords } from "../bad-records.ts";
import type { ExchangeCollector } from "../collector.ts";
import type { MarketBook } from "../market-book.ts";
import { collateralAssetOf, marketConfigOf } from "../translate/market.ts";

export function marketConfigCollector(book: MarketBook, badRecords: BadRecords): ExchangeCollector {
  const onUnknown = (field: string, word: string) => badRecords.unknownWord("markets", field, word);
  return {
    source: "marketConfig",
    scope: "exchange",
    async run({ client, call, nowMs, observe }) {
      const records = await client.markets({}, call());
      const markets = records.map((record) => marketConfigOf(record, onUnknown));
      book.take(markets);
      await observe({ kind: "marketConfig", atMs: nowMs(), markets });
      try {
        const { assets } = await client.collateralAssets({}, call());
        await observe({ kind: "collateralAssets", atMs: nowMs(), assets: assets.map(collateralAssetOf) });
      } catch (error) {
        // A server without this list has no such collateral.
        if (!(error instanceof ExchangeError && error.reason === "refused")) throw error;
      }
      return "done";
    },
  };
}
