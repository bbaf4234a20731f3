/** A position that is closed and opened again on the same side between two readings is another one. */
import { describe, expect, test } from "vitest";
import type { PositionState, SubaccountState } from "../../src/domain/account.ts";
import type { Event } from "../../src/domain/event.ts";
import { event, Harness, position, startMs, subaccount } from "./harness.ts";

const near = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    keepFiringFor: 0s
    summary: "near"
`;
const dropped = `
rules:
  - name: Dropped
    scope: position
    when: maxOver("position.unrealizedPnl", "10m") - position.unrealizedPnl > 100.0
    severity: critical
    summary: "dropped"
`;
const holding = (
  sequence: string,
  over: Partial<PositionState> = {},
  collateral = 1_000,
): SubaccountState[] => [subaccount(collateral, [{ ...position(100, 150), sequence, ...over }])];

function seen(rules: string, accounts: readonly SubaccountState[]): Harness {
  const harness = Harness.seeing({ rules }, 150, accounts);
  return harness;
}

function again(before: Harness, rules: string): Harness {
  const after = before.restarted({ rules });
  for (const tick of before.all.flatMap((one) => one.ticks)) after.watch.rememberTick(tick);
  return after;
}

test("its alert ends, and the new one has its own", () => {
  const harness = seen(near, holding("7"));
  harness.account(holding("8"));
  expect(harness.told).toEqual(["Near main/0.0/SOL fired critical", "Near main/0.0/SOL fired critical"]);
  harness.live(20_000, holding("8"), 150);
  expect(harness.told.slice(2)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  expect(harness.changes.at(-1)?.alertId).toBe(1);
});

test("what was liquidated before it was opened anew ends as liquidated", () => {
  const harness = seen(near, holding("7"));
  harness.account(holding("8"));
  const fields = { kind: "market", role: "liquidatee", positionClosed: true };
  harness.events("liquidations", [
    event({ kind: "liquidation", key: "1.0.0", slot: 15, happenedMs: startMs, fields }),
  ]);
  expect(harness.told.at(-1)).toBe("Near main/0.0/SOL ended critical liquidated");
});

const closing = { closed: true, flat: true };

/** A fill of the account, at its place in the exchange's order. */
function fill(slot: number, data: object | null, tradeType = "limit"): Event {
  const happenedMs = startMs + 1_000;
  return event({ kind: "fill", key: `f${slot}`, slot, happenedMs, fields: { tradeType }, data });
}

const taken = event({
  kind: "liquidation",
  slot: 15,
  key: "1.0.0",
  happenedMs: startMs + 1_500,
  fields: { kind: "market", role: "liquidatee", positionClosed: true },
});
const endings = (harness: Harness): string[] =>
  harness.told.filter((line) => line.startsWith("Near") && line.includes("ended"));

test("closed, opened anew and liquidated between two readings, it ends as liquidated", () => {
  const pages: readonly (readonly Event[])[] = [
    [fill(2, closing), fill(3, null), fill(4, closing, "liquidation")],
    [fill(2, closing), fill(3, null)],
    // As they come: their place counts.
    [fill(3, null), fill(2, closing)],
    // A fill that turned it to the other side left something, too.
    [fill(2, { closed: true, flat: false })],
    [fill(2, closing, "adl"), fill(3, null), fill(4, closing)],
  ];
  for (const page of pages) {
    const harness = seen(near, holding("7"));
    harness.pass(2_000);
    harness.account([subaccount(10, [])]);
    harness.events("fills", page);
    expect(endings(harness)).toEqual([]);
    harness.events("liquidations", [taken]);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
  }
});

test("closed, opened anew and closed again, its end waits for the fill after which nothing was left", () => {
  const harness = seen(near, holding("7"));
  harness.pass(2_000);
  harness.account([subaccount(10, [])]);
  harness.events("fills", [fill(2, closing), fill(3, null)]);
  expect(endings(harness)).toEqual([]);
  harness.events("fills", [fill(4, closing)]);
  expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical closed"]);
});

test("what the fills do not settle, the history of liquidations does", () => {
  const harness = seen(near, holding("7"));
  harness.account([subaccount(10, [])]);
  harness.events("fills", [fill(2, closing), fill(3, null)]);
  harness.pass(15_000);
  harness.events("liquidations", []);
  expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical closed"]);
});

test("where another stands now, the fill that opened it is no riddle", () => {
  const harness = seen(near, holding("7"));
  harness.account(holding("8"));
  harness.events("fills", [fill(2, closing), fill(3, null)]);
  expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  const after = again(seen(near, holding("7")), near);
  after.account(holding("8"));
  after.events("fills", [fill(2, closing), fill(3, null)]);
  expect(endings(after)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  const turned = seen(near, holding("7"));
  turned.account([subaccount(1_000, [{ ...position(-100, 150), sequence: "7" }])]);
  turned.events("fills", [fill(2, { closed: true, flat: false })]);
  expect(endings(turned)).toEqual(["Near main/0.0/SOL ended critical flipped"]);
});

test("a position that grows or shrinks stays the same one", () => {
  const harness = seen(near, holding("7"));
  const smaller = position(99, 150);
  harness.live(20_000, [subaccount(1_000, [{ ...smaller, sequence: "7" }])], 150);
  expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
});

test("opened anew while nobody watched it is another one as well, which may have been liquidated", () => {
  for (const liquidated of [false, true]) {
    const before = seen(near, holding("7"));
    const fields = { kind: "market", role: "liquidatee", positionClosed: true };
    if (liquidated)
      before.events("liquidations", [
        event({ kind: "liquidation", key: "1.0.0", slot: 15, happenedMs: startMs, fields }),
      ]);
    const after = again(before, near);
    after.live(30_000, holding("8"), 150);
    expect([...after.told].sort()).toEqual([
      `Near main/0.0/SOL ended critical ${liquidated ? "liquidated" : "closed"}`,
      "Near main/0.0/SOL fired critical",
    ]);
  }
});

test("its windows start anew, before a restart and after one", () => {
  const rich = (sequence: string, entry: number): SubaccountState[] => [
    subaccount(50_000, [{ ...position(100, entry), sequence }]),
  ];
  const harness = seen(dropped, rich("7", 100));
  harness.live(60_000, rich("7", 100), 150);
  harness.live(60_000, rich("8", 150), 150);
  expect(harness.told).toEqual([]);
  const same = again(harness, dropped);
  same.live(10_000, rich("8", 150), 150);
  expect(same.told).toEqual([]);
  const another = again(harness, dropped);
  another.live(10_000, rich("9", 160), 150);
  expect(another.told).toEqual([]);
  const fallen = again(harness, dropped);
  fallen.live(10_000, rich("8", 150), 148);
  expect(fallen.told).toEqual(["Dropped main/0.0/SOL fired critical"]);
});

describe("a liquidation of a part, after which the position stood", () => {
  const smaller = [subaccount(600, [{ ...position(60, 150), sequence: "7" }])];
  const part = (harness: Harness, positionClosed: boolean | null): Event => {
    const fields = {
      kind: "market",
      role: "liquidatee",
      ...(positionClosed === null ? {} : { positionClosed }),
    };
    return event({
      kind: "liquidation",
      key: "part",
      slot: harness.slot + 5,
      happenedMs: harness.nowMs,
      fields,
    });
  };
  const restarted = (before: Harness): Harness => {
    const after = again(before, near);
    after.slot = before.slot;
    after.config();
    after.mark(150);
    return after;
  };

  test.each([
    ["told by the history", false, false],
    ["told by the inbox, which does not say what was left", null, false],
    ["told by the inbox, with a restart before the close", null, true],
  ] as const)("is not why the owner's own close ends it: %s", (_, positionClosed, restart) => {
    let harness = seen(near, holding("7"));
    harness.events("notifications", [part(harness, positionClosed)]);
    harness.account(smaller);
    harness.live(10_000, smaller, 150);
    if (restart) harness = restarted(harness);
    harness.live(20_000, [subaccount(10, [])], 150);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  });

  test("a reading in the slot of a liquidation may be from before it", () => {
    const harness = seen(near, holding("7"));
    const whole = { ...part(harness, true), slot: harness.slot };
    harness.account([subaccount(10, [])]);
    harness.events("notifications", [whole]);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
  });

  test("does not hide that the rest of it was liquidated later", () => {
    const harness = seen(near, holding("7"));
    harness.events("notifications", [part(harness, null)]);
    harness.account(smaller);
    harness.live(10_000, smaller, 150);
    const rest = part(harness, null);
    harness.account([subaccount(10, [])]);
    harness.events("notifications", [{ ...rest, key: "rest" }]);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
  });
});
