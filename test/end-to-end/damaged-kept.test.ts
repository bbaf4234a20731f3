/** Kept values that a start cannot read. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openHouse } from "../support/daemon.ts";

test("a damaged kept value keeps no daemon from starting: it is named in the log, and the watching goes on", async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const first = await house.start();
  await house.clock.advance(30_000);
  await first.stop();
  const db = new Database(house.databasePath);
  const changed = db.prepare("UPDATE keep SET value = '{' WHERE name = 'wallet/main/profit'").run();
  db.close();
  expect(changed.changes).toBe(1);
  await house.start();
  await house.bring("SOL", 0.03);
  await house.clock.advance(30_000);
  expect(house.warnings().filter((line) => line.includes("kept value"))).toEqual([
    expect.stringMatching(/the kept value wallet\/main\/profit does not fit: .*; it is not used/),
  ]);
  expect(house.headlines()).toEqual(["🔴 FIRING critical #1: main: SOL long is 3% from liquidation"]);
});
