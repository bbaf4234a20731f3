/** Limits and signs on which an alert turns: each of these was changed once without any test failing. */
import { describe, expect, test } from "vitest";
import type { TriggerState } from "../../src/domain/account.ts";
import { event, Harness, mainWallet, position, subaccount } from "./harness.ts";

function unknownOf(harness: Harness, rule: string, subject: string): string | null {
  const answer = harness.watch.explain(rule, subject, harness.nowMs);
  if (answer.kind !== "explained") throw new Error(answer.kind);
  return answer.explanation.unknown;
}

test("an account whose equity is unknown is not counted as 0 in the sums of its wallet and of books", () => {
  const rules = `
rules:
  - name: Poor
    scope: wallet
    when: wallet.equity < 10000.0
    severity: critical
    summary: "poor"
  - name: PoorBook
    scope: book
    by: none
    when: book.equity < 10000.0
    severity: critical
    summary: "poor"
`;
  const harness = Harness.seeing({ rules }, 150);
  const assets = (...assetIndices: readonly number[]): void => {
    const asset = { symbol: "SOL", decimals: 9, perpAssetId: null, maxGlobalBalance: 1n };
    const discounts = { minMarginDiscountBps: 0, maxMarginDiscountBps: 0 };
    const list = assetIndices.map((assetIndex) => ({ assetIndex, ...asset, ...discounts }));
    harness.see({ kind: "collateralAssets", atMs: harness.nowMs, assets: list });
  };
  // All sources have answered; what the other account holds besides cannot be valued.
  assets(1);
  const spotCollaterals = [{ assetIndex: 2, symbol: "ETH", balance: 5n, decimals: 9 }];
  const held = [
    subaccount(5_000, [position(1, 150)]),
    subaccount(8_000, [], { subaccount: 1, spotCollaterals }),
  ];
  const answer = (accounts = held): void => {
    harness.mark(150);
    harness.account(accounts);
  };
  answer();
  answer();
  expect(harness.told).toEqual([]);
  expect(unknownOf(harness, "Poor", "main")).toBe("wallet.equity is not there");
  expect(unknownOf(harness, "PoorBook", "book/PoorBook")).toBe("book.equity is not known of main");
  assets(1, 2);
  answer();
  expect(harness.told).toEqual([]);
  expect(unknownOf(harness, "Poor", "main")).toBeNull();
  answer([held[0]!]);
  expect([...harness.told].sort()).toEqual([
    "Poor main fired critical",
    "PoorBook book/PoorBook fired critical",
  ]);
});

test("of two answers of one slot the later one by its index counts", () => {
  const rules = `
rules:
  - name: Poor
    scope: trader
    when: trader.collateral < 1000.0
    severity: critical
    keepFiringFor: 0s
    summary: "poor"
`;
  const harness = Harness.seeing({ rules }, 150);
  const answer = (slotIndex: number, collateralUsd: number): void => {
    const subaccounts = [subaccount(collateralUsd, [], { sequence: 1 })];
    harness.see({
      kind: "accounts",
      wallet: "main",
      pdaIndex: 0,
      atMs: harness.nowMs,
      slot: 100,
      slotIndex,
      subaccounts,
    });
  };
  answer(5, 2_000);
  answer(4, 500);
  expect(harness.told).toEqual([]);
  answer(6, 500);
  expect(harness.told).toEqual(["Poor main/0.0 fired critical"]);
  // An answer of the very same place is as new.
  answer(6, 2_000);
  harness.pass(1_000);
  answer(6, 2_000);
  expect(harness.told.at(-1)).toBe("Poor main/0.0 ended critical recovered");
});

test.each([
  ["a long", 10, 13_000n, 12_350n],
  ["a short", -10, 13_000n, 13_650n],
] as const)(
  "the room of a stop loss is positive where it may execute at a worse price: %s",
  (_, size, trigger, execution) => {
    const rules = `
rules:
  - name: Wide
    scope: position
    when: position.stopLossRoom > 0.049 && position.stopLossRoom < 0.051
    severity: warning
    summary: "wide"
`;
    const stop: TriggerState = {
      kind: "stopLoss",
      id: "1",
      triggerPriceTicks: trigger,
      executionPriceTicks: execution,
      side: size > 0 ? "ask" : "bid",
      maxSizeLots: null,
      percent: null,
      status: "active",
    };
    const harness = Harness.seeing({ rules }, 130, [
      subaccount(5_000, [{ ...position(size, 130), triggers: [stop] }]),
    ]);
    expect(harness.told).toEqual(["Wide main/0.0/SOL fired warning"]);
  },
);

describe("a liquidation is the reason of an end by when it happened", () => {
  const rules = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    keepFiringFor: 0s
    summary: "near"
  - name: MarginHigh
    scope: trader
    when: trader.marginRatio > 0.5
    severity: warning
    keepFiringFor: 5m
    summary: "margin"
`;
  const held = [subaccount(1_000, [position(100, 150)])];

  /** @param sinceGoneMs when the liquidation happened, after the answer without the position */
  function endedAfter(sinceGoneMs: number): string[] {
    const harness = Harness.seeing({ rules }, 145.2, held);
    harness.live(90_000, held, 145.2);
    const { slot } = harness;
    harness.pass(1_000);
    const goneMs = harness.nowMs;
    harness.account([subaccount(10, [])]);
    harness.pass(Math.max(0, sinceGoneMs) + 1_000);
    const fields = { kind: "market", role: "liquidatee", positionClosed: true };
    const happenedMs = goneMs + sinceGoneMs;
    harness.events("notifications", [
      event({ kind: "liquidation", key: "l", slot: slot + 5, happenedMs, fields }),
    ]);
    harness.config();
    harness.mark(145.2);
    harness.account([subaccount(10, [])]);
    return harness.told.filter((line) => line.includes("ended"));
  }

  test.each([
    // The clocks may differ by a minute: the position was seen a second before it was gone.
    [-61_000, true],
    [-61_001, false],
    [0, true],
    [15_000, true],
    [15_001, false],
  ])("%d ms after the answer without the position: %s", (ms, liquidated) => {
    expect(endedAfter(ms).includes("Near main/0.0/SOL ended critical liquidated")).toBe(liquidated);
  });

  test.each([
    [-60_000, true],
    [-60_001, false],
  ])("what a liquidation emptied is not waited for, %d ms before the answer: %s", (ms, liquidated) => {
    expect(endedAfter(ms).includes("MarginHigh main/0.0 ended warning liquidated")).toBe(liquidated);
  });
});

describe("wallets without data", () => {
  const rules = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    summary: "near"
`;
  const names = ["a", "b", "c", "d"];
  const wallets = names.map((name) => ({ ...mainWallet, name }));

  /** Time in which only these wallets answer. */
  function pass(harness: Harness, ms: number, answering: readonly string[]): void {
    for (let passed = 0; passed < ms; passed += 5_000) {
      harness.pass(5_000);
      harness.config();
      harness.mark(150);
      for (const name of answering) harness.account([subaccount(9_000, [position(1, 150)])], name);
    }
  }

  /** The alerts that fired, without their severities. */
  const fired = (harness: Harness): string[] =>
    harness.told.flatMap((line) => /^(.*) fired /.exec(line)?.[1] ?? []).sort();

  test("three are told one by one, four as one", () => {
    for (const silent of [3, 4]) {
      const harness = new Harness({ rules, wallets });
      pass(harness, 10_000, names);
      pass(harness, 120_000, names.slice(silent));
      expect(fired(harness)).toEqual(silent === 3 ? ["Blind a", "Blind b", "Blind c"] : ["Blind exchange"]);
    }
  });

  test("where nothing answers at all, it is the exchange from four wallets on", () => {
    for (const [count, rule] of [
      [3, "Blind exchange"],
      [4, "ExchangeUnreachable exchange"],
    ] as const) {
      const harness = new Harness({ rules, wallets: wallets.slice(0, count) });
      pass(harness, 10_000, names.slice(0, count));
      harness.pass(120_000);
      expect(fired(harness)).toEqual([rule]);
    }
  });
});
