/** Collateral in other assets: valued from the balance in the account's state, the list of assets and the index price. */
import { describe, expect, test } from "vitest";
import type { CollateralAsset, MarketPrices, OrderState, SubaccountState } from "../../src/domain/account.ts";
import { Harness, mainWallet, marketConfig, position, prices, rulesOf, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Poor
    scope: trader
    when: trader.equity < 1000.0
    severity: critical
    keepFiringFor: 0s
    summary: "{{ usd(trader.equity) }}"
  - name: Liquidatable
    scope: trader
    when: trader.marginRatio > 1.0
    severity: critical
    keepFiringFor: 0s
    summary: "liquidatable"
  - name: Distance
    scope: position
    when: position.liquidationDistance < 1000.0
    severity: info
    summary: "{{ position.liquidationPrice }}"
  - name: Move
    scope: trader
    when: trader.moveToLiquidation < 1000.0
    severity: info
    summary: "{{ trader.moveToLiquidation }}"
`;

const sol: CollateralAsset = {
  assetIndex: 4_294_901_760,
  symbol: "SOL",
  decimals: 9,
  perpAssetId: 1,
  maxGlobalBalance: 1_000_000n * 10n ** 9n,
  minMarginDiscountBps: 1_000,
  maxMarginDiscountBps: 3_000,
};
const units = (balance: number) => BigInt(Math.round(balance * 1e9));

function account(balance: number, over: Partial<SubaccountState> = {}, collateralUsd = 500): SubaccountState {
  const { assetIndex, symbol, decimals } = sol;
  return subaccount(collateralUsd, [], {
    spotCollaterals: [{ assetIndex, symbol, balance: units(balance), decimals }],
    ...over,
  });
}

function assets(harness: Harness, ...list: readonly CollateralAsset[]): void {
  harness.see({ kind: "collateralAssets", atMs: harness.nowMs, assets: list });
}

function open(text = rules): Harness {
  const harness = Harness.seeing({ rules: rulesOf(text, [mainWallet]) }, 150);
  return harness;
}

const numberIn = (text = ""): number => Number(text.replaceAll(/[$,%]/g, ""));
const summaryOf = (harness: Harness, rule: string): string | undefined =>
  harness.changes.findLast(({ alert }) => alert.rule === rule)?.alert.summary;
const figure = (harness: Harness, name: string): unknown =>
  harness.watch.status(harness.nowMs).wallets[0]!.accounts[0]!.figures[name];

test("the first state is valued at once, the balance of each further one with it", () => {
  const harness = open();
  assets(harness, sol);
  harness.account([account(100)]);
  // Equity counts the whole value.
  expect(figure(harness, "equity")).toBe(500 + 15_000);
  expect(figure(harness, "effectiveCollateral")).toBeCloseTo(500 + 15_000 * 0.9, 6);
  harness.account([account(2)]);
  expect(harness.told).toEqual(["Poor main/0.0 fired critical"]);
  expect(summaryOf(harness, "Poor")).toBe("$800.00");
  harness.account([account(0)]);
  expect(figure(harness, "equity")).toBe(500);
});

test.each([false, true])("the value moves with the index price, not with the mark; live: %s", (live) => {
  const harness = open();
  assets(harness, sol);
  harness.account([account(10)]);
  const tell = (price: MarketPrices): void => {
    harness.nowMs += 250;
    harness.see({ kind: "prices", atMs: harness.nowMs, markets: [price], ...(live ? { live } : {}) });
  };
  tell({ ...prices(150), markPriceUsd: 20 });
  expect(figure(harness, "equity")).toBe(2_000);
  tell({ ...prices(150), oraclePriceUsd: 40 });
  expect(figure(harness, "equity")).toBe(900);
  expect(harness.told).toEqual(["Poor main/0.0 fired critical"]);
});

describe("the printed liquidation price", () => {
  const held = { long: position(60, 150), short: position(-60, 150) };
  const cases: [string, "long" | "short", number, number][] = [
    ["of a long that is backed by the same asset", "long", 50, -2_000],
    ["of a long with little of it", "long", 3, 900],
    ["of a short that is backed by the same asset", "short", 20, 0],
  ];
  test.each(cases)("%s is where the account becomes liquidatable", (_, side, balance, collateralUsd) => {
    const harness = open();
    assets(harness, sol);
    harness.account([account(balance, { positions: [held[side]] }, collateralUsd)]);
    const liquidation = numberIn(summaryOf(harness, "Distance"));
    const move = numberIn(summaryOf(harness, "Move")) / 100;
    expect(liquidation).toBeGreaterThan(0);
    // The only market moves alone or with all: the two figures mean the same price.
    expect(150 * (1 + (side === "long" ? -move : move))).toBeCloseTo(liquidation, 0);
    const fired = () => harness.told.filter((line) => line.startsWith("Liquidatable"));
    harness.mark(liquidation + (side === "long" ? 0.01 : -0.01));
    expect(fired()).toEqual([]);
    harness.mark(liquidation);
    expect(fired()).toEqual(["Liquidatable main/0.0 fired critical"]);
  });

  test("counts what the fall takes from the collateral: 23 % away, not 31 %", () => {
    const harness = open();
    assets(harness, { ...sol, minMarginDiscountBps: 0, maxMarginDiscountBps: 0 });
    // Without a fall of the collateral 30 × 150 USD are lost at 31 %.
    harness.account([account(10, { positions: [position(30, 150)] }, 0)]);
    const liquidation = numberIn(summaryOf(harness, "Distance"));
    const fixed = (150 * 30 - 1_500) / (30 - 30 / 30);
    expect((150 - fixed) / 150).toBeCloseTo(0.3103, 4);
    expect((150 - liquidation) / 150).toBeCloseTo(0.2308, 3);
  });
});

describe("while an input was not read, the figures that need it are unknown, and not computed without it", () => {
  const held = account(100, { positions: [position(60, 150)] });
  const blind = (harness: Harness) =>
    harness.changes.filter(({ alert }) => alert.rule === "Blind").map(({ alert }) => alert.labels.source);

  test("the list of assets", () => {
    const harness = open();
    harness.account([held]);
    harness.live(40_000, [held], 150);
    expect(harness.told.filter((line) => !line.startsWith("Blind"))).toEqual([]);
    expect(blind(harness)).toEqual(["marketConfig"]);
    assets(harness, sol);
    expect(harness.told.slice(1)).toEqual([
      "Distance main/0.0/SOL fired info",
      "Blind exchange ended critical recovered",
      "Move main/0.0 fired info",
    ]);
  });

  test("an asset that the list does not name", () => {
    const harness = open();
    assets(harness, { ...sol, assetIndex: 7 });
    harness.account([held]);
    expect(harness.told).toEqual([]);
    expect(figure(harness, "equity")).toBeUndefined();
    expect(harness.asks).toContain("marketConfig null");
    harness.live(40_000, [held], 150);
    expect(blind(harness)).toEqual(["marketConfig"]);
    expect(harness.changes[0]!.alert.summary).toMatch(
      /no collateral asset rules from the exchange .*\(the list of collateral assets does not name SOL\)$/,
    );
    assets(harness, sol);
    expect(harness.told).toContain("Blind exchange ended critical recovered");
  });

  test("an asset whose market is not listed", () => {
    const harness = open();
    assets(harness, { ...sol, perpAssetId: 99 });
    harness.account([held]);
    harness.live(40_000, [held], 150);
    expect(blind(harness)).toEqual(["marketConfig"]);
    expect(harness.changes[0]!.alert.summary).toMatch(
      /\(the market list has no market of SOL as collateral\)$/,
    );
  });

  test("the price of its market, though nothing is held there", () => {
    const harness = open();
    harness.config(marketConfig(), marketConfig("BTC", { assetId: 2 }));
    assets(harness, { ...sol, perpAssetId: 2 });
    harness.account([held]);
    harness.live(40_000, [held], 150);
    expect(harness.told.filter((line) => !line.startsWith("Blind"))).toEqual([]);
    expect(blind(harness)).toEqual(["markets"]);
  });
});

test("what does not count as collateral at present adds nothing", () => {
  const harness = open();
  assets(harness, { ...sol, perpAssetId: null });
  harness.account([account(100)]);
  expect(harness.told).toEqual(["Poor main/0.0 fired critical"]);
  expect(summaryOf(harness, "Poor")).toBe("$500.00");
});

test("a price that is too old makes the value too old", () => {
  const harness = open();
  const answer = (balance: number, ...markets: readonly (number | MarketPrices)[]): void => {
    harness.pass(5_000);
    harness.config(marketConfig(), marketConfig("BTC", { assetId: 2 }));
    assets(harness, { ...sol, perpAssetId: 2 });
    harness.mark(150, ...markets);
    harness.account([account(balance)]);
  };
  const btc = prices(60_000, "BTC");
  answer(0.001, btc);
  expect(harness.told).toEqual(["Poor main/0.0 fired critical"]);
  for (let i = 0; i < 12; i++) answer(i < 4 ? 0.001 : 1);
  // The price of BTC was told a minute ago: what the collateral is worth now is not known.
  expect(harness.told.slice(1)).toEqual(["Blind exchange fired warning"]);
  expect(harness.changes.at(-1)?.alert.labels.source).toBe("markets");
  answer(1, btc);
  answer(1, btc);
  expect(harness.told.slice(2)).toEqual([
    "Poor main/0.0 ended critical recovered",
    "Blind exchange ended warning recovered",
  ]);
});

test("collateral that is paid in later follows the index price of its market from then on, though nothing is held there", () => {
  const harness = open();
  harness.config(marketConfig(), marketConfig("BTC", { assetId: 2 }));
  harness.mark(150, prices(60_000, "BTC"));
  assets(harness, { ...sol, perpAssetId: 2 });
  // Answers share what did not change.
  const orders: OrderState[] = [];
  harness.account([subaccount(5_000, [], { orders })]);
  harness.account([account(0.1, { orders })]);
  expect(figure(harness, "equity")).toBe(6_500);
  harness.nowMs += 250;
  const fallen = prices(4_000, "BTC");
  harness.see({ kind: "prices", atMs: harness.nowMs, markets: [fallen], live: true });
  expect(figure(harness, "equity")).toBe(900);
  expect(harness.told).toEqual(["Poor main/0.0 fired critical"]);
});

describe("an asset that no longer counts as collateral", () => {
  const unvalued = { ...sol, perpAssetId: null };
  const deep = `${rules}
  - name: Loss
    scope: wallet
    when: wallet.pnl < -1000.0
    severity: critical
    keepFiringFor: 0s
    summary: "{{ usd(wallet.pnl) }}"
`;

  test("by one list of two is unknown: nothing fires, and nothing of it is left", () => {
    const harness = open(deep);
    assets(harness, sol);
    harness.events("collateral", [], "main", { coversMs: 0 });
    harness.account([account(100)]);
    harness.pass(5_000);
    assets(harness, unvalued);
    harness.account([account(100)]);
    expect(figure(harness, "equity")).toBeUndefined();
    harness.pass(5_000);
    assets(harness, sol);
    harness.account([account(100)]);
    expect(figure(harness, "equity")).toBe(500 + 15_000);
    expect(harness.told).toEqual([]);
  });

  test("by two lists in a row counts for nothing", () => {
    const harness = open();
    assets(harness, sol);
    harness.account([account(100)]);
    for (const _ of [1, 2]) {
      expect(harness.told).toEqual([]);
      harness.pass(5_000);
      assets(harness, unvalued);
    }
    expect(figure(harness, "equity")).toBe(500);
    expect(harness.told).toEqual(["Poor main/0.0 fired critical"]);
  });
});
