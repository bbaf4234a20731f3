import { describe, expect, test } from "vitest";
import { emptyBalance } from "../../src/state/profit/changes/balance-change.ts";
import { OpenChanges } from "../../src/state/profit/changes/open-changes.ts";
import { Slots } from "../../src/state/profit/changes/slots.ts";

const noPricing = () => undefined;
const balance = { ...emptyBalance, collateralQuoteLots: 1_000_000n };

/** @param states slots of the newest states by account  @param whole slot of the newest whole answer */
function changesOf(states: Readonly<Record<string, number>>, whole: number): OpenChanges {
  const changes = new OpenChanges();
  for (const [account, slot] of Object.entries(states))
    changes.takeState(account, { slot, atMs: 0 }, balance, noPricing);
  changes.takeWhole(0, { slot: whole, atMs: 0 });
  return changes;
}

describe("slots of states", () => {
  test("accounts of the newest whole answer need no slot of their own", () => {
    const changes = changesOf({ "main/0.0": 70, "main/0.1": 70 }, 70);
    const slots = changes.states.slots();
    expect(JSON.stringify(slots)).toBe('{"0":70}');
    for (const account of ["main/0.0", "main/0.1", "main/0.2"]) {
      expect(slots.of(account)).toBe(70);
      expect(slots.of(account)).toBe(changes.states.slotOf(account));
    }
    expect(slots.of("main/1.0")).toBe(-1);
  });

  test("an account that was read after it has its own", () => {
    const changes = changesOf({ "main/0.0": 70 }, 70);
    changes.takeState("main/0.1", { slot: 75, atMs: 0 }, balance, noPricing);
    const slots = changes.states.slots();
    expect(JSON.parse(JSON.stringify(slots))).toEqual({ 0: 70, "main/0.1": 75 });
    expect(slots.of("main/0.0")).toBe(70);
    expect(slots.of("main/0.1")).toBe(75);
  });

  test("are the same once they were stored and read", () => {
    const slots = new Slots([
      ["0", 7],
      ["a/b/0.1", 9],
      ["1", 3],
    ]);
    const read = new Slots(Object.entries(JSON.parse(JSON.stringify(slots)) as Record<string, number>));
    for (const account of ["a/b/0.0", "a/b/0.1", "a/b/1.0", "a/b/2.0"])
      expect(read.of(account)).toBe(slots.of(account));
    expect(read.of("a/b/0.1")).toBe(9);
    expect(read.of("a/b/0.2")).toBe(7);
  });

  test("stored by an earlier version, with a slot of each account, mean the same", () => {
    const read = new Slots(Object.entries({ 0: 70, "main/0.0": 70, "main/0.1": 75 }));
    expect([read.of("main/0.0"), read.of("main/0.1"), read.of("main/0.2")]).toEqual([70, 75, 70]);
  });
});
