import { expect, test } from "vitest";
import { eventData } from "../../src/contract/index.ts";
import { ask, quiet, read, signIn, sim } from "./support.ts";

type Row = Record<string, unknown>;

/** `main` with a long of 10 SOL from 150 and 150 USD of collateral. */
async function longSol(options: Parameters<typeof quiet>[0] = {}) {
  const simulator = await quiet({ traders: 1, ...options });
  await sim(simulator, "trader", { name: "a" });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "150" });
  await sim(simulator, "collateral", { trader: "a", amount: "150" });
  await sim(simulator, "position", { trader: "a", symbol: "SOL", size: "10", entryPrice: "150" });
  const trader = simulator.traders.find((it) => it.name === "a")!;
  const bearer = (await signIn(simulator, "a")).access_token;
  const paths = {
    state: `/v1/trader/state/${trader.authority}`,
    view: `/v1/view/trader/${trader.traderPda}`,
    inbox: `/v1/traders/${trader.traderPda}/notifications?unackedOnly=true`,
    liquidations: `/v1/users/${trader.authority}/liquidation-history`,
    fills: `/v1/trader/${trader.authority}/trades-history`,
    orders: `/v1/trader/${trader.authority}/order-history?limit=100`,
  };
  const state = async () => (await read(simulator, "traderState", paths.state)).snapshot.subaccounts[0];
  const inbox = async (): Promise<Row[]> =>
    (await read(simulator, "notifications", paths.inbox, bearer)).items;
  const mark = (price: string) => sim(simulator, "mark-price", { symbol: "SOL", price });
  return { simulator, trader, bearer, paths, state, inbox, mark };
}

test("a falling price liquidates: order cancelled, position sold, record, notification and state agree", async () => {
  const { simulator, trader, paths, state, inbox, mark, bearer } = await longSol();
  await using _ = simulator;
  await sim(simulator, "order", { trader: "a", symbol: "ETH", side: "bid", price: "2900", size: "0.2" });
  const before = await state();
  expect(before.positions[0]).toMatchObject({ basePositionLots: "1000", entryPriceUsd: "150" });

  const view = await read(simulator, "traderView", paths.view);
  expect(view.riskTier).toBe("safe");
  const liquidation = Number(view.positions[0].liquidationPrice.ui);
  await mark((liquidation + 0.01).toFixed(2));
  expect((await read(simulator, "traderView", paths.view)).riskTier).toBe("cancellable");
  // The order was cancelled first: without it there is margin for a little more.
  expect((await inbox()).map((it) => it.notificationType)).toEqual(["risk_engine_cancel_order"]);
  expect((await state()).orders).toEqual([]);

  const later = Number((await read(simulator, "traderView", paths.view)).positions[0].liquidationPrice.ui);
  expect(later).toBeLessThan(liquidation);
  await mark((later + 0.01).toFixed(2));
  expect((await state()).positions).toHaveLength(1);
  await mark(later.toFixed(2));
  const after = await state();
  expect(after.positions).toEqual([]);
  expect(after.sequence).toBe(before.sequence + 2);

  const [told, cancelled] = await inbox();
  expect([told?.notificationType, cancelled?.notificationType]).toEqual([
    "liquidation",
    "risk_engine_cancel_order",
  ]);
  const page = await read(simulator, "liquidationHistory", paths.liquidations);
  expect(page.data).toHaveLength(1);
  const row = page.data[0];
  expect(row).toMatchObject({
    kind: "market_order",
    type: "market",
    role: "liquidatee",
    liquidatee: trader.traderPda,
    side: "LONG",
    size: "10",
    positionClosed: true,
    baseLotsFilled: "1000",
    subaccountIndex: 0,
  });
  // One event has the same place everywhere.
  for (const name of ["slot", "slotIndex", "eventIndex"]) expect(told?.[name]).toBe(row[name]);
  expect(told).toMatchObject({ source: "event", instructionIndex: 0, recipientIndex: 0, acked: false });
  const data = eventData(told as never)?.data as Row;
  expect(data).toMatchObject({
    side: "ask",
    baseLotsFilled: 1000n,
    quoteLotsFilled: BigInt(row.quoteLotsFilled),
  });

  const [fill] = (await read(simulator, "tradesHistory", paths.fills)).data;
  expect(fill).toMatchObject({
    tradeType: "liquidation",
    baseLotsDelta: "-10",
    baseLotsAfter: "0",
    price: row.price,
  });
  const expected = 150 + Number(fill.realizedPnl) - Number(fill.fees);
  expect(Number(after.collateral) / 1e6).toBeCloseTo(expected, 6);
  expect((await read(simulator, "orderHistory", paths.orders)).data).toMatchObject([
    { marketSymbol: "ETH", status: "cancelled", filledBaseQty: "0" },
  ]);

  const ack = `/v1/traders/${trader.traderPda}/notifications/ack/notifications`;
  const item = {
    type: "event",
    ...pick(told!, "slot", "slotIndex", "instructionIndex", "eventIndex", "recipientIndex"),
  };
  const byId = { type: "event", id: cancelled!.id };
  for (let i = 0; i < 2; i++) {
    const answer = await ask(simulator, ack, { body: { items: [item, byId] }, bearer });
    expect([answer.status, answer.json]).toEqual([200, { ok: true }]);
  }
  expect(await inbox()).toEqual([]);
  const truth = (await ask(simulator, "/sim/state")).json;
  expect(truth.notifications.filter((it: Row) => it.acked)).toHaveLength(2);
});

test("a position above the largest liquidation size is sold a tranche a step", async () => {
  const { simulator, state, mark } = await longSol();
  await using _ = simulator;
  await sim(simulator, "collateral", { trader: "a", amount: "300000" });
  await sim(simulator, "position", { trader: "a", symbol: "SOL", size: "20000", entryPrice: "150" });
  const price = Number(
    (await sim(simulator, "collateral", { trader: "a", amount: "300000" })).positions[0].liquidationPrice,
  );
  await mark(price.toFixed(2));
  expect((await state()).positions[0].basePositionUnits).toBe("11000");
  await mark((price - 5).toFixed(2));
  expect((await state()).positions[0].basePositionUnits).toBe("2000");
});

test("below the backstop margin the position goes to the backstop, below high risk it is deleveraged", async () => {
  const { simulator, trader, paths, state, inbox, mark } = await longSol({ traders: 0 });
  await using _ = simulator;
  // Initial margin 100 at 15x: backstop margin is 20 % of it, high risk 10 %.
  await mark("136.4");
  expect((await state()).positions).toEqual([]);
  expect((await inbox()).map((it) => it.notificationType)).toEqual(["backstop_liquidation"]);
  const [row] = (await read(simulator, "liquidationHistory", paths.liquidations)).data;
  expect(row).toMatchObject({ kind: "backstop", role: "backstop_liquidatee", size: "10", quoteSize: "1500" });
  expect(Number(row.liquidateeCollateralChange)).toBe(-Number(row.liquidatorCollateralChange));
  expect(Number((await state()).collateral) / 1e6).toBeCloseTo(
    150 + Number(row.liquidateeCollateralChange),
    6,
  );

  // Again, with a larger loss, and a profitable short on the other side.
  await sim(simulator, "trader", { name: "b" });
  await mark("150");
  await sim(simulator, "collateral", { trader: "a", amount: "150" });
  await sim(simulator, "position", { trader: "a", symbol: "SOL", size: "10", entryPrice: "150" });
  await sim(simulator, "collateral", { trader: "b", amount: "1000" });
  await sim(simulator, "position", { trader: "b", symbol: "SOL", size: "-4", entryPrice: "150" });
  await mark("130");
  expect((await state()).positions[0].basePositionUnits).toBe("6");
  const b = simulator.traders.find((it) => it.name === "b")!;
  const theirs = await read(simulator, "liquidationHistory", `/v1/users/${b.authority}/liquidation-history`);
  const ours = await read(simulator, "liquidationHistory", paths.liquidations);
  expect(ours.data[0]).toMatchObject({
    kind: "adl",
    role: "adl_closed_long",
    size: "4",
    closedLong: trader.traderPda,
  });
  expect(theirs.data[0]).toMatchObject({
    kind: "adl",
    role: "adl_in_profit",
    size: "4",
    inProfitAccount: b.traderPda,
  });
  expect(Number(theirs.data[0].inProfitCollateralChange)).toBeGreaterThan(0);
  const bearer = (await signIn(simulator, "b")).access_token;
  const told = await read(
    simulator,
    "notifications",
    `/v1/traders/${b.traderPda}/notifications?limit=10`,
    bearer,
  );
  const mine = (await inbox())[0]!;
  expect(mine.notificationType).toBe("adl");
  expect(told.items[0]).toMatchObject({
    ...pick(mine, "slot", "slotIndex", "eventIndex"),
    recipientIndex: 1,
  });
});

test("a stop loss fires and a resting order fills when the mark crosses them", async () => {
  const { simulator, state, inbox, mark, paths } = await longSol();
  await using _ = simulator;
  await sim(simulator, "collateral", { trader: "a", amount: "2000" });
  await sim(simulator, "position", { trader: "a", symbol: "SOL", size: "10", stopLossPrice: "140" });
  await sim(simulator, "order", { trader: "a", symbol: "SOL", side: "bid", price: "145", size: "5" });
  expect((await state()).triggers[0].stopLossTriggers[0].trigger).toMatchObject({
    triggerPriceTicks: "14000",
    side: "ask",
  });
  await mark("145.01");
  expect((await state()).orders).toHaveLength(1);
  await mark("145");
  const filled = await state();
  expect(filled.orders).toEqual([]);
  expect(filled.positions[0].basePositionUnits).toBe("15");
  await mark("140");
  const stopped = await state();
  expect([stopped.positions, stopped.triggers]).toEqual([[], []]);
  const told = await inbox();
  expect(told.map((it) => it.notificationType)).toEqual(["stop_loss_executed", "order_filled"]);
  expect(told[0]).toMatchObject({
    details: { type: "stopLossExecuted", triggerType: "stop_loss", baseAmount: 15 },
  });
  const orders = (await read(simulator, "orderHistory", paths.orders)).data;
  expect(orders).toMatchObject([{ status: "filled", filledBaseQty: "5", remainingBaseQty: "0" }]);
});

test("an isolated subaccount is liquidated separately, and its rest goes back", async () => {
  const { simulator, trader } = await longSol();
  await using _ = simulator;
  await sim(simulator, "mark-price", { symbol: "GOLD", price: "2400" });
  await sim(simulator, "collateral", { trader: "a", subaccountIndex: 1, amount: "1000" });
  const gold = { trader: "a", subaccountIndex: 1, symbol: "GOLD", size: "4" };
  await sim(simulator, "position", { ...gold, entryPrice: "2400" });
  await expect(sim(simulator, "position", { ...gold, subaccountIndex: 0 })).rejects.toThrow(/isolated/);
  await sim(simulator, "mark-price", { symbol: "GOLD", price: "2260" });
  const state = await read(simulator, "traderState", `/v1/trader/state/${trader.authority}`);
  const [cross, isolated] = state.snapshot.subaccounts;
  expect(isolated).toMatchObject({ subaccountIndex: 1, collateral: "0", positions: [] });
  expect(cross.positions).toHaveLength(1);
  expect(Number(cross.collateral)).toBeGreaterThan(150e6);
  const moves = await read(
    simulator,
    "userCollateralHistory",
    `/v1/users/${trader.authority}/collateral-history?limit=2`,
  );
  expect(moves.data.map((it: Row) => [it.eventType, it.traderSubaccountIndex])).toEqual([
    ["transfer", 0],
    ["transfer", 1],
  ]);
});

test("funding is charged at the end of each hour, accrues, and is settled at the end of the day", async () => {
  const { simulator, trader, state } = await longSol();
  await using _ = simulator;
  await sim(simulator, "collateral", { trader: "a", amount: "1000" });
  await sim(simulator, "funding-rate", { symbol: "SOL", ratePercentage: "0.01" });
  await sim(simulator, "advance", { ms: 3_600_000 });
  const history = `/v1/users/${trader.authority}/funding-hourly`;
  const hours = async () => (await read(simulator, "fundingHourly", history)).events;
  // 10 SOL at 150 and 0.01 % an hour.
  expect(await hours()).toEqual([
    {
      timestamp: Date.parse("2026-10-05T16:00:00Z") / 1000,
      symbol: "SOL",
      fundingPayment: "-0.15",
      fundingRatePercentage: "0.01",
      positionSize: "10",
      positionSide: "Long",
    },
  ]);
  expect(await state()).toMatchObject({
    collateral: "1000000000",
    positions: [{ unsettledFundingQuoteLots: "-150000", accumulatedFundingQuoteLots: "0" }],
  });
  await sim(simulator, "advance", { ms: 8 * 3_600_000 });
  expect(await hours()).toHaveLength(9);
  expect(await state()).toMatchObject({
    collateral: "998650000",
    positions: [{ unsettledFundingQuoteLots: "0", accumulatedFundingQuoteLots: "-1350000" }],
  });
  const rates = (await read(simulator, "fundingRates", "/v1/funding/SOL/rates")).rates;
  expect(rates.map((it: Row) => it.fundingRatePercentage)).toEqual(Array(9).fill("0.01"));
});

test("the worked example of the margin rules comes out to the last digit", async () => {
  await using simulator = await quiet();
  const set = (call: string, body: Row) => sim(simulator, call, { trader: "x", ...body });
  await sim(simulator, "trader", { name: "x" });
  await set("collateral", { amount: "5200" });
  await set("position", { symbol: "BTC", size: "0.25", entryPrice: "61200" });
  await set("position", { symbol: "SOL", size: "-180", entryPrice: "148.2" });
  await set("order", { symbol: "ETH", side: "bid", price: "2980", size: "1.5" });
  await set("order", { symbol: "SOL", side: "bid", price: "140.1", size: "180", reduceOnly: true });
  const pda = simulator.traders.find((it) => it.name === "x")!.traderPda;
  const view = await read(simulator, "traderView", `/v1/view/trader/${pda}`);
  expect(view).toMatchObject({
    effectiveCollateral: { value: 4433000000, decimals: 6, ui: "4433.000000" },
    initialMargin: { ui: "2706.758000" },
    cancelMargin: { ui: "2030.068500" },
    maintenanceMargin: { ui: "1353.379000" },
    riskTier: "safe",
    riskState: "healthy",
  });
  expect(view.limitOrders.SOL[0]).toMatchObject({
    isReduceOnly: true,
    marginRequirement: { ui: "0.000000" },
  });
});

function pick(row: Row, ...names: string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}
