/** No rule file reads a prototype, calls what is not in the vocabulary, or takes unbounded time: refused when it is loaded. */
import { expect, test } from "vitest";
import { problemsOf } from "./kit.ts";

const attacks: readonly string[] = [
  "trader.__proto__ != null",
  "trader.constructor == 1",
  "trader.constructor.constructor == 1",
  "trader.prototype == 1",
  "trader.toString == 1",
  "trader.valueOf == 1",
  "trader.hasOwnProperty == 1",
  'trader["__proto__"] == 1',
  'trader["equity"] > 1.0',
  'position.symbol["constructor"] == 1',
  "position.symbol.__proto__ == 1",
  "position.symbol.length > 1",
  "position.symbol.constructor('return process')()",
  "trader.positions.constructor == 1",
  "trader.positions.length > 1",
  "trader.positions[0].constructor == 1",
  "trader.positions.map(p, p.__proto__) == 1",
  "trader.positions.exists(p, p.constructor == 1)",
  "trader.positions.exists(constructor, constructor.constructor == 1)",
  "trader.positions.exists(__proto__, true)",
  "wallet.labels.__proto__.x == 1",
  'wallet.labels["__proto__"]["constructor"] == 1',
  "wallet.limits.constructor.name == 1",
  "value.__proto__ == 1",
  "value.constructor > 1",
  "event.constructor == 1",
  "now.constructor == 1",
  "now.getTime() > 1",
  'market("__proto__").constructor == 1',
  'market("BTC").__proto__ == 1',
  'market("BTC")["markPrice"] > 1.0',
  "globalThis.process == 1",
  "process.exit(1)",
  "process.env.HOME == 1",
  "require('fs') == 1",
  "import('fs') == 1",
  "eval('1') == 1",
  "Function('1') == 1",
  "this.x == 1",
  "new Date() > 1",
  "() => 1",
  "function() {}",
  "`x` == 1",
  "trader.equity = 1",
  "trader.equity++ > 1",
  "delete trader.equity",
  "(trader.equity, 1) > 1",
  'position.symbol.matches("(a|a)*$")',
  'matches(position.symbol, "(a+)+$")',
  'position.symbol.replace("a", "b") == 1',
  'position.symbol.split("") == 1',
  'position.symbol.repeat(1000000) == ""',
  "dyn(trader) == 1",
  "type(trader.equity) == double",
  "cel.bind(x, trader, x.constructor)",
  'maxOver("trader.__proto__", "1h") > 1.0',
  'maxOver("trader.constructor", "1h") > 1.0',
  'maxOver("__proto__.equity", "1h") > 1.0',
  'maxOver("value.constructor", "1h") > 1.0',
  'maxOver("trader.equity", "1h", "true") > 1.0',
  'countOver("fill", "1h", "fill.constructor == 1") > 1.0',
  'sumOver("fill.__proto__", "1h") > 1.0',
  "{'a': 1}.constructor == 1",
  "[1, 2].constructor == 1",
  "[[1, 2], [3]].map(a, a.map(b, [1].map(c, b + c))) == 1",
  `[${"1,".repeat(99)}1].all(a, [${"1,".repeat(99)}1].all(b, ${"a * b + ".repeat(20)}1 > 0))`,
  `${"(".repeat(500)}true${")".repeat(500)}`,
  `${"!".repeat(1_999)}true`,
  `${"true && ".repeat(240)}true`,
  `"${"x".repeat(3_000)}" == ""`,
];

test("there are many of them", () => expect(attacks.length).toBeGreaterThan(40));

test.each(attacks)("%.70s", (text) => {
  const problems = problemsOf(
    `rules: [ { name: R, scope: position, severity: info, summary: s, when: ${JSON.stringify(text)} } ]`,
  );
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.every(({ line, message }) => line > 0 && message !== "")).toBe(true);
  // A text is no way around.
  const printed = problemsOf(
    `rules: [ { name: R, scope: position, severity: info, when: "true", summary: ${JSON.stringify(`{{ ${text} }}`)} } ]`,
  );
  expect(printed.length).toBeGreaterThan(0);
});
