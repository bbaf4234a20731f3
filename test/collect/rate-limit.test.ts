/** Collectors while the exchange answers with 429, and afterwards. */
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";

test("a failed read during a rate limit states since when the exchange refuses, and when it is asked again", async () => {
  await using rig = await Rig.start();
  const daemon = await rig.boot({ traderState: { every: "5s" }, markets: { every: "2s" } });
  await rig.clock.advance(20_000);
  const startMs = rig.clock.nowMs();
  await rig.call("fault", { path: "/v1/*", status: 429, error: "rate_limited", retryAfter: "3" });
  await rig.clock.advance(60_000);
  const failed = daemon.failed("traderState");
  expect(failed.length).toBeGreaterThan(0);
  for (const { cause, atMs } of failed) {
    expect(cause?.kind).toBe("rateLimited");
    expect(cause!.sinceMs).toBeGreaterThanOrEqual(startMs);
    expect(cause!.sinceMs).toBeLessThan(startMs + 5_000);
    expect(cause!.untilMs).toBeGreaterThanOrEqual(atMs);
    expect(cause!.untilMs).toBeLessThanOrEqual(atMs + 3_000);
  }
  expect(new Set(failed.map(({ cause }) => cause!.sinceMs)).size).toBe(1);
  expect(daemon.exchange.budget.limit).not.toBeNull();

  rig.simulator.faults.clear();
  await rig.clock.advance(10_000);
  expect(daemon.exchange.budget.limit).toBeNull();
});

test.each([
  [1, 20],
  [1, 50],
  [4, 40],
])(
  "5 s after a limit that ended before its Retry-After no data of %i wallets are older than two intervals (%i s)",
  async (traders, lastedS) => {
    await using rig = await Rig.start({ traders, requestsPerSecond: 20 });
    const daemon = await rig.boot({ traderState: { every: "5s", atRisk: "5s" }, markets: { every: "2s" } });
    await rig.clock.advance(90_000);
    await rig.call("fault", { path: "/v1/*", status: 429, error: "rate_limited", retryAfter: "60" });
    await rig.clock.advance(lastedS * 1_000);
    rig.simulator.faults.clear();
    const endMs = rig.clock.nowMs();
    await rig.clock.advance(5_000);
    const newest = (of: readonly { readonly atMs: number }[]) => of.at(-1)!.atMs;
    expect(newest(daemon.of("prices"))).toBeGreaterThan(endMs);
    for (const { name } of rig.simulator.traders) {
      const states = daemon.of("accounts").filter(({ wallet }) => wallet === name);
      expect(newest(states), name).toBeGreaterThan(endMs - 5_000);
    }
  },
);

test("prices of other venues that waited for the end of a limit are those of its end", async () => {
  await using rig = await Rig.start({ traders: 4, wantedMarkets: () => "all", requestsPerSecond: 20 });
  const daemon = await rig.boot({ candles: { every: "30s" } });
  await rig.clock.advance(20_000);
  await rig.call("fault", { path: "/v1/*", status: 429, error: "rate_limited", retryAfter: "1" });
  await rig.clock.advance(240_000);
  for (const [symbol, price] of [
    ["SOL", "171.00"],
    ["BTC", "71000"],
  ])
    await rig.call("mark-price", { symbol, price, oraclePrice: price });
  rig.simulator.faults.clear();
  const before = daemon.of("external").length;
  await rig.clock.advance(10_000);
  const read = daemon.of("external").slice(before);
  const priceOf = (symbol: string) => read.find((one) => one.symbol === symbol)?.externalPriceUsd;
  expect([priceOf("SOL"), priceOf("BTC")]).toEqual([171, 71_000]);
});
