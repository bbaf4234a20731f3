/** A rate of requests that the exchange grants and that holds no configured schedule. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openHouse } from "../support/daemon.ts";

const names = Array.from({ length: 12 }, (_, index) => `w${index}`);

test("data that are read as seldom as the exchange grants it are fresh all the time, a minute at most", {
  timeout: 180_000,
}, async () => {
  await using house = await openHouse({ wallets: names, simulator: { requestsPerSecond: 1.5 } });
  for (const trader of names)
    await house.hold({ trader, collateral: "4000", symbol: "SOL", size: "10", entryPrice: "150" });
  const file = path.join(house.folder, "own.yaml");
  fs.writeFileSync(
    file,
    `
rules:
  - { name: Own, scope: trader, when: trader.equity < 1.0, severity: info, staleAfter: 10s, summary: poor }
`,
  );
  const { daemon } = await house.start({
    exchange: { baseUrl: house.simulator.url, requestsPerSecond: "auto", streams: "off" },
    rules: ["shipped", file],
    schedules: {},
  });
  await house.clock.advance(900_000);
  const every = daemon.status().schedules.find(({ source }) => source === "traderState")!.everyMs;
  expect(every).toBeGreaterThan(10_000);
  expect(daemon.status().stretched).toContainEqual({
    source: "traderState",
    staleAfterMs: expect.closeTo(3 * every, -4),
    usuallyMs: 15_000,
  });
  expect(house.log.map(({ msg }) => msg).join("\n")).toMatch(
    /fewer requests are granted than the schedules take.* positions and balances after [34]\ds/,
  );
  const before = house.headlines().length;
  let tooOld = 0;
  for (let i = 0; i < 120; i++) {
    await house.clock.advance(5_000);
    const { blind, ruleStates } = daemon.status().watch;
    expect(blind).toEqual([]);
    tooOld += ruleStates.find(({ rule }) => rule === "Own")?.noData ?? 0;
  }
  expect(house.headlines()).toHaveLength(before);
  // A rule's own word holds.
  expect(tooOld).toBeGreaterThan(0);

  const authority = house.trader("w3").authority;
  await house.call("fault", { path: `/v1/trader/state/${authority}`, status: 503 });
  await house.clock.advance(60_000 + 31_000);
  expect(house.headlines().slice(before).join("\n")).toMatch(/No data on wallet w3/);
});
