/** Forms of answers as seen at the live exchange, against those of its contract. */
import { describe, expect, test } from "vitest";
import { quiet, read, sim } from "./support.ts";

const hour = 3_600_000;

describe.each([
  [true, 100, { SOL: 10_000, TSLA: 100 }, 3],
  [false, 1, { SOL: 1, TSLA: 1 }, 4],
] as const)("observed: %s", (observed, rateScale, overviewScale, hours) => {
  test("funding rates of statistics and overview, and the candle of the running hour", async () => {
    await using simulator = await quiet({ observed, markets: ["TSLA"] });
    for (const symbol of ["SOL", "TSLA"])
      await sim(simulator, "funding-rate", { symbol, ratePercentage: "0.004209" });
    await sim(simulator, "advance", { ms: 3 * hour + 600_000 });
    const stats = await read(simulator, "latestMarketStats", "/v1/market/TSLA/stats/latest");
    expect(stats.current_funding_rate).toBeCloseTo(0.00004209 * rateScale, 10);
    expect(stats.eight_hour_funding_rate).toBeCloseTo(8 * 0.00004209 * rateScale, 10);
    const { series } = await read(simulator, "fundingOverview", "/v1/funding/overview");
    const { rates } = await read(simulator, "fundingRates", "/v1/funding/TSLA/rates");
    for (const symbol of ["SOL", "TSLA"] as const) {
      const { points } = series.find((it: { symbol: string }) => it.symbol === symbol);
      expect(points).toHaveLength(3);
      // One quote lot a base lot is the smallest payment: rates are rounded to that.
      expect(Number(points[0].fundingRate) / overviewScale[symbol]).toBeCloseTo(0.00004209, 5);
    }
    expect(rates).toHaveLength(3);
    const candles = await read(simulator, "candles", `/v1/candles/SOL?timeframe=1h`);
    expect(candles).toHaveLength(hours);
    const minutes = await read(simulator, "candles", `/v1/candles/SOL?timeframe=1m&limit=5`);
    expect(minutes.at(-1).time).toBe(simulator.nowMs());
  });
});

test("an equity has metadata that no contract names, and is read as a market", async () => {
  await using simulator = await quiet({ markets: ["TSLA"] });
  const market = await read(simulator, "market", "/v1/view/exchange/market/TSLA");
  expect(market.metadata).toMatchObject({ classifications: ["equity"], searchAliases: ["tesla", "tsla"] });
  expect(market.metadata.earningsDates).toHaveLength(1);
  expect(market).toMatchObject({ tickSize: 10, baseLotsDecimals: 3, isolatedOnly: true });
});
