/** Kept values and facts that a start cannot read. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openHouse } from "../support/daemon.ts";

test("a start with damaged kept values and facts names them in the log, reports and removes the values once, and watches", async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const first = await house.start();
  await house.clock.advance(30_000);
  await first.stop();
  const db = new Database(house.databasePath);
  const changed = db.prepare("UPDATE keep SET value = '{' WHERE name = 'wallet/main/profit'").run();
  const fact = db.prepare("UPDATE facts_now SET value = '{\"active\":1}' WHERE name = 'status'").run();
  db.prepare("INSERT INTO keep (name, value) VALUES ('silence/7', '{}')").run();
  db.close();
  expect([changed.changes, fact.changes]).toEqual([1, 1]);
  const second = await house.start();
  await house.clock.advance(30_000);
  await second.stop();
  await house.start();
  await house.bring("SOL", 0.03);
  await house.clock.advance(30_000);
  // Of the second start alone: the third finds nothing.
  expect(house.warnings().filter((line) => line.includes("does not fit"))).toEqual([
    expect.stringMatching(/the kept value silence\/7 does not fit: .*; it is not used/),
    expect.stringMatching(/the kept value wallet\/main\/profit does not fit: .*; it is not used/),
    expect.stringMatching(
      /the fact status of exchange does not fit: active: .*expected boolean.*; it is not used/,
    ),
  ]);
  expect(house.headlines()).toEqual([
    "🟠 **WARNING: 2 stored values could not be read at the start and were removed** (#1)",
    "🔴 FIRING critical #2: main: SOL long is 3% from liquidation",
  ]);
  expect(JSON.stringify(house.discord.messages[0])).toContain(
    "a silence (silence/7); the profit of a wallet (wallet/main/profit)",
  );
});
