/**
 * The SDK's calculators on what the simulator answers: state, configuration and marks go in, and what comes out is held
 * against the simulator's own view of the same account, to the last quote lot.
 */
import * as sdk from "@ellipsis-labs/rise";
import { expect } from "vitest";
import { type Call, type Calls, parses, some } from "./call.ts";
import { type Books, openBooks } from "./margin-books.ts";

/** Expects a subaccount's totals to be those of the simulator's view. */
function asViewed(margin: sdk.MarginTotals, view: sdk.TraderView): string {
  const figures = {
    collateralBalance: margin.collateralBalanceQuoteLots,
    effectiveCollateral: margin.effectiveCollateralQuoteLots,
    effectiveCollateralForWithdrawals: margin.effectiveCollateralForWithdrawalsQuoteLots,
    portfolioValue: margin.portfolioValueQuoteLots,
    initialMargin: margin.initialMarginQuoteLots,
    initialMarginForWithdrawals: margin.initialMarginForWithdrawalsQuoteLots,
    maintenanceMargin: margin.maintenanceMarginQuoteLots,
    cancelMargin: margin.cancelMarginQuoteLots,
    unrealizedPnl: margin.unrealizedPnlQuoteLots,
    discountedUnrealizedPnl: margin.discountedUnrealizedPnlQuoteLots,
  };
  const viewed = Object.fromEntries(
    Object.keys(figures).map((name) => [name, String(view[name as keyof typeof figures].value)]),
  );
  expect({ ...figures, riskTier: margin.riskTier, riskState: margin.riskState }).toEqual({
    ...viewed,
    riskTier: view.riskTier,
    riskState: view.riskState,
  });
  return `${Object.keys(figures).length} figures as the view has them`;
}

function bothAsViewed({ subaccounts }: sdk.TraderMarginResult, { views }: Books): string {
  expect(subaccounts).toHaveLength(views.length);
  return subaccounts.map((it, i) => asViewed(it.margin, views[i]!))[0]!;
}

function liquidationsAsViewed(result: sdk.SubaccountLiquidationPricesResult, view: sdk.TraderView): string {
  for (const { symbol, liquidationPriceUsd } of result.positions) {
    const viewed = view.positions.find((it) => it.symbol === symbol);
    // The view writes 0 where there is none.
    expect([symbol, (liquidationPriceUsd ?? 0).toFixed(6)]).toEqual([symbol, viewed?.liquidationPrice.ui]);
  }
  return some(result.positions, "liquidation prices as viewed");
}

const margin = (look: (books: Books) => string | Promise<string>): Call =>
  parses(async (desk) => look(await openBooks(desk)));

const calculator = (look: (it: sdk.MarginCalculator, books: Books) => string): Call =>
  margin((books) => look(sdk.createMarginCalculator(books.params), books));

const liquidationsOf = ({ subaccounts }: sdk.TraderLiquidationPricesResult, { views }: Books) =>
  subaccounts.map((it, i) => liquidationsAsViewed(it, views[i]!)).join(", ");
const marginOf = ({ cross, markets }: Books) => sdk.computeSubaccountMargin(cross, markets);
const solOf = (books: Books) => {
  const subaccount = marginOf(books);
  const market = subaccount.marketMargins.find((it) => it.symbol === "SOL")!;
  return {
    subaccount,
    market,
    params: books.markets.SOL!,
    inputs: books.cross.markets.find((it) => it.symbol === "SOL")!,
  };
};

const fill = { symbol: "SOL", side: "ask" as const, baseLots: "100", priceTicks: "14500" };
const builder = { symbol: "SOL", side: "bid" as const, orderType: "limit" as const, priceTicks: 14_000 };
const close = { type: "closePosition" as const, symbol: "SOL" };
const closed = (after: sdk.MarginTotals, before: sdk.MarginTotals) => {
  expect(BigInt(after.initialMarginQuoteLots)).toBeLessThan(BigInt(before.initialMarginQuoteLots));
  return "less margin without SOL";
};
const sold = (it: sdk.SimulatedPositionFillResult) => {
  expect(it.priceUsd).toBe(145);
  return `sold 1 SOL at ${it.priceUsd}`;
};
const positive = (lots: string | bigint) => {
  expect(BigInt(lots)).toBeGreaterThan(0n);
  return String(lots);
};

const store = (look: (it: sdk.MarginMarketParamsStore, books: Books) => string | Promise<string>): Call =>
  margin(async (books) => {
    const api = books.desk.client.api;
    const markets = { getMarkets: async () => ({ slot: 1, markets: books.summaries }) };
    const it = new sdk.MarginMarketParamsStore({
      client: { markets, collateral: () => api.collateral() } as never,
      priceSource: { getMarkPrices: async () => books.marks },
    });
    return look(it as never, books);
  });
const inStore = (look: (it: sdk.MarginCalculator, books: Books) => string): Call =>
  store(async (it, books) => look(await it.getCalculator(), books));

const calculatorCalls: Record<string, (it: sdk.MarginCalculator, books: Books) => string> = {
  computeTraderMargin: (it, books) => bothAsViewed(it.computeTraderMargin(books.inputs), books),
  computeSubaccountMargin: (it, { cross, views }) =>
    asViewed(it.computeSubaccountMargin(cross).margin, views[0]!),
  computeTraderMarginFromInputs: (it, books) =>
    bothAsViewed(it.computeTraderMarginFromInputs(books.inputs), books),
  computeSubaccountMarginFromInputs: (it, { cross, views }) =>
    asViewed(it.computeSubaccountMarginFromInputs(cross).margin, views[0]!),
  computeTraderLiquidationPricesFromInputs: (it, books) =>
    liquidationsOf(it.computeTraderLiquidationPricesFromInputs(books.inputs), books),
  computeSubaccountLiquidationPricesFromInputs: (it, { cross, views }) =>
    liquidationsAsViewed(it.computeSubaccountLiquidationPricesFromInputs(cross), views[0]!),
  simulateMargin: (it, { cross }) => {
    const result = it.simulateMargin({ subaccount: cross, actions: [close] });
    return closed(result.after.margin, result.before.margin);
  },
  simulateMarginScenarios: (it, { cross }) =>
    some(
      it.simulateMarginScenarios({ subaccount: cross, scenarios: [{ label: "close", actions: [close] }] })
        .scenarios,
      "scenario",
    ),
  simulatePositionFill: (it, { cross }) => sold(it.simulatePositionFill({ subaccount: cross, ...fill })),
};

export const marginCalls: Calls = {
  createMarginCalculator: calculator((it, books) =>
    bothAsViewed(it.computeTraderMargin(books.inputs), books),
  ),
  computeTraderMargin: parses(async (desk) => {
    // Of everybody: whom the seed gave other positions, too.
    let accounts = 0;
    for (const { authority } of desk.simulator.traders) {
      const books = await openBooks(desk, authority);
      bothAsViewed(sdk.computeTraderMargin(books.inputs, books.markets), books);
      accounts += books.views.length;
    }
    return `of all ${accounts} accounts as their views have it`;
  }),
  computeTraderMarginFromInputs: margin((books) =>
    bothAsViewed(sdk.computeTraderMarginFromInputs(books.inputs, books.markets), books),
  ),
  computeSubaccountMargin: margin((books) => asViewed(marginOf(books).margin, books.views[0]!)),
  computeSubaccountMarginFromInputs: margin(({ cross, markets, views }) =>
    asViewed(sdk.computeSubaccountMarginFromInputs(cross, markets).margin, views[0]!),
  ),
  computeTraderLiquidationPricesFromInputs: parses(async (desk) => {
    let prices = 0;
    for (const { authority } of desk.simulator.traders) {
      const books = await openBooks(desk, authority);
      const result = sdk.computeTraderLiquidationPricesFromInputs(books.inputs, books.markets);
      for (const [i, it] of result.subaccounts.entries()) {
        if (it.positions.length > 0) liquidationsAsViewed(it, books.views[i]!);
        prices += it.positions.length;
      }
    }
    expect(prices).toBeGreaterThan(5);
    return `all ${prices} as viewed`;
  }),
  computeTraderLiquidationPricesFromMargin: margin((books) => {
    const trader = sdk.computeTraderMargin(books.inputs, books.markets);
    return liquidationsOf(
      sdk.computeTraderLiquidationPricesFromMargin(trader, books.markets, books.inputs),
      books,
    );
  }),
  computeSubaccountLiquidationPricesFromInputs: margin(({ cross, markets, views }) =>
    liquidationsAsViewed(sdk.computeSubaccountLiquidationPricesFromInputs(cross, markets), views[0]!),
  ),
  computeSubaccountLiquidationPricesFromMargin: margin((books) =>
    liquidationsAsViewed(
      sdk.computeSubaccountLiquidationPricesFromMargin(marginOf(books), books.markets, books.cross),
      books.views[0]!,
    ),
  ),
  computeMarketLiquidationPriceFromMargin: margin((books) => {
    const { market, subaccount, params, inputs } = solOf(books);
    const result = sdk.computeMarketLiquidationPriceFromMargin(market, subaccount, params, inputs)!;
    return liquidationsAsViewed({ subaccountIndex: 0, positions: [result] }, books.views[0]!);
  }),
  computeMarketProjectedLiquidationFromMargin: margin((books) => {
    const { market, subaccount, params } = solOf(books);
    expect(sdk.computeMarketProjectedLiquidationFromMargin(market, subaccount, params)).not.toBeNull();
    return "with the orders on the way";
  }),
  computeSubaccountProjectedLiquidationFromMargin: margin((books) =>
    some(
      sdk.computeSubaccountProjectedLiquidationFromMargin(marginOf(books), books.markets).positions,
      "positions",
    ),
  ),
  createProjectedLiquidationCalculator: margin((books) => {
    const compute = sdk.createProjectedLiquidationCalculator() as never;
    const all = sdk.computeSubaccountProjectedLiquidationFromMargin(marginOf(books), books.markets, compute);
    return some(all.positions, "positions");
  }),
  computeProjectedLiquidation: margin((books) => {
    const { market, subaccount, params } = solOf(books);
    // What the market form of it hands on is what the plain one takes.
    const through = (input: sdk.ProjectedLiquidationInput, markets: sdk.NormalizedMarketParams) =>
      sdk.computeProjectedLiquidation(input, markets);
    expect(sdk.computeMarketProjectedLiquidationFromMargin(market, subaccount, params, through)).toEqual(
      sdk.computeMarketProjectedLiquidationFromMargin(market, subaccount, params),
    );
    return "as through the market";
  }),
  computeDraftOrderMarginRequirementFromInputs: margin(({ cross, params }) =>
    positive(
      sdk.computeDraftOrderMarginRequirementFromInputs({
        subaccount: cross,
        markets: params as never,
        draftOrder: { ...builder, sizeBaseLots: 10_000 },
      }).marginRequirementQuoteLots,
    ),
  ),
  computeDraftOrderMarginRequirementFromSnapshot: margin(({ snapshot, params }) =>
    positive(
      sdk.computeDraftOrderMarginRequirementFromSnapshot({
        subaccount: snapshot.subaccounts[0] as never,
        markets: params as never,
        draftOrder: { ...builder, sizeBaseLots: 10_000 },
      }).marginRequirementQuoteLots,
    ),
  ),
  computeMaxDraftOrderSizeForAvailableMarginFromInputs: margin(({ cross, params }) =>
    positive(
      sdk.computeMaxDraftOrderSizeForAvailableMarginFromInputs({
        subaccount: cross,
        markets: params as never,
        draftOrder: builder,
        maxSizeBaseLots: 1_000_000,
        availableMarginQuoteLots: 1_000_000_000,
      }),
    ),
  ),
  computeMaxDraftOrderSizeForAvailableMarginFromSnapshot: margin(({ snapshot, params }) =>
    positive(
      sdk.computeMaxDraftOrderSizeForAvailableMarginFromSnapshot({
        subaccount: snapshot.subaccounts[0] as never,
        markets: params as never,
        draftOrder: builder,
        maxSizeBaseLots: 1_000_000,
        availableMarginQuoteLots: 1_000_000_000,
      }),
    ),
  ),
  simulateMarginFromInputs: margin(({ cross, markets }) => {
    const result = sdk.simulateMarginFromInputs({ subaccount: cross, actions: [close] }, markets);
    return closed(result.after.margin, result.before.margin);
  }),
  simulateMarginScenariosFromInputs: margin(({ cross, markets }) =>
    some(
      sdk.simulateMarginScenariosFromInputs(
        { subaccount: cross, scenarios: [{ label: "close", actions: [close] }] },
        markets,
      ).scenarios,
      "scenario",
    ),
  ),
  simulatePositionFillFromInputs: margin(({ cross, markets }) =>
    sold(sdk.simulatePositionFillFromInputs({ subaccount: cross, ...fill }, markets)),
  ),
  buildTraderMarginInputsFromSnapshot: margin(({ inputs }) => some(inputs.subaccounts, "subaccounts")),
  buildSubaccountMarginInputsFromSnapshot: margin(({ snapshot, inputs }) => {
    const [cross] = snapshot.subaccounts;
    expect(sdk.buildSubaccountMarginInputsFromSnapshot(cross as never)).toEqual(inputs.subaccounts[0]);
    return "as in the whole";
  }),
  buildMarketMarginInputsFromSnapshot: margin(({ snapshot, cross }) => {
    const [first] = snapshot.subaccounts;
    const position = first!.positions.find((it) => it.symbol === "SOL");
    const orders = first!.orders.find((it) => it.symbol === "SOL")?.orders ?? [];
    expect(sdk.buildMarketMarginInputsFromSnapshot("SOL", position as never, orders as never)).toEqual(
      cross.markets.find((it) => it.symbol === "SOL"),
    );
    return "as in the whole";
  }),
  buildMarginPositionStateFromSnapshot: margin(({ snapshot }) =>
    positive(
      sdk.buildMarginPositionStateFromSnapshot(
        snapshot.subaccounts[0]!.positions.find((it) => it.symbol === "SOL") as never,
      ).basePositionLots,
    ),
  ),
  buildMarketParamsBySymbol: margin(({ params }) => some(params, "markets")),
  buildMarketParamsBySymbolFromParams: margin(({ params }) =>
    some(Object.keys(sdk.buildMarketParamsBySymbolFromParams(params)), "markets"),
  ),
  buildMarketParamsFromSummary: margin(({ summaries, marks }) => {
    const [first] = summaries;
    return positive(sdk.buildMarketParamsFromSummary(first!, marks[first!.symbol])!.markPriceTicks);
  }),
  buildNormalizedMarketParamsBySymbol: margin(({ markets }) => some(Object.keys(markets), "markets")),
  normalizeMarketParams: margin(({ params }) => sdk.normalizeMarketParams(params[0]!).symbol),
  spotCollateralParamsFromAssets: margin(async ({ desk }) => {
    const assets = await desk.client.api.collateral().getAssets();
    expect(sdk.spotCollateralParamsFromAssets(assets, new Map([[0, "SOL"]]))).toEqual([
      expect.objectContaining({ symbol: "SOL", perpSymbol: "SOL", decimals: 9 }),
    ]);
    return "native SOL, priced by its market";
  }),
  spotCollateralBalancesFromInputs: margin(({ cross }) => {
    expect(sdk.spotCollateralBalancesFromInputs(cross)).toEqual({});
    return "none";
  }),

  ...Object.fromEntries(
    Object.entries(calculatorCalls).map(([name, look]) => [
      `marginParams.getCalculator().${name}`,
      inStore(look),
    ]),
  ),
  "marginParams.getCalculator": inStore((it, books) =>
    bothAsViewed(it.computeTraderMargin(books.inputs), books),
  ),
  "marginParams.getMarketParamsBySymbol": store(async (it) =>
    some(Object.keys(await it.getMarketParamsBySymbol()), "markets"),
  ),
  "marginParams.getSnapshot": store(async (it) =>
    some(Object.keys((await it.getSnapshot()).paramsBySymbol), "markets"),
  ),
  "marginParams.refresh": store(async (it) =>
    some(Object.keys((await it.refresh()).paramsBySymbol), "markets"),
  ),
  "marginParams.subscribe": store(async (it) => {
    let told = 0;
    const stop = it.subscribe(() => {
      told += 1;
    });
    await it.refresh();
    stop();
    expect(told).toBeGreaterThan(0);
    return "told of a refresh";
  }),
  "marginParams.updateMarkPrices": store(async (it, { marks }) => {
    await it.getSnapshot();
    it.updateMarkPrices({ ...marks, SOL: 100 });
    expect((await it.getSnapshot()).paramsBySymbol.SOL!.markPriceTicks).toBe("10000");
    return "100 USD is 10000 ticks";
  }),
  "marginParams.startAutoRefresh": store((it) => {
    it.startAutoRefresh();
    it.stopAutoRefresh();
    return "";
  }),
  "marginParams.stopAutoRefresh": store((it) => {
    it.startAutoRefresh();
    it.stopAutoRefresh();
    return "";
  }),
};
