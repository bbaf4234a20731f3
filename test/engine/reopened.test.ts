/** A position that is closed and opened again on the same side between two readings is another one. */
import { describe, expect, test } from "vitest";
import { explanationText } from "../../src/cli/commands/rules/explain.ts";
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
  for (const tick of before.all.flatMap((one) => one.ticks)) after.watch.warmUp.rememberTick(tick);
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

describe("auto-deleveraged, it ends as that", () => {
  const taking = (role: string): Event =>
    event({
      kind: "liquidation",
      key: "1.0.0",
      slot: 15,
      happenedMs: startMs,
      fields: { kind: "adl", role },
    });
  const account = `
rules:
  - { name: Near, scope: trader, when: trader.marginRatio > 0.1, severity: critical, keepFiringFor: 0s, summary: "m" }
`;
  const deleveraged = "Near main/0.0/SOL ended critical deleveraged";

  test.each(["liquidatee", "adl_counterparty"])("as %s", (role) => {
    for (const told of ["before", "after"]) {
      const harness = seen(near, holding("7"));
      if (told === "before") harness.events("notifications", [taking(role)]);
      harness.account([subaccount(10, [])]);
      if (told === "after") {
        expect(endings(harness)).toEqual([]);
        harness.events("liquidations", [taking(role)]);
      }
      expect(endings(harness), told).toEqual([deleveraged]);
    }
  });

  test("while its account still shows it, it is presented as gone where all of it was closed", () => {
    for (const positionClosed of [true, false]) {
      const harness = seen(near, holding("7"));
      const { fields, ...rest } = taking("adl_counterparty");
      expect(harness.watch.present(1, harness.nowMs)).not.toHaveProperty("gone");
      harness.events("notifications", [{ ...rest, fields: { ...fields, side: "long", positionClosed } }]);
      expect(harness.watch.present(1, harness.nowMs)?.gone).toBe(positionClosed ? true : undefined);
    }
  });

  test("its account only where it was the one at a loss", () => {
    for (const [role, ending] of [
      ["liquidatee", "deleveraged"],
      ["adl_counterparty", "recovered"],
    ] as const) {
      const harness = seen(account, holding("7"));
      harness.account([subaccount(100_000, [{ ...position(50, 150), sequence: "7" }])]);
      harness.events("notifications", [taking(role)]);
      harness.live(90_000, [subaccount(100_000, [{ ...position(50, 150), sequence: "7" }])], 150);
      expect(endings(harness)).toEqual([`Near main/0.0 ended critical ${ending}`]);
    }
  });

  test("its account as liquidated, where that came before a position was closed at a profit", () => {
    const harness = seen(account, holding("7"));
    const fields = { kind: "market", role: "liquidatee" };
    harness.events("notifications", [
      event({ kind: "liquidation", key: "0", symbol: "BTC", slot: 14, happenedMs: startMs, fields }),
      taking("adl_counterparty"),
    ]);
    harness.account([subaccount(100_000, [{ ...position(50, 150), sequence: "7" }])]);
    expect(endings(harness)).toEqual(["Near main/0.0 ended critical liquidated"]);
  });

  test("what stands on and recovered after a part was closed at a profit has recovered", () => {
    const harness = seen(near, holding("7"));
    harness.events("notifications", [taking("adl_counterparty")]);
    harness.live(90_000, [subaccount(100_000, [{ ...position(50, 150), sequence: "7" }])], 150);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical recovered"]);
  });

  test("once: a restart does not forget that it was told", () => {
    const before = seen(near, holding("7"));
    before.events("notifications", [taking("liquidatee")]);
    before.account([subaccount(10, [])]);
    before.account(holding("9"));
    const after = again(before, near);
    after.live(5_000, holding("9"), 150);
    after.account([subaccount(10, [])]);
    after.events("fills", [fill(40, closing)]);
    after.pass(15_000);
    after.events("liquidations", []);
    expect(endings(after)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  });
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
  expect(turned.changes.find(({ kind }) => kind === "ended")?.stands).toBe("short");
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
  const sized = (row: Event, key: string, size: number): Event => ({
    ...row,
    key,
    fields: { ...row.fields, size },
  });
  const restarted = (before: Harness): Harness => {
    const after = again(before, near);
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

  test("is not why the owner's own close ends it where no reading showed what was left", () => {
    const harness = seen(near, holding("7"));
    const row = part(harness, false);
    harness.pass(2_000);
    harness.account([subaccount(600, [])]);
    harness.events("liquidations", [row]);
    expect(endings(harness)).toEqual([]);
    harness.live(30_000, [subaccount(600, [])], 150);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  });

  test("is not why it is gone where the inbox tells of less than was there, and a reading showed none of it", () => {
    const harness = seen(near, holding("7"));
    const row = part(harness, null);
    harness.pass(2_000);
    harness.account([subaccount(600, [])]);
    harness.events("notifications", [sized(row, "part", 20), sized(row, "part again", 20)]);
    expect(endings(harness)).toEqual([]);
    harness.events("notifications", [sized(row, "part again", 20)]);
    harness.live(70_000, [subaccount(600, [])], 150);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  });

  test("is not why it is gone where a restart came before its owner's close was settled", () => {
    const before = seen(near, holding("7"));
    const row = part(before, null);
    before.pass(2_000);
    before.account([subaccount(600, [])]);
    before.events("notifications", [sized(row, "part", 20)]);
    const after = restarted(before);
    after.account([subaccount(600, [])]);
    expect(endings(after)).toEqual([]);
    after.live(70_000, [subaccount(600, [])], 150);
    expect(endings(after)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  });

  test.each([
    ["closed", [], "closed"],
    ["flipped", [{ ...position(-40, 150), sequence: "8" }], "flipped"],
    ["opened anew", [{ ...position(40, 150), sequence: "8" }], "closed"],
  ] as const)(
    "is not why it is gone where its owner did the rest while nobody watched: %s",
    (_, rest, how) => {
      const after = restarted(seen(near, holding("7")));
      const row = part(after, null);
      const now = [subaccount(50_000, rest)];
      after.account(now);
      after.events("notifications", [sized(row, "one", 20), sized(row, "two", 30)]);
      expect(endings(after)).toEqual([]);
      after.live(70_000, now, 150);
      expect(endings(after)).toEqual([`Near main/0.0/SOL ended critical ${how}`]);
    },
  );

  test("is not why it is gone where its owner did the rest while nobody watched, before the market is known again", () => {
    const after = again(seen(near, holding("7")), near);
    const row = part(after, null);
    const now = [subaccount(50_000, [])];
    after.account(now);
    after.events("notifications", [sized(row, "one", 50)]);
    expect(endings(after)).toEqual([]);
    after.config();
    after.mark(150);
    after.live(70_000, now, 150);
    expect(endings(after)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  });

  test("several of them that add up to it are why it is gone, though nobody watched", () => {
    const after = restarted(seen(near, holding("7")));
    const row = part(after, null);
    after.account([subaccount(600, [])]);
    after.events("notifications", [sized(row, "one", 60), sized(row, "two", 40)]);
    expect(endings(after)).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
  });

  test("is why it is gone where fills told so before a restart, and the liquidation after it", () => {
    const before = seen(near, holding("7"));
    const row = part(before, null);
    const ofExchange = { tradeType: "adl" };
    before.pass(2_000);
    before.account([subaccount(600, [])]);
    before.events("fills", [
      event({
        kind: "fill",
        key: "f",
        slot: row.slot,
        happenedMs: row.happenedMs,
        fields: ofExchange,
        data: closing,
      }),
    ]);
    const after = restarted(before);
    after.account([subaccount(600, [])]);
    after.events("notifications", [sized(row, "part", 88)]);
    expect(endings(after)).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
  });

  test("several of them that add up to it are why it is gone", () => {
    const harness = seen(near, holding("7"));
    const row = part(harness, null);
    harness.pass(2_000);
    harness.account([subaccount(600, [])]);
    harness.events("notifications", [sized(row, "one", 60), sized(row, "two", 40)]);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
  });

  test.each(["fills first", "the liquidation first"])(
    "is why it is gone where its trader had closed the rest before, %s",
    (order) => {
      const harness = seen(near, holding("7"));
      const row = part(harness, null);
      const taking = { ...row, fields: { ...row.fields, size: 88 } };
      const fill = (key: string, slotIndex: number, tradeType: string, data: Event["data"]): Event =>
        event({
          kind: "fill",
          key,
          slot: row.slot,
          slotIndex,
          happenedMs: row.happenedMs,
          fields: { tradeType },
          data,
        });
      const fills = [
        fill("owner", 1, "market", null),
        fill("exchange", 2, "adl", { closed: true, flat: true }),
      ];
      harness.pass(2_000);
      harness.account([subaccount(600, [])]);
      if (order === "fills first") harness.events("fills", fills);
      harness.events("notifications", [taking]);
      if (order !== "fills first") harness.events("fills", fills);
      expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
    },
  );

  test("is not why it is gone where its trader closed the rest after it", () => {
    const harness = seen(near, holding("7"));
    const row = part(harness, null);
    const taking = { ...row, fields: { ...row.fields, size: 88 } };
    const fill = (key: string, slotIndex: number, tradeType: string, data: Event["data"]): Event =>
      event({
        kind: "fill",
        key,
        slot: row.slot,
        slotIndex,
        happenedMs: row.happenedMs,
        fields: { tradeType },
        data,
      });
    harness.pass(2_000);
    harness.account([subaccount(600, [])]);
    harness.events("notifications", [taking]);
    harness.events("fills", [
      fill("exchange", 1, "adl", null),
      fill("owner", 2, "market", { closed: true, flat: true }),
    ]);
    harness.live(70_000, [subaccount(600, [])], 150);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  });

  test("is not why it is gone in a stop where a state of its slot shows what it left", () => {
    const before = seen(near, holding("7"));
    before.pass(1_000);
    const left = [subaccount(120, [{ ...position(12, 150), sequence: "7" }])];
    before.account(left);
    before.events("notifications", [sized({ ...part(before, null), slot: before.slot }, "part", 88)]);
    const after = restarted(before);
    after.account([subaccount(100, [])]);
    after.live(70_000, [subaccount(100, [])], 150);
    expect(endings(after)).toEqual(["Near main/0.0/SOL ended critical closed"]);
  });

  test.each(["is opened anew on its side", "is opened anew on the other side"])(
    "is not why it is gone where it was closed before, and %s",
    (how) => {
      const harness = seen(near, holding("7"));
      harness.pass(2_000);
      harness.account([subaccount(1_000, [])]);
      harness.pass(3_000);
      const size = how.includes("other") ? -100 : 100;
      harness.account([subaccount(1_000, [{ ...position(size, 150), sequence: "8" }])]);
      harness.pass(3_000);
      const taken = part(harness, true);
      harness.account([subaccount(10, [])]);
      harness.events("liquidations", [taken]);
      harness.live(70_000, [subaccount(10, [])], 150);
      const ends = harness.changes.filter(({ kind }) => kind === "ended");
      expect(ends.map(({ alertId, alert }) => `${alertId} ${alert.ending}`).sort()).toEqual([
        "1 closed",
        "2 liquidated",
      ]);
    },
  );

  test("is not why a position of the other side, which was flipped before it, is gone", () => {
    const harness = seen(near, holding("7"));
    harness.pass(2_000);
    harness.account([subaccount(1_000, [{ ...position(-100, 150), sequence: "8" }])]);
    const row = part(harness, true);
    harness.events("liquidations", [{ ...row, fields: { ...row.fields, side: "short", size: 100 } }]);
    harness.live(30_000, [subaccount(10, [])], 150);
    const ofLong = harness.changes.filter(({ kind, alertId }) => kind === "ended" && alertId === 1);
    expect(ofLong.map(({ alert }) => alert.ending)).toEqual(["flipped"]);
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

describe("a liquidation of a part, in spite of which the condition went on holding", () => {
  const margin = `
rules:
  - { name: Margin, scope: trader, when: trader.marginRatio > 0.3, severity: warning, keepFiringFor: 2m, summary: "margin" }
  - { name: Near, scope: position, when: position.liquidationDistance < 0.05, severity: critical, keepFiringFor: 0s, summary: "near" }
`;
  const holds = (size: number, collateral = size * 10): SubaccountState[] => [
    subaccount(collateral, [{ ...position(size, 150), sequence: "7" }]),
  ];
  const nothing = [subaccount(600, [])];
  const ofMargin = (harness: Harness): string[] => harness.told.filter((line) => line.includes("Margin"));
  const fired = "Margin main/0.0 fired warning";
  const ended = (how: string): string => `Margin main/0.0 ended warning ${how}`;

  function taken(harness: Harness, slot = harness.slot + 5): Event {
    const fields = { kind: "market", role: "liquidatee" };
    return event({ kind: "liquidation", key: `l${slot}`, slot, happenedMs: harness.nowMs, fields });
  }
  function begun(): Harness {
    const harness = seen(margin, holds(100));
    harness.live(10_000, holds(100), 150);
    expect(ofMargin(harness)).toEqual([fired]);
    return harness;
  }
  function restarted(before: Harness): Harness {
    const after = again(before, margin);
    after.config();
    after.mark(150);
    return after;
  }

  const cases = [5_000, 20_000, 40_000].flatMap((ms) =>
    (
      ["no restart", "a reload before the close", "a restart before the close", "a restart after it"] as const
    ).flatMap((restart) => ([5, 10] as const).map((after) => [ms, restart, after] as const)),
  );
  test.each(cases)(
    "is not why the owner's own close ends it, %d ms later, %s, read %d slots later",
    (ms, restart, after) => {
      let harness = begun();
      // A stream tells of the state in the very slot of the liquidation.
      const part = taken(harness, harness.slot + after);
      harness.events("notifications", [part]);
      harness.account(holds(60));
      harness.live(ms, holds(60), 150);
      if (restart === "a reload before the close") harness.reload({ rules: margin });
      if (restart === "a restart before the close") harness = restarted(harness);
      harness.account(nothing);
      if (restart === "a restart after it") harness = restarted(harness);
      const before = ofMargin(harness);
      harness.live(60_000, nothing, 150);
      expect(ofMargin(harness)).toEqual(before);
      harness.live(90_000, nothing, 150);
      expect(ofMargin(harness).slice(before.length)).toEqual([ended("recovered")]);
    },
  );

  test.each([false, true])("does not hide that the rest was liquidated later, restart: %s", (restart) => {
    let harness = begun();
    harness.events("notifications", [taken(harness)]);
    harness.account(holds(60));
    harness.live(10_000, holds(60), 150);
    if (restart) harness = restarted(harness);
    harness.account(nothing);
    harness.events("notifications", [taken(harness, harness.slot - 5)]);
    harness.live(125_000, nothing, 150);
    expect(ofMargin(harness).at(-1)).toBe(ended("liquidated"));
  });

  test.each([false, true])("is why, where it held no longer by what was left, restart: %s", (restart) => {
    let harness = begun();
    harness.events("notifications", [taken(harness)]);
    harness.account(holds(5, 600));
    harness.live(10_000, holds(5, 600), 150);
    if (restart) harness = restarted(harness);
    harness.live(130_000, holds(5, 600), 150);
    expect(ofMargin(harness).at(-1)).toBe(ended("liquidated"));
  });

  test.each([false, true])("is why, where no price was known when it was read, restart: %s", (restart) => {
    let harness = begun();
    harness.pass(60_000);
    harness.events("notifications", [taken(harness)]);
    harness.account(holds(5, 600));
    if (restart) harness = restarted(harness);
    harness.live(140_000, holds(5, 600), 150);
    expect(ofMargin(harness).at(-1)).toBe(ended("liquidated"));
  });

  test.each([false, true])("is why, where its account is gone after that, restart: %s", (restart) => {
    let harness = begun();
    harness.events("notifications", [taken(harness)]);
    harness.account(holds(5, 600));
    harness.live(10_000, holds(5, 600), 150);
    if (restart) harness = restarted(harness);
    harness.live(60_000, [], 150);
    expect(ofMargin(harness).at(-1)).toBe(ended("liquidated"));
  });

  test.each(["nothing", "a reload", "a restart"])(
    "is not why it ends, where it had recovered before that, with %s meanwhile",
    (meanwhile) => {
      let harness = begun();
      harness.account(holds(100, 10_000));
      harness.live(100_000, holds(100, 10_000), 150);
      // Something of the account's went, so that the recovery waits for word.
      harness.account(holds(60, 10_000));
      harness.live(25_000, holds(60, 10_000), 150);
      expect(ofMargin(harness)).toEqual([fired]);
      if (meanwhile === "a reload") harness.reload({ rules: margin });
      if (meanwhile === "a restart") {
        harness = restarted(harness);
        harness.account(holds(60, 10_000));
      }
      harness.events("notifications", [taken(harness, harness.slot + 5)]);
      harness.account(nothing);
      harness.live(20_000, nothing, 150);
      harness.events("liquidations", []);
      expect(ofMargin(harness).at(-1)).toBe(ended("recovered"));
    },
  );

  test("is not why a position recovers when its price does", () => {
    const harness = begun();
    harness.events("notifications", [taken(harness)]);
    harness.account(holds(60));
    harness.live(10_000, holds(60), 150);
    harness.live(20_000, holds(60), 170);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical recovered"]);
  });

  test("is not why a position recovers that its owner made larger again before it was read", () => {
    const harness = begun();
    harness.events("notifications", [taken(harness)]);
    harness.account(holds(110));
    harness.live(10_000, holds(110), 150);
    harness.live(20_000, holds(110), 170);
    expect(endings(harness)).toEqual(["Near main/0.0/SOL ended critical recovered"]);
  });

  test.each([false, true])(
    "is not why its account is gone when the owner closed all of it, restart: %s",
    (restart) => {
      let harness = begun();
      harness.events("notifications", [taken(harness)]);
      harness.account(holds(60));
      harness.live(10_000, holds(60), 150);
      if (restart) harness = restarted(harness);
      harness.live(60_000, [], 150);
      expect(ofMargin(harness).at(-1)).toBe(ended("closed"));
    },
  );
});

test("a recovery waits for no word of a liquidation where its condition held after its account lost something", () => {
  const other = { ...position(1, 100, "ETH"), sequence: "8" };
  const [both] = [[subaccount(1_000, [...holding("7")[0]!.positions, other])]];
  const harness = seen(near, both);
  harness.live(10_000, both, 150);
  harness.account(holding("7"));
  expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
  // No state of a later slot shows yet that the condition held with what is left.
  harness.mark(160);
  expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
  harness.mark(150);
  harness.live(5_000, holding("7"), 150);
  harness.mark(160);
  expect(harness.told).toEqual([
    "Near main/0.0/SOL fired critical",
    "Near main/0.0/SOL ended critical recovered",
  ]);
  expect(harness.asks.filter((ask) => ask.startsWith("liquidations"))).toHaveLength(1);
});

describe("a recovery that waits for word of a liquidation", () => {
  const priced = near.replace('summary: "near"', 'summary: "at {{ usd(position.markPrice) }}"');
  const shrunk = [subaccount(1_000, [{ ...position(20, 150), sequence: "7" }])];

  test.each(["nothing", "a reload", "a restart"])(
    "is told with the figures of its end, with %s meanwhile",
    (meanwhile) => {
      let harness = seen(priced, holding("7"));
      harness.account(shrunk);
      harness.live(5_000, shrunk, 150);
      expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
      if (meanwhile === "a reload") harness.reload({ rules: priced });
      if (meanwhile === "a restart") {
        const after = again(harness, priced);
        after.config();
        harness = after;
      }
      harness.mark(160);
      harness.account(shrunk);
      harness.live(90_000, shrunk, 160);
      const end = harness.changes.at(-1);
      expect(end).toMatchObject({
        kind: "ended",
        alertId: 1,
        alert: { ending: "recovered", summary: "at $160.00" },
      });
    },
  );

  test.each(["nothing", "a reload"])(
    "is explained as firing, as the status has it, with %s meanwhile",
    (meanwhile) => {
      const harness = seen(priced, holding("7"));
      harness.account(shrunk);
      const sinceMs = harness.nowMs;
      harness.live(5_000, shrunk, 150);
      if (meanwhile === "a reload") harness.reload({ rules: priced });
      const endingWait = { sinceMs, untilMs: sinceMs + 60_000 };
      const explained = () => {
        const answer = harness.watch.explain("Near", "main/0.0/SOL", harness.nowMs);
        return answer.kind === "explained" ? answer.explanation : null;
      };
      expect(harness.watch.status(harness.nowMs).firing).toMatchObject([{ id: 1, endingWait }]);
      expect(explained()).toMatchObject({ state: "firing", severity: "critical", alertId: 1, endingWait });
      const paint = Object.assign((_: unknown, text: string) => text, { width: 100 });
      expect(explanationText(explained()!, "UTC", paint)).toContain(
        "Near of main/0.0/SOL fires (critical, alert 1), since 2026-01-05 12:00:00 UTC. It no longer holds; its end waits " +
          "for the liquidation history, until about 2026-01-05 12:01:00 UTC.",
      );
      harness.live(15_000, shrunk, 150);
      expect(harness.told.at(-1)).toBe("Near main/0.0/SOL ended critical recovered");
      expect(explained()).toMatchObject({ state: "inactive", alertId: null });
    },
  );

  test("fires on where it holds again", () => {
    const later = priced.replace("keepFiringFor: 0s", "for: 10s\n    keepFiringFor: 0s");
    const harness = seen(later, holding("7"));
    harness.live(10_000, holding("7"), 150);
    expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
    harness.account(shrunk);
    harness.pass(1_000);
    harness.account(holding("7"));
    const answer = harness.watch.explain("Near", "main/0.0/SOL", harness.nowMs);
    const explanation = answer.kind === "explained" ? answer.explanation : null;
    expect(explanation).toMatchObject({ state: "pending", alertId: 1 });
    const paint = Object.assign((_: unknown, text: string) => text, { width: 100 });
    expect(explanationText(explanation!, "UTC", paint)).toContain(
      "0ms so far. Alert 1 still fires: its end waits for the liquidation history, until about 2026-01-05 12:01:10 UTC.",
    );
    harness.live(10_000, holding("7"), 150);
    expect(harness.watch.status(harness.nowMs).firing).toMatchObject([{ id: 1 }]);
    expect(harness.watch.status(harness.nowMs).firing[0]).not.toHaveProperty("endingWait");
    expect(harness.watch.explain("Near", "main/0.0/SOL", harness.nowMs)).not.toHaveProperty(
      "explanation.endingWait",
    );
  });

  test("waits on while it is about to hold again, and says for how long about", () => {
    const later = priced.replace("keepFiringFor: 0s", "for: 5m\n    keepFiringFor: 0s");
    const harness = seen(later, holding("7"));
    harness.live(320_000, holding("7"), 150);
    expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
    harness.account(shrunk);
    harness.pass(1_000);
    harness.live(120_000, holding("7"), 150);
    const [firing] = harness.watch.status(harness.nowMs).firing;
    expect(firing!.endingWait!.untilMs).toBeGreaterThanOrEqual(harness.nowMs);
  });

  test.each([
    [
      "goes on where its rule holds again",
      [subaccount(1_000, [{ ...position(40, 150), sequence: "7" }])],
      [],
    ],
    ["waits for no figures of a position that is gone", [], ["Near main/0.0/SOL ended critical recovered"]],
  ] as const)("after a restart it %s", (_, accounts, told) => {
    const before = seen(priced, holding("7"));
    before.account(shrunk);
    before.live(5_000, shrunk, 150);
    const harness = again(before, priced);
    harness.config();
    harness.mark(accounts.length > 0 ? 130 : 160);
    harness.account([...accounts]);
    harness.live(25_000, [...accounts], accounts.length > 0 ? 130 : 160);
    expect(harness.told).toEqual(told);
  });

  test.each([
    [
      "goes on where after them it holds again",
      (size: number) => [subaccount(1_000, [{ ...position(size, 150), sequence: "7" }])],
      [],
    ],
    [
      "is told with the figures of its end where after them its position is gone",
      () => [subaccount(1_000, [])],
      [["ended", "recovered", "over 10,000% away", Number.POSITIVE_INFINITY]],
    ],
  ] as const)("over restarts, and %s", (_, laterAccounts, told) => {
    const rules = `rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    when: value < 0.05
    severity: critical
    for: 45s
    keepFiringFor: 0s
    summary: "{{ percent(value) }} away"`;
    const before = seen(rules, holding("7"));
    before.live(50_000, holding("7"), 150);
    expect(before.told).toEqual(["Near main/0.0/SOL fired critical"]);
    // So little of it is left that no price liquidates it.
    before.account([subaccount(1_000, [{ ...position(5, 150), sequence: "7" }])]);
    expect(before.told).toHaveLength(1);
    let harness = before;
    for (const ms of [5_000, 10_000]) {
      harness = again(harness, rules);
      harness.config();
      harness.mark(150);
      harness.account(laterAccounts(100));
      harness.live(ms, laterAccounts(100), 150);
      expect(harness.changes).toEqual([]);
    }
    harness.live(60_000, laterAccounts(100), 150);
    expect(
      harness.changes.map(({ kind, alert }) => [kind, alert.ending, alert.summary, alert.value]),
    ).toEqual(told);
  });

  test("waits on for its figures after a restart, when what its rule reads comes last", () => {
    const rate = `rules:
  - name: Near
    scope: position
    when: market.fundingRate > 0.0001
    severity: critical
    keepFiringFor: 0s
    summary: "pays {{ percent(market.fundingRate) }}"`;
    const paying = (harness: Harness, ratePerHour: number) =>
      harness.see({ kind: "fundingRate", symbol: "SOL", atMs: harness.nowMs, ratePerHour, exchangeMs: 0 });
    const before = seen(rate, [subaccount(1_000, [{ ...position(40, 150), sequence: "7" }])]);
    paying(before, 0.001);
    expect(before.told).toEqual(["Near main/0.0/SOL fired critical"]);
    before.pass(1_000);
    before.account(shrunk);
    paying(before, 0);
    expect(before.told).toHaveLength(1);
    const harness = again(before, rate);
    harness.config();
    harness.mark(150);
    harness.account(shrunk);
    harness.live(20_000, shrunk, 150);
    harness.events("liquidations", []);
    expect(harness.changes).toEqual([]);
    paying(harness, 0);
    harness.live(20_000, shrunk, 150);
    harness.events("liquidations", []);
    expect(harness.changes.at(-1)).toMatchObject({
      kind: "ended",
      alert: { ending: "recovered", summary: "pays 0%" },
    });
  });
});
