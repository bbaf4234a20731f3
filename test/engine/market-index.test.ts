/** A price visits the accounts in its market and no others. */
import { afterEach, expect, test, vi } from "vitest";
import type { OrderState } from "../../src/domain/account.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { AccountAssessment } from "../../src/state/accounts/account-assessment.ts";
import { Accounts } from "../../src/state/accounts/accounts.ts";
import { World } from "../../src/state/world.ts";
import { Harness, mainWallet, marketConfig, position, prices, startMs, subaccount } from "./harness.ts";

afterEach(() => void vi.restoreAllMocks());

const order = (symbol: string): OrderState => ({
  symbol,
  sequence: symbol,
  side: "bid",
  kind: "limit",
  priceTicks: 15_000n,
  remainingLots: 100n,
  initialLots: 100n,
  stopLoss: false,
  reduceOnly: false,
  status: "active",
});

test("a live price assesses and judges only accounts that hold or rest something in its market", () => {
  const wallets = Array.from({ length: 200 }, (_, i) => ({ ...mainWallet, name: `w${i}` }));
  const harness = new Harness({
    wallets,
    rules: `
rules:
  - { name: Low, scope: trader, severity: warning, summary: low, when: trader.equity < 500.0 }
  - { name: Poor, scope: wallet, severity: warning, summary: poor, when: wallet.equity < 500.0 }
`,
  });
  harness.see({
    kind: "marketConfig",
    atMs: harness.nowMs,
    markets: ["SOL", "BTC", "ETH"].map((symbol) => marketConfig(symbol)),
  });
  harness.see({
    kind: "prices",
    atMs: harness.nowMs,
    markets: ["SOL", "BTC", "ETH"].map((symbol) => prices(150, symbol)),
  });
  for (const [i, { name: wallet }] of wallets.entries()) {
    const state =
      i < 3
        ? subaccount(1_000, [position(1, 150, "BTC")])
        : subaccount(1_000, [position(1, 150)], i === 7 ? { orders: [order("BTC")] } : {});
    harness.see({
      ...{ kind: "accounts", wallet, pdaIndex: 0, atMs: harness.nowMs, slot: 1, slotIndex: 0 },
      subaccounts: [state],
    });
  }
  const all = vi.spyOn(Accounts.prototype, "all");
  const assess = vi.spyOn(AccountAssessment.prototype, "assess");
  const refresh = vi.spyOn(AccountAssessment.prototype, "refreshAges");
  const visits = (symbol: string, usd: number) => {
    for (const spy of [all, assess, refresh]) spy.mockClear();
    const live = { kind: "prices", atMs: harness.nowMs, live: true } as const;
    const changes = harness.see({ ...live, markets: [prices(usd, symbol)] });
    return { accounts: refresh.mock.calls.length, fired: changes.alertChanges.length };
  };
  // Nobody is in ETH: no account is visited, and the list of all is not looked at.
  expect(visits("ETH", 140)).toEqual({ accounts: 0, fired: 0 });
  expect(all).not.toHaveBeenCalled();
  // Three hold BTC, and one rests an order there.
  expect(visits("BTC", 149)).toEqual({ accounts: 4, fired: 0 });
  expect(assess).toHaveBeenCalledTimes(4);
  // The same price again moves nothing: ages alone are refreshed.
  expect(visits("BTC", 149)).toEqual({ accounts: 4, fired: 0 });
  expect(assess).not.toHaveBeenCalled();
  expect(visits("SOL", 149)).toEqual({ accounts: 197, fired: 0 });
});

test("at random: the accounts of a market are those whose state names it, in the order of all accounts", () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const random = seededRandom(seed);
  const pick = (n: number) => Math.floor(random() * n);
  const world = new World(
    { orders: false, lookBackMs: 0 },
    () => {},
    () => {},
  );
  const symbols = ["SOL", "BTC", "ETH", "PUMP"];
  for (let wallet = 0; wallet < 4; wallet++) world.addWallet({ ...mainWallet, name: `w${wallet}` });
  // Marks of all but one market: accounts in that one cannot be assessed, and every price visits them.
  for (const symbol of symbols) {
    world.markets.takeConfig(marketConfig(symbol), startMs);
    if (symbol !== "PUMP") world.markets.takePrices(prices(150, symbol), startMs);
  }
  for (let slot = 1; slot <= 400; slot++) {
    const subaccounts = [0, 1, 2]
      .filter(() => random() < 0.7)
      .map((subaccount_) =>
        subaccount(
          1_000,
          symbols.filter(() => random() < 0.3).map((symbol) => position(random() < 0.2 ? 0 : 1, 150, symbol)),
          {
            subaccount: subaccount_,
            sequence: slot,
            orders: symbols.filter(() => random() < 0.2).map((symbol) => order(symbol)),
          },
        ),
      );
    const taken = world.accountStates.take({
      ...{ kind: "accounts", wallet: `w${pick(4)}`, pdaIndex: pick(2), atMs: startMs, slot, slotIndex: 0 },
      subaccounts,
    });
    for (const account of taken ?? []) world.assessment.assess(account);
    for (const symbol of symbols) {
      const naive = world.accounts
        .all()
        .filter(
          ({ positions, risk, assessed }) =>
            !assessed || positions.has(symbol) || risk.orders.some((one) => one.symbol === symbol),
        );
      const names = (accounts: typeof naive) => accounts.map(({ name }) => name);
      expect(names([...world.accounts.inMarkets([symbol])]), `seed ${seed}, slot ${slot}`).toEqual(
        names(naive),
      );
      const held = world.accounts
        .all()
        .some(
          ({ positions, risk }) => positions.has(symbol) || risk.orders.some((one) => one.symbol === symbol),
        );
      expect(world.accounts.anyIn(symbol), `seed ${seed}, slot ${slot}`).toBe(held);
    }
  }
});
