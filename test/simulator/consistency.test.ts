/**
 * The simulator's answers agree with each other: series with fills, values with collateral and positions, funding with
 * rates and sizes, returns with values. Everything is read over the socket.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ArgsFor, type EndpointName, encodeRequest, endpoints } from "../../src/contract/index.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { quiet, read, sim } from "./support.ts";

const minute = 60_000;
const hour = 60 * minute;
/** Another seed: `SEED=5 npm test -- test/simulator/consistency.test.ts`. */
const seed = Number(process.env.SEED ?? 20_261_005);

// biome-ignore lint/suspicious/noExplicitAny: tests read JSON of every shape
type Row = any;

describe(`a world of seed ${seed} that lived for two days`, () => {
  let simulator: Simulator;
  let accounts: { authority: string; traderPubkey: string; subaccount: number; pdaIndex: number }[];

  const get = <N extends EndpointName>(name: N, args: ArgsFor<N>): Promise<Row> =>
    read(simulator, name, encodeRequest(endpoints[name], args as never).target);

  /** All rows of a paged endpoint. */
  async function all(name: EndpointName, args: object, field = "data"): Promise<Row[]> {
    const rows: Row[] = [];
    let cursor: string | null = null;
    do {
      const given =
        cursor === null ? {} : name.endsWith("CollateralHistory") ? { nextCursor: cursor } : { cursor };
      const page: Row = await get(name, { ...args, ...given } as never);
      rows.push(...page[field]);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return rows;
  }

  beforeAll(async () => {
    simulator = await quiet({
      ...{ seed, traders: 8, walk: true, pastMs: 48 * hour },
      // The live exchange scales some rates and leaves out the incomplete hour: observed.test.ts.
      observed: false,
    });
    // Includes a liquidation, transfers, and positions set by control calls.
    await sim(simulator, "advance", { ms: 90_000 });
    for (const name of ["trader-2", "trader-3", "trader-4"]) {
      const { traderPubkey } = { traderPubkey: simulator.traders.find((it) => it.name === name)!.traderPda };
      const view = await get("traderView", { traderPubkey });
      const spare = Number(view.effectiveCollateral.ui) - Number(view.maintenanceMargin.ui) * 1.01;
      const left = Number(view.collateralBalance.ui) - spare;
      await sim(simulator, "collateral", { trader: name, amount: left.toFixed(6) });
    }
    await sim(simulator, "position", { trader: "main", symbol: "ETH", size: "2.5", entryPrice: "2950" });
    const small = { trader: "trader-5", subaccountIndex: 4 };
    await sim(simulator, "collateral", { ...small, amount: "1500" });
    await sim(simulator, "position", { ...small, symbol: "SOL", size: "-100" });
    for (const [symbol, change] of [
      ["SOL", 1.1],
      ["BTC", 0.9],
      ["SOL", 1.02],
    ] as const) {
      const { price } = (await get("markPrice", { symbol })).markPrice;
      await sim(simulator, "mark-price", { symbol, price: (price * change).toFixed(4), hold: false });
    }
    await sim(simulator, "advance", { ms: 3 * hour + 7_000 });
    accounts = [...simulator.world.accounts.values()]
      .filter((it) => it !== simulator.world.house)
      .map((it) => ({
        authority: it.wallet.authority,
        traderPubkey: it.address,
        subaccount: it.subaccount,
        pdaIndex: it.pdaIndex,
      }));
    expect(accounts.length).toBeGreaterThan(9);
    for (const { authority } of simulator.traders)
      for (const row of await all("userCollateralHistory", { authority, limit: 1000 }))
        if (row.traderSubaccountIndex > 0 && row.eventType === "transfer" && row.collateralAfter === 0)
          sweeps.add(`${row.slot}.${row.slotIndex}`);
  }, 60_000);
  afterAll(() => simulator.stop());

  const sum = (rows: Row[], field: string): number =>
    rows.reduce((total, it) => total + Number(it[field]), 0);
  const near = (found: number, wanted: number) =>
    expect(Math.abs(found - wanted), `${found} should be ${wanted}`).toBeLessThan(2e-5);
  const ms = (text: string) => Date.parse(text);

  /** Fills of one trader account, and the realized profit of backstop takeovers, which are no fills. */
  async function results(it: (typeof accounts)[number]) {
    const { authority, traderPubkey } = it;
    const fills = await all("tradesV2", { traderPubkey, limit: 700 });
    const taken = (await all("liquidationHistory", { authority }))
      .filter((row) => row.kind === "backstop" && row.subaccountIndex === it.subaccount)
      .map((row) => ({ ...row, realizedPnl: row.liquidateeCollateralChange, atMs: row.timestamp * 1000 }));
    return { fills: fills.map((row) => ({ ...row, atMs: ms(row.timestamp) })), taken };
  }

  test("the profit series are the fills, at every resolution and by market", async () => {
    let compared = 0;
    for (const account of accounts) {
      const { traderPubkey } = account;
      const { fills, taken } = await results(account);
      for (const resolution of ["1m", "1d"] as const) {
        const points = await get("traderPnl", { traderPubkey, resolution, includeLatest: true });
        expect(points.length).toBeGreaterThan(0);
        for (const point of [points[0], points[points.length >> 1], points.at(-1)]) {
          const until = (row: Row) => row.atMs <= point.endTime * 1000;
          near(point.cumulativePnl, sum([...fills, ...taken].filter(until), "realizedPnl"));
          near(
            point.cumulativeTakerFee,
            sum(
              fills.filter(until).filter((it) => it.liquidity === "taker"),
              "fees",
            ),
          );
          compared += fills.filter(until).length;
        }
      }
      const points = await get("traderPnl", { traderPubkey, resolution: "1d" });
      const markets = await get("marketPnl", { traderPubkey, resolution: "1d" });
      for (const [index, point] of points.entries()) {
        const parts = markets.flatMap((it: Row) =>
          it.points.filter((one: Row) => one.endTime === point.endTime),
        );
        near(sum(parts, "cumulativePnl"), point.cumulativePnl);
        near(sum(parts, "unrealizedPnl"), point.unrealizedPnl);
        near(sum(parts, "cumulativeFundingPayment"), point.cumulativeFundingPayment);
        near(sum(parts, "cumulativeTakerFee"), point.cumulativeTakerFee);
        near(sum(parts, "realizedPnl"), point.cumulativePnl - (points[index - 1]?.cumulativePnl ?? 0));
        near(
          sum(parts, "totalTakerFee"),
          point.cumulativeTakerFee - (points[index - 1]?.cumulativeTakerFee ?? 0),
        );
      }
    }
    expect(compared).toBeGreaterThan(100);
  });

  test("a window shows the same points as the whole, and a market's profit in it only what fell into it", async () => {
    const { traderPubkey } = accounts[1]!;
    const whole = await get("marketPnl", { traderPubkey, resolution: "1h" });
    const startTime = simulator.world.nowMs - 5 * hour;
    const part = await get("marketPnl", { traderPubkey, resolution: "1h", startTime });
    expect(part.length).toBeGreaterThan(0);
    for (const series of part) {
      const same = whole.find((it: Row) => it.symbol === series.symbol);
      expect(series.points).toEqual(same.points.slice(-series.points.length));
    }
    const values = await get("portfolioValues", { traderPubkey, resolution: "15m" });
    const newest = await get("portfolioValues", { traderPubkey, resolution: "15m", limit: 7 });
    expect(newest).toEqual(values.slice(-7));
    const window = { startTime: values[20].endTime * 1000, endTime: values[30].endTime * 1000 };
    expect(await get("portfolioValues", { traderPubkey, resolution: "15m", ...window })).toEqual(
      values.slice(20, 31),
    );
    const extremes = { includeEarliest: true, includeLatest: true };
    expect(await get("portfolioValues", { traderPubkey, resolution: "15m", ...window, ...extremes })).toEqual(
      [values[0], ...values.slice(20, 31), values.at(-1)],
    );
  });

  test("a wallet's profit is that of its accounts", async () => {
    for (const { authority } of simulator.traders) {
      const own = accounts.filter((it) => it.authority === authority);
      const series = await Promise.all(
        own.map((it) => get("traderPnl", { traderPubkey: it.traderPubkey, resolution: "1d" })),
      );
      for (const point of await get("userPnl", { authority, resolution: "1d" })) {
        const parts = series.flat().filter((it) => it.endTime === point.endTime);
        for (const name of [
          "cumulativePnl",
          "unrealizedPnl",
          "cumulativeFundingPayment",
          "cumulativeTakerFee",
        ])
          near(point[name], sum(parts, name));
      }
    }
  });

  test("portfolio values are collateral, positions at their marks and what is to be settled", async () => {
    let compared = 0;
    for (const { traderPubkey, authority, subaccount } of accounts) {
      const view = await get("traderView", { traderPubkey });
      const values = await get("portfolioValues", { traderPubkey, resolution: "15m", includeLatest: true });
      const state = await get("traderState", { authority });
      const own = state.snapshot.subaccounts.find((it: Row) => it.subaccountIndex === subaccount);
      const latest = values.at(-1);
      near(latest.value, Number(view.portfolioValue.ui));
      near(Number(view.collateralBalance.ui) * 1e6, Number(own.collateral));
      const positionsOf = (point: Row) => Object.values<Row>(point.positions);
      near(
        latest.value,
        Number(own.collateral) / 1e6 +
          positionsOf(latest).reduce(
            (total, it) => total + Number(it.positionValue) + Number(it.quoteLots) / 1e6,
            0,
          ) +
          own.positions.reduce(
            (total: number, it: Row) => total + Number(it.unsettledFundingQuoteLots) / 1e6,
            0,
          ),
      );
      expect(positionsOf(latest).map((it) => it.baseLots)).toEqual(
        own.positions.map((it: Row) => it.basePositionLots),
      );
      near(
        Number(view.unrealizedPnl.ui),
        positionsOf(latest).reduce(
          (total, it) => total + Number(it.positionValue) + Number(it.quoteLots) / 1e6,
          0,
        ),
      );
      // At every time: deposits less withdrawals, results, and open profit.
      const flows = (await all("traderCollateralHistory", { traderPubkey, limit: 300 })).reverse();
      const pnl = await get("traderPnl", { traderPubkey, resolution: "1m", limit: 1440 });
      const fills = await all("tradesV2", { traderPubkey });
      const hourly = await get("portfolioValues", { traderPubkey, resolution: "1h" });
      for (const point of hourly) {
        const at = pnl.find((it: Row) => it.endTime === point.endTime);
        if (!at) continue;
        let deposited = 0;
        for (const flow of flows) {
          if (ms(flow.timestamp) > point.endTime * 1000) break;
          deposited += signed(flow) * flow.amount;
        }
        const fees = sum(
          fills.filter((it) => ms(it.timestamp) <= point.endTime * 1000),
          "fees",
        );
        near(
          point.value,
          deposited / 1e6 + at.cumulativePnl + at.unrealizedPnl + at.cumulativeFundingPayment - fees,
        );
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(200);
  });

  /** The row of a transfer has no direction: it goes from the cross account to the isolated one, except a sweep. */
  const signed = (flow: Row): number => {
    if (flow.eventType !== "transfer") return flow.eventType === "deposit" ? 1 : -1;
    const swept = flow.traderSubaccountIndex > 0 && flow.collateralAfter === 0;
    const back = flow.traderSubaccountIndex === 0 && sweeps.has(`${flow.slot}.${flow.slotIndex}`);
    return flow.traderSubaccountIndex > 0 ? (swept ? -1 : 1) : back ? 1 : -1;
  };
  const sweeps = new Set<string>();

  test("funding is rate times size times mark, and adds up to the profit series and positions", async () => {
    const { series } = await get("fundingOverview", { perMarketLimit: 5000 });
    const overview = new Map<string, Row>();
    for (const { symbol, points } of series) {
      const { rates } = await get("fundingRates", { symbol, limit: 10_000 });
      expect(rates.map((it: Row) => it.timestamp)).toEqual(points.map((it: Row) => it.timestamp));
      for (const [index, point] of points.entries()) {
        overview.set(`${symbol} ${point.timestamp}`, point);
        expect(Number(point.fundingRate) * 100).toBeCloseTo(Number(rates[index].fundingRatePercentage), 8);
        expect(Number(point.fundingAmountPerUnit)).toBeCloseTo(
          Number(point.fundingRate) * Number(point.markPrice),
          6,
        );
      }
    }
    let rows = 0;
    for (const { authority } of simulator.traders) {
      const hourly = await all("fundingHourly", { authority, limit: 77 }, "events");
      const history = await all("fundingHistory", { authority, limit: 400 }, "events");
      expect(history).toEqual(hourly);
      for (const row of hourly) {
        const at = overview.get(`${row.symbol} ${row.timestamp}`);
        const direction = row.positionSide === "Long" ? -1 : 1;
        near(
          Number(row.fundingPayment),
          direction * Number(at.fundingAmountPerUnit) * Number(row.positionSize),
        );
        near(
          Number(row.fundingPayment) / 1000,
          ((direction * Number(row.fundingRatePercentage)) / 100_000) *
            Number(row.positionSize) *
            Number(at.markPrice),
        );
        rows += 1;
      }
      const [point] = (await get("userPnl", { authority, resolution: "1d", includeLatest: true })).slice(-1);
      near(point.cumulativeFundingPayment, sum(hourly, "fundingPayment"));
    }
    expect(rows).toBeGreaterThan(200);
  });

  test("returns are what portfolio values grew by, without what came in and went out", async () => {
    let plain = 0;
    let flowing = 0;
    for (const { traderPubkey } of accounts) {
      const returns = await get("timeWeightedReturns", { traderPubkey, resolution: "1h" });
      const values = await get("portfolioValues", { traderPubkey, resolution: "1h" });
      expect(returns.points.map((it: Row) => it.endTime)).toEqual(values.map((it: Row) => it.endTime));
      const flows = await all("traderCollateralHistory", { traderPubkey, limit: 1000 });
      let chain: number | null = null;
      for (const [index, point] of returns.points.entries()) {
        const inside = flows.filter(
          (it) => ms(it.timestamp) > point.startTime * 1000 && ms(it.timestamp) <= point.endTime * 1000,
        );
        near(
          point.netExternalFlow,
          inside.reduce((total, it) => total + (signed(it) * it.amount) / 1e6, 0),
        );
        if (point.periodReturn !== null) chain = (chain ?? 1) * (1 + point.periodReturn);
        if (chain !== null) expect(point.cumulativeReturn).toBeCloseTo(chain - 1, 9);
        const before = values[index - 1];
        if (inside.length === 0 && before?.value > 0) {
          expect(point.periodReturn).toBeCloseTo(values[index].value / before.value - 1, 8);
          plain += 1;
        } else if (inside.length > 0) flowing += 1;
      }
      expect(returns.totalReturn).toBe(returns.points.at(-1).cumulativeReturn);
    }
    expect(plain).toBeGreaterThan(100);
    expect(flowing).toBeGreaterThan(5);
  });

  test("orders, fills and positions agree in both forms of the histories", async () => {
    for (const { authority, traderPubkey, subaccount } of accounts) {
      const fills = await all("tradesV2", { traderPubkey, limit: 30 });
      const wallet = await all("tradesHistory", { authority, limit: 40 });
      expect(fills).toEqual(wallet.filter((it) => it.subaccountIndex === subaccount));
      expect(await all("userTradesV2", { authority, limit: 50, traderPdaIndex: 0 })).toEqual(wallet);
      const oldest = fills.at(-1);
      if (!oldest) continue;
      const place = `${fills[0].slot},${fills[0].slotIndex}`;
      const older = fills.filter(
        (it) => it.slot < fills[0].slot || (it.slot === fills[0].slot && it.slotIndex < fills[0].slotIndex),
      );
      expect(await all("tradesV2", { traderPubkey, cursor: place } as never)).toEqual(older);

      const sent = await all("ordersV2", { traderPubkey, limit: 9 });
      const orders = (await all("orderHistory", { authority, limit: 1000 })).map((it) => [
        it.orderSequenceNumber,
        it.marketSymbol,
        it.side,
        it.status,
        it.price,
        it.remainingBaseQty,
        it.filledBaseQty,
      ]);
      const rested = sent.filter((it) => it.placedOrder !== null);
      for (const { currentOrderState: it, marketSymbol } of rested) {
        expect(orders).toContainEqual([
          String(it.orderSequenceNumber),
          marketSymbol,
          it.side,
          it.orderStatus,
          it.price,
          it.remainingBaseQty,
          it.filledBaseQty,
        ]);
        near(
          Number(it.baseQty),
          Number(it.remainingBaseQty) + Number(it.filledBaseQty) + Number(it.releasedBaseQty),
        );
      }
      if (subaccount === 0) expect(rested).toHaveLength(orders.length);
      const taken = sent.filter((it) => it.placedOrder === null);
      const market = fills.filter((it) => it.tradeType === "market" && it.liquidity === "taker");
      expect(
        taken.map((it) => [it.slot, it.slotIndex, it.price, it.fillBeforePlacement.totalTakerFee]),
      ).toEqual(market.map((it) => [it.slot, it.slotIndex, it.price, it.fees]));
      // Each fill continues the position of the previous one.
      for (const symbol of new Set(fills.map((it) => it.marketSymbol))) {
        const own = fills.filter((it) => it.marketSymbol === symbol && it.tradeType !== "adl").reverse();
        for (const it of own)
          near(Number(it.baseLotsAfter), Number(it.baseLotsBefore) + Number(it.baseLotsDelta));
      }
    }
  });

  test("statistics, candles, marks, books and public fills of a market agree", async () => {
    for (const symbol of simulator.world.markets.keys()) {
      const { mark_price, open_interest, day_volume_base } = await get("latestMarketStats", { symbol });
      const startTime = simulator.world.nowMs - 2 * hour;
      const { stats } = await get("marketStats", { symbol, startTime, limit: 10_000, timeframe: "1m" });
      const candles = await get("candles", { symbol, timeframe: "1m", startTime, limit: 10_000 });
      expect(stats.map((it: Row) => ms(it.timestamp))).toEqual(candles.map((it: Row) => it.time));
      expect(stats.map((it: Row) => it.mark_price)).toEqual(candles.map((it: Row) => it.markClose));
      expect(stats.at(-1)).toMatchObject({ mark_price, open_interest });
      expect((await get("markPrice", { symbol })).markPrice.price).toBe(mark_price);
      for (const name of ["total_taker_fees", "total_maker_fees"]) {
        const fees = stats.map((it: Row) => it[name]);
        expect(fees).toEqual([...fees].sort((a, b) => a - b));
      }
      const day = await get("candles", {
        symbol,
        timeframe: "1m",
        startTime: simulator.world.nowMs - 24 * hour,
        limit: 5000,
      });
      expect(day_volume_base / sum(day, "volume")).toBeCloseTo(1, 9);
      const fills = await all("marketFills", { symbol, limit: 10_000, startTime });
      const from = candles[0].time;
      const traded = fills.filter((it) => ms(it.timestamp) >= from);
      expect(traded.length).toBeGreaterThan(10);
      expect(
        traded.reduce((total, it) => total + Math.abs(Number(it.baseQty)), 0) / sum(candles, "volume"),
      ).toBeCloseTo(1, 9);
      expect(traded).toHaveLength(sum(candles, "tradeCount"));
      const hours = await get("candles", {
        symbol,
        timeframe: "1h",
        startTime: startTime - (startTime % hour),
      });
      near(hours.at(-1).close, candles.at(-1).close);
      const held = await longLots(symbol);
      const config = await get("market", { symbol });
      expect(Number(config.statsSnapshot.openInterestBaseLots)).toBe(held);
    }
  });

  test("candles of every length are made of the same trades and marks", async () => {
    const end = simulator.world.nowMs - (simulator.world.nowMs % hour);
    const startTime = end - hour;
    const frames = {
      "1s": 1_000,
      "5s": 5_000,
      "1m": minute,
      "5m": 5 * minute,
      "15m": 15 * minute,
      "1h": hour,
    };
    for (const symbol of simulator.world.markets.keys()) {
      let shorter: Row[] | undefined;
      for (const [timeframe, lengthMs] of Object.entries(frames)) {
        const candles: Row[] = await get("candles", {
          symbol,
          timeframe,
          startTime,
          endTime: end - 1,
          limit: 5_000,
        });
        expect(candles.map((it) => it.time)).toEqual(
          Array.from({ length: hour / lengthMs }, (_, i) => startTime + i * lengthMs),
        );
        for (const it of shorter === undefined ? [] : candles) {
          const parts = shorter!.filter((one) => one.time >= it.time && one.time < it.time + lengthMs);
          expect([it.open, it.close]).toEqual([parts[0].open, parts.at(-1).close]);
          expect(it.high).toBe(Math.max(...parts.map((one) => one.high)));
          expect(it.low).toBe(Math.min(...parts.map((one) => one.low)));
          near(sum(parts, "volume"), it.volume);
          expect(sum(parts, "tradeCount")).toBe(it.tradeCount);
        }
        shorter = candles;
      }
    }
  });

  /** Long lots of all accounts, including the house. */
  async function longLots(symbol: string): Promise<number> {
    let lots = 0;
    const wallets = [...simulator.traders.map((it) => it.authority), simulator.world.house.wallet.authority];
    for (const authority of wallets) {
      const state = await get("traderState", { authority });
      for (const account of state.snapshot.subaccounts)
        for (const it of account.positions)
          if (it.symbol === symbol) lots += Math.max(0, Number(it.basePositionLots));
    }
    return lots;
  }

  test("histories of collateral agree, and end at the present state", async () => {
    for (const { authority } of simulator.traders) {
      const wallet = await all("userCollateralHistory", { authority, limit: 13 });
      expect(await all("authorityCollateralHistory", { authority, limit: 1000, pdaIndex: 0 })).toEqual(
        wallet,
      );
      for (const it of accounts.filter((one) => one.authority === authority)) {
        const own = await all("traderCollateralHistory", { traderPubkey: it.traderPubkey, limit: 1000 });
        expect(own).toEqual(wallet.filter((row) => row.traderSubaccountIndex === it.subaccount));
      }
    }
  });

  test("a liquidation happened", async () => {
    const rows = (
      await Promise.all(simulator.traders.map(({ authority }) => all("liquidationHistory", { authority })))
    ).flat();
    expect(rows.length).toBeGreaterThan(0);
  });
});

test("a deposit in the middle of an hour does not count as a return", async () => {
  await using simulator = await quiet({ traders: 0, startMs: Date.parse("2026-10-05T15:00:00Z") });
  await sim(simulator, "trader", { name: "one" });
  const { traderPda } = simulator.traders[0]!;
  await sim(simulator, "mark-price", { symbol: "SOL", price: "150" });
  await sim(simulator, "collateral", { trader: "one", amount: "1000" });
  await sim(simulator, "position", { trader: "one", symbol: "SOL", size: "10" });
  await sim(simulator, "advance", { ms: 20 * minute });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "160" }); // 1,100: + 10 %
  await sim(simulator, "advance", { ms: 5 * minute });
  await sim(simulator, "collateral", { trader: "one", amount: "3000" }); // 3,100
  await sim(simulator, "advance", { ms: 5 * minute });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "191" }); // 3,410: + 10 %
  await sim(simulator, "advance", { ms: 30 * minute });
  const path = `/v1/traders/${traderPda}/time-weighted-returns?resolution=1h`;
  const { points, totalReturn, quality } = await read(simulator, "timeWeightedReturns", path);
  expect(points).toHaveLength(1);
  expect(points[0].periodReturn).toBeCloseTo(0.21, 4);
  expect(points[0].netExternalFlow).toBe(2_000);
  expect(totalReturn).toBeCloseTo(0.21, 4);
  expect(quality).toMatchObject({ completeness: "complete", resetCount: 0 });
});
