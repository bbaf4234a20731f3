/** A rate of requests that the exchange grants and that holds no configured schedule. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openHouse } from "../support/daemon.ts";

const names = Array.from({ length: 12 }, (_, index) => `w${index}`);

test.each([
  [1, 25_000, 32_000],
  [1.4, 13_000, 22_000],
])(
  "data that %d requests a second are granted for are fresh all the time, a minute at most",
  {
    timeout: 300_000,
  },
  async (requestsPerSecond, leastMs, mostMs) => {
    await using house = await openHouse({ wallets: names, simulator: { requestsPerSecond } });
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
    expect(every).toBeGreaterThan(leastMs);
    expect(every).toBeLessThan(mostMs);
    const age = daemon.status().stretched?.find(({ source }) => source === "traderState");
    expect(age?.usuallyMs).toBe(15_000);
    expect(age?.staleAfterMs).toBeGreaterThan(2 * every);
    expect(age?.staleAfterMs).toBeLessThanOrEqual(60_000);
    expect(house.log.map(({ msg }) => msg).join("\n")).toMatch(
      /fewer requests are granted than the schedules take.* positions and balances after (1m|[345]\ds)/,
    );
    const noData = () => house.headlines().filter((title) => /No data/.test(title));
    const before = noData().length;
    let tooOld = 0;
    for (let i = 0; i < 120; i++) {
      await house.clock.advance(5_000);
      const { blind, ruleStates } = daemon.status().watch;
      expect(blind).toEqual([]);
      tooOld += ruleStates.find(({ rule }) => rule === "Own")?.noData ?? 0;
    }
    expect(noData()).toHaveLength(before);
    // A rule's own word holds.
    expect(tooOld).toBeGreaterThan(0);

    const authority = house.trader("w3").authority;
    await house.call("fault", { path: `/v1/trader/state/${authority}`, status: 503 });
    await house.clock.advance(60_000 + 31_000);
    expect(noData().slice(before).join("\n")).toMatch(/No data on wallet w3/);
  },
);
