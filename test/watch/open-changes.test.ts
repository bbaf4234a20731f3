/** Open changes of one account by its states and records: each flow is reported once. */
import { expect, test } from "vitest";
import { OpenChanges } from "../../src/watch/open-changes.ts";

const account = "main/0.0";
const balance = (usd: number) => ({
  ...{ collateralQuoteLots: BigInt(usd * 1e6), spotCollaterals: [], positions: [] },
});

test("a flow that was reported as explained is not reported with the next one of its slot again", () => {
  const changes = new OpenChanges();
  const state = (slot: number, usd: number, atMs: number) =>
    changes.takeState(account, slot, balance(usd), () => undefined, atMs);
  state(90, 10_000, 0);
  changes.takeWhole(0, 90, 0);
  changes.takeRecord({ kind: "flow", account, slot: 100, usd: -1_000, afterUsd: 9_000 }, 1_000);
  state(100, 9_000, 2_000);
  expect(changes.explainedSince(2_000, 2_000)).toMatchObject({ usd: -1_000 });
  state(100, 9_500, 3_000);
  changes.takeRecord({ kind: "flow", account, slot: 100, usd: 500, afterUsd: 9_500 }, 4_000);
  expect(changes.explainedSince(4_000, 4_000)).toMatchObject({ usd: 500 });
  expect(changes.open).toEqual([]);
});
