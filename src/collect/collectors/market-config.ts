/**
 * Configuration of every market in one request: margin parameters, symbols of asset ids, status and session. With it,
 * at a longer interval, the collateral assets other than the quote token.
 */
import { isDeepStrictEqual } from "node:util";
import type { CollateralAsset, MarketConfig } from "../../domain/account.ts";
import { ExchangeError } from "../../exchange/index.ts";
import type { BadRecords } from "../anomalies/bad-records.ts";
import type { ExchangeCollector } from "../collector.ts";
import type { MarketBook } from "../market-book.ts";
import { collateralAssetOf, marketConfigOf } from "../translate/market.ts";

/** Interval between two unrequested reads of the collateral assets, ms. */
const ASSETS_EVERY_MS = 10 * 60_000;
/** Delay after a failed read of the assets, ms: the list of markets, which succeeds, does not wait for them. */
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
  /** By symbol; an unchanged configuration stays the same object. */
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
        // An asset that no longer counts is removed once the next list omits it too.
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
