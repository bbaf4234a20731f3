/** Open changes of one account by its states and records: each flow is reported once. */
import { describe, expect, test } from "vitest";
import type { KeptChanges } from "../../src/state/profit/changes/kept-changes.ts";
import type { OpenChange } from "../../src/state/profit/changes/open-change.ts";
import { OpenChanges } from "../../src/state/profit/changes/open-changes.ts";
import { rangeOf } from "../../src/state/profit/changes/open-range.ts";
import type { CashRecord, FillRecord } from "../../src/state/profit/records/cash-record.ts";
import { fittingOf } from "../../src/state/profit/records/fitting-records.ts";
import { position } from "./harness.ts";

const account = "main/0.0";
const balance = (usd: number) => ({
  ...{ collateralQuoteLots: BigInt(usd * 1e6), spotCollaterals: [], positions: [] },
});

test("a flow that was reported as explained is not reported with the next one of its slot again", () => {
  const changes = new OpenChanges();
  const state = (slot: number, usd: number, atMs: number) =>
    changes.takeState(account, { slot, atMs }, balance(usd), () => undefined);
  state(90, 10_000, 0);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  changes.takeRecord({ kind: "flow", account, slot: 100, usd: -1_000, afterUsd: 9_000 }, 1_000);
  state(100, 9_000, 2_000);
  expect(changes.explained.flows.since(2_000, 2_000)).toMatchObject({ usd: -1_000 });
  state(100, 9_500, 3_000);
  changes.takeRecord({ kind: "flow", account, slot: 100, usd: 500, afterUsd: 9_500 }, 4_000);
  expect(changes.explained.flows.since(4_000, 4_000)).toMatchObject({ usd: 500 });
  expect(changes.open).toEqual([]);
});

test("of two payments that may be the other side of a transfer, the one that comes nearest is", () => {
  const open = (name: string, cashUsd: number, slackUsd = 0): OpenChange => ({
    ...{ account: name, cashUsd, slackUsd, traded: {}, fromSlot: 59, toSlot: 60 },
    ...{ atMs: 0, readMs: 0, waitedMs: 0, flowUsd: 0 },
  });
  const given = open("main/0.0", -1_832.06, 16.44);
  const [received, paidIn] = [open("main/0.1", 1_831.86), open("main/0.1", 1_841)];
  for (const changes of [
    [given, received, paidIn],
    [paidIn, given, received],
    [received, paidIn, given],
  ])
    expect(rangeOf(changes)).toEqual({ inUsd: 1_841, outUsd: 0 });
});

test("the sides of transfers between accounts are no deposit or withdrawal, though they are explained one by one", () => {
  const changes = new OpenChanges();
  const names = ["main/0.0", "main/0.1"] as const;
  const flow = (number: 0 | 1, slot: number, usd: number): CashRecord => {
    const own = { kind: "flow", account: names[number], slot, usd } as const;
    return slot === 99 ? { ...own, within: true } : own;
  };
  const state = (number: 0 | 1, slot: number, usd: number, atMs: number) =>
    changes.takeState(names[number], { slot, atMs }, balance(usd), () => undefined);
  state(0, 90, 10_000, 0);
  state(1, 90, 5_000, 0);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  state(0, 100, 7_000, 1_000);
  state(1, 100, 8_000, 1_000);
  changes.takeRecord(flow(0, 99, -3_000), 2_000);
  expect(changes.explained.flows.since(2_000, 2_000)?.usd).toBe(0);
  changes.takeRecord(flow(1, 99, 3_000), 3_000);
  expect(changes.explained.flows.since(3_000, 1_500)?.usd).toBe(0);
  state(0, 110, 6_500, 4_000);
  changes.takeRecord(flow(0, 109, -500), 5_000);
  expect(changes.explained.flows.since(5_000, 1_500)?.usd).toBe(-500);
});

const holding = (usd: number, units: number) => ({
  ...balance(usd),
  positions: [position(units, 150)],
});
const pricing = () => ({ unitsPerLot: 0.01, markUsd: 150, ratePerHour: 0 });

test.each([
  ["a trade, then a deposit", false],
  ["a deposit, then a trade", true],
])(
  "%s in the slot of a reading from before both explain the next state after a restart",
  (_, depositFirst) => {
    let changes = new OpenChanges();
    changes.takeState(account, { slot: 90, atMs: 0 }, balance(1_000), pricing);
    changes.takeWhole(0, { slot: 90, atMs: 0 });
    changes.takeSame(account, { slot: 100, atMs: 1_000 }, balance(1_000));
    changes.takeWhole(0, { slot: 100, atMs: 1_000 });
    const fill = { kind: "fill", account, slot: 100, symbol: "SOL", units: 40, usd: -6_003 } as const;
    const flow = { kind: "flow", account, slot: 100, usd: 500, afterUsd: 1_497 } as const;
    for (const record of depositFirst ? [flow, fill] : [fill, flow]) changes.takeRecord(record, 2_000);
    const kept = JSON.parse(JSON.stringify(changes.kept)) as KeptChanges;
    // A state that left all as it was is not stored.
    changes = new OpenChanges();
    changes.states.restoreWhole(0, 90);
    changes.states.restore(account, { slot: 90, balance: balance(1_000) });
    changes.restore(kept);
    changes.takeState(account, { slot: 105, atMs: 3_000 }, holding(1_497, 40), pricing);
    expect([changes.open, changes.ahead.usd]).toEqual([[], 0]);
  },
);

test.each([300, 600])(
  "a takeover whose record says no side is explained where %d of it were sold before",
  (sold) => {
    const changes = new OpenChanges();
    changes.takeState(account, { slot: 90, atMs: 0 }, holding(30_000, 1_000), pricing);
    changes.takeWhole(0, { slot: 90, atMs: 0 });
    changes.takeState(account, { slot: 100, atMs: 1_000 }, holding(29_997, 1_000 - sold), pricing);
    changes.takeState(account, { slot: 105, atMs: 2_000 }, balance(0), pricing);
    const units = 1_500 - sold;
    const handed = { market: { symbol: "SOL", units }, entryUsd: units * 150, changeUsd: -29_994 };
    const fill = { kind: "fill", account, slot: 100, symbol: "SOL" } as const;
    changes.takeRecord({ ...fill, units: -sold, usd: sold * 150 - 3 }, 3_000);
    changes.takeRecord({ ...fill, units: 500, usd: -75_003 }, 3_000);
    changes.takeRecord({ kind: "takeover", account, slot: 100, handed }, 3_000);
    changes.settle(3_000);
    expect(changes.open).toEqual([]);
  },
);

test.each(["before", "after"])(
  "a position that was opened and closed in the slot of the state before explains the next one: records read %s it",
  (when) => {
    const changes = new OpenChanges();
    changes.takeState(account, { slot: 90, atMs: 0 }, holding(14_000, -10), pricing);
    changes.takeWhole(0, { slot: 90, atMs: 0 });
    changes.takeState(account, { slot: 100, atMs: 1_000 }, holding(13_980, -11), pricing);
    changes.takeRecord({ kind: "fill", account, slot: 95, symbol: "SOL", units: -1, usd: 130 }, 1_500);
    const fill = { kind: "fill", account, slot: 100, symbol: "ETH" } as const;
    const records = () => {
      changes.takeRecord({ ...fill, units: 91.397, usd: -480_118.492843 }, 2_000);
      changes.takeRecord({ ...fill, units: -91.397, usd: 478_873.918871 }, 2_000);
    };
    if (when === "before") records();
    changes.takeState(account, { slot: 105, atMs: 3_000 }, holding(13_980 - 1_244.573972, -11), pricing);
    if (when === "after") records();
    changes.settle(4_000);
    expect(changes.open).toEqual([]);
  },
);

test("a fill of the slot of a state that does not show its trade is of the next one, though it is read before the deposit of that slot", () => {
  const changes = new OpenChanges();
  const state = (
    slot: number,
    usd: number,
    positions: readonly ReturnType<typeof position>[],
    atMs: number,
  ) => changes.takeState(account, { slot, atMs }, { ...balance(usd), positions }, pricing);
  state(90, 10_000, [], 0);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  state(100, 15_000, [], 1_000);
  changes.takeRecord({ kind: "fill", account, slot: 100, symbol: "SOL", units: -10, usd: 1_499 }, 2_000);
  changes.takeRecord({ kind: "fill", account, slot: 101, symbol: "SOL", units: 10, usd: -1_600 }, 2_000);
  changes.takeRecord({ kind: "flow", account, slot: 99, usd: 5_000 }, 2_000);
  changes.settle(2_000);
  expect(changes.open).toEqual([]);
  state(110, 14_899, [], 3_000);
  expect(changes.open).toEqual([]);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: 0 });
});

test.each([
  ["is known by its value", "short", 15_000, 0],
  ["is another by its value", "short", 30_000, 1],
  ["is another by its side", "long", 15_000, 1],
] as const)(
  "a takeover whose record says no market explains a change whose trade %s",
  (_, side, entryUsd, open) => {
    const changes = new OpenChanges();
    changes.takeState(
      account,
      { slot: 90, atMs: 0 },
      { ...balance(5_000), positions: [position(-100, 150)] },
      pricing,
    );
    changes.takeWhole(0, { slot: 90, atMs: 0 });
    changes.takeState(account, { slot: 100, atMs: 1_000 }, balance(0), pricing);
    expect(changes.open.length).toBe(1);
    const handed = { market: null, side, entryUsd, changeUsd: -5_000 };
    changes.takeRecord({ kind: "takeover", account, slot: 100, handed }, 2_000);
    expect(changes.open.length).toBe(open);
  },
);

test("a record of the slot of several states is shown if one of them has its collateral", () => {
  const changes = new OpenChanges();
  const state = (usd: number, atMs: number, slot = 100) =>
    changes.takeState(account, { slot, atMs }, balance(usd), () => undefined);
  state(10_000, 0, 90);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  const paidOut = { kind: "flow", account, slot: 100, usd: -500, afterUsd: 9_500 } as const;
  state(9_500, 1_000);
  state(10_000, 1_100);
  expect(changes.ahead.isAhead(paidOut)).toBe(false);
  // One state of a slot does not tell.
  state(10_000, 2_000, 110);
  expect(changes.ahead.isAhead({ ...paidOut, slot: 110 })).toBe(true);
});

test("fills prove nothing of a change that may contain a transfer of unknown direction", () => {
  const sold = (unknown: boolean): OpenChanges => {
    const changes = new OpenChanges();
    changes.takeState(account, { slot: 90, atMs: 0 }, holding(10_000, 1_000), pricing);
    changes.takeWhole(0, { slot: 90, atMs: 0 });
    changes.takeState(account, { slot: 100, atMs: 1_000 }, holding(10_030, 300), pricing);
    changes.explained.rough.takeHidden({ roughUsd: 0, knownUsd: 0 }, 1_000);
    if (unknown) changes.explained.rough.takeUnknown({ account, slot: 95 });
    changes.takeRecord({ kind: "fill", account, slot: 96, symbol: "SOL", units: -700, usd: 105_000 }, 2_000);
    return changes;
  };
  expect(sold(false).settle(2_000).length).toBe(1);
  expect(sold(true).settle(2_000)).toEqual([]);
});

test("collateral of another asset is paid out where fills explain the cash of a closed position to the cent", () => {
  const changes = new OpenChanges();
  const rates = () => ({ ...pricing(), ratePerHour: 0.1 });
  changes.takeState(account, { slot: 90, atMs: 0 }, holding(10_000, 100), rates);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  changes.takeRecord({ kind: "fill", account, slot: 95, symbol: "SOL", units: -100, usd: 15_000 }, 1_000);
  const taken = { 1: { units: 1, usd: 152 } };
  changes.takeState(account, { slot: 100, atMs: 2_000 }, balance(10_000), rates, taken);
  expect(changes.open).toEqual([]);
  expect(changes.takeSpotFlows()).toMatchObject([{ account, usd: -152 }]);
});

test("records of the slot of an answer are of before or after it, by its place in the slot", () => {
  const changes = new OpenChanges();
  const state = (slot: number, index: number, usd: number, atMs: number) =>
    changes.takeState(account, { slot, index, atMs }, balance(usd), () => undefined);
  state(90, 0, 1_000, 0);
  changes.takeWhole(0, { slot: 90, index: 0, atMs: 0 });
  state(100, 2, 1_500, 1_000);
  const flow = (index: number, usd: number, afterUsd: number, more: { unshown?: true } = {}) =>
    changes.takeRecord({ kind: "flow", account, slot: 100, index, usd, afterUsd, ...more }, 2_000);
  // The other side of a transfer may tell otherwise where its account has again what it had.
  flow(1, 500, 1_500, { unshown: true });
  expect([changes.ahead.usd, changes.open.length]).toEqual([0, 0]);
  // They leave the account with what it had: its collateral does not tell that the answer is of before both.
  flow(3, -500, 1_000);
  flow(4, 500, 1_500);
  expect([changes.ahead.usd, changes.open.length]).toEqual([0, 0]);
  state(100, 3, 1_000, 3_000);
  expect(changes.ahead.usd).toBe(500);
  state(105, 0, 1_500, 4_000);
  expect([changes.ahead.usd, changes.open.length]).toEqual([0, 0]);
});

test("a deposit that an answer shows is of it, though it states an earlier place of the slot", () => {
  const changes = new OpenChanges();
  const state = (slot: number, usd: number, atMs: number) =>
    changes.takeState(account, { slot, index: 0, atMs }, balance(usd), () => undefined);
  state(90, 1_000, 0);
  changes.takeWhole(0, { slot: 90, index: 0, atMs: 0 });
  state(100, 1_500, 1_000);
  changes.takeRecord({ kind: "flow", account, slot: 100, index: 51, usd: 500, afterUsd: 1_500 }, 2_000);
  expect([changes.ahead.usd, changes.open]).toEqual([0, []]);
});

test("a fill of the slot before belongs to none of the changes between two states of a slot", () => {
  const changes = new OpenChanges();
  const state = (slot: number, usd: number, units: number, atMs: number) =>
    changes.takeState(account, { slot, atMs }, holding(usd, units), pricing);
  const fill = (slot: number, index: number, price: number) =>
    changes.takeRecord(
      { kind: "fill", account, slot, index, symbol: "SOL", units: 10, usd: -10 * price - 1 },
      5_000,
    );
  state(90, 10_000, -100, 0);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  state(99, 9_997, -90, 1_000);
  state(100, 9_994, -80, 2_000);
  changes.takeSame(account, { slot: 100, index: 2, atMs: 2_500 }, changes.states.before(account)!);
  state(100, 9_987, -70, 3_000);
  expect(changes.open).toEqual([]);
  fill(99, 1, 150.2);
  expect(changes.settle(5_000)).toEqual([]);
  fill(100, 2, 150.2);
  fill(100, 3, 150.6);
  expect(changes.settle(5_000)).toEqual([]);
});

test("a fill that came after a change of one slot is none of its trade", () => {
  const changes = new OpenChanges();
  const state = (slot: number, index: number | undefined, usd: number, units: number, atMs: number) =>
    changes.takeState(account, { slot, index, atMs }, holding(usd, units), pricing);
  state(90, undefined, 10_000, -100, 0);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  state(100, undefined, 10_000, -100, 1_000);
  // 10 were bought back beside a loss, or a withdrawal, of 20 USD; then 10 more.
  state(100, 5, 9_980, -90, 2_000);
  state(101, 3, 9_979.9, -80, 3_000);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: -20 });
  const fill = { kind: "fill", account, slot: 100, index: 7, symbol: "SOL", units: 10, usd: -1_520 } as const;
  changes.takeRecord(fill, 4_000);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: -20 });
});

test("fills that came after a change of one slot are those of the next one, whose state has no place", () => {
  const changes = new OpenChanges();
  const state = (slot: number, index: number | undefined, usd: number, atMs: number) =>
    changes.takeState(account, { slot, index, atMs }, holding(usd, -100), pricing);
  state(90, undefined, 10_000, 0);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  state(100, undefined, 10_000, 1_000);
  state(100, 5, 9_980, 2_000);
  changes.takeSame(account, { slot: 100, atMs: 2_500 }, changes.states.before(account)!);
  const fill = { kind: "fill", account, slot: 100, symbol: "ETH" } as const;
  changes.takeRecord({ ...fill, index: 7, units: 1, usd: -3_000 }, 3_000);
  changes.takeRecord({ ...fill, index: 8, units: -1, usd: 2_900 }, 3_000);
  // A position was opened and closed in ETH at a loss of 100 USD.
  state(105, 0, 9_880, 4_000);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: -20 });
});

test.each([100, 101])(
  "a takeover that came after a change of one slot is that of the next one: slot %i",
  (slot) => {
    const changes = new OpenChanges();
    const state = (at: number, index: number | undefined, held: ReturnType<typeof holding>, atMs: number) =>
      changes.takeState(account, { slot: at, index, atMs }, held, pricing);
    state(90, undefined, holding(10_000, 1_000), 0);
    changes.takeWhole(0, { slot: 90, atMs: 0 });
    state(100, undefined, holding(10_000, 1_000), 1_000);
    const market = { symbol: "SOL", units: 900 };
    const handed = { market, entryUsd: 135_000, changeUsd: -9_000, side: "long" } as const;
    changes.takeRecord({ kind: "takeover", account, slot: 100, index: 7, handed }, 1_100);
    state(100, 5, holding(9_990, 900), 1_200);
    state(slot, 9, { ...balance(990), positions: [] }, 1_300);
    expect(changes.open).toEqual([]);
  },
);

test("fills of before the state that an open change begins with explain nothing after it", () => {
  const changes = new OpenChanges();
  const state = (slot: number, index: number | undefined, usd: number, atMs: number) =>
    changes.takeState(account, { slot, index, atMs }, holding(usd, -100), pricing);
  state(90, undefined, 10_000, 0);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  state(100, 5, 10_000, 1_000);
  state(100, 7, 9_980, 2_000);
  changes.takeSame(account, { slot: 100, atMs: 2_500 }, changes.states.before(account)!);
  const fill = { kind: "fill", account, slot: 100, symbol: "ETH" } as const;
  changes.takeRecord({ ...fill, index: 3, units: 1, usd: -3_000 }, 3_000);
  changes.takeRecord({ ...fill, index: 4, units: -1, usd: 2_900 }, 3_000);
  state(105, 0, 9_880, 4_000);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: -120 });
});

/** An account after its states of two answers; states with an unknown place are streamed. */
function accountRig() {
  const changes = new OpenChanges();
  const cents = (usd: number, units: number) => ({
    ...holding(0, units),
    collateralQuoteLots: BigInt(Math.round(usd * 1e6)),
  });
  const state = (slot: number, index: number | undefined, usd: number, atMs: number, units = -100) =>
    changes.takeState(account, { slot, index, atMs }, cents(usd, units), pricing);
  const same = (slot: number, index: number | undefined, atMs: number) =>
    changes.takeSame(account, { slot, index, atMs }, changes.states.before(account)!);
  /** ETH that is bought and sold again within one slot, for a loss of 100 USD. */
  const roundTrip = (slot: number, first: number, atMs: number) => {
    changes.takeRecord(
      { kind: "fill", account, slot, symbol: "ETH", index: first, units: 1, usd: -3_000 },
      atMs,
    );
    changes.takeRecord(
      { kind: "fill", account, slot, symbol: "ETH", index: first + 1, units: -1, usd: 2_900 },
      atMs,
    );
  };
  const deposit = (slot: number, usd: number, afterUsd: number, atMs: number) =>
    changes.takeRecord({ kind: "flow", account, slot, index: 4, usd, afterUsd }, atMs);
  state(90, undefined, 10_000, 0);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  return { changes, state, same, roundTrip, deposit };
}

test.each(["before", "after"])(
  "fills after the last state of a change explain the change that follows, read %s the state after them",
  (when) => {
    const { changes, state, same, roundTrip } = accountRig();
    state(100, undefined, 10_000, 1_000);
    state(100, 5, 9_980, 2_000);
    same(100, undefined, 2_500);
    if (when === "before") roundTrip(100, 7, 3_000);
    state(105, 0, 9_880, 4_000);
    if (when === "after") roundTrip(100, 7, 5_000);
    changes.settle(5_000);
    expect(changes.range).toEqual({ inUsd: 0, outUsd: -20 });
  },
);

test("fills known to be after the last state of a change do not explain it when funding is read", () => {
  const { changes, state, same, roundTrip } = accountRig();
  state(100, undefined, 10_000, 1_000);
  state(100, 5, 9_900, 2_000);
  same(100, undefined, 2_500);
  roundTrip(100, 7, 3_000);
  changes.takePayments([], 3_500);
  changes.settle(3_500);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: -100 });
  state(105, 0, 9_800, 4_000);
  changes.takeRecord({ kind: "flow", account, slot: 100, index: 4, usd: -100, afterUsd: 9_900 }, 5_000);
  changes.settle(5_000);
  expect(changes.open).toEqual([]);
});

test.each([
  ["no", null],
  ["another", 100],
  ["a later", 110],
] as const)("fills of the slot before explain a change with its deposit though %s state came", (_, slot) => {
  const { changes, state, roundTrip, deposit } = accountRig();
  roundTrip(90, 1, 500);
  state(100, undefined, 10_400, 1_000);
  // Units that are bought back for what they are worth.
  if (slot !== null) state(slot, undefined, 10_397, 2_000, -90);
  deposit(95, 500, 10_400, 5_000);
  changes.settle(5_000);
  expect(changes.open).toEqual([]);
});

test("fills that a second state of their slot showed do not explain a later withdrawal", () => {
  const { changes, state, same, roundTrip } = accountRig();
  state(100, undefined, 10_000, 1_000);
  roundTrip(100, 3, 1_500);
  same(100, 7, 2_000);
  state(105, 0, 9_900, 4_000);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: -100 });
});

test("fills of before the known place of a state do not explain a later withdrawal, though a streamed state followed", () => {
  const { changes, state, same, roundTrip } = accountRig();
  state(100, 5, 10_000, 1_000);
  same(100, undefined, 2_500);
  roundTrip(100, 3, 3_000);
  state(105, 0, 9_900, 4_000);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: -100 });
});

test.each([
  ["after the state", "ETH"],
  ["before it", "ETH"],
  ["after it, beside a trade of its market", "SOL"],
])("a fill without a size explains its fee: read %s", (when, symbol) => {
  const changes = new OpenChanges();
  changes.takeState(account, { slot: 90, atMs: 0 }, holding(10_000, 10), pricing);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  const fill = { kind: "fill", account, slot: 95, symbol, units: 0, usd: -50 } as const;
  if (when === "before it") changes.takeRecord(fill, 1_000);
  const units = symbol === "SOL" ? 20 : 10;
  changes.takeState(account, { slot: 100, atMs: 2_000 }, holding(9_950, units), pricing);
  if (when !== "before it") changes.takeRecord(fill, 3_000);
  expect(changes.open).toEqual([]);
  expect(changes.range).toEqual({ inUsd: 0, outUsd: 0 });
});

test("so many records wait for a state at most: of flows alone the one farthest ahead of it is let go of", () => {
  const changes = new OpenChanges();
  changes.takeState(account, { slot: 90, atMs: 0 }, balance(1_000), pricing);
  changes.takeWhole(0, { slot: 90, atMs: 0 });
  const flow = (slot: number) => changes.takeRecord({ kind: "flow", account, slot, usd: 1 }, 1_000);
  flow(1_780_000_000);
  changes.takeRecord({ kind: "fill", account, slot: 100, symbol: "SOL", units: 1, usd: -150 }, 1_000);
  for (let i = 0; i < 999; i++) flow(100 + i);
  expect(changes.kept.ahead.length).toBe(1_000);
  expect(changes.ahead.usd).toBe(1_000);
  flow(1_100);
  expect(changes.ahead.usd).toBe(1_000);
  expect(changes.kept.ahead.some(({ slot }) => slot > 1_100)).toBe(false);
});

describe("the work on fills of the slot before a change that a closed position left open", () => {
  /** 500 USD are missing, beside three flows and payments of funding of the time. */
  const opened = () => {
    const changes = new OpenChanges();
    changes.takeState(account, { slot: 90, atMs: 0 }, holding(10_000, 10), pricing);
    changes.takeWhole(0, { slot: 90, atMs: 0 });
    changes.takeSame(account, { slot: 100, atMs: 1_000 }, changes.states.before(account)!);
    changes.takeState(account, { slot: 101, atMs: 2_000 }, balance(9_500), pricing);
    changes.takePayments(payments(), 3_000);
    changes.takeRecord({ kind: "fill", account, slot: 101, symbol: "SOL", units: -10, usd: 1_500 }, 3_000);
    for (const usd of [0.11, 0.22, 0.33])
      changes.takeRecord({ kind: "flow", account, slot: 100, usd }, 3_000);
    return changes;
  };
  const payments = (count = () => {}) =>
    Array.from({ length: 10 }, (_, i) => ({
      ...{ key: `payment${i}`, pdaIndex: 0, symbol: "SOL", endMs: 2_000 },
      get usd() {
        count();
        return -1.37 * (i + 1);
      },
    }));
  const trades = (length: number, count = () => {}) =>
    Array.from({ length }, (_, i): FillRecord => {
      const units = i % 2 === 0 ? 1 : -1;
      return {
        ...{ kind: "fill", account, slot: 100, symbol: "ETH", units },
        get usd() {
          count();
          return -units * (100 + 0.013 * i);
        },
      };
    });

  test("does not grow with each fill of a page", () => {
    const changes = opened();
    let count = 0;
    for (const fill of trades(1_000, () => count++)) changes.takeRecord(fill, 3_000);
    changes.settle(3_000);
    expect(changes.open.length).toBe(1);
    expect(count).toBeLessThan(50_000);
    // A reading that brings nothing tries nothing again.
    count = 0;
    changes.settle(8_000);
    expect(count).toBe(0);
  });

  test("keeps the fills of one account whatever a reading brings of others", () => {
    const changes = opened();
    const [first] = trades(1);
    changes.takeRecord(first!, 3_000);
    const others = Array.from({ length: 12 }, (_, i) => `main/0.${i + 1}`);
    for (const name of others) {
      changes.takeState(name, { slot: 90, atMs: 0 }, holding(10_000, 10), pricing);
      changes.takeSame(name, { slot: 100, atMs: 1_000 }, changes.states.before(name)!);
      changes.takeState(name, { slot: 101, atMs: 2_000 }, balance(9_500), pricing);
      for (const fill of trades(2)) changes.takeRecord({ ...fill, account: name }, 3_000);
    }
    const { loose = [] } = changes.kept;
    expect(loose).toContainEqual(expect.objectContaining({ account, units: first!.units }));
  });

  test("reads the payments of funding once for each selection of fills", () => {
    const [open] = opened().open;
    let count = 0;
    const flows = [0.11, 0.22, 0.33].map((usd) => ({ kind: "flow", account, slot: 100, usd }) as const);
    const read = payments(() => count++);
    expect(fittingOf(open!, [...flows, ...trades(10)], read)).toEqual([]);
    expect(count).toBeLessThanOrEqual(read.length * 2 ** 10);
  });
});
