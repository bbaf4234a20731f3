/** Mistakes in rule files: each told with its place, what is allowed, and the name that was meant. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limitsOf } from "../../src/domain/limits.ts";
import {
  eventKinds,
  eventVocabulary,
  formatProblem,
  isUnknown,
  loadRules,
  nearestName,
  scopes,
  vocabulary,
} from "../../src/rules/index.ts";
import { condition, env, eventRule, facts, load, problemsOf, scheduleMs } from "./kit.ts";

const short = (line: string) => `rules:
  - name: R
    scope: position
    severity: critical
    summary: s
    ${line}
`;

/** In files of this form the expression begins at column 11 of line 6. */
const when = (text: string) => short(`when: ${text}`);

describe("mistakes in expressions", () => {
  test.each([
    ["trader.equty < 1", 18, "unknown field trader.equty", "equity"],
    ["trade.equity < 1", 11, "unknown name trade", "trader"],
    [
      "daemon.lag > duration('1s')",
      11,
      "daemon.lag is of scope daemon; here the scope is position. Use `scope: daemon`",
      null,
    ],
    [
      "event.price > 1",
      11,
      "event.price is of an event; here the scope is position. Use `on: notification`, `on: liquidation`, `on: order`, or `on: fill` in place of scope",
      null,
    ],
    [
      "event.at < now",
      11,
      "event.at is of an event; here the scope is position. Use `on: …` in place of scope",
      null,
    ],
    [
      "event > 1",
      11,
      "event is of an event; here the scope is position. Use `on: …` in place of scope",
      null,
    ],
    ["trader > 1", 11, "trader is not a value by itself: name one of its fields", null],
    ["value > 1", 11, "`value` needs the rule to have a `value:`", null],
    ['position.side == "lng"', 28, '"lng" can never be equal to this', "long"],
    ['"shrt" != position.side', 11, '"shrt" can never be equal to this', "short"],
    ['position.side in ["long", "shrt"]', 37, '"shrt" can never be equal to this', "short"],
    ["has(position.typo)", 24, "unknown field position.typo", null],
    ["has(position)", 11, "has takes a field: has(event.price)", null],
    ["trader.positions.exists(p, p.sizze > 1)", 40, "unknown field p.sizze", "size"],
    ["trader.positions.any(p, p.size > 1)", 11, "unknown function any", "exists"],
    ["trader.equity.exists(p, true)", 11, "exists runs over a list, not a number", null],
    ["trader.positions.exists(trader, true)", 35, "the name trader is taken", null],
    ["trader.equity", 11, "a condition must be true or false, this is a number", null],
    ['trader.equity + "x" > 1', 11, "types do not fit: a number + text", null],
    ["trader.equity > true", 11, "true and false have no order: compare them with == or !=", null],
    [
      "trader.positions == trader.positions",
      11,
      "a list cannot be compared; compare its fields or its size",
      null,
    ],
    ["trader.equity &&", 27, "the expression ends too early", null],
    ["trader.equity > 1 ? true : 2 > 1 : 3", 44, "Unexpected character: ':'", null],
    ["trader.equity # 1", 25, "Unexpected character: #", null],
    ["1 / 3 > 0", 11, "1 / 3 is 0: whole numbers divide without a rest; write 1.0 / 3", null],
    ["trader.equity > 99999999999999999", 27, "99999999999999999 is too large to be exact", null],
    ["trader.leverage == null", 30, "null is no value here: what is missing is unknown, ask has(…)", null],
    ["abz(trader.equity) > 1", 11, "unknown function abz", "abs"],
    ['market("BTC") > 1', 11, 'name one of the market\'s fields: market("BTC").markPrice', null],
    [
      "market(position.symbol).markPrice > 1",
      11,
      'market takes one quoted symbol: market("BTC").markPrice',
      null,
    ],
    ['market("BTC").markPrize > 1', 25, 'unknown field market("BTC").markPrize', "markPrice"],
    [
      'wallet.dataAge > duration("1 h")',
      28,
      '"1 h" is no duration; they look like 250ms, 5s, 10m, 4h, 7d',
      null,
    ],
    ["wallet.dataAge > duration(position.side)", 28, 'duration takes quoted text: duration("30s")', null],
    ['maxOver("trader.equty", "1h") > 1', 27, "trader.equty is no series of numbers", "equity"],
    [
      'maxOver("daemon.lag", "1h") > 1',
      20,
      "daemon.lag is of scope daemon; here the scope is position. Use `scope: daemon`",
      null,
    ],
    ['maxOver("demon.lag", "1h") > 1', 20, "maxOver knows no series of demon here", null],
    ['maxOver("trader.equity", "1x") > 1', 36, '"1x" is no window', null],
    ['maxOver("trader.equity", "90d") > 1', 36, "the window 90d is out of bounds", null],
    [
      'maxOver(trader.equity, "1h") > 1',
      19,
      'maxOver takes quoted text: maxOver("trader.equity", "1h")',
      null,
    ],
    [
      'countOver("liquidations", "1h") > 1',
      22,
      'countOver knows no events "liquidations" here',
      "liquidation",
    ],
    [
      'sumOver("funding.paymant", "1h") > 1',
      20,
      'sumOver adds up numbers of events, "funding.paymant" is none',
      "funding.payment",
    ],
    ['countOver("fill", "1h", "fill.sizze > 1") > 1', 41, "unknown field fill.sizze", "size"],
    [
      'countOver("fill", "1h", "trader.equity > 1") > 1',
      36,
      "trader.equity is of scope trader; a filter sees the event alone, as fill.…",
      null,
    ],
    [
      'quantileOver("trader.equity", 2, "1h") > 1',
      41,
      'quantileOver takes a share between 0 and 1 second: quantileOver("market.fundingRate", 0.9, "7d")',
      null,
    ],
    [
      'quantileOver("trader.equity", 0.5) > 1',
      24,
      'quantileOver takes a path, a share and a window: quantileOver("market.fundingRate", 0.9, "7d")',
      null,
    ],
    ['since("position.size", "today") > duration("1h")', 34, '"today" is no window', null],
    ['since("position.siez") > duration("1h")', 27, "position.siez is no series of numbers", "size"],
    [
      'since("position.size") > 5',
      36,
      'a duration cannot be compared with a number: a duration is written duration("30s")',
      null,
    ],
    [
      "wallet.dataAge == 60",
      29,
      'a duration cannot be compared with a number: a duration is written duration("30s")',
      null,
    ],
    ["position.side == 1", 28, "a text cannot be compared with a number", null],
    ["trader.equity > now", 27, "a number cannot be compared with a time", null],
    ["trader.equity == true", 28, "a number cannot be compared with true or false", null],
    ["trader.equity / 0 > 1", 27, "trader.equity / 0 divides by zero", null],
    ["trader.equity / (1.0 - 1.0) > 1", 28, "trader.equity / (1.0 - 1.0) divides by zero", null],
    ["trader.equity % 0.0 > 1", 27, "trader.equity % 0.0 divides by zero", null],
    [
      "position.symbol.like(position.side)",
      11,
      'like takes a quoted pattern: wallet.name.like("mm-*")',
      null,
    ],
    ['now.getHours("Mars") > 1', 11, '"Mars" is no time zone; they look like Europe/Berlin', null],
  ])("%s", (text, column, message, nearest) => {
    const quoted = `'${text.replaceAll("'", "''")}'`;
    const plain = !/[#:]|^["'!]/.test(text);
    const [problem, ...others] = problemsOf(when(plain ? text : quoted));
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ file: "my.yaml", line: 6, message, nearest });
    // Within quotes everything stands one further.
    expect(problem!.column).toBe(plain ? column : column + 1);
    expect(problem!.source).toContain("when: ");
  });
});

describe("levels", () => {
  const levels = (text: string, more = "") => `rules:
  - name: R
    scope: position
    value: position.liquidationDistance
    summary: s
    levels: ${text}
${more}`;
  test.each([
    [
      "{ info: { when: value < 0.1 }, critical: { when: value < 0.2 } }",
      62,
      "the levels do not rise: critical (value < 0.2) is no further than info (value < 0.1)",
    ],
    [
      "{ warning: { when: value > 5 }, critical: { when: 5.0 < value } }",
      63,
      "the levels do not rise: critical (5.0 < value) is no further than warning (value > 5)",
    ],
    [
      "{ critical: { when: value < 0.1, resolveWhen: value > 0.05 } }",
      59,
      "resolveWhen (value > 0.05) overlaps when (value < 0.1): both can hold at once",
    ],
    [
      "{ critical: { when: value <= 0.1, resolveWhen: value >= 0.1 } }",
      60,
      "resolveWhen (value >= 0.1) overlaps when (value <= 0.1): both can hold at once",
    ],
    [
      "{ critical: { when: value < 0.1, resolveWhen: value < 0.2 } }",
      59,
      "resolveWhen (value < 0.2) overlaps when (value < 0.1): both can hold at once",
    ],
  ])("%s", (text, column, message) => {
    expect(
      problemsOf(levels(text)).map((problem) => [problem.line, problem.column, problem.message]),
    ).toEqual([[6, column, message]]);
  });

  test.each([
    "{ info: { when: value < 0.2 }, warning: { when: value < 0.1, resolveWhen: value > 0.12 }, critical: { when: value < 0.05 } }",
    "{ warning: { when: value <= 0.1 }, critical: { when: value < 0.1 } }",
    "{ warning: { when: value < 0.1 }, critical: { when: value > 0.9 } }",
    "{ warning: { when: value < 0.1 }, critical: { when: position.leverage > 5 } }",
    "{ warning: { when: value < 0.1, resolveWhen: value >= 0.1 } }",
  ])("%s rises", (text) => expect(problemsOf(levels(text))).toEqual([]));

  test("the short form is held to the same", () => {
    expect(
      problemsOf(short("when: trader.marginRatio > 0.8\n    resolveWhen: trader.marginRatio > 0.7")),
    ).toMatchObject([
      {
        line: 7,
        column: 18,
        message:
          "resolveWhen (trader.marginRatio > 0.7) overlaps when (trader.marginRatio > 0.8): both can hold at once",
      },
    ]);
  });
});

test("no window is longer than history is kept", () => {
  const day = 86_400_000;
  const longer = when("\"maxOver('trader.equity', '8d') > 1\"");
  expect(problemsOf(longer, { retentionMs: 8 * day })).toEqual([]);
  expect(problemsOf(longer, { retentionMs: 7 * day })).toMatchObject([
    { line: 6, column: 37, message: "the window 8d is longer than history is kept: 7d (history.retention)" },
  ]);
});

describe("what is dangerous is refused when it is loaded", () => {
  test.each([
    ['position.symbol.matches("(a+)+$")', "matches is refused: one pattern can stop the whole program"],
    ["trader.__proto__ == 1", "unknown field trader.__proto__"],
    ["trader.constructor == 1", "unknown field trader.constructor"],
    ['"" .constructor == ""', "a text has no fields"],
    ["__proto__ == 1", "Reserved identifier: __proto__"],
    ["prototype == 1", "Reserved identifier: prototype"],
    ["constructor == 1", "unknown name constructor"],
    ["trader.positions[0].__proto__ == 1", "unknown field trader.positions[0].__proto__"],
    ["{1: 2} == {1: 2}", "maps cannot be written here"],
    ["cel.bind(x, 1, x == 1)", "unknown name cel"],
    ["dyn(trader.equity) == 1", "unknown function dyn"],
    ["hasOwnProperty(1)", "unknown function hasOwnProperty"],
    ["toString(1) == 1", "unknown function toString"],
    ['trader.name.constructor("x")', "unknown function constructor"],
    ['b"abc" == b"abc"', "only numbers, text, true and false can be written here"],
    [`${"(".repeat(60)}1${")".repeat(60)} > 0`, "too large: more than 24 for maxDepth"],
    [`${"1+".repeat(300)}1 > 0`, "too large: more than 400 for maxAstNodes"],
    [`${"!".repeat(1_900)}true`, "too large: more than 400 for maxAstNodes"],
    [`trader.equity in [${"1,".repeat(150)}1]`, "too large: more than 100 for maxListElements"],
    [
      `trader.equity > ${"1".repeat(2_100)}`,
      "the expression is 2116 characters long; at most 2000 are taken",
    ],
    [
      `[${"1,".repeat(90)}1].exists(a, [${"1,".repeat(90)}1].exists(b, ${"a + b + ".repeat(12)}1 > 1))`,
      "this could take more than 100000 steps: shorten its lists or loops",
    ],
    [
      "trader.positions.all(a, trader.positions.all(b, trader.positions.all(c, a.size + b.size > c.size)))",
      "loops go at most 2 deep: their cost multiplies",
    ],
  ])("%.60s", (text, message) => {
    expect(problemsOf(when(JSON.stringify(text))).map((problem) => problem.message)).toContain(message);
  });

  test("files beyond all measure, nesting without end", () => {
    expect(problemsOf(`rules:\n# ${"x".repeat(600_000)}`)[0]!.message).toMatch(/larger than 512 KB/);
    expect(problemsOf(`rules: ${"[".repeat(50_000)}`)[0]!.message).toMatch(/not valid YAML/);
    expect(problemsOf(`rules: ${"[".repeat(100_000)}`)[0]!.message).toMatch(/holds too much/);
  });
});

describe("whatever stands in a file, loading answers", () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  const words = [
    "trader",
    ".",
    "equity",
    "positions",
    "exists",
    "(",
    ")",
    "p",
    ",",
    "&&",
    "||",
    "!",
    "-",
    "1",
    "0.5",
    '"x"',
    "==",
    "<",
    "in",
    "[",
    "]",
    "?",
    ":",
    "has",
    "size",
    "maxOver",
    '"trader.equity"',
    '"1h"',
    "duration",
    "market",
    "value",
    "now",
    "{",
    "}",
    "%",
    "/",
    "null",
    "true",
    "wallet.labels",
    "map",
    "sum",
    "\\",
    "'",
  ];

  test("expressions made of the language's own words never throw, loaded or judged", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 14 }), fc.boolean(), (parts, seenAll) => {
        const text = parts.join(" ");
        const loaded = loadRules({
          files: [{ name: "my.yaml", text: when(JSON.stringify(text)) }],
          overrides: {},
          scheduleMs,
          wallets: [],
          timezone: "UTC",
        });
        if ("problems" in loaded) {
          expect(loaded.problems.length).toBeGreaterThan(0);
          for (const problem of loaded.problems) expect(problem.line).toBeGreaterThan(0);
          return;
        }
        const trader = facts(seenAll ? { equity: 0, positions: [{ size: 1, symbol: "SOL" }] } : {});
        const answer = loaded.ruleSet.conditions[0]!.levels[0]!.when.run(env({ trader, window: () => 1 }));
        expect(typeof answer === "boolean" || isUnknown(answer), text).toBe(true);
      }),
      { seed, numRuns: 600 },
    );
  });

  test("files with a piece torn out or put in never throw", () => {
    const whole = when('"trader.equity < 1 && position.size > 2"').replace(
      "summary: s",
      "summary: '{{ trader.name }}'",
    );
    fc.assert(
      fc.property(
        fc.nat(whole.length),
        fc.nat(12),
        fc.oneof(
          fc.string({ maxLength: 8 }),
          fc.constantFrom("&a", "*a", "!!js/function", "---", "<<: *a", "\t", "? ", "|", ">-", "{{", "}}"),
        ),
        (at, length, piece) => {
          const text = whole.slice(0, at) + piece + whole.slice(at + length);
          for (const problem of problemsOf(text)) expect(formatProblem(problem)).toContain("my.yaml:");
        },
      ),
      { seed, numRuns: 600 },
    );
  });
});

describe("mistakes in the form", () => {
  test.each([
    [
      when("1 < 2").replace("severity: critical", "severty: critical"),
      4,
      5,
      "unknown key severty",
      "severity",
    ],
    [when("1 < 2").replace("critical", "criticl"), 4, 15, "severity cannot be criticl", "critical"],
    [when("1 < 2").replace("scope: position", "scope: pear"), 3, 12, "scope cannot be pear", null],
    [short("for: 10 s\n    when: 1 < 2"), 6, 10, "10 s is no duration", null],
    [short("mode: quiet\n    when: 1 < 2"), 6, 11, "mode cannot be quiet", null],
    [
      short("select: { walet: x, wallet: nobody }\n    when: 1 < 2"),
      6,
      33,
      "no wallet is called nobody",
      null,
    ],
    [
      short("labels: { severity: x }\n    when: 1 < 2"),
      6,
      25,
      "the label severity is given by perpwatch itself",
      null,
    ],
    [short("runbook: nowhere\n    when: 1 < 2"), 6, 14, "nowhere is no link", null],
    [short("throttle: 1m\n    when: 1 < 2"), 6, 5, "unknown key throttle", null],
    [short("noData: whatever\n    when: 1 < 2"), 6, 13, "noData cannot be whatever", null],
    [short("# nothing"), 2, 5, "when is missing", null],
    [
      short("labels: { subject: x }\n    when: 1 < 2"),
      6,
      24,
      "the label subject is given by perpwatch itself",
      null,
    ],
    [
      when("1 < 2").replace("name: R", "name: Blind"),
      2,
      11,
      "Blind is an alert of perpwatch's own: choose another name",
      null,
    ],
    [short("staleAfter: 0s\n    when: 1 < 2"), 6, 17, "staleAfter must be 1s at least", null],
    [when("1 < 2").replace("name: R", "name: my rule"), 2, 11, "my rule is no rule name", null],
    [when("1 < 2").replace("summary: s", "summary: '{{ 1'"), 5, 15, "`{{` is never closed by `}}`", null],
    [
      when("1 < 2").replace("summary: s", "summary: '{{ trader.positions }}'"),
      5,
      18,
      "a list cannot be printed",
      null,
    ],
    ["rules: 5", 1, 8, "a rule file begins with rules: and a list of rules", null],
    ["", 1, 1, "a rule file begins with rules: and a list of rules", null],
    ["value: []\nrules: []", 1, 1, "unknown key value", "values"],
    ["rules: [", 1, 9, expect.stringMatching(/not valid YAML/), null],
    ["rules:\n  - text", 2, 5, "a rule is a mapping: name, scope or on, when, severity, summary", null],
    ["rules:\n  - { name: R }", 2, 5, "a rule needs a scope (a condition) or an on (an event)", null],
    ["rules:\n  - { name: R, on: balance, severity: info, summary: s }", 2, 20, "on cannot be balance", null],
    [
      "rules:\n  - { name: R, on: liquidation, severity: critical, throttle: 1m, summary: s }",
      2,
      63,
      "a critical event is never held back: throttle is refused here",
      null,
    ],
    [
      "rules:\n  - { name: R, on: fill, severity: info, acknowledge: always, summary: s }",
      2,
      55,
      "only notifications can be acknowledged to the exchange",
      null,
    ],
    [
      'rules:\n  - { name: R, on: fill, severity: info, summary: s, when: \'ago("trader.equity", "1h") > 1\' }',
      2,
      61,
      "ago looks back over series, which are kept for conditions only",
      null,
    ],
    [
      "rules:\n  - { name: R, scope: trader, summary: s, levels: { info: { when: 1 < 2 } } }",
      2,
      51,
      "levels need a value: it is what they compare and what messages show",
      null,
    ],
    [
      short("worse: lower\n    when: 1 < 2"),
      6,
      12,
      "worse: is the direction of the value: it needs one",
      null,
    ],
    [
      short("target: 1 < 2\n    when: 1 < 2").replace("scope: position", "scope: wallet"),
      6,
      13,
      "target: belongs to rules of scope position or trader",
      null,
    ],
    [
      short("worst: 1\n    when: 1 < 2"),
      6,
      12,
      "worst: is the worst that the value can be: it needs one",
      null,
    ],
    [short("value: 1.0\n    worst: much\n    when: 1 < 2"), 7, 12, "much is no number such as these", null],
    [
      short("value: trader.equity\n    worst: 1\n    when: value != 0.0").replace(
        "scope: position",
        "scope: trader",
      ),
      7,
      12,
      "worst: no condition says in which direction the value gets worse; worse: higher or lower does",
      null,
    ],
    [
      short("value: trader.equity\n    worse: away\n    worst: 1\n    when: value > 0.0").replace(
        "scope: position",
        "scope: trader",
      ),
      8,
      12,
      "worst: belongs to a value that gets worse on one side: not to worse: away",
      null,
    ],
    [short("value: 1.0\n    worse: more\n    when: 1 < 2"), 7, 12, "worse cannot be more", null],
    [
      "rules:\n  - { name: R, scope: trader, summary: s, value: trader.equity, levels: { fatal: { when: 1 < 2 } } }",
      2,
      75,
      "unknown key fatal",
      null,
    ],
  ] as [string, number, number, string, string | null][])("%s", (text, line, column, message, nearest) => {
    const problem = problemsOf(text).find(
      (candidate) => candidate.line === line && candidate.column === column,
    );
    expect(problem, problemsOf(text).map(formatProblem).join("\n")).toMatchObject({ message, nearest });
  });

  test("all of them at once, in the order of the text", () => {
    const text = `rules:
  - name: A
    scope: trader
    when: trader.equty < 1 && trader.marginRato > 1
    severity: nope
    summary: "{{ wallet.nam }}"
  - name: A
    scope: trader
    value: trader.typo
    levels: { info: { when: value > 1 && trader.typo2 > 1 } }
    summary: >-
      folded text
      and {{ trader.folded }}
  - name: C
    scope: trader
    severity: info
    when: |
      trader.equity > 1
        && trader.block > 1
    summary: 'it''s {{ trader.quoted }}'
    description: "a \\" b {{ trader.escaped }}"
`;
    expect(problemsOf(text).map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
      "4:18 unknown field trader.equty",
      "4:38 unknown field trader.marginRato",
      "5:15 severity cannot be nope",
      "6:25 unknown field wallet.nam",
      "7:5 the rule A is there already, at my.yaml:2",
      "9:19 unknown field trader.typo",
      "10:49 unknown field trader.typo2",
      "13:21 unknown field trader.folded",
      "19:19 unknown field trader.block",
      "20:31 unknown field trader.quoted",
      "21:36 unknown field trader.escaped",
    ]);
  });

  test("a problem reads well", () => {
    expect(formatProblem(problemsOf(when("position.sid == 'long'"))[0]!)).toBe(
      [
        "my.yaml:6:20: unknown field position.sid",
        "        when: position.sid == 'long'",
        "                       ^",
        "  did you mean side?",
        `  allowed: ${vocabulary.position.map((field) => field.name).join(", ")}`,
      ].join("\n"),
    );
  });

  test.each([
    ["equty", "equity"],
    ["Liquidationprice", "liquidationPrice"],
    ["sdie", "side"],
    ["xyz", null],
  ])("the name nearest to %s", (found, wanted) =>
    expect(nearestName(found, ["equity", "liquidationPrice", "side", "size"])).toBe(wanted),
  );
});

describe("overrides from the configuration", () => {
  const near = `rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      info: { when: value < 0.2 }
      critical: { when: value < 0.05 }
    labels: { team: risk, tier: one }
    for: 1m
    summary: s
`;
  test("win over the file, level by level and label by label", () => {
    const rule = load(near, {
      overrides: {
        Near: { for: "10s", levels: { critical: { when: "value < 0.08" } }, labels: { tier: "two" } },
      },
    }).conditions[0]!;
    expect(rule.forMs).toBe(10_000);
    expect(rule.levels.map((level) => level.when.text)).toEqual(["value < 0.2", "value < 0.08"]);
    expect(rule.labels).toEqual({ team: "risk", tier: "two" });
  });
  test("of a condition take its way back away, of a level and of a whole rule, unless they give one", () => {
    const levels = near
      .replace("value < 0.2", "value < 0.2, resolveWhen: value > 0.25")
      .replace("value < 0.05", "value < 0.05, resolveWhen: value > 0.06 && position.notional > 0.0");
    const text = `${levels}  - { name: Short, scope: trader, when: trader.marginRatio > 0.8, resolveWhen: trader.marginRatio < 0.7, severity: info, summary: s }\n`;
    const backs = (near: object, short: object) =>
      load(text, {
        overrides: { Near: { levels: near }, Short: short },
      }).conditions.map((rule) => rule.levels.map(({ resolveWhen }) => resolveWhen?.text ?? null));
    const [info, critical, margin] = [
      "value > 0.25",
      "value > 0.06 && position.notional > 0.0",
      "trader.marginRatio < 0.7",
    ];
    expect(backs({}, { for: "10s" })).toEqual([[info, critical], [margin]]);
    expect(backs({ critical: { when: "value < 0.08" } }, { when: "trader.marginRatio > 0.6" })).toEqual([
      [info, null],
      [null],
    ]);
    expect(
      backs(
        { critical: { when: "value < 0.08", resolveWhen: "value > 0.09" } },
        { resolveWhen: "trader.marginRatio < 0.75" },
      ),
    ).toEqual([[info, "value > 0.09"], ["trader.marginRatio < 0.75"]]);
  });
  test("can turn a rule off", () => {
    expect(load(near, { overrides: { Near: { enabled: false } } }).conditions).toEqual([]);
  });
  test("mean the first of two rules of a name: the second is told as such, and not as wrong otherwise", () => {
    const second = `${near}  - { name: Near, on: liquidation, severity: info, summary: s }\n`;
    const overrides = { Near: { for: "10s", levels: { critical: { when: "value < 0.08" } } } };
    expect(problemsOf(second, { overrides }).map(({ message }) => message)).toEqual([
      "the rule Near is there already, at my.yaml:2",
    ]);
  });
  test("tell their mistakes under their own name", () => {
    const found = problemsOf(near, {
      overrides: { Near: { for: "ten", whn: 1, levels: { info: { when: "valu < 1" } } }, Nar: {}, Other: 5 },
    });
    expect(found.map(({ file, line, message, nearest }) => [file, line, message, nearest])).toEqual([
      ["ruleOverrides.Near.whn", 0, "unknown key whn", "when"],
      ["ruleOverrides.Near.levels.info.when", 0, "unknown name valu", "value"],
      ["ruleOverrides.Near.for", 0, "ten is no duration", null],
      ["ruleOverrides.Nar", 0, "no rule is called Nar", "Near"],
      ["ruleOverrides.Other", 0, "no rule is called Other", null],
    ]);
  });
});

describe("a field of another scope", () => {
  test.each([
    [
      "scope: trader",
      "position.liquidationDistance < 0.05",
      "position.liquidationDistance is of scope position; here the scope is trader. Use `scope: position`, or look at all with trader.positions.exists(p, p.liquidationDistance …)",
    ],
    [
      "scope: trader",
      "position.unrealizedPnl < -5.0",
      "position.unrealizedPnl is of scope position; here the scope is trader. Use `scope: position`, look at all with trader.positions.exists(p, p.unrealizedPnl …), or trader.unrealizedPnl",
    ],
    [
      "scope: trader",
      "position.typo < 1.0",
      "position.typo is of scope position; here the scope is trader. Use `scope: position`, or look at all with trader.positions.exists(p, …)",
    ],
    [
      "scope: trader",
      'minOver("position.notional", "1h") > 5.0',
      "position.notional is of scope position; here the scope is trader. Use `scope: position`",
    ],
    [
      "scope: trader",
      "market.markPrice > 5.0",
      'market.markPrice is of scope market; here the scope is trader. Use `scope: market`, `scope: position`, which sees trader and market, or market("SOL").markPrice of one market',
    ],
    [
      "scope: exchange",
      'maxOver("market.markPrice", "1h") > 5.0',
      "market.markPrice is of scope market; here the scope is exchange. Use `scope: market`, or market[SOL].markPrice of one market",
    ],
    [
      "scope: wallet",
      "trader.marginRatio > 0.8",
      "trader.marginRatio is of scope trader; here the scope is wallet. Use `scope: trader`",
    ],
    [
      "scope: wallet",
      "trader.equity < 5.0",
      "trader.equity is of scope trader; here the scope is wallet. Use `scope: trader`, or wallet.equity",
    ],
    [
      "scope: market",
      "wallet.pnl < 0.0",
      "wallet.pnl is of scope wallet; here the scope is market. Use `scope: wallet`, or `scope: position`, which sees market and wallet",
    ],
    [
      "scope: book",
      "wallet.equity < 5.0",
      "wallet.equity is of scope wallet; here the scope is book. Use `scope: wallet`, or book.equity",
    ],
    [
      "scope: book",
      "market.markPrice < 5.0",
      'market.markPrice is of scope market; here the scope is book, over all markets. Use `by: market`, or market("SOL").markPrice of one market',
    ],
    [
      "scope: pair",
      "book.equity < 5.0",
      "book.equity is of scope book; here the scope is pair. Use `scope: book`",
    ],
    [
      "on: collateral",
      "position.size > 5.0",
      "position.size is of scope position; this is a rule on collateral, which sees trader, wallet, exchange beside the event. Use a rule of `scope: position`",
    ],
    [
      "on: exchangeStatus",
      "market.markPrice > 5.0",
      'market.markPrice is of scope market; this is a rule on exchangeStatus, which sees exchange beside the event. Use market("SOL").markPrice of one market, or a rule of `scope: market`',
    ],
  ])("%s: %s", (about, text, message) => {
    const rule = `rules:\n  - { name: R, ${about}, severity: info, summary: s, when: '${text}' }\n`;
    expect(problemsOf(rule).map((problem) => problem.message)).toEqual([message]);
  });
});

describe("warnings", () => {
  const warned = (text: string, more = {}) => load(text, more).warnings.map((warning) => warning.message);
  test("a word that only the exchange could know", () => {
    const text =
      "rules:\n  - { name: R, on: notification, severity: info, summary: s, when: event.type == 'order_fileld' }";
    expect(warned(text)[0]).toMatch(/"order_fileld" is no word that is known here/);
    expect(load(text).warnings[0]!.nearest).toBe("order_filled");
  });
  describe("a number that the figure does not sensibly have", () => {
    const told = (scope: string, when: string) =>
      load(
        `rules:\n  - name: R\n    scope: ${scope}\n    severity: info\n    summary: s\n    when: >-\n      ${when}\n`,
      ).warnings.map(({ line, column, message, nearest }) => [line, column, message, nearest] as const);
    test.each([
      [
        "trader",
        "trader.marginRatio > 80",
        28,
        "trader.marginRatio is a fraction: 80 is 8,000%, and 80% is 0.8",
        "0.8",
      ],
      [
        "trader",
        "80.0 < trader.marginRatio",
        7,
        "trader.marginRatio is a fraction: 80 is 8,000%, and 80% is 0.8",
        "0.8",
      ],
      // The rest of a division, not a percentage.
      [
        "trader",
        "trader.marginRatio > 80 % 100",
        28,
        "trader.marginRatio is a fraction: 80 is 8,000%, and 80% is 0.8",
        "0.8",
      ],
      [
        "trader",
        "trader.marginRatio > 40 + 25",
        28,
        "trader.marginRatio is a fraction: 65 is 6,500%, and 65% is 0.65",
        "0.65",
      ],
      [
        "position",
        "position.liquidationDistance < 5",
        38,
        "position.liquidationDistance is a fraction: 5 is 500%, and 5% is 0.05",
        "0.05",
      ],
      [
        "trader",
        "trader.positions.exists(p, p.stopLossDistance > 10)",
        55,
        "p.stopLossDistance is a fraction: 10 is 1,000%, and 10% is 0.1",
        "0.1",
      ],
      [
        "trader",
        "min(trader.positions.map(p, p.liquidationDistance)) < 5.0",
        61,
        "min(trader.positions.map(p, p.liquidationDistance)) is a fraction: 5 is 500%, and 5% is 0.05",
        "0.05",
      ],
      [
        "wallet",
        "-wallet.lossToday < -15.0",
        27,
        "-wallet.lossToday is a fraction: -15 is -1,500%, and -15% is -0.15",
        "-0.15",
      ],
      [
        "wallet",
        "wallet.lossToday < -0.1",
        26,
        "wallet.lossToday is compared with -0.1: plausible are 0 to 1",
        null,
      ],
      [
        "wallet",
        'drawdown("wallet.pnl", "24h") > 15',
        39,
        'drawdown("wallet.pnl", "24h") is a fraction: 15 is 1,500%, and 15% is 0.15',
        "0.15",
      ],
      [
        "trader",
        'changeRatio("trader.equity", "1h") < -10',
        44,
        'changeRatio("trader.equity", "1h") is a fraction: -10 is -1,000%, and -10% is -0.1',
        "-0.1",
      ],
      [
        "trader",
        'maxOver("trader.marginRatio", "1h") >= 95',
        46,
        'maxOver("trader.marginRatio", "1h") is a fraction: 95 is 9,500%, and 95% is 0.95',
        "0.95",
      ],
      [
        "market",
        "abs(market.fundingRate) > 1",
        33,
        "abs(market.fundingRate) is a fraction an hour: 1 is 100%, and 1% is 0.01",
        "0.01",
      ],
      [
        "position",
        'market("BTC").annualizedFundingRate < -50.0',
        45,
        'market("BTC").annualizedFundingRate is a fraction a year: -50 is -5,000%, and -50% is -0.5',
        "-0.5",
      ],
      [
        "position",
        "position.leverage > 5000",
        27,
        "position.leverage is compared with 5000: plausible are 0 to 1,000",
        null,
      ],
    ])("%s: %s", (scope, when, column, message, nearest) => {
      expect(told(scope, when)).toEqual([[7, column, message, nearest]]);
    });

    test("in levels, against the rule's value; of a named value", () => {
      const text = `values:
  - { name: near, scope: position, value: position.liquidationDistance }
rules:
  - name: R
    scope: position
    value: position.liquidationDistance
    levels: { warning: { when: value < 10 }, critical: { when: value < 5 } }
    summary: s
  - { name: S, scope: position, when: value.near < 5, severity: info, summary: s }
`;
      expect(load(text).warnings.map(({ line, message }) => `${line} ${message}`)).toEqual([
        "7 value is a fraction: 10 is 1,000%, and 10% is 0.1",
        "7 value is a fraction: 5 is 500%, and 5% is 0.05",
        "9 value.near is a fraction: 5 is 500%, and 5% is 0.05",
      ]);
    });

    test.each([
      // A margin ratio may be above 1, a limit itself is none beyond it, and 1000 is a way to say infinite.
      ["trader", "trader.marginRatio > 1.5"],
      ["position", "position.liquidationDistance <= 1"],
      ["position", "position.liquidationDistance < 1000.0"],
      // The result of arithmetic is another figure.
      ["position", "position.liquidationDistance * 100.0 < 5.0"],
      ["position", "position.liquidationDistance - 2.0 < -1.9"],
      ["trader", "sum(trader.positions.map(p, p.stopLossCoverage)) < 3.0"],
      ["market", "market.markPrice / market.oraclePrice > 2.0"],
      ["wallet", 'changeRatio("wallet.pnl", "1h") < -5.0'],
      ["trader", 'zscore("trader.marginRatio", "7d") > 3.0'],
      ["trader", 'change("trader.leverage", "1h") < -2.0'],
      ["position", "(position.size > 0.0 ? position.notional : position.leverage) > 5000.0"],
    ])("none: %s: %s", (scope, when) => {
      expect(told(scope, when)).toEqual([]);
    });

    test("none in a text, which asks so whether there is a liquidation price at all", () => {
      const summary = '{{ position.liquidationDistance > 10.0 ? "out of reach" : "near" }}';
      const text = `rules:\n  - { name: R, scope: position, severity: info, when: true, summary: '${summary}' }\n`;
      expect(load(text).warnings).toEqual([]);
    });

    test("a percent sign is told with the fraction that is meant", () => {
      for (const [text, column, message] of [
        ["trader.marginRatio > 80%", 33, "a percentage is written as a fraction: 80% is 0.8"],
        ["trader.marginRatio > 80.0 % && true", 33, "a percentage is written as a fraction: 80.0% is 0.8"],
        [
          'wallet.name == "5%" && (2.5% > trader.leverage)',
          36,
          "a percentage is written as a fraction: 2.5% is 0.025",
        ],
      ] as const)
        expect(problemsOf(when(`'${text}'`)).map((one) => [one.column, one.message])).toEqual([
          [column, message],
        ]);
    });
  });

  test("a limit that a wallet does not have", () => {
    const rule = (when: string, select = "") =>
      `rules:\n  - { name: R, scope: wallet, severity: info, summary: s, when: '${when}', select: { ${select} } }`;
    const wallets = [
      { name: "main", labels: {}, watchOnly: false, limits: { most: 5 } },
      { name: "hedge", labels: {}, watchOnly: false, limits: {} },
      { name: "unread", labels: {}, watchOnly: false },
    ];
    expect(warned(rule("wallet.equity > wallet.limits.most"), { wallets })).toEqual([
      "R cannot be judged for hedge: it has no limit most",
    ]);
    expect(warned(rule("wallet.equity > wallet.limits.most", "wallet: [main]"), { wallets })).toEqual([]);
    const guarded = "has(wallet.limits.most) && wallet.equity > wallet.limits.most";
    expect(warned(rule(guarded), { wallets })).toEqual([]);
  });
  describe("limits that differ by market", () => {
    const rule = (about: string, text: string, select = "") =>
      `rules:\n  - { name: R, ${about}, severity: info, summary: s, when: '${text}', select: { ${select} } }`;
    const notional = "position.notional > wallet.limits.inventory";
    const wallets = [
      { name: "main", labels: {}, watchOnly: false, limits: limitsOf({ inventory: { SOL: 5, default: 1 } }) },
      { name: "hedge", labels: {}, watchOnly: false, limits: limitsOf({ inventory: { SOL: 5, btc: 6 } }) },
      { name: "plain", labels: {}, watchOnly: false, limits: limitsOf({ inventory: 5 }) },
    ];

    test("are missing where a market has none and there is no default", () => {
      expect(warned(rule("scope: position", notional), { wallets })).toEqual([
        "R cannot be judged for hedge: it has no limit inventory for markets other than SOL, BTC (default: is missing)",
      ]);
      expect(warned(rule("scope: position", notional, "symbol: [SOL, ETH]"), { wallets })).toEqual([
        "R cannot be judged for hedge: it has no limit inventory for ETH",
      ]);
      expect(warned(rule("scope: position", notional, "symbol: [sol, BTC]"), { wallets })).toEqual([]);
      expect(
        warned(rule("on: fill", "event.notional > wallet.limits.inventory", "wallet: main"), { wallets }),
      ).toEqual([]);
    });

    test.each([
      ["scope: trader", "trader.grossNotional > wallet.limits.inventory"],
      ["scope: trader", "trader.positions.exists(p, p.notional > wallet.limits.inventory)"],
      ["scope: wallet", "has(wallet.limits.inventory) && wallet.equity > 1.0"],
      ["scope: wallet", 'wallet.equity > wallet.limits["inventory"]'],
      ["on: collateral", "event.amountUsd > wallet.limits.inventory"],
    ])("are refused where there is no market: %s: %s", (about, text) => {
      expect(
        problemsOf(rule(about, text), { wallets }).map(({ line, message }) => `${line} ${message}`),
      ).toEqual([
        "2 main, hedge have the limit inventory by market, and what this rule is about has no market: use `scope: position`, or a limit of another name that is one number",
      ]);
      expect(problemsOf(rule(about, text, "wallet: plain"), { wallets })).toEqual([]);
    });
  });

  test("a wallet without a session hears no notifications", () => {
    const rule = (select: string) =>
      `rules:\n  - { name: R, on: notification, severity: info, summary: s, select: { ${select} } }`;
    expect(warned(rule(""))).toEqual([
      "R cannot apply to seen: without a session there are no notifications",
    ]);
    expect(warned(rule("desk: alpha"))).toEqual([]);
    expect(warned(rule("wallet: main"))).toEqual([]);
  });
  test("a label that no wallet has, a staleAfter that nothing can keep", () => {
    expect(warned(short("select: { dsk: alpha }\n    when: 1 < 2"))).toEqual([
      "no wallet has the label dsk: the rule has no subjects",
    ]);
    expect(warned(short("staleAfter: 1s\n    when: position.size > 1"))).toEqual([
      "staleAfter is shorter than the schedule of traderState, markets: those keep three times their schedule",
    ]);
  });
});

describe("what comes out", () => {
  test("defaults, reads and windows of a condition", () => {
    const rule = condition("trader.equity < 1 && exchange.active", {
      summary: '{{ maxOver("trader.leverage", "1h") }} {{ trader.name }}',
    });
    expect(rule).toMatchObject({
      kind: "condition",
      name: "R",
      forMs: 0,
      keepFiringForMs: 60_000,
      noData: "alert",
      readsNow: false,
      file: "my.yaml",
      line: 2,
      labels: {},
      runbook: null,
      description: null,
      value: null,
    });
    // What only a message names is no reason to judge, but its window is kept.
    expect(rule.reads.map((read) => `${read.scope}.${read.field}`)).toEqual([
      "trader.equity",
      "exchange.active",
    ]);
    expect(rule.windows).toHaveLength(1);
    expect(rule.staleAfterMs.traderState).toBe(3 * scheduleMs.traderState);
    expect(condition("trader.equity < 1", { severity: "info" }).noData).toBe("keep");
    expect(condition("now > timestamp('2026-01-01T00:00:00Z')").readsNow).toBe(true);
  });

  test("the fingerprint is that of the condition, not of its words or timers", () => {
    const one = condition("trader.equity < 1").fingerprint;
    expect(condition("trader.equity < 1", { for: "5m", summary: "other" }).fingerprint).toBe(one);
    expect(condition("trader.equity < 2").fingerprint).not.toBe(one);
    expect(condition("trader.equity < 1", { severity: "info" }).fingerprint).not.toBe(one);
  });

  test("selection and the words of events", () => {
    expect(
      load(short("select: { desk: alpha, symbol: [SOL, BTC] }\n    when: 1 < 2")).conditions[0]!.select,
    ).toEqual({
      wallet: null,
      symbol: ["SOL", "BTC"],
      labels: { desk: ["alpha"] },
    });
    const rule = eventRule("notification", "true", { throttle: "1m", acknowledge: "whenDelivered" });
    expect(rule).toMatchObject({ throttleMs: 60_000, acknowledge: "whenDelivered", severity: "info" });
  });
});

describe("the vocabulary", () => {
  test("every field of every scope and event compiles and answers when it is there", () => {
    const sample = {
      number: 1,
      boolean: true,
      text: "x",
      enum: "x",
      duration: 5,
      time: 5,
      texts: {},
      numbers: {},
      positions: [],
      orders: [],
      capabilities: {},
    };
    for (const scope of scopes) {
      const values = Object.fromEntries(vocabulary[scope].map((field) => [field.name, sample[field.type]]));
      for (const field of vocabulary[scope]) {
        const by: Record<string, string> = scope === "book" ? { by: "market" } : {};
        const rule = condition(`has(${scope}.${field.name})`, { scope, ...by });
        expect(rule.levels[0]!.when.run(env({ [scope]: facts(values) })), `${scope}.${field.name}`).toBe(
          true,
        );
        expect(field.meaning, field.name).not.toBe("");
      }
    }
    for (const kind of eventKinds) {
      const values = Object.fromEntries(
        eventVocabulary[kind].map((field) => [field.name, sample[field.type]]),
      );
      for (const field of eventVocabulary[kind]) {
        const rule = eventRule(kind, `has(event.${field.name})`);
        expect(rule.when.run(env({ event: facts(values) })), `${kind}.${field.name}`).toBe(true);
      }
    }
  });
  test("no name stands twice", () => {
    for (const fields of [...Object.values(vocabulary), ...Object.values(eventVocabulary)]) {
      const names = fields.map((field) => field.name);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

test.each([
  ["a keypair", "[12,34,56,78,90,12,34,56]"],
  ["a secret in base58", "4wBqpZM9xaSheZzJSMawUHDgZ7miWfSsxmTVF5jJpYP"],
  ["passwords", "root:$6$saltsalt$hashhash:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::"],
  ["another YAML", "smtp:\n  password: hunter2\n  - x"],
  ["no YAML", '{"password": "hunter2"'],
])("a file that is named as rules and is none is named, not quoted: %s", (_, secret) => {
  const problems = problemsOf(secret);
  expect(problems).toMatchObject([
    { line: 1, column: 1, source: "", message: "a rule file begins with rules: and a list of rules" },
  ]);
  expect(problems.map((one) => formatProblem(one)).join()).not.toContain(secret.slice(0, 8));
});
