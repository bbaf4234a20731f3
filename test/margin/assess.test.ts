import { describe, expect, test } from "vitest";
import type { MarketConfig, SubaccountState } from "../../src/domain/account.ts";
import { assessAccount } from "../../src/margin/assess.ts";
import type {
  AccountRisk,
  LeverageTier,
  MarketAssessment,
  MarketFigures,
  MarketRisk,
} from "../../src/margin/model.ts";
import { ratioOf, riskStateOf, riskTierOf } from "../../src/margin/risk-state.ts";
import { Sheet } from "../../src/margin/sheet.ts";
import { usdFromTicks } from "../../src/margin/units.ts";
import { crossView, exampleAccount, isolatedView, markets, marks, type WireView } from "./wire.ts";

const assess = (account: AccountRisk) => assessAccount(account, markets, marks);
const gold = markets.get("GOLD")!;
/** A second tier, above the one that there is. */
const tiersWith = (change: Partial<LeverageTier>): readonly LeverageTier[] => {
  const [first] = gold.leverageTiers;
  return [
    { ...first!, maxSizeBaseLots: 1, maxLeverage: 1, limitOrderRiskFactorBps: 0 },
    { ...first!, ...change },
  ];
};

function marketOf(assessed: { markets: readonly MarketAssessment[] }, symbol: string): MarketAssessment {
  const found = assessed.markets.find((market) => market.symbol === symbol);
  if (found === undefined) throw new Error(`${symbol} was not assessed`);
  return found;
}

function figuresOf(assessed: { markets: readonly MarketAssessment[] }, symbol: string): MarketFigures {
  return marketOf(assessed, symbol).figures!;
}

describe.each([
  ["cross", 0, crossView],
  ["isolated", 1, isolatedView],
] as const)("the exchange's own view of the %s subaccount", (_name, index, view: WireView) => {
  const assessed = assess(exampleAccount(index));

  test("has the same sums", () => {
    expect(assessed.unknown).toEqual([]);
    expect(assessed.collateralQuoteLots).toBe(view.collateralBalance.value);
    expect(assessed.unsettledFundingQuoteLots).toBe(view.unsettledFundingOwed.value);
    expect(assessed.totals).toMatchObject({
      effectiveCollateralQuoteLots: view.effectiveCollateral.value,
      effectiveCollateralForWithdrawalsQuoteLots: view.effectiveCollateralForWithdrawals.value,
      unrealizedQuoteLots: view.unrealizedPnl.value,
      discountedQuoteLots: view.discountedUnrealizedPnl.value,
      portfolioValueQuoteLots: view.portfolioValue.value,
      initialMarginQuoteLots: view.initialMargin.value,
      initialMarginForWithdrawalsQuoteLots: view.initialMarginForWithdrawals.value,
      cancelMarginQuoteLots: view.cancelMargin.value,
      maintenanceMarginQuoteLots: view.maintenanceMargin.value,
      riskState: view.riskState,
      riskTier: view.riskTier,
    });
  });

  test.each(view.positions)("has the same figures of $symbol", (position) => {
    const market = marketOf(assessed, position.symbol);
    expect(market.baseLots).toBe(position.positionSize.value);
    expect(market.unsettledFundingQuoteLots).toBe(position.unsettledFunding.value);
    expect(market.entryPriceUsd).toBeCloseTo(position.entryPrice.value / 1e6, 9);
    expect(market.figures).toMatchObject({
      positionValueQuoteLots: position.positionValue.value,
      unrealizedQuoteLots: position.unrealizedPnl.value,
      discountedQuoteLots: position.discountedUnrealizedPnl.value,
      positionInitialMarginQuoteLots: position.positionInitialMargin.value,
      initialMarginQuoteLots: position.initialMargin.value,
      limitOrderMarginQuoteLots: position.limitOrderMargin.value,
      maintenanceMarginQuoteLots: position.maintenanceMargin.value,
      backstopMarginQuoteLots: position.backstopMargin.value,
    });
    expect(market.liquidation.kind).toBe("price");
    if (market.liquidation.kind === "price") {
      expect(Math.round(market.liquidation.usd * 1e6)).toBe(position.liquidationPrice.value);
    }
  });
});

test("ratios, distances and notionals of the worked examples", () => {
  const cross = assess(exampleAccount(0));
  expect(cross.totals!.marginRatio).toBeCloseTo(0.3051, 4);
  expect(cross.totals!.initialRatio).toBeCloseTo(2706.758 / 4435.6715, 12);
  expect(cross.totals!.leverage).toBeCloseTo((15_100 + 27_243) / 4435.6715, 12);
  expect(cross.totals!.grossNotionalQuoteLots).toBe(42_343_000_000);
  expect(cross.totals!.netNotionalQuoteLots).toBe(-12_143_000_000);
  expect(cross.totals!.freeCollateralQuoteLots).toBe(4_435_671_500 - 2_706_758_000);
  expect(marketOf(cross, "BTC").liquidation).toMatchObject({ kind: "price", ticks: 47_754 });
  expect(marketOf(cross, "SOL").liquidation).toMatchObject({ kind: "price", ticks: 16_793 });
  const sol = marketOf(cross, "SOL").liquidation;
  expect(sol.kind === "price" ? sol.distance : Number.NaN).toBeCloseTo(0.1095, 4);
  expect(marketOf(cross, "ETH")).toMatchObject({ baseLots: 0, liquidation: { kind: "none" } });
  expect(figuresOf(cross, "ETH").initialMarginQuoteLots).toBe(135_558_000);

  const isolated = assess(exampleAccount(1));
  expect(isolated.totals!.marginRatio).toBeCloseTo(0.5356, 4);
  expect(marketOf(isolated, "GOLD").liquidation).toMatchObject({ kind: "price", ticks: 23_015, usd: 2301.5 });
});

describe("what is missing is unknown, and nothing else is", () => {
  test("a missing mark", () => {
    const assessed = assessAccount(
      exampleAccount(0),
      markets,
      new Map([...marks].filter(([s]) => s !== "SOL")),
    );
    expect(assessed.unknown).toEqual([{ symbol: "SOL", reason: "noMark" }]);
    expect(assessed.totals).toBeUndefined();
    expect(assessed.collateralQuoteLots).toBe(5_200_000_000);
    expect(figuresOf(assessed, "BTC").maintenanceMarginQuoteLots).toBe(377_500_000);
    expect(marketOf(assessed, "BTC").liquidation).toEqual({ kind: "unknown" });
    expect(marketOf(assessed, "SOL")).toMatchObject({ figures: undefined, entryPriceUsd: 148.2 });
  });

  test("an unknown symbol, and a mark that is none", () => {
    const account = exampleAccount(0);
    const strange = { symbol: "NEW", baseLots: 5, virtualQuoteLots: -5, unsettledFundingQuoteLots: 0 };
    const assessed = assessAccount(
      { ...account, positions: [...account.positions, strange] },
      markets,
      new Map([...marks, ["BTC", 0]]),
    );
    expect(assessed.unknown).toEqual([
      { symbol: "BTC", reason: "noMark" },
      { symbol: "NEW", reason: "noMarket" },
    ]);
  });

  test.each([
    ["a fraction for a tick size", { tickSize: 0.5 }],
    [
      "a risk factor that is no number",
      { riskFactors: { ...markets.get("GOLD")!.riskFactors, upnl: Number.NaN } },
    ],
    [
      "an endless leverage",
      { leverageTiers: [{ ...markets.get("GOLD")!.leverageTiers[0]!, maxLeverage: Infinity }] },
    ],
    ["leverages between which no line can be drawn", { leverageTiers: tiersWith({ maxLeverage: 1e308 }) }],
    ["a leverage below nothing", { leverageTiers: tiersWith({ maxLeverage: -1e308 }) }],
    [
      "order factors between which no line can be drawn",
      { leverageTiers: tiersWith({ limitOrderRiskFactorBps: 1e308 }) },
    ],
    ["an order factor below nothing", { leverageTiers: tiersWith({ limitOrderRiskFactorBps: -1 }) }],
  ])("a market's configuration with %s", (_what, wrong) => {
    const gold = { ...markets.get("GOLD")!, ...wrong };
    const assessed = assessAccount(exampleAccount(1), new Map([["GOLD", gold]]), marks);
    expect(assessed.unknown).toEqual([{ symbol: "GOLD", reason: "badMarket" }]);
    expect(assessed.totals).toBeUndefined();
  });

  test("an order of less than nothing", () => {
    const order = {
      symbol: "GOLD",
      side: "bid",
      priceTicks: 1,
      remainingLots: 1,
      reduceOnly: false,
    } as const;
    const account = { ...exampleAccount(1), orders: [{ ...order, remainingLots: -(2n ** 60n) }] };
    expect(assess(account).unknown).toEqual([{ symbol: "GOLD", reason: "notAnInteger" }]);
    expect(assess({ ...account, orders: [{ ...order, priceTicks: -1 }] }).totals).toBeUndefined();
    expect(
      new Sheet().assess({ ...account, orders: [{ ...order, remainingLots: -1 }] }, markets, marks),
    ).toBe(false);
  });

  test("orders that do not count need no mark", () => {
    const order = { symbol: "NEW", side: "bid", priceTicks: 1, remainingLots: 1, reduceOnly: false } as const;
    const account = {
      collateralQuoteLots: 5,
      positions: [],
      orders: [{ ...order, status: "filled" }],
    };
    expect(assess(account)).toMatchObject({ unknown: [], totals: { effectiveCollateralQuoteLots: 5 } });
  });

  test("an amount that is no integer", () => {
    const account = exampleAccount(1);
    const position = { ...account.positions[0]!, virtualQuoteLots: Number.NaN };
    expect(assess({ ...account, positions: [position] }).unknown).toEqual([
      { symbol: "GOLD", reason: "notAnInteger" },
    ]);
    const broke = assess({ ...account, collateralQuoteLots: Number.NaN });
    expect(broke.totals).toBeUndefined();
    expect(marketOf(broke, "GOLD").liquidation).toEqual({ kind: "unknown" });
  });
});

describe("edges of an account", () => {
  test("nothing at all", () => {
    expect(assess({ collateralQuoteLots: 0, positions: [], orders: [] }).totals).toMatchObject({
      riskState: "zeroCollateralNoPositions",
      riskTier: "safe",
      marginRatio: 0,
      leverage: 0,
    });
  });

  test("a position without collateral is liquidatable where it stands", () => {
    const account = { ...exampleAccount(1), collateralQuoteLots: 0 };
    const assessed = assess(account);
    expect(assessed.totals).toMatchObject({
      riskState: "underwater",
      riskTier: "highRisk",
      marginRatio: Number.POSITIVE_INFINITY,
      leverage: Number.POSITIVE_INFINITY,
      freeCollateralQuoteLots: 0,
    });
    expect(marketOf(assessed, "GOLD").liquidation).toMatchObject({
      kind: "price",
      ticks: 24_116,
      distance: 0,
    });
  });

  test("a long that is fully paid for has no liquidation price", () => {
    const account = { ...exampleAccount(1), collateralQuoteLots: 20_000_000_000 };
    expect(marketOf(assess(account), "GOLD").liquidation).toEqual({ kind: "none" });
  });

  test("a flip turns the boundary to the other side of the mark", () => {
    const account = exampleAccount(1);
    const long = account.positions[0]!;
    const short = { ...long, baseLots: -4000, virtualQuoteLots: 9_744_800_000 };
    const flipped = marketOf(assess({ ...account, positions: [short] }), "GOLD").liquidation;
    expect(flipped.kind === "price" && flipped.ticks > 24_116).toBe(true);
  });

  test("a position of size 0 with a remaining quote side counts as result only", () => {
    const account = exampleAccount(1);
    const closed = { ...account.positions[0]!, baseLots: 0, virtualQuoteLots: -7 };
    const assessed = assess({ ...account, positions: [closed] });
    expect(assessed.totals).toMatchObject({ unrealizedQuoteLots: -7, initialMarginQuoteLots: 0 });
    expect(marketOf(assessed, "GOLD")).toMatchObject({
      entryPriceUsd: undefined,
      liquidation: { kind: "none" },
    });
  });

  test("amounts beyond 2^53 stay exact", () => {
    const lots = 40_000_000_000_000n;
    const account = {
      collateralQuoteLots: 2n ** 70n,
      positions: [
        {
          symbol: "GOLD",
          baseLots: lots,
          virtualQuoteLots: -(lots * 2_436_200n),
          unsettledFundingQuoteLots: 1,
        },
      ],
      orders: [],
    };
    const assessed = assess(account);
    const value = lots * 24_116n * 100n;
    expect(figuresOf(assessed, "GOLD").positionValueQuoteLots).toBe(value);
    // Above the last tier the leverage is 1.
    expect(figuresOf(assessed, "GOLD").initialMarginQuoteLots).toBe(value);
    expect(assessed.totals!.effectiveCollateralQuoteLots).toBe(2n ** 70n + 1n + value - lots * 2_436_200n);
  });
});

test.each([
  [-1, "highRisk"],
  [0, "highRisk"],
  [99, "highRisk"],
  [100, "backstopLiquidatable"],
  [199, "backstopLiquidatable"],
  [200, "liquidatable"],
  [499, "liquidatable"],
  [500, "cancellable"],
  [749, "cancellable"],
  [750, "atRisk"],
  [999, "atRisk"],
  [1000, "safe"],
])("effective collateral %i of an initial margin of 1000 is %s", (effective, tier) => {
  expect(
    riskTierOf({
      effectiveCollateralQuoteLots: effective,
      initialMarginQuoteLots: 1000,
      cancelMarginQuoteLots: 750,
      maintenanceMarginQuoteLots: 500,
      backstopMarginQuoteLots: 200,
      highRiskMarginQuoteLots: 100,
    }),
  ).toBe(tier);
});

test.each([
  [1000, 1000, "healthy"],
  [999, 1000, "unhealthy"],
  [1, 0, "healthy"],
  [0, 1000, "underwater"],
  [-1, 0, "underwater"],
  [0, 0, "zeroCollateralNoPositions"],
])("effective collateral %i against %i is %s", (effective, initial, state) => {
  expect(riskStateOf(effective, initial)).toBe(state);
});

test("a ratio of nothing required is 0 even without collateral", () => {
  expect(ratioOf(0, 0)).toBe(0);
  expect(ratioOf(0, -5)).toBe(0);
  expect(ratioOf(1, 0)).toBe(Number.POSITIVE_INFINITY);
  expect(ratioOf(1n, 4n)).toBe(0.25);
});

test("crossing orders reserve the loss of their fill, reduce-only ones as far as they can reduce", () => {
  const order = { symbol: "GOLD", side: "bid", priceTicks: 24_126, remainingLots: 5000 } as const;
  const account = (size: number, reduceOnly: boolean) => ({
    collateralQuoteLots: 10_000_000_000,
    positions: [
      { symbol: "GOLD", baseLots: size, virtualQuoteLots: -size * 2_411_600, unsettledFundingQuoteLots: 0 },
    ],
    orders: [{ ...order, reduceOnly }],
  });
  const margin = (size: number, reduceOnly: boolean) =>
    figuresOf(assess(account(size, reduceOnly)), "GOLD").limitOrderMarginQuoteLots;
  expect(margin(-4000, true)).toBe(4000 * 10 * 100);
  expect(margin(4000, true)).toBe(0);
  // 5000 against a short of 4000 does not more than flip it: only the loss counts.
  expect(margin(-4000, false)).toBe(5000 * 10 * 100);
  // On top of a long it adds its own margin at leverage 10.
  expect(margin(4000, false)).toBe(5000 * 10 * 100 + (5000 * 2_411_600) / 10);
});

test("prices of the examples in USD", () => {
  expect(usdFromTicks(15_135, markets.get("SOL")!)).toBe(151.35);
  expect(usdFromTicks(60_400, markets.get("BTC")!)).toBe(60_400);
});

test("the domain's own states are taken as they are, bigints and all", () => {
  const account = exampleAccount(0);
  const state: Pick<SubaccountState, "collateralQuoteLots" | "positions" | "orders"> = {
    collateralQuoteLots: BigInt(account.collateralQuoteLots),
    positions: account.positions.map((position) => ({
      symbol: position.symbol,
      baseLots: BigInt(position.baseLots),
      virtualQuoteLots: BigInt(position.virtualQuoteLots),
      unsettledFundingQuoteLots: BigInt(position.unsettledFundingQuoteLots),
      accumulatedFundingQuoteLots: 0n,
      sequence: "1",
      triggers: [],
    })),
    orders: account.orders.map((order) => ({
      symbol: order.symbol,
      side: order.side,
      priceTicks: BigInt(order.priceTicks),
      remainingLots: BigInt(order.remainingLots),
      reduceOnly: order.reduceOnly,
      status: "active",
      sequence: "1",
      kind: "limit",
      initialLots: 0n,
      stopLoss: false,
    })),
  };
  const configs: ReadonlyMap<string, Pick<MarketConfig, keyof MarketRisk>> = new Map(
    [...markets].map(([symbol, market]) => [
      symbol,
      {
        ...market,
        leverageTiers: market.leverageTiers.map((t) => ({
          ...t,
          maxSizeBaseLots: BigInt(t.maxSizeBaseLots),
        })),
      },
    ]),
  );
  expect(assessAccount(state, configs, marks)).toEqual(assess(account));
});
