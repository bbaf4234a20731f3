/** Declared hedges: each mistake is one message with its line, and hides no other. */
import { describe, expect, test } from "vitest";
import { settingsFromText } from "../../src/daemon/settings.ts";
import { configFolder } from "./config-folder.ts";

const wallets = `
wallets:
  - { name: main, authority: GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD }
  - { name: hedge, authority: 6JMzcBHW9QMNkeXGLvD37tn4Y5gMrBiBTBVkUp6WEVye }
channels: { here: { type: console } }
rules: own.yaml
`;

function read(text: string, rules?: string) {
  using at = configFolder();
  if (rules !== undefined) at.write("own.yaml", rules);
  return settingsFromText(`${text}\n${wallets}`, { file: "config.yaml", folder: at.path, env: {} });
}

function problems(text: string, rules?: string): string[] {
  const result = read(text, rules);
  if (!("problems" in result)) return [];
  return result.problems.map(
    ({ line, column, path, message, nearest }) =>
      `${line}:${column} ${path}: ${message}${nearest === null ? "" : ` ~ ${nearest}`}`,
  );
}

describe("pairs", () => {
  test("with all accounts of a wallet, or one of them", () => {
    const result = read(`pairs:
  - { name: basis, legs: [main/SOL, hedge/SOL] }
  - { name: three, legs: [main/0.1/btc, main/0.2/BTC, hedge/0.0/BTC], tolerance: 0 }`);
    expect("problems" in result ? result.problems : result.settings.pairs).toEqual([
      { name: "basis", legs: ["main/SOL", "hedge/SOL"], tolerance: 0.02 },
      { name: "three", legs: ["main/0.1/btc", "main/0.2/BTC", "hedge/0.0/BTC"], tolerance: 0 },
    ]);
  });

  test("none are declared: there are none", () => {
    const result = read("");
    expect("problems" in result ? result.problems : result.settings.pairs).toEqual([]);
  });

  test.each([
    ["pairs: basis", ['1:8 pairs: expected a list, found "basis"']],
    [
      "pairs: [{ name: basis, legs: [mian/SOL, hedge/SOL] }]",
      ["1:31 pairs[0].legs[0]: no wallet is called mian ~ main"],
    ],
    [
      "pairs: [{ name: basis, legs: [main, hedge/SOL] }]",
      [
        "1:31 pairs[0].legs[0]: main is no leg: expected WALLET/SYMBOL such as main/SOL, or main/0.1/SOL of one account",
      ],
    ],
    [
      "pairs: [{ name: basis, legs: [main/SOL/0.1, hedge/SOL] }]",
      [
        "1:31 pairs[0].legs[0]: main/SOL/0.1 is no leg: expected WALLET/SYMBOL such as main/SOL, or main/0.1/SOL of one account",
      ],
    ],
    [
      "pairs: [{ name: basis, legs: [main/SOL] }]",
      ["1:24 pairs[0].legs: a pair has at least two legs, such as [main/SOL, hedge/SOL]"],
    ],
    [
      "pairs: [{ name: basis, legs: [main/SOL, main/0.1/sol] }]",
      ["1:41 pairs[0].legs[1]: main/0.1/sol counts what the leg main/SOL counts already"],
    ],
    [
      "pairs: [{ name: basis, legs: [main/SOL, hedge/ETH] }]",
      [
        "1:41 pairs[0].legs[1]: hedge/ETH is not in the market of main/SOL: sizes of different markets do not cancel out",
      ],
    ],
    [
      "pairs:\n  - { name: basis, legs: [main/SOL, hedge/SOL] }\n  - { name: basis, legs: [main/BTC, hedge/BTC] }",
      ["3:13 pairs[1].name: the name basis is taken already, at config.yaml:2"],
    ],
    [
      "pairs: [{ name: basis, legs: [main/SOL, hedge/SOL], tolerance: 1 }]",
      [
        "1:64 pairs[0].tolerance: expected a share of the largest leg, 0 or more and below 1, such as 0.02, found 1",
      ],
    ],
    [
      "pairs: [{ name: basis, legs: [main/SOL, hedge/SOL], tolerance: 2% }]",
      ['1:64 pairs[0].tolerance: expected a number, found "2%"'],
    ],
    [
      "pairs: [{ name: a b, leg: [main/SOL, hedge/SOL] }]",
      [
        "1:9 pairs[0].legs: missing: expected a list",
        '1:17 pairs[0].name: expected letters, digits, _ and -, at most 64, found "a b"',
        "1:22 pairs[0].leg: unknown key leg ~ legs",
      ],
    ],
    // All of them at once.
    [
      "pairs: [{ name: basis, legs: [mian/SOL, hedgy/SOL, main/ETH, hedge/SOL], tolerance: -1 }]",
      [
        "1:31 pairs[0].legs[0]: no wallet is called mian ~ main",
        "1:41 pairs[0].legs[1]: no wallet is called hedgy ~ hedge",
        "1:62 pairs[0].legs[3]: hedge/SOL is not in the market of main/ETH: sizes of different markets do not cancel out",
        "1:85 pairs[0].tolerance: expected a share of the largest leg, 0 or more and below 1, such as 0.02, found -1",
      ],
    ],
  ])("%s", (text, wanted) => expect(problems(text)).toEqual(wanted));

  test("a wallet cannot be called as books and pairs are", () => {
    using at = configFolder();
    const text = wallets.replace("name: main", "name: book");
    const result = settingsFromText(text, { file: "config.yaml", folder: at.path, env: {} });
    expect("problems" in result && result.problems[0]!.message).toMatch(
      /^expected another name than .*book, pair/,
    );
  });
});

describe("rules over pairs", () => {
  const rule = (select: string) => `rules:
  - name: R
    scope: pair
    select: ${select}
    when: pair.imbalance > pair.tolerance
    severity: info
    summary: s
`;
  const pairs = "pairs: [{ name: basis, legs: [main/SOL, hedge/SOL] }]";

  test.each([
    ["{ pair: basis }", []],
    ["{ pair: [basis, bases] }", ["4:13 : no pair is called bases ~ basis"]],
    ["{ wallet: main }", ["4:13 : pairs are selected by their names"]],
  ])("select %s", (select, wanted) => {
    expect(problems(pairs, rule(select)).map((line) => line.replace(/^(\d+):\d+/, "$1:13"))).toEqual(wanted);
  });
});
