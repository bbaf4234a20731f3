/** The exports of the SDK beside its clients, applied to the simulator's answers. */
import * as sdk from "@ellipsis-labs/rise";
import { expect } from "vitest";
import { type Call, type Calls, parses, reads, refused, some } from "./call.ts";
import type { Desk } from "./desk.ts";

const status = "/v1/view/exchange/status";
const acknowledged = ({ lived }: Desk) => `/v1/traders/${lived.traderPda}/notifications/ack/up-to`;
const { ExchangeStatusViewSchema: schema } = sdk;
const noSuchMethod = "no route of the contract takes it";

const market = (look: (market: sdk.ExchangeMarketSnapshot, desk: Desk) => string): Call =>
  parses(async (desk) => {
    const { markets } = await desk.client.api.exchange().getSnapshot();
    return look(markets.find((it) => it.symbol === "SOL")!, desk);
  });

type ExchangeState = Parameters<ReturnType<typeof sdk.selectExchangeMarket>>[0];
type PricesState = Parameters<ReturnType<typeof sdk.selectMarketDataRow>>[0];
/** A selector on the store that the SDK filled from the simulator. */
const selected = (select: (state: ExchangeState) => unknown): Call =>
  parses(async ({ client }) => {
    await client.exchange.ready();
    expect(select(client.exchange.store.getState())).toBeTruthy();
    return "of SOL";
  });
const priced = (select: (state: PricesState) => unknown): Call =>
  parses(async ({ newClient }) => {
    const data = newClient({ auth: false }).marketData();
    const release = data.retain();
    await data.ready();
    if (typeof data.market("SOL")?.markPrice !== "number") {
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = data.store.subscribe(() => typeof data.market("SOL")?.markPrice === "number" && resolve());
      await promise;
      stop();
    }
    expect(select(data.snapshot() as PricesState)).toBeTruthy();
    release();
    return "of SOL";
  });

const lots = {
  side: "bid" as const,
  orderSequenceNumber: "1",
  priceTicks: "14000",
  sizeRemainingLots: "5",
  initialSizeLots: "5",
  reduceOnly: false,
};

export const moreCalls: Calls = {
  get: reads(
    ({ client }) => sdk.get(client.api, status, schema),
    ({ active }) => `active: ${active}`,
  ),
  send: reads(
    ({ client }) => sdk.send(client.api, "GET", status, schema),
    ({ active }) => `active: ${active}`,
  ),
  post: parses(async (desk) => {
    const body = { beforeTimestamp: new Date(desk.simulator.nowMs()).toISOString() };
    await sdk.post(desk.client.api, acknowledged(desk), { parse: (it: unknown) => it } as never, body);
    return "an acknowledgement";
  }),
  put: refused(405, noSuchMethod, ({ client }) => sdk.put(client.api, status, schema)),
  patch: refused(405, noSuchMethod, ({ client }) => sdk.patch(client.api, status, schema)),
  del: refused(405, noSuchMethod, ({ client }) => sdk.del(client.api, status, schema)),

  projectExchangeMarket: market((it) => {
    expect(sdk.projectExchangeMarket(it)).toBeTruthy();
    return it.symbol;
  }),
  projectPhoenixMarket: market((it) => {
    expect(sdk.projectPhoenixMarket(it)).toMatchObject({ symbol: "SOL" });
    return it.symbol;
  }),
  projectPhoenixMarketsBySymbol: market((it) =>
    some(Object.keys(sdk.projectPhoenixMarketsBySymbol({ SOL: it })), "market"),
  ),
  selectExchangeMarket: selected((state) => sdk.selectExchangeMarket("SOL")(state)),
  selectExchangeMarketMetadata: selected((state) => sdk.selectExchangeMarketMetadata("SOL")(state)),
  selectExchangeMarketStatus: selected((state) => sdk.selectExchangeMarketStatus("SOL")(state)),
  selectPhoenixExchangeMarket: selected((state) => sdk.selectPhoenixExchangeMarket("SOL")(state)),
  selectPhoenixExchangeMarketMetadata: selected((state) =>
    sdk.selectPhoenixExchangeMarketMetadata("SOL")(state),
  ),
  selectPhoenixExchangeMarketState: selected(
    (state) => sdk.selectPhoenixExchangeMarketState("SOL")(state).market,
  ),
  selectPhoenixExchangeMarketStatus: selected((state) => sdk.selectPhoenixExchangeMarketStatus("SOL")(state)),
  // Nothing has changed since the snapshot.
  selectPhoenixExchangeMarketChange: selected(
    (state) => sdk.selectPhoenixExchangeMarketChange("SOL")(state) === null,
  ),
  projectPhoenixExchangeMarketState: selected(
    (state) => sdk.projectPhoenixExchangeMarketState(state, "SOL").market,
  ),
  createPhoenixExchangeMarketSelection: parses(async ({ client }) => {
    await client.exchange.ready();
    expect(sdk.createPhoenixExchangeMarketSelection(client.exchange, "SOL")).toBeTruthy();
    return "of SOL";
  }),
  selectMarketDataRow: priced((state) => sdk.selectMarketDataRow("SOL")(state)),
  selectPhoenixMarketDataRow: priced((state) => sdk.selectPhoenixMarketDataRow("SOL")(state)),
  selectPhoenixMarkPrice: priced((state) => sdk.selectPhoenixMarkPrice("SOL")(state)),
  selectPhoenixMidPrice: priced(() => sdk.selectPhoenixMidPrice("SOL")),
  projectPhoenixMarketDataSelectionState: priced((state) =>
    sdk.projectPhoenixMarketDataSelectionState(state, "SOL"),
  ),
  createPhoenixMarketDataSelection: parses(({ newClient }) => {
    expect(sdk.createPhoenixMarketDataSelection(newClient({ auth: false }).marketData(), "SOL")).toBeTruthy();
    return "of SOL";
  }),

  priceUsdToTicksWithMarketParams: market((it) => {
    expect(sdk.priceUsdToTicksWithMarketParams("146.5", it)).toBe(14_650n);
    return "146.5 USD is 14650 ticks";
  }),
  ticksToUsdWithMarketParams: market((it) => {
    expect(sdk.ticksToUsdWithMarketParams(14_650, it)).toBe(146.5);
    return "14650 ticks are 146.5 USD";
  }),
  priceUsdToTicks: market((it) => {
    const units = { baseLotsDecimals: it.baseLotsDecimals, tickSizeInQuoteLotsPerBaseLot: it.tickSize };
    expect(sdk.priceUsdToTicks(146.5, units)).toBe("14650");
    return "146.5 USD is 14650 ticks";
  }),
  baseUnitsToBaseLotsWithMarketParams: market((it) => {
    expect(sdk.baseUnitsToBaseLotsWithMarketParams("2.5", it)).toBe(250n);
    return "2.5 SOL are 250 lots";
  }),
  buildLimitOrderPacketFromMarketParams: market((it) => {
    const order = { side: sdk.Side.Bid, priceUsd: "146.5", baseUnits: "2.5" };
    expect(sdk.buildLimitOrderPacketFromMarketParams(order, it)).toMatchObject({ numBaseLots: 250n });
    return "250 lots";
  }),
  buildMarketOrderPacketFromMarketParams: market((it) => {
    const order = { side: sdk.Side.Bid, baseUnits: "2.5" };
    expect(sdk.buildMarketOrderPacketFromMarketParams(order, it)).toMatchObject({ numBaseLots: 250n });
    return "250 lots";
  }),
  buildLimitOrderMarginStateFromOrders: parses(async (desk) => {
    const orders = await ordersOf(desk);
    expect(sdk.buildLimitOrderMarginStateFromOrders(orders, 2_500n)).toMatchObject({
      numBidOrders: 1,
      numAskOrders: 1,
    });
    return some(orders, "orders of SOL");
  }),
  buildLimitOrderMarginStateFromOrdersAtMark: parses(async (desk) => {
    const orders = await ordersOf(desk);
    const state = sdk.buildLimitOrderMarginStateFromOrdersAtMark(orders, 2_500n, 14_650n);
    expect(state).toMatchObject({ numBidOrders: 1, numAskOrders: 1 });
    return some(orders, "orders of SOL");
  }),
  aggregateLimitOrderStateFromOrders: parses(() => {
    const { side, reduceOnly } = lots;
    const orders = [{ side, reduceOnly, priceTicks: 14_000n, baseLotsRemaining: 5n }];
    expect(sdk.aggregateLimitOrderStateFromOrders(orders, 0n, 14_650n)).toBeTruthy();
    return "";
  }),
  calculateLiquidationPriceUsd: parses(async (desk) => {
    const gold = (await desk.client.api.traders().getTrader(desk.isolatedPda)).positions[0]!;
    const { leverageTiers, riskFactors } = await desk.client.api.exchange().getMarket("GOLD");
    const { snapshot } = await desk.client.api.traders().getTraderStateSnapshot(desk.lived.authority);
    const price = sdk.calculateLiquidationPriceUsd({
      positionSize: Number(gold.positionSize.ui),
      entryPriceUsd: Number(gold.entryPrice.ui),
      leverage: leverageTiers[0]!.maxLeverage,
      maintenanceMarginBps: riskFactors.maintenance * 100,
      upnlRiskFactorBps: riskFactors.upnl * 100,
      collateralUsd: (Number(snapshot.subaccounts[1]!.collateral) + gold.unsettledFunding.value) / 1e6,
    });
    expect(price).toBeCloseTo(Number(gold.liquidationPrice.ui), 0);
    return `${price?.toFixed(2)} for gold, ${gold.liquidationPrice.ui} as viewed`;
  }),
};

/** The resting orders of SOL, as the margin arithmetic takes them. */
async function ordersOf(desk: Desk): Promise<sdk.LimitOrderMarginInput[]> {
  const { snapshot } = await desk.client.api.traders().getTraderStateSnapshot(desk.lived.authority);
  const rows = snapshot.subaccounts[0]!.orders.find((it) => it.symbol === "SOL")?.orders ?? [];
  return rows.filter((it) => !it.conditionalKind) as sdk.LimitOrderMarginInput[];
}
