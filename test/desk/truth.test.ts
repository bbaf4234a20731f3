/** The desk's arithmetic against the worked example of the exchange's documentation, and against the simulated exchange. */
import { expect, test } from "vitest";
import { startSimulator } from "../../src/simulator/index.ts";
import { fits, printed } from "./numbers.ts";
import { type AccountTruth, accountFigures, readMoment, tick } from "./truth.ts";

const account: AccountTruth = {
  wallet: "main",
  name: "0.1",
  collateral: 1_000,
  netDeposits: 1_000,
  spot: 0,
  positions: [{ symbol: "GOLD", size: 4, entry: 2_436.2, funding: -1.1, stops: [] }],
};

test("gold in an isolated account, as the documentation works it out", () => {
  const figures = accountFigures(account, { GOLD: 2_411.6 }, {});
  expect(figures.effective).toBeCloseTo(900.5, 6);
  expect(figures.maintenance).toBeCloseTo(482.32, 6);
  expect(figures.ratio).toBeCloseTo(0.5356, 4);
  expect(figures.tier).toBe("atRisk");
  expect(figures.positions[0]!.liquidation).toBeCloseTo(2_301.55, 2);
  expect(figures.positions[0]!.distance).toBeCloseTo(0.0457, 3);
});

test("several markets, spot collateral and a short agree with the simulated exchange", async () => {
  await using simulator = await startSimulator({ walk: false, traders: 0, speed: 0 });
  const prices = { SOL: 150, BTC: 60_000, ETH: 3_000 };
  for (const [symbol, price] of Object.entries(prices))
    await simulator.call("mark-price", { symbol, price: String(price) });
  const sizes = { one: { BTC: 0.5, ETH: 5 }, two: { SOL: 100 }, three: { ETH: -40 } };
  const spots = { one: 0, two: 40, three: 0 };
  for (const [trader, positions] of Object.entries(sizes)) {
    await simulator.call("trader", { name: trader });
    await simulator.call("collateral", { trader, amount: trader === "two" ? "3000" : "20000" });
    for (const [symbol, size] of Object.entries(positions))
      await simulator.call("position", { trader, symbol, size: String(size) });
    const balance = spots[trader as keyof typeof spots];
    if (balance > 0) await simulator.call("spot-collateral", { trader, balance: String(balance) });
  }
  await simulator.call("mark-price", { symbol: "SOL", price: "131" });
  await simulator.call("mark-price", { symbol: "ETH", price: "3100" });
  const moment = readMoment(simulator.world, simulator.nowMs(), new Map());
  const state = (await (await fetch(`${simulator.url}/sim/state`)).json()) as {
    readonly accounts: readonly {
      readonly wallet: string;
      readonly effectiveCollateral: string;
      readonly maintenanceMargin: string;
      readonly portfolioValue: string;
      readonly positions: readonly { readonly symbol: string; readonly liquidationPrice: string | null }[];
    }[];
  };
  for (const one of state.accounts) {
    const figures = accountFigures(moment.accounts.get(`${one.wallet}/0.0`)!, moment.marks, moment.oracles);
    expect(figures.effective).toBeCloseTo(Number(one.effectiveCollateral), 4);
    expect(figures.maintenance).toBeCloseTo(Number(one.maintenanceMargin), 3);
    expect(figures.equity).toBeCloseTo(Number(one.portfolioValue), 4);
    for (const { symbol, liquidationPrice } of one.positions) {
      const own = figures.positions.find((position) => position.symbol === symbol)!;
      if (liquidationPrice === null) expect(own.liquidation).toBe(Number.POSITIVE_INFINITY);
      else
        expect(Math.abs(own.liquidation - Number(liquidationPrice))).toBeLessThanOrEqual(
          tick[symbol]! * 1.01,
        );
    }
  }
});

test.each([
  ["4.37%", 0.0437, 0.00005],
  ["12%", 0.12, 0.0005],
  ["-$1,234.50", -1_234.5, 0.005],
  ["$361,600", 361_600, 0.5],
  ["∞", Number.POSITIVE_INFINITY, 0],
])("%s is read with the precision of its digits", (text, value, half) => {
  const found = printed(text)!;
  expect(found.value).toBeCloseTo(value, 9);
  expect(found.half).toBeCloseTo(half, 9);
  expect(fits(found, { low: value, high: value })).toBe(true);
  if (half > 0) expect(fits(found, { low: value + 3 * half, high: value + 4 * half }, 0)).toBe(false);
});

test.each([
  ["over 10,000%", 100.5, 99],
  ["over 10,000%", Number.POSITIVE_INFINITY, -200],
  ["below -10,000%", -101, -99],
  ["over 100×", 120, 99],
])("%s stands for each figure beyond it", (text, beyond, within) => {
  const found = printed(text)!;
  expect(fits(found, { low: beyond, high: beyond })).toBe(true);
  expect(fits(found, { low: within, high: within })).toBe(false);
});

test("what is no number is not read as one", () => {
  expect(printed("31,666%")).toBeUndefined();
  expect(printed("–")).toBeUndefined();
  expect(printed("long 12 SOL")).toBeUndefined();
});
