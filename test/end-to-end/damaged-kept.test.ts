/** Kept values and facts that a start cannot read. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openHouse } from "../support/daemon.ts";

test("damaged kept values and facts keep no daemon from starting: the log names them, and the watching goes on", async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const first = await house.start();
  await house.clock.advance(30_000);
  await first.stop();
  const db = new Database(house.databasePath);
  const changed = db.prepare("UPDATE keep SET value = '{' WHERE name = 'wallet/main/profit'").run();
  const fact = db.prepare("UPDATE facts_now SET value = '{\"active\":1}' WHERE name = 'status'").run();
  db.close();
  expect([changed.changes, fact.changes]).toEqual([1, 1]);
  await house.start();
  await house.bring("SOL", 0.03);
  await house.clock.advance(30_000);
  expect(house.warnings().filter((line) => line.includes("does not fit"))).toEqual([
    expect.stringMatching(/the kept value wallet\/main\/profit does not fit: .*; it is not used/),
    expect.stringMatching(
      /the fact status of exchange does not fit: active: .*expected boolean.*; it is not used/,
    ),
  ]);
  expect(house.headlines()).toEqual(["🔴 FIRING critical #1: main: SOL long is 3% from liquidation"]);
});
