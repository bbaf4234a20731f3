/** Named values: defined once, named in rules and in history, wrong ones told where they stand. */
import { describe, expect, test } from "vitest";
import { isUnknown } from "../../src/rules/index.ts";
import { env, facts, load, nowMs, problemsOf } from "./kit.ts";

const values = `values:
  - { name: basis, scope: market, value: market.markPrice / market.oraclePrice - 1.0, unit: ratio }
  - { name: heat, scope: position, value: abs(value.basis) * position.leverage }
`;
const rule = (when: string, scope = "position") => `${values}rules:
  - name: R
    scope: ${scope}
    severity: warning
    summary: "{{ value.basis }}"
    when: ${JSON.stringify(when)}
`;

const market = facts({ markPrice: 110, oraclePrice: 100 });
const position = facts({ leverage: 3 });

test("a rule that names a value works it out from what it rests on", () => {
  const [loaded] = load(rule("value.heat > 0.29 && value.heat < 0.31")).conditions;
  expect(loaded!.levels[0]!.when.run(env({ market, position }))).toBe(true);
  expect(loaded!.reads.map(({ scope, field }) => `${scope}.${field}`)).toEqual([
    "market.markPrice",
    "market.oraclePrice",
    "position.leverage",
  ]);
  expect(loaded!.summary.render(env({ market, position }))).toBe("10%");
});

test("it is as fresh as that, and as unknown", () => {
  const [loaded] = load(rule("value.basis > 0", "market")).conditions;
  const old = facts({ markPrice: 110, oraclePrice: 100 }, nowMs - 60_000);
  const answer = loaded!.levels[0]!.when.run(env({ market: old }));
  expect(isUnknown(answer) && answer.unknown).toBe("stale");
});

test("of another market by its name", () => {
  const [loaded] = load(rule(`market('BTC').value.basis > 0.09 && "value.basis" != "x"`)).conditions;
  const markets = (symbol: string) => (symbol === "BTC" ? market : undefined);
  expect(loaded!.levels[0]!.when.run(env({ markets }))).toBe(true);
  expect(loaded!.reads).toMatchObject([
    { scope: "market", symbol: "BTC", field: "markPrice" },
    { scope: "market", symbol: "BTC", field: "oraclePrice" },
  ]);
});

test("it has a history of its own, of another market too", () => {
  const [loaded] = load(
    rule(`maxOver('value.basis', '24h') > 0.1 || avgOver("market[BTC].value.basis", "1h") > 0.1`),
  ).conditions;
  expect(loaded!.windows.map(({ fn, path }) => [fn, path])).toEqual([
    ["maxOver", { kind: "field", scope: "market", field: "value.basis", symbol: null, companion: null }],
    ["avgOver", { kind: "field", scope: "market", field: "value.basis", symbol: "BTC", companion: null }],
  ]);
  expect(loaded!.reads.map(({ field, symbol }) => `${field} ${symbol}`)).toEqual([
    "markPrice null",
    "oraclePrice null",
    "markPrice BTC",
    "oraclePrice BTC",
  ]);
});

test("a value may look back; its windows are those of the rule that names it", () => {
  const text = `values: [ { name: odd, scope: market, value: 'zscore("market.fundingRate", "7d")' } ]
rules: [ { name: R, scope: market, severity: info, summary: s, when: value.odd > 3 } ]`;
  const set = load(text);
  expect(set.conditions[0]!.windows).toEqual(set.values[0]!.windows);
  expect(set.conditions[0]!.levels[0]!.when.run(env({ market: facts({}), window: () => 4 }))).toBe(true);
});

test("a changed value is a changed condition, one that only a text names is not", () => {
  const print = (text: string) => load(text).conditions[0]!.fingerprint;
  const text = rule("value.heat > 1");
  expect(print(text.replace("- 1.0", "- 1.5"))).not.toBe(print(text));
  const plain = rule("position.leverage > 1");
  expect(print(plain.replace("- 1.0", "- 1.5"))).toBe(print(plain));
});

test("values and rules may stand in different files, in any order", () => {
  const [head, tail] = [rule("value.heat > 1").slice(values.length), values];
  const set = load("", {
    files: [
      { name: "a.yaml", text: head },
      { name: "b.yaml", text: tail },
    ],
  });
  expect(set.values.map(({ name, unit, file, line }) => [name, unit, file, line])).toEqual([
    ["basis", "ratio", "b.yaml", 2],
    ["heat", "times", "b.yaml", 3],
  ]);
});

describe("mistakes", () => {
  const told = (text: string) =>
    problemsOf(text).map(({ line, column, message, nearest }) => [line, column, message, nearest]);

  test.each<[string, string, unknown[][]]>([
    ["an unknown value", rule("value.basiss > 1"), [[9, 12, "no value is called basiss", "value.basis"]]],
    [
      "an unknown series",
      rule("maxOver('value.bass', '1h') > 1"),
      [[9, 21, "no value is called bass", "value.basis"]],
    ],
    [
      "out of sight",
      rule("value.heat > 1", "trader"),
      [
        [
          8,
          18,
          "value.basis is of scope market; here the scope is trader. Use `scope: market`, or `scope: position`, which sees trader and market",
          null,
        ],
        [
          9,
          12,
          "value.heat is of scope position; here the scope is trader. Use `scope: position`, or look at all with trader.positions.exists(p, …)",
          null,
        ],
      ],
    ],
    [
      "a circle",
      "values:\n  - { name: a, scope: market, value: value.b + 1 }\n  - { name: b, scope: market, value: 2.0 * value.a }\n",
      [[3, 44, "value.a rests on itself: a → b → a", null]],
    ],
    [
      "itself",
      "values:\n  - { name: a, scope: market, value: value.a + 1 }\n",
      [[2, 38, "value.a rests on itself: a → a", null]],
    ],
    [
      "a wrong one is told once, where it stands",
      rule("value.basis > 1").replace("oraclePrice", "oracelPrice"),
      [[2, 68, "unknown field market.oracelPrice", "oraclePrice"]],
    ],
    [
      "two of one name",
      `${values}  - { name: basis, scope: market, value: market.markPrice }\nrules: []\n`,
      [[4, 13, "the value basis is there already, at my.yaml:2", null]],
    ],
    [
      "text",
      "values: [ { name: a, scope: market, value: market.symbol } ]",
      [[1, 44, "a value must be a number or a duration, this is a text", null]],
    ],
    [
      "a duration",
      "values: [ { name: a, scope: wallet, value: wallet.dataAge } ]",
      [[1, 44, "a named value is a number: its history could not be kept otherwise", null]],
    ],
    [
      "a name with a dot",
      "values: [ { name: a.b, scope: wallet, value: wallet.equity } ]",
      [[1, 19, "a.b is no name of a value", null]],
    ],
    [
      "no list",
      "values: 5\nrules: []",
      [[1, 9, "values: is a list of named values: name, scope, value", null]],
    ],
    [
      "a scope without a history",
      "values: [ { name: a, scope: exchange, value: 1.0 } ]",
      [[1, 29, "scope cannot be exchange", null]],
    ],
    [
      "an unknown key",
      "values: [ { name: a, scope: wallet, vlaue: wallet.equity } ]",
      [
        [1, 11, "value is missing", null],
        [1, 37, "unknown key vlaue", "value"],
      ],
    ],
    [
      "events",
      `values: [ { name: a, scope: wallet, value: 'countOver("fill", "1h")' } ]`,
      [[1, 56, 'countOver knows no events "fill" here', null]],
    ],
    [
      "looking back in a rule on events",
      `values: [ { name: a, scope: wallet, value: 'ago("wallet.equity", "1h")' } ]
rules: [ { name: R, on: fill, severity: info, summary: s, when: value.a > 1 } ]`,
      [[2, 65, "value.a: ago looks back over series, which are kept for conditions only", null]],
    ],
    [
      "another market's that looks back",
      `values: [ { name: a, scope: market, value: 'ago("market.markPrice", "1h")' } ]
rules: [ { name: R, scope: trader, severity: info, summary: s, when: market("BTC").value.a > 1 } ]`,
      [[2, 70, 'market("BTC").value.a looks back over series: name it in a rule of that market', null]],
    ],
    ["the parser's own name for it", rule("value_basis > 1"), [[9, 12, "unknown name value_basis", null]]],
  ])("%s", (_, text, wanted) => expect(told(text)).toEqual(wanted));
});
