/** Alerts of what gets worse again while their recovery is not told yet, since it may have been a liquidation. */
import { describe, expect, test } from "vitest";
import { event, Harness, type HarnessOptions, position, rulesOf, subaccount } from "./harness.ts";

const rules = (forMs: string, more = "", name = "MarginHigh"): string => `
rules:
  - name: ${name}
    scope: trader
    value: trader.marginRatio
    levels:
      warning: { when: value > 0.2 }
      critical: { when: value > 0.8 }
    for: ${forMs}
    keepFiringFor: 0s
    ${more}
    summary: "margin ratio {{ percent(value) }}"
`;

const markUsd = 145.2;
const strained = [subaccount(1_000, [position(100, 150)])];
/** Some of the position was sold, or taken. */
const smaller = [subaccount(1_000, [position(20, 150)])];
const strainedAgain = [subaccount(203, [position(20, 150)])];
const slightlyStrained = [subaccount(300, [position(20, 150)])];
const nearlyLost = [subaccount(103, [position(20, 150)])];
const flipped = [subaccount(203, [position(-20, 150)])];

const optionsOf = (forMs: string, more = ""): HarnessOptions => ({ rules: rulesOf(rules(forMs, more)) });

/** An alert fires, a part of the position goes, and nobody knows yet why. */
function waiting(
  forMs: string,
  { more = "", before = strained, told = "critical", leadMs = 90_000 } = {},
): Harness {
  const h = new Harness(optionsOf(forMs, more));
  h.config();
  h.mark(markUsd);
  h.live(leadMs, before, markUsd);
  expect(h.told).toEqual([`MarginHigh main/0.0 fired ${told}`]);
  h.pass(1_000);
  h.account(smaller);
  h.pass(5_000);
  expect(h.told).toHaveLength(1);
  return h;
}

const kept = (h: Harness): readonly string[] =>
  [...h.remembered.keep.keys()].filter((name) => name.startsWith("ending/"));

test("such an alert goes on, and nobody is told that it recovered", () => {
  const h = waiting("0s");
  expect(kept(h)).toHaveLength(1);
  h.live(120_000, strainedAgain, markUsd);
  expect(h.told).toHaveLength(1);
  expect(kept(h)).toEqual([]);
  h.live(30_000, smaller, markUsd);
  expect(h.told.slice(1)).toEqual(["MarginHigh main/0.0 ended critical recovered"]);
  expect(h.changes.at(-1)?.alertId).toBe(h.changes[0]?.alertId);
});

test("it falls or rises to the level that holds now, and is told where its value is markedly worse", () => {
  const falls = waiting("0s");
  falls.live(120_000, slightlyStrained, markUsd);
  expect(falls.told.slice(1)).toEqual(["MarginHigh main/0.0 fell warning"]);
  const rises = waiting("0s", { before: [subaccount(1_300, [position(100, 150)])], told: "warning" });
  rises.account(strainedAgain);
  expect(rises.told.slice(1)).toEqual(["MarginHigh main/0.0 rose critical"]);
  const worse = waiting("0s");
  worse.account(nearlyLost);
  expect(worse.told.slice(1)).toEqual(["MarginHigh main/0.0 worsened critical"]);
});

describe("a condition that has to hold for some time", () => {
  test("is waited for, and nobody is reminded meanwhile", () => {
    const h = waiting("15m", { leadMs: 16 * 60_000 });
    h.live(14 * 60_000, strainedAgain, markUsd);
    expect(h.told.slice(1)).toEqual([]);
    // From then on it is an alert that fires.
    h.live(2 * 60_000, strainedAgain, markUsd);
    expect(h.told.slice(1)).toEqual(["MarginHigh main/0.0 reminder critical"]);
    h.live(60_000, smaller, markUsd);
    expect(h.told.at(-1)).toBe("MarginHigh main/0.0 ended critical recovered");
  });

  test("and when it is gone before that, the alert has recovered", () => {
    const h = waiting("60s");
    h.live(40_000, strainedAgain, markUsd);
    expect(h.told).toHaveLength(1);
    h.live(10_000, smaller, markUsd);
    expect(h.told.slice(1)).toEqual(["MarginHigh main/0.0 ended critical recovered"]);
    expect(h.changes.at(-1)?.alert.summary).toBe("margin ratio 10.7%");
  });
});

test("word of a liquidation ends it while it waits", () => {
  const h = waiting("60s");
  const [slot, happenedMs] = [h.slot - 5, h.nowMs - 5_000];
  h.live(10_000, strainedAgain, markUsd);
  const fields = { kind: "market", role: "liquidatee", side: "long", size: 80, positionClosed: false };
  h.events("liquidations", [event({ kind: "liquidation", key: "l", slot, happenedMs, fields })]);
  expect(h.told.slice(1)).toEqual(["MarginHigh main/0.0 ended critical liquidated"]);
});

test.each([
  ["that finds it well", smaller],
  ["that finds it worse", strainedAgain],
])("over a restart %s, too", (_, first) => {
  const h = waiting("0s");
  const after = h.restarted(optionsOf("0s"));
  after.live(5_000, first, markUsd);
  after.live(90_000, strainedAgain, markUsd);
  expect(after.told).toEqual([]);
  expect(kept(after)).toEqual([]);
});

describe("another condition does not go on with it", () => {
  const poor = `
rules:
  - name: MarginHigh
    scope: trader
    when: trader.equity < 300.0
    severity: critical
    keepFiringFor: 0s
    summary: "equity {{ usd(trader.equity) }}"
`;
  const live: HarnessOptions = { rules: rulesOf(rules("0s")) };
  const shadow: HarnessOptions = { rules: rulesOf(rules("0s", "mode: shadow")) };
  const other: HarnessOptions = { rules: rulesOf(poor) };

  test.each([
    ["another rule of its name", other],
    ["a rule in shadow mode", shadow],
  ])("%s, after a reload and after a restart", (_, options) => {
    const h = waiting("0s");
    h.reload(options);
    h.live(90_000, strainedAgain, markUsd);
    expect(h.told.slice(1)).toContain("MarginHigh main/0.0 fired critical");
    expect(h.changes.filter(({ kind, alertId }) => kind === "ended" && alertId === 1)).toHaveLength(1);
    const after = waiting("0s").restarted(options);
    after.live(90_000, strainedAgain, markUsd);
    expect(after.told).toContain("MarginHigh main/0.0 fired critical");
    expect(after.changes.filter(({ kind, alertId }) => kind === "ended" && alertId === 1)).toHaveLength(1);
  });

  test("one that was in shadow mode before", () => {
    const h = waiting("0s", { more: "mode: shadow" });
    h.reload(live);
    h.live(90_000, strainedAgain, markUsd);
    expect(h.owed).toEqual(["chat: MarginHigh main/0.0 fired critical"]);
  });
});

test("a position that was flipped is another one, and its condition holds back no end", () => {
  const near = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    for: 30s
    keepFiringFor: 0s
    summary: "{{ position.side }}"
`;
  const h = new Harness({ rules: rulesOf(near) });
  h.config();
  h.mark(markUsd);
  h.live(60_000, strained, markUsd);
  expect(h.told).toEqual(["Near main/0.0/SOL fired critical"]);
  h.account(smaller);
  h.live(5_000, smaller, markUsd);
  h.live(20_000, flipped, 152);
  expect(h.told.slice(1)).toEqual(["Near main/0.0/SOL ended critical recovered"]);
});
