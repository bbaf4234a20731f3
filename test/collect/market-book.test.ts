/** The markets by symbol and asset id, as the lists of the exchange tell of them. */
import { expect, test } from "vitest";
import type { Run } from "../../src/collect/collector.ts";
import { fundingRatesCollector } from "../../src/collect/collectors/funding-rates.ts";
import { MarketBook } from "../../src/collect/market-book.ts";
import type { ExchangeClient } from "../../src/exchange/index.ts";
import { marketConfig } from "../engine/harness.ts";

test("an empty list leaves the markets as they were", () => {
  const book = new MarketBook();
  const market = marketConfig();
  book.take([market]);
  book.take([]);
  expect([book.known, book.of("sol"), book.ofAsset(market.assetId)]).toEqual([true, market, market]);
});

test("a market that one list leaves out stays, and one that two leave out is gone", () => {
  const book = new MarketBook();
  const [gone, kept] = [marketConfig("SOL", { assetId: 1 }), marketConfig("ETH", { assetId: 2 })];
  book.take([gone, kept]);
  book.take([kept]);
  expect([book.of("SOL"), book.ofAsset(1), book.symbols]).toEqual([gone, gone, ["SOL", "ETH"]]);
  book.take([gone, kept]);
  book.take([kept]);
  expect(book.of("SOL")).toBe(gone);
  book.take([kept]);
  expect([book.of("SOL"), book.ofAsset(1), book.symbols]).toEqual([undefined, undefined, ["ETH"]]);
});

test("a market that leaves the list while funding rates are read costs no other", async () => {
  const book = new MarketBook();
  const [gone, kept] = [marketConfig("SOL", { assetId: 1 }), marketConfig("ETH", { assetId: 2 })];
  const first = marketConfig("BTC", { assetId: 3 });
  book.take([first, gone, kept]);
  const read: string[] = [];
  const client = {
    fundingRates: async ({ symbol }: { symbol: string }) => {
      read.push(symbol);
      for (let lists = 0; lists < 2; lists++) book.take([first, kept]);
      return { rates: [] };
    },
  } as unknown as ExchangeClient;
  const run: Run = {
    client,
    catchUp: false,
    asked: false,
    gap: false,
    call: () => ({}),
    nowMs: () => 0,
    observe: async () => {},
  };
  await fundingRatesCollector(book, new Map()).run(run);
  expect(read).toEqual(["BTC", "ETH"]);
});
