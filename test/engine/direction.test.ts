/**
 * The direction in which a rule's value gets worse follows from its condition, whichever way that is written. Without one, a
 * value that moved is reported as changed.
 */
import { describe, expect, test } from "vitest";
import { Harness, position, subaccount } from "./harness.ts";

/** Value is the distance of SOL's price from 100, as a share. */
const rulesOf = (when: string, more = ""): string => `
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
${more}`;

/** A harness whose mark can be set by the value that it makes. */
function watched(
  rules: string,
  worseBy = 0.2,
): { readonly h: Harness; readonly see: (value: number) => void } {
  const h = new Harness({ rules, remind: { worseBy } });
  h.config();
  const see = (value: number): void => {
    h.mark(Math.round((1 + value) * 1e6) / 1e4);
    h.pass(1_000);
  };
  return { h, see };
}

function kindsOf(rules: string, values: readonly number[]): string[] {
  const { h, see } = watched(rules);
  values.forEach(see);
  return h.changes.map(({ kind }) => kind);
}

describe("a value that moved by more than a fifth", () => {
  test.each<[string, readonly number[], "worsened" | "changed" | null]>([
    ["value > 0.1", [0.2, 0.3], "worsened"],
    ["value > 0.1", [0.3, 0.2], null],
    ["0.1 < value", [0.2, 0.3], "worsened"],
    ["value < -0.1", [-0.2, -0.3], "worsened"],
    ["value < -0.1", [-0.3, -0.2], null],
    ["-0.1 > value", [-0.2, -0.3], "worsened"],
    ["1.0 - value > 0.5", [0.3, 0.2], "worsened"],
    ["1.0 - value > 0.5", [0.2, 0.3], null],
    ["-value >= 0.1", [-0.2, -0.3], "worsened"],
    ["!(value < 0.1)", [0.2, 0.3], "worsened"],
    ["!(value < 0.1)", [0.3, 0.2], null],
    ["value * 100.0 > 10.0", [0.2, 0.3], "worsened"],
    ["value / 1000.0 > 0.0001", [0.2, 0.3], "worsened"],
    ["market.markPrice > 1.0 && value > 0.1", [0.2, 0.3], "worsened"],
    ["value > 0.05 && value * 2.0 > 0.2", [0.2, 0.3], "worsened"],
    ["value > market.oraclePrice / 1000000.0", [0.2, 0.3], "worsened"],
    // Two sides: the distance beyond the one that is violated.
    ["value < -0.1 || value > 0.1", [0.2, 0.3], "worsened"],
    ["value < -0.1 || value > 0.1", [0.3, 0.2], null],
    ["value < -0.1 || value > 0.1", [-0.2, -0.3], "worsened"],
    ["value < -0.1 || value > 0.1", [-0.3, -0.2], null],
    ["value < -0.1 || value > 0.1", [0.2, -0.3], "worsened"],
    ["value < -0.1 || value > 0.1", [0.3, -0.2], null],
    ["value > 0.1 || value < -0.1", [-0.2, 0.2], null],
    ["abs(value) > 0.1", [0.2, 0.3], "worsened"],
    ["abs(value) > 0.1", [-0.2, -0.3], "worsened"],
    ["abs(value) > 0.1", [-0.3, -0.2], null],
    ["0.1 < abs(value)", [0.2, -0.3], "worsened"],
    ["max(value, -value) > 0.1", [-0.2, -0.3], "worsened"],
    // One side has a direction.
    ["value > 0.1 || [1.0].exists(one, one == value)", [0.2, 0.3], "worsened"],
    ["value > 0.1 || [1.0].exists(one, one == value)", [0.3, 0.2], null],
    // The value is another figure than those that the condition compares.
    ["market.markPrice > 110.0", [0.2, 0.3], "worsened"],
    ["market.markPrice > 110.0", [0.3, 0.2], null],
    ["market.markPrice < 95.0 && market.symbol == 'SOL'", [-0.2, -0.3], "worsened"],
    ["105.0 < market.markPrice", [0.2, 0.3], "worsened"],
    ["105.0 < market.markPrice", [0.3, 0.2], null],
    ["!(market.markPrice <= 105.0)", [0.2, 0.3], "worsened"],
    // So is a value that is written out again.
    ["market.markPrice / 100.0 - 1.0 > 0.1", [0.2, 0.3], "worsened"],
    ["0.1 < market.markPrice/100.0-1.0", [0.3, 0.2], null],
    ["abs(market.markPrice / 100.0 - 1.0) > 0.1", [-0.2, -0.3], "worsened"],
    // A band from outside.
    ["!(value > -0.1 && value < 0.1)", [0.2, 0.3], "worsened"],
    ["!(value > -0.1 && value < 0.1)", [-0.2, -0.3], "worsened"],
    ["!(value > -0.1 && value < 0.1)", [-0.3, -0.2], null],
    // Alternatives by another figure: the one that is meant.
    ['market.symbol == "SOL" ? value > 0.1 : value < 0.9', [0.2, 0.3], "worsened"],
    ['market.symbol == "SOL" ? value > 0.1 : value < 0.9', [0.3, 0.2], null],
    ['market.symbol == "BTC" ? value > 0.1 : value < 0.9', [0.3, 0.2], "worsened"],
    ['(market.symbol == "BTC" ? -value : value) > 0.1', [0.2, 0.3], "worsened"],
    [
      '(market.symbol == "SOL" && value > 0.1) || (market.symbol != "SOL" && value < 0.9)',
      [0.2, 0.3],
      "worsened",
    ],
    ['(market.symbol == "SOL" && value > 0.1) || (market.symbol != "SOL" && value < 0.9)', [0.3, 0.2], null],
    ["value > 0.1 ? true : false", [0.2, 0.3], "worsened"],
    ["value > 0.1 ? value < 5.0 : value < -0.1", [-0.2, -0.3], "worsened"],
    ["int(value * 10.0) > 0", [0.2, 0.4], "worsened"],
    // Over a list: each item, or the one that is violated most.
    ["[0.05, 0.1].all(limit, value > limit)", [0.2, 0.3], "worsened"],
    ["[0.05, 0.1].all(limit, value > limit)", [0.3, 0.2], null],
    ["[0.05, 0.9].exists(limit, value > limit)", [0.2, 0.3], "worsened"],
    ["![0.05, 0.9].all(limit, value <= limit)", [0.2, 0.3], "worsened"],
    ["![0.5, 0.9].exists(limit, value > limit)", [-0.2, -0.3], "worsened"],
    // None can be derived.
    ["value > 0.1 && value < 0.9", [0.2, 0.4], "changed"],
    ["value > 0.1 && value < 0.9", [0.4, 0.2], "changed"],
    ["value > 0.1 && value < 0.9", [0.2, 0.23], null],
    ["value != 0.0", [0.2, 0.4], "changed"],
    ["value != 0.0", [0.4, 0.2], "changed"],
    ["value != 0.0", [0.2, -0.2], "changed"],
    ["value != 0.0", [0.2, 0.2], null],
    ["value != 0.0", [0.2, 0.23], null],
    ["[0.1, 0.7].all(one, value != one)", [0.2, 0.4], "changed"],
    ["value % 0.3 > 0.05", [0.2, 0.4], "changed"],
    ["market.oraclePrice > 1.0", [0.2, 0.3], "changed"],
    ["market.oraclePrice > 1.0", [0.3, 0.2], "changed"],
  ])("of `%s` from and to %j is reported as %s", (when, values, kind) => {
    expect(kindsOf(rulesOf(when), values)).toEqual(kind === null ? ["fired"] : ["fired", kind]);
  });
});

describe("a value of a rule that names its worst", () => {
  test.each<[string, string, readonly number[], readonly string[]]>([
    ["value > 0.1", "worst: 1", [0.6, 0.67, 0.69, 0.74, 0.76], ["fired", "worsened", "worsened"]],
    ["value > 0.1", "worst: 100%", [0.8, 0.83], ["fired"]],
    ["value < 0.9", "worst: 0.5", [0.8, 0.75, 0.73], ["fired", "worsened"]],
    ["value < 0.9", "worst: 0.5", [0.52, 0.5, 0.493], ["fired", "worsened"]],
    ["value < 0.9", "worst: -0.5", [0.1, 0], ["fired"]],
    ["value < 0.9", "worst: -0.5", [0.1, -0.1], ["fired", "worsened"]],
    // Beyond it by a twentieth of the value.
    ["value > 0.1", "worst: 0.2", [0.3, 0.314, 0.316], ["fired", "worsened"]],
  ])("`%s`, %s: of %j are reported %j", (when, worst, values, kinds) => {
    expect(kindsOf(rulesOf(when, `    ${worst}\n`), values)).toEqual(kinds);
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

describe("a value without direction", () => {
  test("is reported again when it leaves what was reported since, and not for each way between", () => {
    const values = [0.2, 0.4, 0.2, 0.3, 0.41, 0.2, 0.4, -0.2, 0.4, 0.6, -0.1];
    expect(kindsOf(rulesOf("value != 0.0"), values)).toEqual([
      "fired",
      // 0.4, -0.2, 0.6
      ...["changed", "changed", "changed"],
    ]);
  });

  test("ends an acknowledgement when it moved, which names that", () => {
    const { h, see } = watched(rulesOf("value != 0.0"));
    see(0.2);
    expect(h.changes[0]?.quietIfAcknowledged).toBe(
      "unless its value ($0.20) changes by 20% or its severity rises",
    );
    see(0.4);
    h.see({
      kind: "acknowledged",
      atMs: h.nowMs,
      alert: h.watch.status(h.nowMs).firing[0]!,
      by: "ann",
      comment: "",
    });
    const kinds = (): string[] => h.changes.map(({ kind }) => kind);
    expect(kinds()).toEqual(["fired", "changed", "acknowledged"]);
    see(0.38);
    expect(kinds()).toHaveLength(3);
    // Reported before the acknowledgement, which covers 0.4.
    see(0.2);
    expect(kinds()).toEqual(["fired", "changed", "acknowledged", "changed"]);
    expect(h.changes.at(-1)?.alert.acknowledgedAtMs).toBeNull();
  });

  test("goes on after a restart from what was reported", () => {
    const { h, see } = watched(rulesOf("value != 0.0"));
    for (const value of [0.2, 0.4]) see(value);
    const next = new Harness({
      rules: rulesOf("value != 0.0"),
      remind: { worseBy: 0.2 },
      remembered: h.remembered,
    });
    next.config();
    for (const value of [0.4, 0.2, 0.3]) {
      next.mark(100 * (1 + value));
      next.pass(1_000);
    }
    expect(next.changes).toEqual([]);
    next.mark(160);
    expect(next.changes.map(({ kind }) => kind)).toEqual(["changed"]);
  });

  test("that grows with time alone is not reported again", () => {
    const { h } = watched(
      rulesOf("value != duration('0s')").replace(
        /value: .*/,
        "value: now - timestamp('2026-01-05T11:00:00Z')",
      ),
    );
    h.mark(120);
    for (let i = 0; i < 10; i++) h.pass(1_000);
    expect(h.changes.map(({ kind }) => kind)).toEqual(["fired"]);
  });

  test("is not reported again where worseBy is 0", () => {
    const { h, see } = watched(rulesOf("value != 0.0"), 0);
    for (const value of [0.2, 0.9]) see(value);
    expect(h.changes.map(({ kind }) => kind)).toEqual(["fired"]);
    expect(h.changes[0]?.quietIfAcknowledged).toBe("unless its severity rises");
  });
});

describe("the direction", () => {
  test("follows from the figure of each item of a list, where the value is the least or greatest of them", () => {
    const kinds = (value: string, when: string, marks: readonly number[]): string[] => {
      const rules = `
rules:
  - name: Nearest
    scope: trader
    value: ${JSON.stringify(value)}
    when: ${JSON.stringify(when)}
    severity: warning
    for: 0s
    keepFiringFor: 1h
    summary: "{{ value }}"
`;
      // Liquidated at 144.83.
      const h = Harness.seeing({ rules }, marks[0]!, [subaccount(1_000, [position(100, 150)])]);
      for (const mark of marks.slice(1)) h.mark(mark);
      return h.changes.map(({ kind }) => kind);
    };
    const nearest = "min(trader.positions.map(p, p.liquidationDistance))";
    const near = "trader.positions.exists(p, p.liquidationDistance < 0.1)";
    expect(kinds(nearest, near, [155, 150])).toEqual(["fired", "worsened"]);
    expect(kinds(nearest, near, [150, 155])).toEqual(["fired"]);
    expect(kinds(nearest, "trader.positions.all(p, p.liquidationDistance < 0.1)", [155, 150])).toEqual([
      "fired",
      "worsened",
    ]);
    expect(kinds(`-${nearest}`, near, [155, 150])).toEqual(["fired", "worsened"]);
    expect(kinds("sum(trader.positions.map(p, p.notional))", near, [150, 155])).toEqual(["fired"]);
    expect(kinds(nearest, `${nearest} < 0.1`, [155, 150])).toEqual(["fired", "worsened"]);
  });

  test("follows from the way back where the condition has none", () => {
    const rules = rulesOf("value != 0.0", "    resolveWhen: value < 0.03\n");
    expect(kindsOf(rules, [0.2, 0.3])).toEqual(["fired", "worsened"]);
    expect(kindsOf(rules, [0.3, 0.2])).toEqual(["fired"]);
  });

  test("follows from the next level where a level has none", () => {
    const rules = rulesOf("", "").replace(
      / {4}when: .*\n.*\n/,
      `    levels:
      warning: { when: value != 0.0 }
      critical: { when: value < -0.6 }
`,
    );
    expect(kindsOf(rules, [-0.2, -0.3])).toEqual(["fired", "worsened"]);
    expect(kindsOf(rules, [-0.3, -0.2, 0.5])).toEqual(["fired"]);
  });

  test("is what the rule says it is", () => {
    const higher = rulesOf("value != 0.0", "    worse: higher\n");
    expect(kindsOf(higher, [0.2, 0.3])).toEqual(["fired", "worsened"]);
    expect(kindsOf(higher, [0.3, 0.2])).toEqual(["fired"]);
    const lower = rulesOf("market.oraclePrice > 1.0", "    worse: lower\n");
    expect(kindsOf(lower, [0.2, 0.1])).toEqual(["fired", "worsened"]);
    expect(kindsOf(lower, [0.1, 0.2])).toEqual(["fired"]);
  });
});

test.each([
  ["value > 0.05", "$0.20, warning above $0.05"],
  ["value > 5e-2", "$0.20, warning above $0.05"],
  // The limit is another number, or the value is a part of what is compared.
  ["value > 0.001 * market.oraclePrice", undefined],
  ["value > 0.05 - market.oraclePrice", undefined],
  ["2.0 - value > 0.1", undefined],
  ["-2.0 * value < 0.1", undefined],
])("a limit is named where the value is compared with it: %s", (when, limit) => {
  const h = Harness.seeing({ rules: rulesOf(when) }, 120);
  expect(h.changes.map((change) => change.limit)).toEqual([limit]);
});

test("an acknowledgement of a value without direction promises nothing about it", () => {
  const quiet = (when: string): string | undefined => {
    const h = Harness.seeing({ rules: rulesOf(when) }, 120);
    return h.changes[0]?.quietIfAcknowledged;
  };
  expect(quiet("abs(value) > 0.1")).toMatch(/gets worse by 20%/);
  expect(quiet("value != 0.0")).not.toMatch(/worse/);
  expect(quiet("value != 0.0")).toMatch(/changes by 20%/);
});

describe("an acknowledgement names the value from which it is worse", () => {
  test.each<[string, string, number, string]>([
    ["value > 0.1", "", 0.2, "its value rises above $0.24 "],
    ["value < 0.9", "", 0.2, "its value falls below $0.16 "],
    ["value < -0.1", "", -0.2, "its value falls below -$0.24 "],
    ["value < -0.1 || value > 0.1", "", 0.2, "its value ($0.20) gets worse by 20%"],
    // The limit is no number; the direction is known all the same.
    ["value > market.oraclePrice / 1000000.0", "", 0.2, "its value rises above $0.24 "],
    ["value < market.oraclePrice / 100.0", "", 0.2, "its value falls below $0.16 "],
    ["value < -market.oraclePrice / 1000000.0", "", -0.2, "its value falls below -$0.24 "],
    ["value > -market.oraclePrice / 100.0", "", -0.2, "its value rises above -$0.16 "],
    ["value > 0.1", "worst: 1", 0.6, "its value rises above $0.68 "],
    ["value > 0.1", "worst: 1", 0.95, "its value rises above $0.9975 "],
    ["value < 0.9", "worst: 0.1", 0.2, "its value falls below $0.18 "],
    // Worse on two sides, or no further.
    ["value < 0.3 || value > 0.6", "", 0.2, "its value ($0.20) gets worse by 20%"],
    ["value < market.oraclePrice / 300.0 || value > 0.6", "", 0.2, "its value ($0.20) gets worse by 20%"],
    ["abs(value) > market.oraclePrice / 1000.0", "", 0.2, "its value ($0.20) gets worse by 20%"],
    ["min(value, 0.25) > market.oraclePrice / 1000.0", "", 0.22, "its value ($0.22) gets worse by 20%"],
    ["abs(value) > 0.1", "worst: 1", 0.2, "its value gets markedly worse"],
    // The rule's own word counts.
    ["value < 0.9", "worse: higher", 0.2, "its value rises above $0.24 "],
  ])("`%s` %s at %d", (when, more, value, text) => {
    const { h, see } = watched(rulesOf(when, more && `    ${more}\n`));
    see(value);
    expect(h.changes[0]!.quietIfAcknowledged).toContain(`unless ${text}`);
  });
});

describe("an alert beside others", () => {
  const standing = (resolveWhen: string, value: number) => {
    const { h, see } = watched(rulesOf("value > 0.1", `    resolveWhen: ${JSON.stringify(resolveWhen)}\n`));
    see(0.2);
    see(value);
    return h.watch.present(h.changes[0]!.alertId, h.nowMs);
  };

  test.each([
    ["value < 0.05", 0.08, "stays warning until below $0.05"],
    ["value < 0.05 && market.oraclePrice > 0.0", 0.08, "stays warning at least until below $0.05"],
    ["value < 0.05", 0.15, undefined],
  ])("says until when it fires: %s at %d", (resolveWhen, value, until) => {
    expect(standing(resolveWhen, value)?.until).toBe(until);
  });
});
