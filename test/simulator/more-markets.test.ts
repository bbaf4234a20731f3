/** Markets that the simulator lists on request: negative lot decimals, a tick of 10 quote lots. */
import { expect, test } from "vitest";
import { quiet, read, sim } from "./support.ts";

test("a market with negative lot decimals states one story on every route", async () => {
  await using simulator = await quiet({ markets: ["PUMP"] });
  const { address } = simulator.keyOf("main");
  const place = { trader: "main", symbol: "PUMP" };
  await sim(simulator, "position", { ...place, size: "-1234500", entryPrice: "0.0045" });
  await sim(simulator, "order", { ...place, side: "ask", size: "5000", price: "0.0048" });
  const truth = await sim(simulator, "mark-price", { symbol: "PUMP", price: "0.0046" });
  expect(truth).toMatchObject({ markPrice: "0.0046" });

  const state = await read(simulator, "traderState", `/v1/trader/state/${address}`);
  const { positions, orders } = state.snapshot.subaccounts[0];
  expect(positions.find((it: { symbol: string }) => it.symbol === "PUMP")).toMatchObject({
    basePositionLots: "-12345",
    basePositionUnits: "-1234500",
    entryPriceTicks: "4500",
    entryPriceUsd: "0.0045",
  });
  expect(JSON.stringify(orders)).toContain('"priceUsd":"0.0048"');

  const view = await read(simulator, "traderView", `/v1/view/trader/${simulator.traders[0]!.traderPda}`);
  const seen = view.positions.find((it: { symbol: string }) => it.symbol === "PUMP");
  expect(seen.positionSize).toEqual({ value: -12_345, decimals: -2, ui: "-1234500" });
  expect(seen.entryPrice.ui).toBe("0.004500");
  // 1,234,500 × (0.0045 − 0.0046)
  expect(Number(seen.unrealizedPnl.ui)).toBeCloseTo(-123.45, 6);

  const book = await read(simulator, "orderbook", "/v1/view/orderbook/PUMP");
  expect(book.mid).toBe(0.0046);
  const stats = await read(simulator, "latestMarketStats", "/v1/market/PUMP/stats/latest");
  expect(stats.mark_price).toBe(0.0046);
});

test("an unknown symbol is refused by name", async () => {
  await expect(quiet({ markets: ["NOPE"] })).rejects.toThrow("markets: NOPE is none of PUMP, TSLA");
});
