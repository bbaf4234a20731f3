/** Alerts of what gets worse again while their recovery is not told yet, since it may have been a liquidation. */
import { describe, expect, test } from "vitest";
import { event, Harness, position, rulesOf, subaccount } from "./harness.ts";

const rules = (forMs: string): string => `
rules:
  - name: MarginHigh
    scope: trader
    value: trader.marginRatio
    levels:
      warning: { when: value > 0.2 }
      critical: { when: value > 0.8 }
    for: ${forMs}
    keepFiringFor: 0s
    summary: "margin ratio {{ percent(value) }}"
`;

const markUsd = 145.2;
const strained = [subaccount(1_000, [position(100, 150)])];
/** Some of the position was sold, or taken. */
const smaller = [subaccount(1_000, [position(20, 150)])];
const strainedAgain = [subaccount(203, [position(20, 150)])];
const slightlyStrained = [subaccount(300, [position(20, 150)])];

/** An alert fires, a part of the position goes, and nobody knows yet why. */
function waiting(forMs: string): Harness {
  const h = new Harness({ rules: rulesOf(rules(forMs)) });
  h.config();
  h.mark(markUsd);
  h.live(90_000, strained, markUsd);
  expect(h.told).toEqual(["MarginHigh main/0.0 fired critical"]);
  h.pass(1_000);
  h.account(smaller);
  h.pass(5_000);
  expect(h.told).toHaveLength(1);
  return h;
}

test("such an alert goes on, and nobody is told that it recovered", () => {
  const h = waiting("0s");
  h.live(120_000, strainedAgain, markUsd);
  expect(h.told).toHaveLength(1);
  h.live(30_000, smaller, markUsd);
  expect(h.told.slice(1)).toEqual(["MarginHigh main/0.0 ended critical recovered"]);
  expect(h.changes.at(-1)?.alertId).toBe(h.changes[0]?.alertId);
});

test("it falls to the level that holds now", () => {
  const h = waiting("0s");
  h.live(120_000, slightlyStrained, markUsd);
  expect(h.told.slice(1)).toEqual(["MarginHigh main/0.0 fell warning"]);
});

describe("a condition that has to hold for some time", () => {
  test("is waited for", () => {
    const h = waiting("20s");
    h.live(10_000, strainedAgain, markUsd);
    h.live(20_000, strainedAgain, markUsd);
    expect(h.told).toHaveLength(1);
    h.live(60_000, smaller, markUsd);
    expect(h.told.slice(1)).toEqual(["MarginHigh main/0.0 ended critical recovered"]);
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

test("over a restart, too", () => {
  const h = waiting("0s");
  const after = h.restarted({ rules: rulesOf(rules("0s")) });
  after.live(5_000, smaller, markUsd);
  after.live(90_000, strainedAgain, markUsd);
  expect(after.told).toEqual([]);
});
