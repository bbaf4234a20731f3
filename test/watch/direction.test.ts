/** The direction in which a rule's value gets worse follows from its condition, whichever way that is written. */
import { describe, expect, test } from "vitest";
import { Harness, position, subaccount } from "./harness.ts";

/** Value is the distance of SOL's price from 100, as a share. */
const rulesOf = (when: string): string => `
rules:
  - name: Away
    scope: market
    select: { symbol: SOL }
    value: market.markPrice / 100.0 - 1.0
    when: ${JSON.stringify(when)}
    severity: warning
    for: 0s
    keepFiringFor: 1h
    summary: "{{ value }}"
`;

function kinds(when: string, values: readonly number[]): string[] {
  const h = new Harness({ rules: rulesOf(when), remind: { worseBy: 0.2 } });
  h.config();
  for (const value of values) {
    h.mark(Math.round((1 + value) * 1e6) / 1e4);
    h.pass(1_000);
  }
  return h.changes.map(({ kind }) => kind);
}

describe("a value that moved by more than a fifth", () => {
  test.each<[string, readonly number[], boolean]>([
    ["value > 0.1", [0.2, 0.3], true],
    ["value > 0.1", [0.3, 0.2], false],
    ["0.1 < value", [0.2, 0.3], true],
    ["value < -0.1", [-0.2, -0.3], true],
    ["value < -0.1", [-0.3, -0.2], false],
    ["-0.1 > value", [-0.2, -0.3], true],
    ["1.0 - value > 0.5", [0.3, 0.2], true],
    ["1.0 - value > 0.5", [0.2, 0.3], false],
    ["-value >= 0.1", [-0.2, -0.3], true],
    ["!(value < 0.1)", [0.2, 0.3], true],
    ["!(value < 0.1)", [0.3, 0.2], false],
    ["value * 100.0 > 10.0", [0.2, 0.3], true],
    ["value / 1000.0 > 0.0001", [0.2, 0.3], true],
    ["market.markPrice > 1.0 && value > 0.1", [0.2, 0.3], true],
    ["value > 0.05 && value * 2.0 > 0.2", [0.2, 0.3], true],
    ["value > market.oraclePrice / 1000000.0", [0.2, 0.3], true],
    // Two sides: the distance beyond the one that is violated.
    ["value < -0.1 || value > 0.1", [0.2, 0.3], true],
    ["value < -0.1 || value > 0.1", [0.3, 0.2], false],
    ["value < -0.1 || value > 0.1", [-0.2, -0.3], true],
    ["value < -0.1 || value > 0.1", [-0.3, -0.2], false],
    ["value < -0.1 || value > 0.1", [0.2, -0.3], true],
    ["value < -0.1 || value > 0.1", [0.3, -0.2], false],
    ["value > 0.1 || value < -0.1", [-0.2, 0.2], false],
    ["abs(value) > 0.1", [0.2, 0.3], true],
    ["abs(value) > 0.1", [-0.2, -0.3], true],
    ["abs(value) > 0.1", [-0.3, -0.2], false],
    ["0.1 < abs(value)", [0.2, -0.3], true],
    ["max(value, -value) > 0.1", [-0.2, -0.3], true],
    // One side has a direction.
    ["value > 0.1 || [1.0].exists(one, one == value)", [0.2, 0.3], true],
    ["value > 0.1 || [1.0].exists(one, one == value)", [0.3, 0.2], false],
    // The value is another figure than those that the condition compares.
    ["market.markPrice > 110.0", [0.2, 0.3], true],
    ["market.markPrice > 110.0", [0.3, 0.2], false],
    ["market.markPrice < 95.0 && market.symbol == 'SOL'", [-0.2, -0.3], true],
    // None can be derived: never worse.
    ["value > 0.1 && value < 0.9", [0.2, 0.4], false],
    ["value > 0.1 && value < 0.9", [0.4, 0.2], false],
    ["value != 0.0", [0.2, 0.4], false],
    ["int(value * 10.0) > 0", [0.2, 0.4], false],
    ["value > 0.1 ? true : false", [0.2, 0.4], false],
  ])("of `%s` from and to %j is worse: %s", (when, values, worse) => {
    expect(kinds(when, values)).toEqual(worse ? ["fired", "worsened"] : ["fired"]);
  });
});

test("a margin ratio that becomes infinite after an acknowledgement is worse than any number", () => {
  const rules = `
rules:
  - name: Margin
    scope: trader
    value: trader.marginRatio
    when: value > 0.5
    severity: critical
    for: 0s
    summary: "{{ percent(value) }}"
`;
  const h = new Harness({ rules });
  const held = [position(100, 150)];
  h.config();
  h.mark(150);
  h.account([subaccount(800, held)]);
  const [alert] = h.watch.status(h.nowMs).firing;
  h.see({ kind: "acknowledged", atMs: h.nowMs, alert: alert!, by: "ann", comment: "" });
  h.pass(1_000);
  h.account([subaccount(-100, held)]);
  const told = h.changes.map(({ kind, alert: { value } }) => `${kind} ${value}`);
  expect(told.at(-1)).toBe("worsened Infinity");
  h.pass(1_000);
  h.account([subaccount(-200, held)]);
  expect(h.changes).toHaveLength(told.length);
});

test("an acknowledgement of a value without direction promises nothing about it", () => {
  const quiet = (when: string): string | undefined => {
    const h = new Harness({ rules: rulesOf(when) });
    h.config();
    h.mark(120);
    return h.changes[0]?.quietIfAcknowledged;
  };
  expect(quiet("abs(value) > 0.1")).toMatch(/gets worse by 20%/);
  expect(quiet("value != 0.0")).not.toMatch(/worse/);
});
