/**
 * Configuration of every market in one request: what margin is computed with, which symbol an asset id means, status and
 * session. With it, seldom, the assets that may be collateral beside the quote token.
 */
import { isDeepStrictEqual } from "node:util";
import type { CollateralAsset, MarketConfig } from "../../domain/account.ts";
import { ExchangeError } from "../../exchange/index.ts";
import type { BadRecords } from "../bad-records.ts";
import type { ExchangeCollector } from "../collector.ts";
import type { MarketBook } from "../market-book.ts";
import { collateralAssetOf, marketConfigOf } from "../translate/market.ts";

/** Between two readings of the collateral assets that nobody asked for, ms. */
const ASSETS_EVERY_MS = 10 * 60_000;
/** Until they are read again after a failure, ms: the list of markets, which succeeds, is not to wait for them. */
const ASSETS_RETRY_MS = 30_000;

const isValued = ({ perpAssetId }: CollateralAsset): boolean => perpAssetId !== null;

/** @param elapsedMs monotonic */
export function marketConfigCollector(
  book: MarketBook,
  badRecords: BadRecords,
  elapsedMs: () => number,
): ExchangeCollector {
  const onUnknown = (field: string, word: string) => badRecords.unknownWord("markets", field, word);
  let assetsReadMs = Number.NEGATIVE_INFINITY;
  let assetsFailed = false;
  /** Indices of the assets that count as collateral by the newest list. */
  let valuedAssets: ReadonlySet<number> = new Set();
  /** By symbol; what did not change stays the same object. */
  let known = new Map<string, MarketConfig>();
  return {
    source: "marketConfig",
    scope: "exchange",
    async run({ client, call, nowMs, observe, asked }) {
      const records = await client.markets({}, call());
      const markets = records.map((record) => {
        const config = marketConfigOf(record, onUnknown);
        const before = known.get(config.symbol);
        return isDeepStrictEqual(before, config) ? before! : config;
      });
      known = new Map(markets.map((config) => [config.symbol, config]));
      book.take(markets);
      await observe({ kind: "marketConfig", atMs: nowMs(), markets });
      if (!asked && elapsedMs() - assetsReadMs < ASSETS_EVERY_MS) return assetsFailed ? "partial" : "done";
      assetsReadMs = elapsedMs();
      assetsFailed = false;
      try {
        const records = await client.collateralAssets({}, call());
        const assets = records.assets.map(collateralAssetOf);
        // An asset that no longer counts is believed gone once the next list leaves it out, too.
        const valued = new Set(assets.filter(isValued).map(({ assetIndex }) => assetIndex));
        if ([...valuedAssets].some((index) => !valued.has(index)))
          assetsReadMs = elapsedMs() - ASSETS_EVERY_MS;
        valuedAssets = valued;
        await observe({ kind: "collateralAssets", atMs: nowMs(), assets });
      } catch (error) {
        // A server without this list has no such collateral.
        if (error instanceof ExchangeError && error.reason === "refused") return "done";
        assetsReadMs = elapsedMs() - ASSETS_EVERY_MS + ASSETS_RETRY_MS;
        assetsFailed = true;
        throw error;
      }
      return "done";
    },
  };
}
