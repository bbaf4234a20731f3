/** Answers in forms that the live exchange was seen to use: accounts without subaccounts, fills of orders over time. */
import { describe, expect, test } from "vitest";
import { Rig } from "./rig.ts";

const state = "/v1/trader/state/*";

const noSubaccounts = { path: state, set: { "snapshot.subaccounts": [] } };
const unread = (daemon: Awaited<ReturnType<Rig["boot"]>>) => daemon.failed("traderState");

/** Takes everything out of an account. */
async function empty(rig: Rig): Promise<void> {
  const { authority } = rig.main;
  const { accounts } = rig.simulator.world.wallets.get(authority)!;
  for (const { pdaIndex, subaccount: subaccountIndex, positions } of [...accounts.values()]) {
    const account = { authority, pdaIndex, subaccountIndex };
    for (const symbol of [...positions.keys()]) await rig.call("position", { ...account, symbol, size: "0" });
    await rig.call("collateral", { ...account, amount: "0" });
  }
}

describe("an active account without subaccounts", () => {
  test("that holds something stays unread, however often it is answered, also after a restart", async () => {
    await using rig = await Rig.start();
    const daemon = await rig.boot({ traderState: { every: "1s" } });
    await rig.clock.advance(3_000);
    const before = daemon.of("accounts").length;
    expect(daemon.of("accounts").at(-1)!.subaccounts.length).toBeGreaterThan(0);
    await rig.call("fault", noSubaccounts);
    await rig.clock.advance(60_000);
    expect(daemon.of("accounts")).toHaveLength(before);
    expect(unread(daemon)[0]).toMatchObject({
      reason: "bad-record",
      detail: "traderState: no subaccounts of an account that is not cold, in 1 of 3 answers that it takes",
    });
    expect(unread(daemon).at(-1)).toMatchObject({
      reason: "bad-record",
      detail: "traderState: no subaccounts of an account whose trader view shows positions or collateral",
    });

    const other = await rig.boot({ traderState: { every: "1s" } });
    await rig.clock.advance(60_000);
    expect(other.of("accounts")).toEqual([]);
    expect(unread(other).length).toBeGreaterThan(3);
  });

  test("from which everything was taken is read when three answers and its trader view say so", async () => {
    await using rig = await Rig.start();
    const daemon = await rig.boot({ traderState: { every: "1s" } });
    await rig.clock.advance(3_000);
    await empty(rig);
    await rig.call("fault", noSubaccounts);
    await rig.clock.advance(15_000);
    expect(daemon.of("accounts").at(-1)!.subaccounts).toEqual([]);
    expect(unread(daemon)).toHaveLength(2);

    // An answer that was believed is logged once, and money that comes back is seen at once.
    const known = daemon.of("accounts").length;
    await rig.clock.advance(5_000);
    expect(daemon.of("accounts").length).toBeGreaterThan(known + 3);
    expect(unread(daemon)).toHaveLength(2);
    await rig.call("collateral", { authority: rig.main.authority, amount: "500" });
    rig.simulator.faults.clear();
    await rig.clock.advance(1_000);
    expect(daemon.of("accounts").at(-1)!.subaccounts[0]).toMatchObject({ collateralQuoteLots: 500_000_000n });

    // Nor does it make up for later ones.
    await rig.call("fault", noSubaccounts);
    await rig.clock.advance(60_000);
    expect(daemon.of("accounts").at(-1)!.subaccounts[0]).toMatchObject({ collateralQuoteLots: 500_000_000n });
  });

  test("is not believed by answers of one slot, nor by a trader view that cannot be read", async () => {
    await using rig = await Rig.start();
    const daemon = await rig.boot({ traderState: { every: "1s" } });
    await rig.clock.advance(3_000);
    await empty(rig);
    const { slot } = daemon.of("accounts").at(-1)!;
    await rig.call("fault", { path: state, set: { "snapshot.subaccounts": [], slot: slot + 5 } });
    await rig.clock.advance(60_000);
    expect(daemon.of("accounts").at(-1)!.subaccounts.length).toBeGreaterThan(0);
    rig.simulator.faults.clear();
    await rig.call("fault", noSubaccounts);
    await rig.call("fault", { path: "/v1/view/trader/*", status: 503 });
    await rig.clock.advance(60_000);
    expect(daemon.of("accounts").at(-1)!.subaccounts.length).toBeGreaterThan(0);
    expect(unread(daemon).at(-1)).toMatchObject({ reason: "server-error" });
    rig.simulator.faults.clear();
    await rig.call("fault", noSubaccounts);
    await rig.clock.advance(31_000);
    expect(daemon.of("accounts").at(-1)!.subaccounts).toEqual([]);
  });
});

test("fills of an order over time, without signature and id, are one event each however often they are read", async () => {
  await using rig = await Rig.start();
  const daemon = await rig.boot({ fills: { every: "1s" } });
  await rig.clock.advance(5_000);
  const { authority } = rig.main;
  const twap = { authority, symbol: "SOL", side: "ask", size: "2", parts: 2, everyMs: 3_000 };
  await rig.call("twap", twap);
  await rig.call("twap", { ...twap, size: "4" });
  await rig.clock.advance(12_000);
  const fills = daemon.events("fill").filter(({ backfilled }) => !backfilled);
  expect(fills.map(({ fields }) => fields.size)).toEqual([1, 2, 1, 2]);
  expect(new Set(fills.map(({ key }) => key)).size).toBe(4);
  expect(daemon.of("failed").filter(({ source }) => source === "fills")).toEqual([]);
});

test("a first account state of a slot that the ledger comes to in years is a failed read, and later ones are taken", async () => {
  await using rig = await Rig.start();
  await rig.call("fault", { path: state, times: 1, set: { slot: 1_780_000_000 } });
  const daemon = await rig.boot({ traderState: { every: "5s" } });
  await rig.clock.advance(30_000);
  expect(daemon.failed("traderState").map(({ reason }) => reason)).toEqual(["bad-record"]);
  const told = daemon.of("accounts").map(({ slot }) => slot);
  expect(told.length).toBeGreaterThan(4);
  expect(Math.max(...told)).toBeLessThan(1_000_000_000);
});

test("a first account state of a wallet is held against those of others", async () => {
  await using rig = await Rig.start({ traders: 2 });
  const daemon = await rig.boot({ traderState: { every: "5s" } });
  const { authority, name } = rig.simulator.traders[1]!;
  // The answer about the other one comes first.
  const fault = { path: `/v1/trader/state/${authority}`, times: 1, delayMs: 1_000 };
  await rig.call("fault", { ...fault, set: { slot: 500_000_000 } });
  await rig.clock.advance(30_000);
  expect(daemon.failed("traderState").map(({ wallet }) => wallet)).toEqual([name]);
  const told = daemon.of("accounts").filter(({ wallet }) => wallet === name);
  expect(told.length).toBeGreaterThan(4);
});

test.each([9_000_000_000_000_000, 9_000_000_000])(
  "one account state of slot %i is a failed read, and later ones are taken",
  async (slot) => {
    await using rig = await Rig.start();
    const daemon = await rig.boot({ traderState: { every: "5s" } });
    await rig.clock.advance(30_000);
    const before = daemon.of("accounts").length;
    await rig.call("fault", { path: state, times: 1, set: { slot } });
    await rig.clock.advance(60_000);
    expect(daemon.failed("traderState").map(({ reason, detail }) => [reason, /slot/.test(detail)])).toEqual([
      ["bad-record", true],
    ]);
    expect(daemon.of("accounts").length).toBeGreaterThan(before + 9);
  },
);
