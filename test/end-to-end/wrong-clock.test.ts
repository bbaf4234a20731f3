/** A machine whose clock is 90 minutes behind the exchange's: what the daemon answers is by the exchange's. */
import { expect, test, vi } from "vitest";
import type { StatusAnswer } from "../../src/dashboard/index.ts";
import { openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

test("ages in the status, and times of silences, are by the corrected clock", async () => {
  await using house = await openHouse();
  const behindMs = 5_400_000;
  await house.call("advance", { ms: behindMs });
  await house.hold({ collateral: "5000", symbol: "SOL", size: "10", entryPrice: "150" });
  await house.start();
  await house.clock.advance(30_000);
  const { nowMs, startedMs, schedules } = (await house.ask("GET", "/api/v1/status")) as StatusAnswer;
  expect(Math.abs(nowMs - house.clock.nowMs() - behindMs)).toBeLessThan(5_000);
  expect(nowMs - startedMs).toBeGreaterThan(25_000);
  const { lastOkMs } = schedules.find(({ source }) => source === "traderState")!;
  expect(lastOkMs).toBeLessThanOrEqual(nowMs);
  expect(await house.ask("GET", "/api/v1/silences")).toMatchObject({ nowMs });
});
