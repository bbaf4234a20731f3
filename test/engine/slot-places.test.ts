/** Records and states of one slot, told apart by their places in it. */
import { expect, test } from "vitest";
import type { Balance } from "../../src/state/profit/changes/balance-change.ts";
import { OpenChanges } from "../../src/state/profit/changes/open-changes.ts";
import { position } from "./harness.ts";

const account = "main/0.0";
const balance = (usd: number): Balance => ({
  ...{ collateralQuoteLots: BigInt(Math.round(usd * 1e6)), spotCollaterals: [], positions: [] },
});
const holding = (usd: number, units: number): Balance => ({
  ...balance(usd),
  positions: [position(units, 150)],
});
const pricing = () => ({ unitsPerLot: 0.01, markUsd: 150, ratePerHour: 0 });
const limits = { roughUsd: 0, knownUsd: 0 };

/** An account of which an answer at slot 90 told. */
function begun(first: Balance) {
  const changes = new OpenChanges();
  changes.takeState(account, { slot: 90, index: 0, atMs: 0 }, first, pricing);
  changes.takeWhole(0, { slot: 90, index: 0, atMs: 0 });
  /** @param index undefined: a streamed state */
  const state = (slot: number, index: number | undefined, now: Balance, atMs: number) =>
    changes.takeState(account, { slot, index, atMs }, now, pricing);
  const flow = (slot: number, index: number, usd: number, afterUsd: number) =>
    changes.takeRecord({ kind: "flow", account, slot, index, usd, afterUsd }, 5_000);
  const fill = (slot: number, index: number, units: number, usd: number) =>
    changes.takeRecord({ kind: "fill", account, slot, index, symbol: "SOL", units, usd }, 5_000);
  return { changes, state, flow, fill };
}

test("a withdrawal that a trade hides stays hidden until its fill, whatever the next state of the slot shows", () => {
  const { changes, state, fill } = begun(holding(10_000, 1_000));
  state(100, 2, holding(9_970, 300), 1_000);
  expect(changes.explained.rough.takeHidden(limits, 1_000)).toBeGreaterThan(700);
  state(100, undefined, holding(9_969.95, 290), 1_200);
  changes.explained.rough.takeHidden(limits, 1_200);
  fill(100, 1, -700, 105_000);
  fill(100, 3, -10, 1_499.95);
  expect(changes.settle(2_000)).toMatchObject([{ cashUsd: -30 }]);
});

test("the direction of a transfer is told by the change that it is of", () => {
  const { changes, state } = begun(balance(500));
  state(100, 2, balance(1_000), 1_000);
  state(105, 0, balance(500), 2_000);
  const transfer = { account, slot: 100, index: 4 };
  expect(changes.directionOf(transfer, 500, undefined)).toBe(-500);
});

test("a takeover that an answer shows is none of the next change", () => {
  const { changes, state } = begun(holding(10_000, 1_000));
  state(100, 2, holding(9_990, 900), 1_000);
  const handed = { market: { symbol: "SOL", units: 100 }, entryUsd: 14_000, changeUsd: -10 };
  changes.takeRecord({ kind: "takeover", account, slot: 100, index: 1, handed }, 2_000);
  state(105, 0, holding(9_985, 750), 3_000);
  expect(changes.open).toEqual([]);
});

test("the newest of three states of a slot makes one change with the one before it, whose place is not known", () => {
  const { changes, state, flow, fill } = begun(holding(10_000, 100));
  state(100, 2, balance(9_000), 1_000);
  state(100, undefined, balance(9_300), 1_100);
  state(100, undefined, balance(8_500), 1_200);
  expect(changes.open).toMatchObject([{ toIndex: 2 }, { fromIndex: 2, cashUsd: -500 }]);
  flow(100, 3, 300, 9_300);
  flow(100, 4, -800, 8_500);
  fill(100, 2, -100, 14_000);
  expect(changes.open).toEqual([]);
});

test("a deposit that was read before the answer that shows it is of it, though it states an earlier place", () => {
  const { changes, state, flow } = begun(balance(1_000));
  flow(100, 51, 500, 1_500);
  state(100, 0, balance(1_500), 1_000);
  expect([changes.ahead.usd, changes.open]).toEqual([0, []]);
});

test("a flow of an account that no state shows has no collateral before it", () => {
  const { changes } = begun(balance(1_000));
  changes.takeWhole(0, { slot: 100, index: 0, atMs: 1_000 });
  const other = { account: "main/0.3", slot: 90, index: 4 } as const;
  changes.takeRecord({ kind: "flow", ...other, usd: 500, afterUsd: 500 }, 2_000);
  expect(JSON.stringify(changes.kept)).not.toContain("beforeUsd");
});
