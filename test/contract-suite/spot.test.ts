/** The SDK's margin calculators on an account with spot collateral, held against the simulator's view of it. */
import * as sdk from "@ellipsis-labs/rise";
import { expect, test } from "vitest";
import { openDesk } from "./desk.ts";
import { openBooks } from "./margin-books.ts";

test.each([
  ["a long", "60"],
  ["a short", "-60"],
])("effective collateral and liquidation price are those of the exchange's library: %s", async (_, size) => {
  const desk = await openDesk();
  await using _open = { [Symbol.asyncDispose]: () => desk.stop() };
  const backed = { trader: "backed" };
  await desk.sim("trader", { name: "backed" });
  // Mark and index apart: the balance is worth what the index says.
  await desk.sim("mark-price", { symbol: "SOL", price: "150", oraclePrice: "149.5" });
  await desk.sim("collateral", { ...backed, amount: "300" });
  await desk.sim("spot-collateral", { ...backed, balance: "20" });
  await desk.sim("position", { ...backed, symbol: "SOL", size });
  const { authority } = desk.simulator.traders.find(({ name }) => name === "backed")!;
  const { snapshot, markets, views } = await openBooks(desk, authority);
  const [params] = sdk.spotCollateralParamsFromAssets(
    await desk.client.api.collateral().getAssets(),
    new Map([[0, "SOL"]]),
  );
  const spotCollateralParamsByIndex = {
    [params!.assetIndex]: {
      ...params!,
      pricingMarketSymbol: params!.perpSymbol,
      indexPriceTicks: "14950",
      maxGlobalBalance: String(params!.maxGlobalBalance),
    },
  };
  const inputs = sdk.buildTraderMarginInputsFromSnapshot(snapshot as never, { spotCollateralParamsByIndex });
  const [cross] = inputs.subaccounts;
  const [view] = views;
  expect(cross!.spotCollaterals).toHaveLength(1);
  const { margin } = sdk.computeSubaccountMarginFromInputs(cross!, markets);
  expect(String(margin.effectiveCollateralQuoteLots)).toBe(String(view!.effectiveCollateral.value));
  expect(String(margin.portfolioValueQuoteLots)).toBe(String(view!.portfolioValue.value));
  const prices = sdk.computeSubaccountLiquidationPricesFromInputs(cross!, markets);
  const printed = view!.positions[0]!.liquidationPrice.ui;
  expect(Number(printed)).toBeGreaterThan(0);
  expect(prices.positions[0]!.liquidationPriceUsd!.toFixed(6)).toBe(printed);
});
