/** The configuration and the rules say which advice is given, and where it leads. */
import { expect, test } from "vitest";
import type { AdviceSettings } from "../../src/advice/settings.ts";
import { waysOf } from "../../src/advice/texts.ts";
import type { ClearAmounts } from "../../src/domain/what-if.ts";
import { Harness, position, subaccount } from "../engine/harness.ts";

const rule = (target = "") => `
rules:
  - name: Poor
    scope: trader
    when: trader.marginRatio > 0.5
    resolveWhen: trader.marginRatio < 0.4
    severity: critical
    summary: "poor"${target}
`;

const usual: AdviceSettings = { order: ["transfer", "reduce", "deposit"], headroom: 0.5 };

/** Long 100 SOL at 100 USD: a maintenance margin of 333.33 USD. */
function begun(advice: Partial<AdviceSettings> = {}, rules = rule()): Harness {
  const h = new Harness({ rules, advice: { ...usual, ...advice } });
  h.config();
  h.mark(100);
  h.account([subaccount(10_000, []), subaccount(600, [position(100, 100)], { subaccount: 1 })]);
  return h;
}

function clearOf(h: Harness): ClearAmounts {
  const nothing = { wallet: "main", account: null, prices: [], depositUsd: 0, closes: [] };
  const outcome = h.watch.whatIf(nothing, h.nowMs);
  if (outcome.kind !== "done") throw new Error(JSON.stringify(outcome));
  return outcome.answer.accounts.find(({ name }) => name === "main/0.1")!.clear!;
}

const kinds = (h: Harness) => waysOf("main/0.1", clearOf(h)).map((way) => way.split(" ")[0]);

test("ways stand in the order of the configuration, without those that it leaves out", () => {
  expect(kinds(begun())).toEqual(["transfer", "sell", "deposit"]);
  expect(kinds(begun({ order: ["deposit", "reduce"] }))).toEqual(["deposit", "sell"]);
  expect(kinds(begun({ order: ["transfer"] }))).toEqual(["transfer"]);
  expect(kinds(begun({ order: [] }))).toEqual([]);
});

test("headroom is a share of the daily move, or 2 % where that is not known", () => {
  const upTo = (h: Harness, volatility?: number) => {
    if (volatility !== undefined)
      h.see({
        kind: "external",
        symbol: "SOL",
        atMs: h.nowMs,
        externalPriceUsd: null,
        dailyVolatility: volatility,
      });
    return clearOf(h).upTo[0]!.usd;
  };
  expect(upTo(begun())).toBe(98);
  expect(upTo(begun({ headroom: 2 }))).toBe(98);
  expect(upTo(begun(), 0.06)).toBe(97);
  expect(upTo(begun({ headroom: 2 }), 0.06)).toBe(88);
  expect(upTo(begun({ headroom: 0 }), 0.06)).toBe(100);
});

test("a rule's target is met by the least deposit", () => {
  const depositOf = (target: string) => clearOf(begun({}, rule(`\n    target: ${target}`))).deposit.usd!;
  const plain = clearOf(begun()).deposit.usd!;
  // At 0.1 % less, 333 USD of maintenance margin and 590 USD of collateral: a fifth from 1,665 USD on.
  expect(depositOf("trader.marginRatio <= 0.2")).toBeCloseTo(1_075, 6);
  expect(depositOf("trader.marginRatio <= 0.9")).toBe(plain);
});

test("a reload takes another order, headroom and target", () => {
  const h = begun();
  const advice: AdviceSettings = { order: ["deposit"], headroom: 0 };
  h.reload({ rules: rule("\n    target: trader.marginRatio <= 0.2"), advice });
  expect(kinds(h)).toEqual(["deposit"]);
  expect(clearOf(h).deposit.usd).toBeCloseTo(1_075, 6);
});
