/** Collateral in other assets: its value comes from the exchange's own view, which is read more seldom than the rest. */
import { expect, test } from "vitest";
import type { TraderViewState } from "../../src/domain/account.ts";
import { Harness, mainWallet, rulesOf, scheduleMs, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Poor
    scope: trader
    when: trader.equity < 1000.0
    severity: critical
    keepFiringFor: 0s
    summary: "poor"
`;
const spotCollaterals = [{ assetIndex: 1, symbol: "SOL", balance: 5_000n, decimals: 9 }];
const account = (balance: bigint) => [
  subaccount(500, [], { spotCollaterals: [{ ...spotCollaterals[0]!, balance }] }),
];

function view(harness: Harness, spotUsd: number): void {
  const figures = {
    effectiveCollateralUsd: 0,
    portfolioValueUsd: 0,
    initialMarginUsd: 0,
    maintenanceMarginUsd: 0,
  };
  const state: TraderViewState = {
    ...figures,
    pdaIndex: 0,
    subaccount: 0,
    slot: harness.slot,
    spotNotionalUsd: spotUsd,
    spotDiscountedUsd: spotUsd,
    riskState: "healthy",
    riskTier: "safe",
    positions: [],
  };
  harness.see({ kind: "traderView", atMs: harness.nowMs, wallet: "main", view: state });
}

function open(balance = 5_000n): Harness {
  const ruleSet = rulesOf(rules, [mainWallet], { ...scheduleMs, traderView: 60_000 });
  const harness = new Harness({ rules: ruleSet });
  harness.config();
  harness.mark(150);
  harness.account(account(balance));
  return harness;
}

test("an account with it is judged as soon as the view tells its value", () => {
  const harness = open();
  expect(harness.told).toEqual([]);
  view(harness, 100);
  expect(harness.told).toEqual(["Poor main/0.0 fired critical"]);
});

test("a value that is too old is none: nothing fires or resolves by it, and somebody says so", () => {
  const harness = open();
  view(harness, 2_000);
  harness.live(175_000, account(5_000n), 150);
  expect(harness.told).toEqual([]);
  harness.live(60_000, account(4_000n), 150);
  expect(harness.told).toEqual(["Blind main fired critical"]);
  expect(harness.changes[0]?.alert.labels.source).toBe("traderView");
  view(harness, 2_000);
  expect(harness.told.at(-1)).toBe("Blind main ended critical recovered");
});

test("without any of it the view is of no matter, and what was withdrawn counts no more", () => {
  const none = open(0n);
  expect(none.told).toEqual(["Poor main/0.0 fired critical"]);
  none.live(600_000, account(0n), 150);
  expect(none.told.filter((line) => line.startsWith("Blind"))).toEqual([]);

  const withdrawn = open();
  view(withdrawn, 2_000);
  expect(withdrawn.told).toEqual([]);
  withdrawn.account(account(0n));
  expect(withdrawn.told).toEqual(["Poor main/0.0 fired critical"]);
});
