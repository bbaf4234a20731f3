/** Reads and writes over HTTP: `client.api` and its clients. */
import { expect } from "vitest";
import { PROGRAM_ID } from "../../src/contract/index.ts";
import { assembleTransaction, signTransaction } from "../../src/wallet/ledger-transaction.ts";
import { type Calls, parses, reads, refused, some } from "./call.ts";
import type { Desk } from "./desk.ts";

const outside = "no part of the contract";
const me = ({ lived }: Desk) => lived.authority;
const pda = ({ lived }: Desk) => lived.traderPda;

const account = (desk: Desk) => ({ authority: me(desk), traderPdaIndex: 0, traderSubaccountIndex: 0 });
const trigger = { side: "ask", triggerPriceInTicks: 13_000, executionPriceInTicks: 12_900 };
const isolated = { side: "bid", symbol: "GOLD", numBaseLots: 1 };

/** Builders of instructions that a daemon has no use for. */
const otherBuilders: Calls = Object.fromEntries(
  Object.entries({
    cancelStopLossOrder: { executionDirection: "less_than" },
    cancelConditionalOrder: { conditionalOrderIndex: 1, executionDirection: "less_than" },
    placePositionConditionalOrder: { sizePercent: 100, lessTrigger: trigger },
    placeAttachedConditionalOrder: { orderSequenceNumber: "1", orderPriceInTicks: 1, lessTrigger: trigger },
    placeIsolatedLimitOrder: { ...isolated, priceInTicks: 1 },
    placeIsolatedLimitOrderWithConditionals: { ...isolated, priceInTicks: 1, lessTrigger: trigger },
    placeIsolatedLimitOrderEnhanced: { ...isolated, priceInTicks: 1 },
    placeIsolatedMarketOrder: isolated,
    placeIsolatedMarketOrderEnhanced: isolated,
  }).map(([name, more]) => [
    `client.api.orders().${name}`,
    refused(404, outside, (desk) => {
      const orders = desk.client.api.orders();
      const call = orders[name as keyof typeof orders] as (request: object) => Promise<unknown>;
      return call.call(orders, { ...account(desk), symbol: "SOL", ...more });
    }),
  ]),
);

export const apiCalls: Calls = {
  "client.api.fetch": parses(async ({ client }) => {
    const response = await client.api.fetch("GET", "/v1/view/exchange/status");
    expect([response.status, (await response.json()) as unknown]).toMatchObject([200, { active: true }]);
    return "200";
  }),
  "client.api.candles().getCandles": reads(
    ({ client }) => client.api.candles().getCandles("SOL", { timeframe: "5m", limit: 50 }),
    (candles) => some(candles, "candles"),
  ),

  "client.api.collateral().getAssets": reads(
    ({ client }) => client.api.collateral().getAssets(),
    ({ assets }) => some(assets, "assets"),
  ),
  "client.api.collateral().getUserCollateralHistory": reads(
    (desk) => desk.client.api.collateral().getUserCollateralHistory(me(desk), { limit: 3 }),
    (page) => {
      expect([page.data.length, page.hasMore]).toEqual([3, true]);
      return "a page of 3";
    },
  ),
  "client.api.collateral().getTraderCollateralHistory": reads(
    (desk) => desk.client.api.collateral().getTraderCollateralHistory(me(desk), { limit: 50, pdaIndex: 0 }),
    ({ data }) => some(data),
  ),
  "client.api.collateral().getTraderPdaCollateralHistory": reads(
    (desk) => desk.client.api.collateral().getTraderPdaCollateralHistory(pda(desk), { limit: 50 }),
    ({ data }) => some(data),
  ),
  "client.api.collateral().getAllUserCollateralHistory": reads(
    (desk) => desk.client.api.collateral().getAllUserCollateralHistory(me(desk), 2),
    (all, desk) => pages(desk, all),
  ),
  "client.api.collateral().getAllTraderCollateralHistory": reads(
    (desk) => desk.client.api.collateral().getAllTraderCollateralHistory(me(desk), 2),
    (all, desk) => pages(desk, all),
  ),
  "client.api.collateral().getAllTraderPdaCollateralHistory": reads(
    (desk) => desk.client.api.collateral().getAllTraderPdaCollateralHistory(pda(desk), 2),
    (all, desk) => pages(desk, all),
  ),

  "client.api.exchange().getExchange": reads(
    ({ client }) => client.api.exchange().getExchange(),
    ({ markets }) => some(markets, "markets"),
    ["keys.programId"],
  ),
  "client.api.exchange().getSnapshot": reads(
    ({ client }) => client.api.exchange().getSnapshot(),
    ({ markets, exchange }) => {
      expect(exchange.programId).toBe(PROGRAM_ID);
      return some(markets, "markets");
    },
  ),
  "client.api.exchange().getMarket": reads(
    ({ client }) => client.api.exchange().getMarket("GOLD"),
    ({ symbol, isolatedOnly }) => {
      expect([symbol, isolatedOnly]).toEqual(["GOLD", true]);
      return symbol;
    },
  ),
  "client.api.exchange().getStatus": reads(
    ({ client }) => client.api.exchange().getStatus(),
    ({ active }) => `active: ${active}`,
  ),
  "client.api.exchange().getKeys": reads(
    ({ client }) => client.api.exchange().getKeys(),
    ({ globalTraderIndex }) => some(globalTraderIndex, "index accounts"),
    ["programId"],
  ),
  "client.api.exchange().getMarkets": reads(
    ({ client }) => client.api.exchange().getMarkets(),
    (markets) => some(markets, "markets"),
  ),
  "client.api.exchange().buildRegisterIxs": parses(async ({ client, newKey }) => {
    const { address } = newKey();
    const request = { traderAuthority: address, txFeePayer: address, maxPositions: 64 };
    const { instructions, maxPositions } = await client.api.exchange().buildRegisterIxs(request);
    expect(maxPositions).toBe(64);
    return some(instructions, "instructions");
  }),
  "client.api.exchange().sendRegisterIxs": parses(async ({ client, newKey, rpc }) => {
    const key = newKey();
    const who = { traderAuthority: key.address, txFeePayer: key.address };
    const built = await client.api.exchange().buildRegisterIxs(who);
    const { value } = await rpc<{ value: { blockhash: string } }>("getLatestBlockhash");
    const transaction = assembleTransaction({
      feePayer: key.address,
      blockhash: value.blockhash,
      instructions: built.instructions.map((it) => ({
        programId: it.programId,
        accounts: it.keys,
        data: Uint8Array.from(it.data),
      })),
    });
    const { wire } = signTransaction(transaction, key);
    const sent = await client.api.exchange().sendRegisterIxs({ ...who, transaction: wire });
    expect(sent.traderPda).toBe(built.traderPda);
    const { snapshot } = await client.api.traders().getTraderStateSnapshot(key.address);
    expect(snapshot.capabilities?.state).toBe("active");
    return "registered, and active from then on";
  }),

  "client.api.funding().getUserFundingHourly": reads(
    (desk) => desk.client.api.funding().getUserFundingHourly(me(desk), { symbol: "SOL", limit: 5 }),
    ({ events }) => some(events, "hours"),
  ),
  "client.api.funding().getTraderFundingHistory": reads(
    (desk) => desk.client.api.funding().getTraderFundingHistory(me(desk), { pdaIndex: 0 }),
    ({ events }) => some(events, "events"),
  ),
  "client.api.funding().getFundingRateHistory": reads(
    ({ client }) => client.api.funding().getFundingRateHistory("SOL", { limit: 20 }),
    ({ rates }) => some(rates, "rates"),
  ),
  "client.api.funding().getFundingOverview": reads(
    ({ client }) => client.api.funding().getFundingOverview({ perMarketLimit: 5 }),
    ({ series }) => some(series, "series"),
  ),

  "client.api.invite().getReferralActivationPermission": reads(
    ({ client }) => client.api.invite().getReferralActivationPermission(),
    ({ trader_onboarder }) => `onboarder ${trader_onboarder.slice(0, 6)}…`,
  ),
  "client.api.invite().validateInvite": refused(404, outside, (desk) =>
    desk.client.api.invite().validateInvite({ code: "X", wallet_address: me(desk) }),
  ),
  "client.api.invite().checkWallet": refused(404, outside, (desk) =>
    desk.client.api.invite().checkWallet(me(desk)),
  ),

  "client.api.markets().getMarkets": reads(
    ({ client }) => client.api.markets().getMarkets(),
    (markets) => some(markets, "markets"),
  ),
  "client.api.markets().getMarket": reads(
    ({ client }) => client.api.markets().getMarket("sol"),
    ({ symbol }) => symbol,
  ),
  "client.api.markets().getMarketStatsHistory": reads(
    ({ client }) => client.api.markets().getMarketStatsHistory("SOL", { timeframe: "1m", limit: 30 }),
    ({ stats }) => some(stats, "points"),
  ),
  "client.api.markets().getLatestMarketStats": reads(
    ({ client }) => client.api.markets().getLatestMarketStats("SOL"),
    ({ mark_price }) => {
      expect(mark_price).toBe(146.5);
      return `mark ${mark_price}`;
    },
  ),
  "client.api.markets().getLatestMarketsStats": reads(
    ({ client }) => client.api.markets().getLatestMarketsStats(),
    ({ markets }) => some(markets, "markets"),
  ),
  "client.api.markets().getNextMarketCalendarTransition": reads(
    ({ client }) => client.api.markets().getNextMarketCalendarTransition("GOLD"),
    ({ currentState }) => String(currentState),
  ),
  "client.api.markets().getNextCommodityMarketTransition": reads(
    ({ client }) => client.api.markets().getNextCommodityMarketTransition(),
    ({ currentState }) => String(currentState),
  ),
  // A day is written in both forms at once: `sessions` of the description, `activeHours` and `inactiveHours` of the SDK.
  "client.api.markets().getMarketCalendar": reads(
    ({ client }) => client.api.markets().getMarketCalendar("GOLD"),
    ({ marketCalendarId }) => marketCalendarId,
    ["calendar.weeklySchedule.*.sessions"],
  ),
  "client.api.markets().getMarketCalendarById": reads(
    async ({ client }) => {
      const { marketCalendarId } = await client.api.markets().getNextMarketCalendarTransition("GOLD");
      return client.api.markets().getMarketCalendarById(marketCalendarId);
    },
    ({ calendar }) => some(Object.keys(calendar?.weeklySchedule ?? {}), "days"),
  ),
  "client.api.markets().getCommodityMarketCalendar": reads(
    ({ client }) => client.api.markets().getCommodityMarketCalendar(),
    ({ calendar }) => some(Object.keys(calendar.weeklySchedule), "days"),
    ["calendar.weeklySchedule.*.activeHours", "calendar.weeklySchedule.*.inactiveHours"],
  ),

  "client.api.notifications().getNotificationsByTrader": reads(
    (desk) => desk.client.api.notifications().getNotificationsByTrader(pda(desk), { limit: 100 }),
    ({ items }) => {
      const types = items.map((it) => it.notificationType);
      expect(types).toEqual(
        expect.arrayContaining([
          "order_filled",
          "stop_loss_executed",
          "risk_engine_cancel_order",
          "liquidation",
          "backstop_liquidation",
          "adl",
          "maintenance",
          "welcome",
        ]),
      );
      return `${items.length} of ${new Set(types).size} types`;
    },
  ),
  "client.api.notifications().ackNotifications": parses(async (desk) => {
    const inbox = desk.client.api.notifications();
    const unacked = async () =>
      (await inbox.getNotificationsByTrader(pda(desk), { unackedOnly: true })).items;
    const before = await unacked();
    const event = before.find((it) => it.source === "event");
    const letter = before.find((it) => it.source === "general");
    if (event?.source !== "event" || letter?.source !== "general") throw new Error("nothing to acknowledge");
    const { slot, slotIndex, instructionIndex, eventIndex, recipientIndex } = event;
    const answer = await inbox.ackNotifications(pda(desk), {
      items: [
        { type: "event", slot, slotIndex, instructionIndex, eventIndex, recipientIndex },
        { type: "general", id: letter.id },
      ],
    });
    expect(answer).toEqual({ ok: true });
    const after = (await unacked()).map((it) => it.id);
    expect(after).toEqual(before.map((it) => it.id).filter((id) => id !== event.id && id !== letter.id));
    return "an event by its indices, a letter by its id";
  }),
  "client.api.notifications().ackUpToTimestamp": parses(async (desk) => {
    const inbox = desk.client.api.notifications();
    const beforeTimestamp = new Date(desk.simulator.nowMs() + 1).toISOString();
    expect(await inbox.ackUpToTimestamp(pda(desk), { beforeTimestamp })).toEqual({ ok: true });
    const { items } = await inbox.getNotificationsByTrader(pda(desk), { unackedOnly: true });
    expect(items).toEqual([]);
    return "nothing is left";
  }),

  "client.api.orderbook().getOrderbook": reads(
    ({ client }) => client.api.orderbook().getOrderbook("SOL", { includeSplines: true }),
    ({ bids, asks, splines }) => {
      some(splines ?? []);
      return `${bids.length} bids, ${asks.length} asks, with splines`;
    },
  ),
  "client.api.orders().getTraderOrderHistory": reads(
    (desk) => desk.client.api.orders().getTraderOrderHistory(me(desk), { limit: 20 }),
    ({ data }) => some(data),
    ["data[].isConditionalOrder"],
  ),
  "client.api.orders().getTraderOrderHistoryV2": reads(
    (desk) => desk.client.api.orders().getTraderOrderHistoryV2(pda(desk), { limit: 20, marketSymbol: "SOL" }),
    ({ data }) => some(data),
  ),
  "client.api.orders().placeStopLossOrder": parses(async (desk) => {
    const instructions = await desk.client.api.orders().placeStopLossOrder(stopLossRequest(desk));
    expect(instructions.map((it) => it.programAddress)).toEqual([PROGRAM_ID]);
    return some(instructions, "instruction");
  }),
  ...otherBuilders,

  "client.api.traders().getTrader": reads(
    (desk) => desk.client.api.traders().getTrader(pda(desk)),
    ({ positions, riskTier }) => `${some(positions, "positions")}, ${riskTier}`,
    ["numMarketsWithSplines"],
  ),
  "client.api.traders().getTraderStateSnapshot": reads(
    (desk) => desk.client.api.traders().getTraderStateSnapshot(me(desk), { traderPdaIndex: 0 }),
    ({ snapshot }) => {
      const [cross, isolated] = snapshot.subaccounts;
      expect([cross?.positions.length, isolated?.positions.length]).toEqual([2, 1]);
      for (const rows of [cross?.orders, cross?.triggers]) some(rows ?? []);
      return "2 subaccounts, 3 positions";
    },
  ),
  "client.api.traders().getTraderPnl": reads(
    (desk) => desk.client.api.traders().getTraderPnl(me(desk), { resolution: "1d", includeLatest: true }),
    (points) => some(points, "points"),
  ),
  "client.api.traders().getTraderPnlValues": reads(
    (desk) => desk.client.api.traders().getTraderPnlValues(pda(desk), { resolution: "1m", limit: 20 }),
    (points) => some(points, "points"),
  ),
  "client.api.traders().getTraderPortfolioValues": reads(
    (desk) => desk.client.api.traders().getTraderPortfolioValues(pda(desk), { resolution: "15m" }),
    (points) => some(points, "points"),
  ),
  "client.api.traders().getTraderTimeWeightedReturns": reads(
    (desk) => desk.client.api.traders().getTraderTimeWeightedReturns(pda(desk), { resolution: "1h" }),
    ({ points }) => some(points, "points"),
  ),
  "client.api.traders().getTraderCapabilities": reads(
    ({ client }) => client.api.traders().getTraderCapabilities(),
    ({ capabilities }) => some(Object.keys(capabilities), "capabilities"),
  ),
  "client.api.traders().getTraderMarketPnl": reads(
    (desk) =>
      desk.client.api
        .traders()
        .getTraderMarketPnl(pda(desk), { resolution: "1h", symbols: ["SOL", "BTC"], limit: 5 }),
    (series) => some(series, "series"),
  ),

  "client.api.trades().getUserLiquidationHistory": reads(
    (desk) => desk.client.api.trades().getUserLiquidationHistory(me(desk), { pdaIndex: 0 }),
    ({ data }) => {
      const kinds = new Set(data.map((it) => it.kind));
      expect([...kinds].sort()).toEqual(["adl", "backstop", "market_order"]);
      return `${data.length} rows of each kind`;
    },
  ),
  "client.api.trades().getTraderTradesHistory": reads(
    (desk) => desk.client.api.trades().getTraderTradesHistory(me(desk), { limit: 20, pdaIndex: 0 }),
    ({ data }) => some(data),
  ),
  "client.api.trades().getTraderTradeHistoryV2": reads(
    (desk) => desk.client.api.trades().getTraderTradeHistoryV2(pda(desk), { limit: 20, marketSymbol: "SOL" }),
    ({ data }) => some(data),
  ),
  "client.api.trades().getMarketFills": reads(
    ({ client }) => client.api.trades().getMarketFills("SOL", { limit: 20 }),
    ({ data }) => some(data),
  ),
};

/** A stop loss for the long of 25 SOL. */
export const stopLossRequest = (desk: Desk) => ({
  ...account(desk),
  symbol: "SOL",
  side: "ask",
  numBaseLots: 2_500,
  orderKind: "ioc" as const,
  stopLossTriggerPriceInTicks: 13_000,
  stopLossExecutionPriceInTicks: 12_900,
});

/** Pages of two, followed by the SDK to their end, are what one page holds. */
function pages(desk: Desk, all: readonly unknown[]): string {
  const asked = desk.simulator.requests.query("/v1/*").count;
  expect(asked).toBe(Math.ceil(all.length / 2));
  return `${all.length} rows in ${asked} pages`;
}
