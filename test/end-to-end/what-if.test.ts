/** The figures that `whatif` foretells come true: the same is done at the exchange, and the daemon computes them from its answers. */
import { expect, test, vi } from "vitest";
import type { AccountOutlook, WhatIfAnswer } from "../../src/domain/what-if.ts";
import { every, type House, openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

async function accountsOf(house: House): Promise<readonly AccountOutlook[]> {
  const status = (await house.ask("GET", "/api/v1/status")) as {
    readonly watch: { readonly wallets: readonly { readonly accounts: readonly AccountOutlook[] }[] };
  };
  return status.watch.wallets[0]!.accounts;
}

async function ask(house: House, query: string): Promise<WhatIfAnswer["accounts"]> {
  const answer = (await house.ask("GET", `/api/v1/what-if?wallet=main&${query}`)) as WhatIfAnswer;
  return answer.accounts;
}

/** Fees of the simulated markets, fractions. */
const takerFee = 0.00035;
const makerFee = 0.00005;

const compared = [
  ...["equity", "effectiveCollateral", "freeCollateral", "maintenanceMargin", "initialMargin", "marginRatio"],
  ...["leverage", "moveToLiquidation", "adverseMoveToLiquidation", "collateral", "unrealizedPnl"],
];
const comparedOfPositions = [
  ...[
    "size",
    "notional",
    "markPrice",
    "entryPrice",
    "liquidationPrice",
    "liquidationDistance",
    "unrealizedPnl",
  ],
];

/** Figures that the exchange's doings and the answer have in common. */
function shown({ riskTier, figures, positions }: AccountOutlook) {
  const picked = (of: Readonly<Record<string, number | null>>, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, of[name]]));
  return {
    riskTier,
    figures: picked(figures, compared),
    positions: positions
      .map((one) => ({ symbol: one.symbol, ...picked(one.figures, comparedOfPositions) }))
      .sort((a, b) => (a.symbol < b.symbol ? -1 : 1)),
  };
}

async function opened(): Promise<House> {
  const house = await openHouse();
  await house.hold({ collateral: "6000", symbol: "SOL", size: "100", entryPrice: "150" });
  await house.call("position", { trader: "main", symbol: "ETH", size: "-3", entryPrice: "3100" });
  await house.hold({ collateral: "300", symbol: "GOLD", size: "1", entryPrice: "2400", subaccountIndex: 1 });
  await house.start({ schedules: every("1s", ["traderState", "markets", "marketConfig"]) });
  await house.clock.advance(3_000);
  return house;
}

async function expectTrue(house: House, query: string, act: () => Promise<unknown>): Promise<void> {
  const foretold = await ask(house, query);
  expect(foretold.map((one) => shown(one.before))).toEqual((await accountsOf(house)).map(shown));
  await act();
  await house.clock.advance(3_000);
  expect(foretold.map((one) => shown(one.after))).toEqual((await accountsOf(house)).map(shown));
}

/** A trade at the mark as a taker: the simulated exchange fills an order there as a maker, so the difference of the fees is paid, too. */
async function take(house: House, symbol: string, side: "bid" | "ask", size: number, mark: number) {
  const order = { symbol, side, size: String(size), price: String(mark), reduceOnly: true };
  await house.call("order", { trader: "main", ...order });
  await house.clock.advance(3_000);
  const { collateral } = (await accountsOf(house))[0]!.figures;
  const paid = size * mark * (takerFee - makerFee);
  await house.call("collateral", { trader: "main", amount: (collateral! - paid).toFixed(6) });
}

test("a deposit, other prices, parts of positions that are closed, a withdrawal", async () => {
  await using house = await opened();
  await expectTrue(house, "account=0.1&deposit=250.5", () =>
    house.call("collateral", { trader: "main", subaccountIndex: 1, amount: "550.5" }),
  );
  await expectTrue(house, "price=SOL%3D-12%25&price=ETH%3D3300", async () => {
    await house.call("mark-price", { symbol: "SOL", price: "132" });
    await house.call("mark-price", { symbol: "ETH", price: "3300" });
  });
  await expectTrue(house, "close=SOL%3D40", () => take(house, "SOL", "ask", 40, 132));
  await expectTrue(house, "close=ETH", () => take(house, "ETH", "bid", 3, 3_300));
  const { collateral } = (await accountsOf(house))[0]!.figures;
  await expectTrue(house, "account=0.0&deposit=-100", () =>
    house.call("collateral", { trader: "main", amount: (collateral! - 100).toFixed(6) }),
  );
});

test("what clears an account does, at the least amount of cents and lots", async () => {
  await using house = await opened();
  await house.bring("SOL", 0.04);
  await house.clock.advance(3_000);
  const near = async (query = "") =>
    (await ask(house, query)).flatMap(({ rules }) => rules.filter(({ rule }) => aboutMargin.test(rule)));
  expect(await near()).toContainEqual(
    expect.objectContaining({ rule: "LiquidationNear", subject: "main/0.0/SOL", before: "critical" }),
  );
  const [account] = await ask(house, "");
  const { usd } = account!.clear!.deposit;
  const collateral = account!.before.figures.collateral!;
  const enough = Math.ceil(usd! * 100) / 100;
  const then = (await near(`account=0.0&deposit=${enough}`)).filter(({ subject }) => isOfCross(subject));
  expect(then.map(({ after }) => after)).toEqual(then.map(() => null));
  await house.call("collateral", { trader: "main", amount: (collateral + enough).toFixed(6) });
  await house.clock.advance(90_000);
  expect((await near()).filter(({ subject }) => isOfCross(subject))).toEqual([]);
});

const aboutMargin = /^(LiquidationNear|AccountLiquidationNear|MarginHigh|AccountLiquidatable)$/;
const isOfCross = (subject: string) => subject.startsWith("main/0.0");
