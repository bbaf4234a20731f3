/** The markets by symbol and asset id, as the lists of the exchange tell of them. */
import { expect, test } from "vitest";
import { MarketBook } from "../../src/collect/market-book.ts";
import { marketConfig } from "../watch/harness.ts";

test("an empty list leaves the markets as they were", () => {
  const book = new MarketBook();
  const market = marketConfig();
  book.take([market]);
  book.take([]);
  expect([book.known, book.of("sol"), book.ofAsset(market.assetId)]).toEqual([true, market, market]);
});
