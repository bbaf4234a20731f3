/** Statistics of markets that the exchange repeats: one old answer of a cache or a replica that stands still. */
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";

const stats = "/v1/markets/stats/latest";

test("prices that are one old answer for minutes are failed reads, until the exchange goes on", async () => {
  await using rig = await Rig.start();
  const daemon = await rig.boot({ markets: { every: "2s" } });
  await rig.clock.advance(10_000);
  const answer = await (await fetch(new URL(stats, rig.simulator.url))).json();
  await rig.call("fault", { path: stats, body: answer, status: 200 });
  await rig.clock.advance(115_000);
  expect(daemon.failed("markets")).toEqual([]);
  const startMs = rig.clock.nowMs();
  await rig.clock.advance(60_000);
  expect(daemon.failed("markets")[0]).toMatchObject({
    reason: "server-error",
    detail: "latestMarketsStats: the same prices since 12:00:10 UTC",
  });
  expect(daemon.of("prices").filter(({ atMs }) => atMs > startMs + 10_000)).toEqual([]);
  rig.simulator.faults.clear();
  const endMs = rig.clock.nowMs();
  await rig.clock.advance(40_000);
  expect(daemon.of("prices").filter(({ atMs }) => atMs > endMs).length).toBeGreaterThan(3);
});

test("marks that stand still while the exchange tells its time are prices", async () => {
  await using rig = await Rig.start();
  const daemon = await rig.boot({ markets: { every: "2s" } });
  await rig.clock.advance(600_000);
  expect(daemon.failed("markets")).toEqual([]);
  expect(
    new Set(
      daemon
        .of("prices")
        .flatMap(({ markets }) =>
          markets.filter(({ symbol }) => symbol === "SOL").map(({ markPriceUsd }) => markPriceUsd),
        ),
    ).size,
  ).toBe(1);
});
