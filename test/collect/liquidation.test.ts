/** A liquidation is told by the inbox and by the history: one event, whichever comes first. */
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";

const inboxFirst = { notifications: { every: "1s" }, liquidations: { every: "20s" } };
const historyFirst = { notifications: { every: "20s" }, liquidations: { every: "1s" } };
const bothAtOnce = { notifications: { every: "1s" }, liquidations: { every: "1s" } };

test.each([
  ["the inbox", inboxFirst, "142", ["market"]],
  ["the history", historyFirst, "142", ["market"]],
  ["both at once", bothAtOnce, "142", ["market"]],
  ["the inbox", inboxFirst, "131", ["adl", "backstop"]],
  ["the history", historyFirst, "131", ["adl", "backstop"]],
])("one liquidation is one event, told first by %s", async (_name, schedules, price, kinds) => {
  await using rig = await Rig.start();
  const daemon = await rig.boot(schedules);
  await rig.clock.advance(3_000);
  const { authority } = rig.main;
  await rig.call("collateral", { authority, amount: "1000" });
  await rig.call("position", { authority, symbol: "SOL", size: "50", entryPrice: "150" });
  await rig.call("mark-price", { symbol: "SOL", price });
  await rig.clock.advance(45_000);

  const liquidations = daemon.events("liquidation");
  expect([...new Set(liquidations.map((it) => it.fields.kind))].sort()).toEqual(kinds);
  expect(new Set(liquidations.map((it) => it.key)).size).toBe(liquidations.length);
  // Each notification of one names it.
  const named = daemon.events("notification").flatMap((it) => it.inbox?.liquidationKey ?? []);
  expect(named.sort()).toEqual(liquidations.map((it) => it.key).sort());
  for (const it of liquidations) {
    expect(it).toMatchObject({ wallet: "main", pdaIndex: 0, subaccount: 0, backfilled: false });
    expect(it.fields.role).toBe("liquidatee");
    expect(it.symbol).toMatch(/^[A-Z]+$/);
    expect(it.fields.size).toBeGreaterThan(0);
    expect(it.fields.price).toBeGreaterThan(0);
    expect(Number(it.fields.price) * Number(it.fields.size)).toBeCloseTo(Number(it.fields.notional), 3);
  }
});
