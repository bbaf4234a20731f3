/** Forms of answers observed at the live exchange, compared with those of its contract. */
import { describe, expect, test } from "vitest";
import { connect, quiet, read, sim } from "./support.ts";

const hour = 3_600_000;

describe.each([
  [true, 100, { SOL: 10_000, TSLA: 100 }, 3],
  [false, 1, { SOL: 1, TSLA: 1 }, 4],
] as const)("observed: %s", (observed, rateScale, overviewScale, hours) => {
  test("funding rates of statistics and overview, and the candle of the running hour", async () => {
    await using simulator = await quiet({ observed, markets: ["TSLA"] });
    for (const symbol of ["SOL", "TSLA"])
      await sim(simulator, "funding-rate", { symbol, ratePercentage: "0.004209" });
    await sim(simulator, "advance", { ms: 3 * hour + 600_000 });
    const stats = await read(simulator, "latestMarketStats", "/v1/market/TSLA/stats/latest");
    expect(stats.current_funding_rate).toBeCloseTo(0.00004209 * rateScale, 10);
    expect(stats.eight_hour_funding_rate).toBeCloseTo(8 * 0.00004209 * rateScale, 10);
    const { series } = await read(simulator, "fundingOverview", "/v1/funding/overview");
    const { rates } = await read(simulator, "fundingRates", "/v1/funding/TSLA/rates");
    for (const symbol of ["SOL", "TSLA"] as const) {
      const { points } = series.find((it: { symbol: string }) => it.symbol === symbol);
      expect(points).toHaveLength(3);
      // Rates are rounded to the smallest payment, one quote lot a base lot.
      expect(Number(points[0].fundingRate) / overviewScale[symbol]).toBeCloseTo(0.00004209, 5);
    }
    expect(rates).toHaveLength(3);
    const candles = await read(simulator, "candles", `/v1/candles/SOL?timeframe=1h`);
    expect(candles).toHaveLength(hours);
    const minutes = await read(simulator, "candles", `/v1/candles/SOL?timeframe=1m&limit=5`);
    expect(minutes.at(-1).time).toBe(simulator.nowMs());
  });
});

test("an equity has metadata that no contract names, and is read as a market", async () => {
  await using simulator = await quiet({ markets: ["TSLA"] });
  const market = await read(simulator, "market", "/v1/view/exchange/market/TSLA");
  expect(market.metadata).toMatchObject({ classifications: ["equity"], searchAliases: ["tesla", "tsla"] });
  expect(market.metadata.earningsDates).toHaveLength(1);
  expect(market).toMatchObject({ tickSize: 10, baseLotsDecimals: 3, isolatedOnly: true });
});

type Row = Record<string, unknown>;

/** `a`, with 1,000 USD and a stream of its account. */
async function trading(observed: boolean) {
  const simulator = await quiet({ observed, traders: 0 });
  await sim(simulator, "trader", { name: "a" });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "150" });
  await sim(simulator, "collateral", { trader: "a", amount: "1000" });
  const { authority, traderPda } = simulator.traders[0]!;
  const account = { authority, traderPdaIndex: 0 };
  const watching = async () => {
    const { subscribe, next, socket } = await connect(simulator);
    await subscribe("traderState", account);
    return {
      snapshot: await next("traderState"),
      next: () => next("traderState"),
      leave: () => socket.terminate(),
    };
  };
  return {
    simulator,
    authority,
    traderPda,
    watching,
    state: async () => (await read(simulator, "traderState", `/v1/trader/state/${authority}`)).snapshot,
    fills: async (): Promise<Row[]> =>
      (await read(simulator, "tradesHistory", `/v1/trader/${authority}/trades-history`)).data,
  };
}

describe.each([true, false])("an order over time (observed: %s)", (observed) => {
  test("trades its parts at their times, and its fills name it and have neither signature nor id", async () => {
    const { simulator, traderPda, watching, state, fills } = await trading(observed);
    await using _ = simulator;
    const stream = await watching();
    const asked = { trader: "a", symbol: "SOL", side: "bid", size: "10", parts: 3, everyMs: 30_000 };
    const { parentTwapId } = await sim(simulator, "twap", asked);
    expect(parentTwapId).toMatch(new RegExp(`^${traderPda}:\\d+$`));
    expect((await state()).subaccounts[0].positions[0].basePositionUnits).toBe("3.33");
    await sim(simulator, "advance", { ms: 29_000 });
    expect(await fills()).toHaveLength(1);
    await sim(simulator, "mark-price", { symbol: "SOL", price: "151" });
    await sim(simulator, "advance", { ms: 1_000 });
    expect(await fills()).toHaveLength(2);
    await sim(simulator, "advance", { ms: 3_600_000 });
    const rows = (await fills()).reverse();
    expect(rows.map((it) => [it.baseLotsDelta, it.tradeType, it.liquidity])).toEqual([
      ["3.33", "market", "taker"],
      ["3.33", "market", "taker"],
      ["3.34", "market", "taker"],
    ]);
    const times = rows.map((it) => Date.parse(String(it.timestamp)) - Date.parse(String(rows[0]!.timestamp)));
    expect(times).toEqual([0, 30_000, 60_000]);
    expect(rows.map((it) => Math.floor(Number(it.price)))).toEqual([150, 151, 151]);
    const told = [];
    for (let i = 0; i < 3; i++) told.push(...((await stream.next()).deltas as Row[]));
    stream.leave();
    const trades = told.flatMap((it) => it.tradeHistory as Row[]);
    expect(trades.map((it) => it.size)).toEqual(["3.33", "3.33", "3.34"]);
    for (const row of [...rows, ...trades])
      expect([row.parentTwapId ?? null, row.signature, row.fillId]).toEqual(
        observed
          ? [parentTwapId, null, null]
          : [null, expect.stringMatching(/^\w{80,90}$/), expect.stringMatching(/^[-\w]{36}$/)],
      );
    // An order of another kind is unchanged.
    await sim(simulator, "order", { trader: "a", symbol: "SOL", side: "ask", price: "150", size: "1" });
    await sim(simulator, "mark-price", { symbol: "SOL", price: "150" });
    const [last] = await fills();
    expect(last).toMatchObject({
      tradeType: "limit",
      signature: expect.any(String),
      fillId: expect.any(String),
    });
    expect(last!.parentTwapId ?? null).toBeNull();
  });
});

test("an order over time that only reduces ends with the position, and each has a number of its own", async () => {
  const { simulator, fills } = await trading(true);
  await using _ = simulator;
  const size = (text: string) => sim(simulator, "position", { trader: "a", symbol: "SOL", size: text });
  const asked = {
    trader: "a",
    symbol: "SOL",
    side: "ask",
    size: "6",
    parts: 3,
    everyMs: 1_000,
    reduceOnly: true,
  };
  await size("3");
  const first = await sim(simulator, "twap", asked);
  await sim(simulator, "advance", { ms: 60_000 });
  expect((await fills()).map((it) => it.baseLotsDelta)).toEqual(["-1", "-2"]);
  await size("3");
  await sim(simulator, "advance", { ms: 60_000 });
  expect(await fills()).toHaveLength(2);
  const second = await sim(simulator, "twap", asked);
  expect(second.parentTwapId).not.toBe(first.parentTwapId);
});

test.each([
  [{ parts: 0 }, /parts/],
  [{ everyMs: 10 }, /everyMs/],
  [{ size: "0" }, /size/],
  [{ size: "0.02", parts: 3 }, /size/],
  [{ symbol: "GOLD" }, /isolated/],
  [{ side: "long" }, /side/],
])("an order over time that cannot be is refused: %j", async (wrong, reason) => {
  const { simulator } = await trading(true);
  await using _ = simulator;
  const asked = { trader: "a", symbol: "SOL", side: "bid", size: "3", parts: 3, everyMs: 1_000, ...wrong };
  await expect(sim(simulator, "twap", asked)).rejects.toThrow(reason);
});

describe.each([
  [true, []],
  [false, ["0"]],
] as const)("an account from which all was withdrawn (observed: %s)", (observed, collateral) => {
  const listed = (rows: unknown) => (rows as Row[]).map((it) => String(it.collateral));

  test("is active and without subaccounts, over HTTP and on the stream, until something comes back", async () => {
    const { simulator, state, watching } = await trading(observed);
    await using _ = simulator;
    const before = await watching();
    expect(listed(before.snapshot.subaccounts)).toEqual(["1000000000"]);
    const { sequence } = (await state()).subaccounts[0];
    await sim(simulator, "collateral", { trader: "a", amount: "0" });
    // An earlier listener receives the withdrawal itself.
    expect(await before.next()).toMatchObject({ messageType: "delta", deltas: [{ sequence: sequence + 1 }] });
    const emptied = await state();
    expect([emptied.capabilities.state, listed(emptied.subaccounts)]).toEqual(["active", collateral]);
    const during = await watching();
    expect(during.snapshot).toMatchObject({ messageType: "snapshot", capabilities: { state: "active" } });
    expect(listed(during.snapshot.subaccounts)).toEqual(collateral);

    await sim(simulator, "collateral", { trader: "a", amount: "5" });
    for (const { next, leave } of [before, during]) {
      expect(await next()).toMatchObject({ deltas: [{ sequence: sequence + 2, collateral: 5_000_000n }] });
      leave();
    }
    expect((await state()).subaccounts).toMatchObject([{ sequence: sequence + 2, collateral: "5000000" }]);
  });

  test("is listed while a position, an order, native SOL or an isolated account is left", async () => {
    const { simulator, state } = await trading(observed);
    await using _ = simulator;
    const a = { trader: "a" };
    const left = async () => (await state()).subaccounts.length;
    await sim(simulator, "spot-collateral", { ...a, balance: "1" });
    await sim(simulator, "collateral", { ...a, amount: "0" });
    expect(await left()).toBe(1);
    await sim(simulator, "order", {
      ...a,
      symbol: "SOL",
      side: "bid",
      price: "100",
      size: "1",
      reduceOnly: true,
    });
    await sim(simulator, "spot-collateral", { ...a, balance: "0" });
    expect(await left()).toBe(1);
    await sim(simulator, "position", { ...a, symbol: "SOL", size: "1", entryPrice: "100" });
    expect((await state()).subaccounts).toMatchObject([{ collateral: "0", positions: [{ symbol: "SOL" }] }]);
    await sim(simulator, "collateral", { ...a, subaccountIndex: 1, amount: "7" });
    expect(await left()).toBe(2);
  });

  test("one that never had anything is listed", async () => {
    const { simulator } = await trading(observed);
    await using _ = simulator;
    const { authority } = await sim(simulator, "trader", { name: "b" });
    const { snapshot } = await read(simulator, "traderState", `/v1/trader/state/${authority}`);
    expect(listed(snapshot.subaccounts)).toEqual(["0"]);
  });
});
