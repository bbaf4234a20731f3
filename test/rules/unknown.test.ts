/** Unknown, and what operators, loops and levels make of it. */
import { describe, expect, test } from "vitest";
import { type Env, isUnknown, judge, judgeEvent, Unknown } from "../../src/rules/index.ts";
import { condition, env, eventRule, facts, load, nowMs } from "./kit.ts";

/** `true`, `false`, or the reason of the unknown. */
const outcome = (value: unknown) => (isUnknown(value) ? value.unknown : value);

const base = (more: Partial<Env> = {}) =>
  env({
    trader: facts({
      equity: 100,
      collateral: 0,
      marginRatio: Number.POSITIVE_INFINITY,
      riskTier: "safe",
      positions: [
        { symbol: "SOL", side: "long", notional: 50, size: 1 },
        { symbol: "BTC", side: "short", notional: 150, size: -2 },
      ],
      orders: [],
    }),
    wallet: facts({ name: "main", labels: { desk: "alpha" }, limits: { maxInventory: 7 }, equity: 5 }),
    ...more,
  });

const run = (when: string, environment: Env = base()) =>
  outcome(condition(when).levels[0]!.when.run(environment));

describe("three-valued logic", () => {
  // T and F are known, U is a field that nobody has seen.
  const atom = { T: "trader.equity > 1", F: "trader.equity < 1", U: "trader.leverage > 1" } as const;
  type Atom = keyof typeof atom;
  const table: [Atom, Atom, unknown, unknown][] = [
    ["T", "T", true, true],
    ["T", "F", false, true],
    ["F", "T", false, true],
    ["F", "F", false, false],
    ["T", "U", "missing", true],
    ["U", "T", "missing", true],
    ["F", "U", false, "missing"],
    ["U", "F", false, "missing"],
    ["U", "U", "missing", "missing"],
  ];
  test.each(table)("%s and %s", (left, right, and, or) => {
    expect(run(`${atom[left]} && ${atom[right]}`)).toBe(and);
    expect(run(`${atom[left]} || ${atom[right]}`)).toBe(or);
    expect(run(`!(${atom[left]}) || !(${atom[right]})`)).toBe(typeof and === "boolean" ? !and : and);
  });

  test.each([
    [`${atom.T} ? 1 < 2 : ${atom.U}`, true],
    [`${atom.F} ? ${atom.U} : 1 > 2`, false],
    [`${atom.U} ? 1 < 2 : 1 < 2`, "missing"],
    [`!(${atom.U})`, "missing"],
    ["-trader.leverage < 0", "missing"],
    ["trader.leverage == trader.leverage", "missing"],
    ["trader.leverage in [1, 2]", "missing"],
    ["trader.equity in [1, 100]", true],
  ])("%s", (when, wanted) => expect(run(when)).toBe(wanted));
});

describe("arithmetic without an answer is unknown, never false", () => {
  test.each([
    ["trader.collateral / trader.collateral > 1", "nan"],
    ["trader.marginRatio - trader.marginRatio == 0", "nan"],
    ["trader.marginRatio * trader.collateral < 1", "nan"],
    ["trader.equity % trader.collateral == 0", "nan"],
    ["trader.equity / trader.collateral > 1000", true],
    ["-trader.equity / trader.collateral < -1000", true],
    ["trader.marginRatio > 0.8", true],
    ["2 * trader.equity == 200", true],
    ["trader.equity == 100", true],
    ["trader.equity + 1 > 100", true],
    ["7 / 2 == 3.5 || 6 / 2 == 3", "refused"],
    ["size(trader.positions) / size(trader.orders) > 1", "error"],
    ["size(trader.positions) / 2 == 1", true],
    ["5 % 3 == 2", true],
    ["trader.equity % 30 == 10", true],
    ["min(trader.equity, 3) == 3", true],
    ["max(trader.positions.map(p, p.notional)) == 150", true],
    ["max(trader.positions.filter(p, p.notional > 1000).map(p, p.notional)) > 1", "error"],
    ["sum(trader.positions.map(p, p.notional)) == 200", true],
    ["abs(-3.5) == 3.5", true],
    ["int(trader.marginRatio) > 1", "error"],
  ])("%s", (when, wanted) => {
    if (wanted === "refused") expect(() => run(when)).toThrow(/whole numbers divide/);
    else expect(run(when)).toBe(wanted);
  });
});

describe("a time without a date has no part of a calendar", () => {
  const at = (nextTransition: number) => base({ market: facts({ nextTransition }) });
  const methods = ["getFullYear", "getMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes"];
  const times = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 8.64e15 + 1, -8.64e15 - 1];
  test.each(methods)("%s", (method) => {
    const { when } = condition(`market.nextTransition.${method}("America/New_York") == 1`, {
      scope: "position",
    }).levels[0]!;
    for (const ms of times) {
      const unknown = when.run(at(ms));
      expect(unknown).toMatchObject({ unknown: "error" });
      expect((unknown as Unknown).detail).toContain(method);
    }
    for (const ms of [8.64e15, -8.64e15, nowMs]) expect(when.run(at(ms))).toBeTypeOf("boolean");
  });
});

test.each([
  ["mm-*", "mm-1", true],
  ["mm-*", "mm-", true],
  ["mm-*", "amm-1", false],
  ["*-eu-*", "a-eu-b", true],
  ["*-eu-*", "a-eu", false],
  ["m?-1", "mm-1", true],
  ["m?-1", "m-1", false],
  ["a.c", "abc", false],
  ["*", "", true],
  ["?", "🙂", true],
  ["*a*b", "xaxbxb", true],
  ["*ab", "aab", true],
])("like %s: %s", (pattern, name, wanted) => {
  const wallet = facts({ name });
  expect(run(`wallet.name.like("${pattern}")`, base({ wallet }))).toBe(wanted);
});

// With backtracking this would outlast every patience.
test("no pattern of like takes long", () => {
  const wallet = facts({ name: "a".repeat(50_000) });
  expect(run(`wallet.name.like("${"*a".repeat(40)}*b")`, base({ wallet }))).toBe(false);
});

describe("absence", () => {
  test.each([
    ['wallet.labels.desk == "alpha"', true],
    ['wallet.labels.none == ""', true],
    ['wallet.labels["desk"] == "alpha"', true],
    ['"desk" in wallet.labels', true],
    ["has(wallet.labels.none)", false],
    ["wallet.limits.maxInventory > 6.0", true],
    ["wallet.limits.other > 6.0", "unset"],
    ["has(wallet.limits.other)", false],
    ["has(trader.equity)", true],
    ["has(trader.leverage)", false],
    ["trader.positions[0].notional == 50", true],
    ["trader.positions[5].notional == 50", "error"],
    ["trader.positions[-1].notional == 50", "error"],
    ["size(trader.orders) == 0", true],
    ["trader.positions.size() == 2", true],
  ])("%s", (when, wanted) => expect(run(when)).toBe(wanted));

  test("a subject without an ancestor is absent, not false", () => {
    expect(run("trader.equity > 1", env())).toBe("absent");
  });

  test("NaN from outside is unknown", () => {
    expect(run("trader.equity > 1", env({ trader: facts({ equity: Number.NaN }) }))).toBe("nan");
  });

  test("a word that the exchange added later reads as other", () => {
    const trader = facts({ riskTier: "newTier", positions: [{ side: "sideways" }] });
    expect(run('trader.riskTier == "other"', base({ trader }))).toBe(true);
    expect(run('trader.positions.all(p, p.side == "other")', base({ trader }))).toBe(true);
    expect(run('trader.riskTier == "safe"', base())).toBe(true);
  });

  test("names of JavaScript's own are no labels", () => {
    expect(run('wallet.labels.constructor == ""')).toBe(true);
    expect(run('wallet.labels["__proto__"] == ""')).toBe(true);
    expect(run('"toString" in wallet.labels')).toBe(false);
  });
});

describe("loops", () => {
  const withUnknown = (sizes: (number | null)[]) =>
    base({
      trader: facts({
        positions: sizes.map((size) => (size === null ? { symbol: "X" } : { symbol: "X", size })) as never,
      }),
    });
  test.each([
    ["exists", [1, null, 5], true],
    ["exists", [1, null], "missing"],
    ["exists", [1, 2], false],
    ["exists", [], false],
    ["all", [5, null, 1], false],
    ["all", [5, null], "missing"],
    ["all", [5, 6], true],
    ["all", [], true],
    ["exists_one", [5, 1], true],
    ["exists_one", [5, 5], false],
    ["exists_one", [5, null], "missing"],
  ] as [string, (number | null)[], unknown][])("%s over %j", (name, sizes, wanted) => {
    expect(run(`trader.positions.${name}(p, p.size > 3)`, withUnknown(sizes))).toBe(wanted);
  });
  test("filter, map and both in one", () => {
    expect(run("trader.positions.filter(p, p.size > 3).size() == 1", withUnknown([5, 1]))).toBe(true);
    expect(run("trader.positions.filter(p, p.size > 3).size() == 1", withUnknown([5, null]))).toBe("missing");
    expect(run("sum(trader.positions.map(p, p.size > 3, p.size)) == 11", withUnknown([5, 1, 6]))).toBe(true);
    expect(
      run("trader.positions.exists(p, trader.positions.exists(q, q.size > p.size))", withUnknown([1, 2])),
    ).toBe(true);
    expect(run('"SOL" in trader.positions.map(p, p.symbol)')).toBe(true);
  });
});

describe("staleness", () => {
  const aged = (ageMs: number) => base({ trader: facts({ equity: 1 }, nowMs - ageMs) });
  test("three times the schedule, and the source is named", () => {
    expect(run("trader.equity < 5", aged(15_000))).toBe(true);
    const old = condition("trader.equity < 5").levels[0]!.when.run(aged(15_001)) as Unknown;
    expect(old).toMatchObject({ unknown: "stale", source: "traderState" });
    expect(old.detail).toContain("trader.equity");
  });
  test("the rule's own word", () => {
    const rule = condition("trader.equity < 5", { staleAfter: "1m" });
    expect(outcome(rule.levels[0]!.when.run(aged(60_000)))).toBe(true);
    expect(outcome(rule.levels[0]!.when.run(aged(60_001)))).toBe("stale");
  });
  test("one old source of several is enough, one never seen is missing", () => {
    const trader = facts({ equity: 1 });
    trader.seenMs.markets = nowMs - 20_000;
    expect(run("trader.equity < 5", base({ trader }))).toBe("stale");
    delete trader.seenMs.markets;
    expect(run("trader.equity < 5", base({ trader }))).toBe("missing");
  });
  test("a source that is asked less often than staleAfter keeps its own pace", () => {
    const rule = condition("trader.equity < 5", { staleAfter: "2s" });
    expect(rule.staleAfterMs.traderState).toBe(15_000);
  });
  test("a stale figure is unknown to has() as well, and absorbed where the other side decides", () => {
    expect(run("has(trader.equity)", aged(60_000))).toBe("stale");
    expect(run("trader.equity < 5 || wallet.equity == 5", aged(60_000))).toBe(true);
  });
  test("data age is never stale and moves with time", () => {
    const rule = condition('wallet.dataAge > duration("30s")', { scope: "wallet" });
    expect(rule.readsNow).toBe(true);
    const wallet = facts({}, nowMs - 31_000);
    expect(rule.levels[0]!.when.run(env({ wallet }))).toBe(true);
    expect(outcome(rule.levels[0]!.when.run(env({ wallet: facts({}, nowMs - 29_000) })))).toBe(false);
  });
});

describe("windows in conditions", () => {
  test("the reading of the rule's own window, behind the freshness of what it reads", () => {
    const rule = condition('maxOver("trader.marginRatio", "1h") > 0.5 && ago("trader.equity", "today") > 1');
    expect(rule.windows.map((window) => [window.fn, window.windowMs])).toEqual([
      ["maxOver", 3_600_000],
      ["ago", "today"],
    ]);
    const when = rule.levels[0]!.when;
    expect(when.run(base({ window: (index) => [0.6, 2][index]! }))).toBe(true);
    const uncovered = new Unknown("uncovered", null, "x");
    expect(outcome(when.run(base({ window: () => uncovered })))).toBe("uncovered");
    const trader = facts({}, nowMs - 60_000);
    expect(outcome(when.run(base({ trader, window: () => 1 })))).toBe("stale");
  });
  test("equal functions share one window; a filter makes another", () => {
    const rule = condition(
      'countOver("liquidation", "1h") > 1 || countOver("liquidation", "1h") > 5 || countOver("liquidation", "1h", "liquidation.kind == \'adl\'") > 0',
    );
    expect(rule.windows).toHaveLength(2);
    const { path } = rule.windows[1]!;
    if (path.kind !== "event" || path.filter === null) throw new Error("an event window with a filter");
    expect(path.filter.run(env({ event: facts({ kind: "adl" }) }))).toBe(true);
    expect(path.filter.run(env({ event: facts({ kind: "market" }) }))).toBe(false);
  });
  test("another market by name", () => {
    const rule = condition('maxOver("market[BTC].markPrice", "1h") > market("BTC").markPrice', {
      scope: "position",
    });
    expect(rule.windows[0]!.path).toMatchObject({ scope: "market", field: "markPrice", symbol: "BTC" });
    expect(rule.reads).toEqual([
      { scope: "market", field: "markPrice", symbol: "BTC", sources: ["markets"] },
    ]);
    const btc = facts({ markPrice: 5 });
    const markets = (symbol: string) => (symbol === "BTC" ? btc : undefined);
    expect(rule.levels[0]!.when.run(env({ markets, window: () => 6 }))).toBe(true);
    expect(outcome(rule.levels[0]!.when.run(env({ window: () => 6 })))).toBe("missing");
  });
});

describe("judging", () => {
  const levels = load(`
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      info: { when: value < 0.20 }
      warning: { when: value < 0.10, resolveWhen: value > 0.12 }
      critical: { when: value < 0.05 }
    summary: x
`).conditions[0]!;
  const at = (distance: number | undefined, current: "info" | "warning" | "critical" | null) => {
    const judged = judge(
      levels,
      env({ position: facts(distance === undefined ? {} : { liquidationDistance: distance }) }),
      current,
    );
    return judged.kind === "known" ? judged.severity : judged.unknown.unknown;
  };
  test.each([
    [0.3, null, null],
    [0.15, null, "info"],
    [0.09, null, "warning"],
    [0.04, null, "critical"],
    [0.04, "info", "critical"],
    // The band: from below not yet, from above still.
    [0.11, "info", "info"],
    [0.11, "warning", "warning"],
    [0.11, "critical", "warning"],
    [0.13, "critical", "info"],
    [0.13, "warning", "info"],
    [0.21, "critical", null],
    [Number.POSITIVE_INFINITY, "critical", null],
    [undefined, "critical", "missing"],
    [undefined, null, "missing"],
  ] as [number | undefined, "info" | "warning" | "critical" | null, unknown][])(
    "distance %s from %s",
    (distance, current, wanted) => expect(at(distance, current)).toBe(wanted),
  );

  const doubtful = load(`
rules:
  - name: Doubt
    scope: trader
    value: trader.equity
    levels:
      info: { when: value < 10 }
      warning: { when: value < 8 }
      critical: { when: trader.leverage > 3 }
    summary: x
`).conditions[0]!;
  test("a level that is known to hold may rise while a higher one is unknown; nothing falls", () => {
    const severity = (equity: number, current: "info" | "warning" | null) => {
      const judged = judge(doubtful, env({ trader: facts({ equity }) }), current);
      return judged.kind === "known" ? judged.severity : "unknown";
    };
    expect(severity(7, null)).toBe("warning");
    expect(severity(7, "info")).toBe("warning");
    expect(severity(9, "info")).toBe("unknown");
    expect(severity(20, "info")).toBe("unknown");
    expect(severity(20, null)).toBe("unknown");
  });

  test("one old or unseen source makes it unknown; where another side decides, it does not matter", () => {
    const rule = condition("trader.equity < 10 || exchange.gated", { staleAfter: "20s" });
    const at = (traderAgeMs: number | null, statusAgeMs: number, gated: boolean) => {
      const trader = facts({ equity: 5 }, nowMs - (traderAgeMs ?? 0));
      if (traderAgeMs === null) delete trader.seenMs.markets;
      const surroundings = env({ trader, exchange: facts({ gated }, nowMs - statusAgeMs) });
      const judged = judge(rule, surroundings, null);
      // What is rendered afterwards looks at ages by itself.
      expect(surroundings.allFresh).toBe(false);
      return judged.kind === "known" ? judged.severity : judged.unknown.unknown;
    };
    expect(at(0, 0, false)).toBe("critical");
    expect(at(20_000, 20_000, false)).toBe("critical");
    expect(at(20_001, 0, false)).toBe("stale");
    expect(at(null, 0, false)).toBe("missing");
    expect(at(20_001, 0, true)).toBe("critical");
    expect(at(0, 20_001, false)).toBe("critical");
  });

  test("the short form with its own end", () => {
    const rule = condition("trader.equity < 10", { resolveWhen: "trader.equity > 12" });
    const severity = (equity: number, current: "critical" | null) => {
      const judged = judge(rule, env({ trader: facts({ equity }) }), current);
      return judged.kind === "known" ? judged.severity : "unknown";
    };
    expect([
      severity(11, null),
      severity(9, null),
      severity(11, "critical"),
      severity(13, "critical"),
    ]).toEqual([null, "critical", "critical", null]);
  });

  test("tells the value and the age of the oldest input", () => {
    const trader = facts({ equity: 7, leverage: 9 });
    trader.seenMs.markets = nowMs - 9_000;
    expect(judge(doubtful, env({ trader }), null)).toEqual({
      kind: "known",
      severity: "critical",
      value: 7,
      dataAtMs: nowMs - 9_000,
    });
  });

  test("events: matches, does not, cannot tell", () => {
    const rule = eventRule("liquidation", 'event.role == "liquidatee" && event.notional > 10');
    const at = (values: Record<string, string | number>) =>
      outcome(judgeEvent(rule, env({ event: facts(values) })));
    expect(at({ role: "liquidatee", notional: 11 })).toBe(true);
    expect(at({ role: "adl_counterparty" })).toBe(false);
    expect(at({ role: "liquidatee" })).toBe("missing");
    expect(
      outcome(
        judgeEvent(eventRule("fill", 'event.age < duration("1m")'), env({ event: facts({ at: nowMs - 5 }) })),
      ),
    ).toBe(true);
  });
});
