/** The parts of a rule's expressions, as `rules explain` shows them. */
import { expect, test } from "vitest";
import { explainParts } from "../../src/rules/index.ts";
import { condition, env, facts, load, nowMs } from "./kit.ts";

const told = (rule: string) => {
  const { conditions } = load(`rules:\n  - name: A\n    scope: trader\n    severity: info\n${rule}`);
  const trader = facts({ marginRatio: 0.5, equity: 1_000, freeCollateral: 250, leverage: 3 });
  const of = env({ trader });
  const value = conditions[0]!.value?.run(of);
  const own = typeof value === "number" ? { ...of, value } : of;
  return explainParts(conditions[0]!, own).map(
    ({ depth, text, value: found }) => `${depth} ${text} = ${found}`,
  );
};

test("a part keeps its parentheses", () => {
  expect(
    told(
      `    when: trader.marginRatio > 0.8 || (trader.equity < 10.0 && (trader.leverage > 2.0))\n    summary: "a"\n`,
    ),
  ).toEqual([
    "0 trader.marginRatio > 0.8 || (trader.equity < 10.0 && (trader.leverage > 2.0)) = false",
    "1 trader.marginRatio > 0.8 = false",
    "2 trader.marginRatio = 50%",
    "1 trader.equity < 10.0 && (trader.leverage > 2.0) = false",
    "2 trader.equity < 10.0 = false",
    "3 trader.equity = $1,000.00",
    "2 trader.leverage > 2.0 = true",
    "3 trader.leverage = 3×",
  ]);
});

test("what is in quotes is no parenthesis", () => {
  expect(told(`    when: '"a(" != "b)" && (trader.equity < 10.0)'\n    summary: "a"\n`)[0]).toBe(
    '0 "a(" != "b)" && (trader.equity < 10.0) = false',
  );
});

test("a value is printed as the rule's messages print it", () => {
  const value = `    value: (trader.equity - trader.freeCollateral) / (trader.equity + 0.0)\n    when: value > 0.5\n`;
  expect(told(`${value}    summary: "{{ percent(value) }}"\n`)).toEqual([
    "0 (trader.equity - trader.freeCollateral) / (trader.equity + 0.0) = 75%",
    "1 trader.equity - trader.freeCollateral = $750.00",
    "2 trader.equity = $1,000.00",
    "2 trader.freeCollateral = $250.00",
    "1 trader.equity + 0.0 = $1,000.00",
    "0 value > 0.5 = true",
    "1 value = 75%",
  ]);
  expect(told(`${value}    summary: "{{ value }}"\n`).at(-1)).toBe("1 value = 0.75");
});

test("a part has the ages of what it reads itself, through named values too, and of nothing else", () => {
  const rule = condition('market.spread > 1.0 && market.symbol != "SOL" && market("SOL").spread > 2.0', {
    scope: "market",
  });
  const of = env({
    market: facts({ spread: 1, symbol: "BTC" }, nowMs - 1_000),
    markets: () => facts({ spread: 2 }, nowMs - 9_000),
  });
  const ages = explainParts(rule, of).map(({ text, ageMs }) => `${text}: ${ageMs}`);
  expect(ages).toEqual([
    'market.spread > 1.0 && market.symbol != "SOL" && market("SOL").spread > 2.0: 9000',
    'market.spread > 1.0 && market.symbol != "SOL": 1000',
    "market.spread > 1.0: 1000",
    "market.spread: 1000",
    'market.symbol != "SOL": null',
    "market.symbol: null",
    'market("SOL").spread > 2.0: 9000',
    'market("SOL").spread: 9000',
  ]);
  const { conditions } = load(
    [
      "values: [{ name: gap, scope: market, value: market.spread }]",
      "rules: [{ name: A, scope: market, when: value.gap > 1.0, severity: info, summary: a }]",
      "",
    ].join("\n"),
  );
  expect(explainParts(conditions[0]!, of).map(({ text, ageMs }) => `${text}: ${ageMs}`)).toEqual([
    "value.gap > 1.0: 1000",
    "value.gap: 1000",
  ]);
});
