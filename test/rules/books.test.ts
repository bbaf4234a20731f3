/** Rules of scope book and pair: how they are loaded, and what their names are. */
import { describe, expect, test } from "vitest";
import { parseSubject, type Subject, subjectName } from "../../src/domain/subject.ts";
import { isUnknown, judge } from "../../src/rules/index.ts";
import { condition, env, facts, load, nowMs, problemsOf } from "./kit.ts";

const rule = (lines: string) => `rules:
  - name: R
    scope: book
    severity: info
    summary: s
${lines
  .split("\n")
  .map((line) => `    ${line}\n`)
  .join("")}`;
const told = (text: string) => problemsOf(text).map(({ line, message }) => `${line} ${message}`);

describe("names", () => {
  test.each<[string, Subject | undefined]>([
    ["book/Net", { scope: "book", rule: "Net", symbol: null }],
    ["book/Net/SOL", { scope: "book", rule: "Net", symbol: "SOL" }],
    ["pair/basis", { scope: "pair", pair: "basis" }],
    [
      "book/Net/desk=alpha",
      { scope: "book", rule: "Net", symbol: null, label: { name: "desk", value: "alpha" } },
    ],
    [
      "book/Net/desk=a/b=c",
      { scope: "book", rule: "Net", symbol: null, label: { name: "desk", value: "a/b=c" } },
    ],
    ["book/Net/desk=", undefined],
    ["book", undefined],
    ["book/", undefined],
    ["book/Net/", undefined],
    ["book/Net/SOL/x", undefined],
    ["pair/basis/SOL", undefined],
    ["pair", undefined],
  ])("%s", (name, subject) => {
    expect(parseSubject(name)).toEqual(subject);
    if (subject) expect(subjectName(subject)).toBe(name);
  });
});

describe("loading", () => {
  test.each([
    ["by: market\nwhen: abs(book.netSize) * market.markPrice > 5.0", []],
    ["by: none\nwhen: book.equity < 5.0", []],
    ["when: book.equity < 5.0", []],
    ["by: desk\nwhen: book.feesToday > 5.0", []],
    ["by: dsk\nwhen: book.equity < 5.0", ["6 by: no wallet has the label dsk"]],
    [
      "by: desk\nwhen: book.netSize > 0.0",
      ["6 book.netSize is of one market: write by: market, or select one symbol"],
    ],
    ["select: { symbol: SOL }\nwhen: book.netSize < 5.0", []],
    ["by: symbol\nwhen: book.equity < 5.0", ["6 by: no wallet has the label symbol"]],
    [
      "when: market.markPrice < 5.0",
      [
        '6 market.markPrice is of scope market; here the scope is book, over all markets. Use `by: market`, or market("SOL").markPrice of one market',
      ],
    ],
    [
      "by: none\nwhen: book.netSize > 0.0",
      ["6 book.netSize is of one market: write by: market, or select one symbol"],
    ],
    ["when: book.netNotinal > 0.0", ["6 unknown field book.netNotinal"]],
    [
      "when: wallet.equity > 0.0",
      ["6 wallet.equity is of scope wallet; here the scope is book. Use `scope: wallet`, or book.equity"],
    ],
    ["select: { pair: x }\nwhen: book.equity < 5.0", []],
  ])("%s", (lines, wanted) => expect(told(rule(lines))).toEqual(wanted));

  test("only books are made by market", () => {
    const text = rule("by: market\nwhen: trader.equity > 0.0").replace("scope: book", "scope: trader");
    expect(told(text)).toEqual(["6 by: belongs to rules of scope book"]);
  });

  test("a book that no wallet is part of is told of", () => {
    const { warnings } = load(rule("select: { desk: gamma }\nwhen: book.equity < 5.0"));
    expect(warnings.map(({ message }) => message)).toEqual(["R selects no wallet: its book is empty"]);
  });

  test("a book by label of which no selected wallet carries the label is told of", () => {
    const plain = { name: "plain", labels: {}, watchOnly: true };
    const { warnings } = load(rule("by: desk\nselect: { wallet: plain }\nwhen: book.equity < 5.0"), {
      wallets: [{ name: "main", labels: { desk: "alpha" }, watchOnly: true }, plain],
    });
    expect(warnings.map(({ message }) => message)).toContain("R selects no wallet: its book is empty");
  });

  test("another selection is another condition, of books alone", () => {
    const print = (lines: string) => load(rule(lines)).conditions[0]!.fingerprint;
    const plain = "when: book.equity < 5.0";
    expect(print(`select: { desk: alpha }\n${plain}`)).not.toBe(print(plain));
    expect(print(`by: none\n${plain}`)).toBe(print(plain));
    expect(print(`by: market\n${plain}`)).not.toBe(print(plain));
  });
});

describe("judging", () => {
  const pair = (values: object, seenMs = nowMs, silent: readonly string[] = []) => ({
    ...facts({ ...values }, seenMs),
    silent: () => silent,
  });
  const outcome = (when: string, of: ReturnType<typeof pair>) => {
    const judged = judge(condition(when, { scope: "pair" }), env({ pair: of }), null);
    return judged.kind === "known" ? judged.severity : judged.unknown;
  };

  test.each([
    [Number.POSITIVE_INFINITY, null],
    [nowMs - 15_000, null],
    [nowMs - 15_001, "critical"],
    [Number.NEGATIVE_INFINITY, "critical"],
  ])("time since a pair was whole: %d", (lopsidedFor, wanted) => {
    expect(outcome('pair.lopsidedFor > duration("15s")', pair({ lopsidedFor }))).toBe(wanted);
  });

  test("what is stale says whose it is, also where another side would decide by itself", () => {
    const lopsided = 'pair.imbalance > 0.1 && pair.lopsidedFor > duration("15s")';
    const old = pair({ imbalance: 0.5, lopsidedFor: nowMs - 1_000 }, nowMs - 60_000, ["one", "two"]);
    const unknown = outcome(lopsided, old);
    expect(isUnknown(unknown) && unknown).toMatchObject({
      unknown: "stale",
      wallet: "one",
      detail: "pair.imbalance cannot be told: nothing new from traderState of one, two",
    });
    const many = pair({ imbalance: 0.5 }, nowMs - 60_000, ["a", "b", "c", "d", "e", "f", "g"]);
    expect(outcome(lopsided, many)).toMatchObject({
      detail: expect.stringMatching(/of a, b, c, d, e and 2 more$/),
    });
  });
});
