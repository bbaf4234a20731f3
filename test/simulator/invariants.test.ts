/**
 * Invariants of the world after every step: thousands of steps of a seeded world with price shocks, withdrawals down to
 * the margin, hourly funding, triggers, tranches, takeovers and auto-deleveraging.
 */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import { assessAccount } from "../../src/margin/assess.ts";
import type { AccountRisk } from "../../src/margin/model.ts";
import { moveExternally } from "../../src/simulator/accounts/collateral.ts";
import { populate } from "../../src/simulator/accounts/population.ts";
import { riskOfAccount, totals } from "../../src/simulator/accounts/risk.ts";
import { perLot, trade, unsettledFunding } from "../../src/simulator/accounts/trade.ts";
import { transact } from "../../src/simulator/ledger/transaction.ts";
import type { Account, Change, Liquidation, World } from "../../src/simulator/state.ts";
import { createWorld, openWallet, step } from "../../src/simulator/world.ts";
import { traderAddress } from "../../src/wallet/address.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const steps = Number(process.env.STEPS ?? 4_000);
const stepMs = 60_000;
/** The action of each tier. */
const act = { liquidatable: "market_order", backstopLiquidatable: "backstop", highRisk: "adl" } as const;
type Failing = keyof typeof act;
const isFailing = (tier: string): tier is Failing => Object.hasOwn(act, tier);

function newWorld(traders: number): World {
  const key = (index: number) => WalletKey.fromSeed(new Uint8Array(32).fill(index + 1)).address;
  const world = createWorld({
    seed,
    startMs: Date.parse("2026-01-01T00:00:00Z"),
    stepMs,
    walk: true,
    activity: true,
    houseAuthority: key(0),
    deriveAddress: (authority, pdaIndex, subaccount) => traderAddress(authority, { pdaIndex, subaccount }),
  });
  for (let i = 0; i < traders; i++) populate(world, openWallet(world, `t${i}`, key(i + 1), true), i);
  return world;
}

/** A copy of the account as it is now. */
function frozen(world: World, account: Account): AccountRisk {
  const risk = riskOfAccount(world, account);
  return { ...risk, orders: risk.orders.map((it) => ({ ...it })) };
}

/** Records each account right before each transaction that liquidated it. */
class Witness {
  readonly #world: World;
  readonly #known = new Map<Account, AccountRisk>();
  readonly #read = new Map<object, number>();
  liquidated = new Map<Account, { row: Liquidation; tier: string }[]>();
  rows: Liquidation[] = [];
  notified: { account: Account | null; type: string; at: string }[] = [];

  constructor(world: World) {
    this.#world = world;
    for (const wallet of world.wallets.values()) this.#read.set(wallet, wallet.liquidations.last);
    world.listeners.add((change) => this.#see(change));
    this.begin();
  }

  begin(): void {
    this.liquidated = new Map();
    this.rows = [];
    this.notified = [];
    for (const account of this.#world.accounts.values())
      this.#known.set(account, frozen(this.#world, account));
  }

  #see(change: Change): void {
    const { risks, marks, house } = this.#world;
    for (const account of change.accounts.keys()) {
      if (account === house) continue;
      const { liquidations } = account.wallet;
      const rows = liquidations.since(this.#read.get(account.wallet) ?? 0);
      this.#read.set(account.wallet, liquidations.last);
      for (const row of rows) {
        this.rows.push(row);
        if (!row.account || row.role === "adl_in_profit") continue;
        const before = this.#known.get(row.account)!;
        const tier = assessAccount(before, risks, marks, { liquidation: false }).totals!.riskTier;
        const all = this.liquidated.get(row.account) ?? [];
        all.push({ row, tier });
        this.liquidated.set(row.account, all);
      }
    }
    for (const { notification: it } of change.notifications)
      if (it.place)
        this.notified.push({ account: it.account, type: it.notificationType, at: place(it.place) });
    for (const account of change.accounts.keys()) this.#known.set(account, frozen(this.#world, account));
  }
}

const place = (it: { slot: number; slotIndex: number; eventIndex: number }) =>
  `${it.slot}.${it.slotIndex}.${it.eventIndex}`;

/** Leaves one account with little more than its required margin, so that the next fall reaches some tier. */
function takeMoneyOut(world: World, random: () => number): void {
  const accounts = [...world.accounts.values()].filter((it) => it !== world.house && it.positions.size > 0);
  const account = accounts[Math.floor(random() * accounts.length)];
  if (!account) return;
  const { effectiveCollateralQuoteLots, maintenanceMarginQuoteLots } = totals(world, account);
  const spare = BigInt(effectiveCollateralQuoteLots) - (BigInt(maintenanceMarginQuoteLots) * 102n) / 100n;
  if (spare > 0n) transact(world, (tx) => moveExternally(world, tx, account, -spare));
}

describe(`a world of seed ${seed}, ${steps} steps`, () => {
  const world = newWorld(25);
  const shocks = seededRandom(seed + 1);
  const kinds = new Map<string, number>();

  test("after every step", { timeout: 55_000 }, () => {
    const witness = new Witness(world);
    for (let i = 1; i <= steps; i++) {
      world.nowMs += stepMs;
      world.steppedMs = world.nowMs;
      if (i % 50 === 0)
        for (const market of world.markets.values()) market.oracle *= 1 + (shocks() - 0.5) * 0.16;
      if (i % 10 === 0) takeMoneyOut(world, shocks);
      witness.begin();
      step(world, stepMs);
      try {
        conserved(world);
        equities(world);
        margins(world, witness);
        told(witness);
      } catch (error) {
        throw new Error(`seed ${seed}, step ${i}: ${(error as Error).message}`, { cause: error });
      }
      for (const { detail } of witness.rows) kinds.set(detail.kind, (kinds.get(detail.kind) ?? 0) + 1);
    }
    // All kinds occurred.
    expect([...kinds.keys()].sort()).toEqual(["adl", "backstop", "market_order"]);
    expect(kinds.get("market_order")).toBeGreaterThan(20);
  });

  test("as much funding was received as paid, hour by hour and in all", () => {
    const byHour = new Map<string, bigint>();
    let settled = 0n;
    for (const account of world.accounts.values()) {
      for (const row of account.wallet.funding.all()) {
        if (row.account !== account) continue;
        const key = `${row.symbol} ${row.atMs}`;
        byHour.set(key, (byHour.get(key) ?? 0n) + row.payment);
      }
      for (const it of account.totals.values()) settled += it.fundingSettled;
      for (const [symbol, it] of account.positions)
        settled += unsettledFunding(world.markets.get(symbol)!, it);
    }
    expect(byHour.size).toBeGreaterThan(steps / 60);
    expect([...byHour.values()].every((it) => it === 0n)).toBe(true);
    expect(settled).toBe(0n);
  });

  test("equity is deposits and results, whatever happened on the way", () => {
    for (const account of world.accounts.values()) {
      if (account === world.house) continue;
      let results = account.netDeposits;
      for (const it of account.totals.values())
        results += it.realizedPnl + it.fundingSettled - it.takerFees - it.makerFees;
      expect(account.collateral).toBe(results);
    }
  });
});

test("an account that falls short by another one's deleveraging is liquidated in the same step", () => {
  const world = newWorld(0);
  world.activity = false;
  const opened = (index: number, dollars: bigint, positions: [string, bigint][]): Account => {
    const key = WalletKey.fromSeed(new Uint8Array(32).fill(100 + index)).address;
    const account = openWallet(world, `w${index}`, key, false).accounts.get("0.0")!;
    transact(world, (tx) => moveExternally(world, tx, account, dollars * 1_000_000n));
    for (const [symbol, lots] of positions) {
      const market = world.markets.get(symbol)!;
      const terms = { liquidity: "taker", tradeType: "market", instructionType: "PlaceMarketOrder" } as const;
      transact(world, (tx) => trade(world, tx, market, account, lots, market.markTicks, terms));
    }
    return account;
  };
  const pays = opened(0, 2_400n, [
    ["SOL", -1_000n],
    ["BTC", 10_000n],
  ]);
  const owes = opened(1, 700n, [["SOL", 10_000n]]);
  const roles = (account: Account) =>
    account.wallet.liquidations.all().map((it) => `${it.role} ${it.symbol}`);
  // Both prices fall at once: the loss that one account cannot pay reduces the other's profit, which its BTC position
  // needed.
  world.markets.get("SOL")!.oracle *= 0.6;
  world.markets.get("BTC")!.oracle *= 0.98;
  world.nowMs += stepMs;
  step(world, stepMs);
  expect(roles(owes)).toEqual(["adl_closed_long SOL"]);
  expect(roles(pays)).toEqual(["adl_in_profit SOL", "liquidatee BTC"]);
});

/** Money is conserved exactly, without rounding. */
function conserved(world: World): void {
  let money = 0n;
  const lots = new Map<string, bigint>();
  const longs = new Map<string, bigint>();
  for (const account of world.accounts.values()) {
    money += account.collateral;
    for (const [symbol, position] of account.positions) {
      const { baseLots } = position;
      money += position.virtualQuoteLots + unsettledFunding(world.markets.get(symbol)!, position);
      lots.set(symbol, (lots.get(symbol) ?? 0n) + baseLots);
      if (baseLots > 0n) longs.set(symbol, (longs.get(symbol) ?? 0n) + baseLots);
    }
  }
  expect(money, "collateral and its promises are what came in").toBe(world.externalFlows);
  for (const [symbol, sum] of lots) expect(sum, `longs and shorts of ${symbol}`).toBe(0n);
  for (const [symbol, market] of world.markets)
    expect(market.openInterestLots, `open interest of ${symbol}`).toBe(longs.get(symbol) ?? 0n);
}

function equities(world: World): void {
  for (const account of world.accounts.values()) {
    if (account === world.house) continue;
    let equity = account.collateral;
    for (const [symbol, position] of account.positions) {
      const market = world.markets.get(symbol)!;
      equity += position.virtualQuoteLots + position.baseLots * perLot(market, market.markTicks);
      equity += unsettledFunding(market, position);
    }
    expect(BigInt(totals(world, account).portfolioValueQuoteLots), account.wallet.name).toBe(equity);
  }
}

/** Checks that accounts below maintenance at the end were liquidated by one tranche, and no others. */
function margins(world: World, { liquidated }: Witness): void {
  for (const account of world.accounts.values()) {
    if (account === world.house) continue;
    const name = `${account.wallet.name}/${account.subaccount}`;
    const rows = liquidated.get(account) ?? [];
    expect(rows.length, `${name} is liquidated at most once in a step`).toBeLessThanOrEqual(1);
    for (const { row, tier } of rows) {
      expect(isFailing(tier), `${name} was ${tier} when it was liquidated`).toBe(true);
      expect(row.detail.kind, `${name} was ${tier}`).toBe(act[tier as Failing]);
      const { maxLiquidationSizeBaseLots } = world.markets.get(row.symbol)!.spec;
      if (row.detail.kind === "market_order")
        expect(row.detail.lots, "one tranche").toBeLessThanOrEqual(maxLiquidationSizeBaseLots);
    }
    const { riskTier } = totals(world, account);
    if (isFailing(riskTier) && account.positions.size > 0)
      expect(rows.length, `${name} is ${riskTier} and nothing was done`).toBe(1);
    if (riskTier === "cancellable")
      expect(
        [...account.orders].every((it) => it.reduceOnly),
        `${name} is cancellable`,
      ).toBe(true);
  }
}

/** Each liquidation has its record and its notification, and vice versa. */
function told({ rows, notified }: Witness): void {
  const types = { market_order: "liquidation", backstop: "backstop_liquidation", adl: "adl" } as const;
  const recorded = rows
    .filter((it) => it.account !== null)
    .map((it) => `${types[it.detail.kind]} ${it.account?.address} ${place(it)}`);
  const heard = notified
    .filter((it) => Object.values<string>(types).includes(it.type))
    .map((it) => `${it.type} ${it.account?.address} ${it.at}`);
  expect(heard.sort()).toEqual(recorded.sort());
}
