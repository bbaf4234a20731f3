/**
 * The exchange's side of a scenario, planned from a seed: wallets with their accounts, and what traders, prices and the exchange
 * do in ten minutes. A plan is data; sizes in it are relative to what stands there when it is done.
 */

import { moveExternally, transfer } from "../../src/simulator/accounts/collateral.ts";
import { setTriggers, triggerFor } from "../../src/simulator/accounts/orders.ts";
import { perLot, trade } from "../../src/simulator/accounts/trade.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { transact } from "../../src/simulator/ledger/transaction.ts";
import { ticksText } from "../../src/simulator/server/answers/trader.ts";
import type { Account, Market, World } from "../../src/simulator/state.ts";
import { follow, openAccount } from "../../src/simulator/world.ts";
import { type AccountDeed, isForbidden, isOfAccount, performOnAccount } from "./deeds-accounts.ts";
import { type PairPlan, planHedges } from "./deeds-hedges.ts";
import { elsewhere, type MarketDeed, performOnMarket, planMarkets } from "./deeds-markets.ts";
import { planWhales } from "./deeds-whales.ts";
import { Draw } from "./draw.ts";
import { nameOf } from "./names.ts";
import { planAccounts } from "./plan-accounts.ts";
import { fund, nakedLots } from "./rehedge.ts";

export interface AccountPlan {
  readonly wallet: string;
  readonly pdaIndex: number;
  readonly subaccount: number;
  /** Markets in which it trades; an isolated one has one. */
  readonly symbols: readonly string[];
  /** USD. */
  readonly collateral: number;
  /** SOL as spot collateral; 0: none. */
  readonly spot: number;
}

export interface WalletPlan {
  readonly name: string;
  readonly pdaIndices: readonly number[];
  readonly watchOnly: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, number>>;
}

/** Times are ms after the beginning. */
export type Deed = MarketDeed | AccountDeed | PlayerDeed;

/** Deeds of traders, prices and the exchange as a whole. */
type PlayerDeed = { readonly atMs: number } & (
  | { readonly kind: "mark"; readonly symbol: string; readonly factor: number }
  /** Opens, adds, reduces or flips: a trade of so many times the collateral, signed. */
  | { readonly kind: "trade"; readonly account: number; readonly symbol: string; readonly leverage: number }
  /** Closes a share of what is held; above 1 it flips. */
  | { readonly kind: "close"; readonly account: number; readonly symbol: string; readonly share: number }
  /** A trade after which the legs of a pair cancel out. */
  | { readonly kind: "rehedge"; readonly account: number; readonly symbol: string; readonly pair: number }
  /** Null: its stops are lost. */
  | {
      readonly kind: "stop";
      readonly account: number;
      readonly symbol: string;
      readonly distance: number | null;
    }
  /** A limit order. One that only reduces has the size of the position at most. */
  | {
      readonly kind: "order";
      readonly account: number;
      readonly symbol: string;
      readonly leverage: number;
      readonly distance: number;
      readonly reduceOnly?: true;
      /** Time for which it rested before. */
      readonly restedMs?: number;
    }
  /** A share of the collateral, signed: a deposit or a withdrawal. */
  | { readonly kind: "money"; readonly account: number; readonly share: number }
  | { readonly kind: "transfer"; readonly from: number; readonly to: number; readonly share: number }
  | { readonly kind: "spot"; readonly account: number; readonly balance: number }
  /** Percent; null: as the premium says. */
  | { readonly kind: "funding"; readonly symbol: string; readonly percent: number | null }
  | { readonly kind: "halt"; readonly symbol: string | null; readonly on: boolean }
  /** The exchange lets nobody in, or nothing out. */
  | { readonly kind: "gate"; readonly what: "gated" | "withdrawalsAvailable"; readonly on: boolean }
  /** A market leaves the exchange, and never comes back. */
  | { readonly kind: "delist"; readonly symbol: string; readonly status: "closed" | "tombstoned" }
  | { readonly kind: "session"; readonly wallet: string; readonly action: "expire-access" | "revoke" }
  | { readonly kind: "notice"; readonly wallet: string | null; readonly text: string }
);

export interface WorldPlan {
  readonly wallets: readonly WalletPlan[];
  readonly accounts: readonly AccountPlan[];
  /** Hedges that are declared. */
  readonly pairs: readonly PairPlan[];
  /** By time. */
  readonly deeds: readonly Deed[];
  /** The exchange's own ceiling; null: none. */
  readonly requestsPerSecond: number | null;
  /** The largest size of one liquidation is so many times smaller than usual. */
  readonly tranches: number;
}

const crossSymbols = ["SOL", "BTC", "ETH"];
const isolatedSymbols = ["SOL", "BTC", "ETH", "GOLD"];
const symbols = [...crossSymbols, "GOLD"];

/** The share of exchanges with a ceiling that grant hardly more requests than a daemon needs. */
const scarceShare = 0.4;
/** The share of scenarios with an account that nobody trades in. */
const idleShare = 0.2;

export function planWorld(seed: number, lengthMs: number): WorldPlan {
  const draw = new Draw(seed, 1);
  const wallets: WalletPlan[] = [];
  const accounts: AccountPlan[] = [];
  // Small ones cost least, and show most of what there is.
  const count = draw.chance(0.5) ? 1 : draw.chance(0.7) ? draw.whole(2, 5) : draw.whole(6, 12);
  for (let i = 0; i < count; i++) {
    const name = `w${i + 1}`;
    const pdaIndices = draw.one([[0], [0], [0, 3], [0, 1, 7]]);
    const labels = draw.chance(0.4) ? { stops: "none" } : {};
    wallets.push({ name, pdaIndices, watchOnly: draw.chance(0.15), labels });
    for (const pdaIndex of pdaIndices) {
      const collateral = Math.round(10 ** draw.between(3, 5.5));
      const spot = draw.chance(0.15) ? draw.whole(1, 200) : 0;
      accounts.push({
        wallet: name,
        pdaIndex,
        subaccount: 0,
        symbols: draw.some(crossSymbols, 0.5),
        collateral,
        spot,
      });
      if (!draw.chance(0.3)) continue;
      const isolated = {
        symbols: [draw.one(isolatedSymbols)],
        collateral: Math.round(collateral / 5),
        spot: 0,
      };
      accounts.push({ wallet: name, pdaIndex, subaccount: draw.whole(1, 3), ...isolated });
    }
  }
  const deeds = [
    ...pricePaths(draw, lengthMs),
    ...traders(draw, accounts, lengthMs).filter(isBusy(new Draw(seed, 16), accounts.length)),
    ...exchange(draw, wallets, lengthMs),
    ...collapses(new Draw(seed, 11), lengthMs),
    ...slides(new Draw(seed, 13), lengthMs),
    ...delistings(new Draw(seed, 12), lengthMs),
  ];
  const markets = planMarkets(seed, lengthMs, wallets, accounts.length);
  accounts.push(...markets.accounts);
  deeds.push(...markets.deeds);
  const more = planAccounts(seed, lengthMs, wallets, accounts);
  accounts.push(...more.accounts);
  deeds.push(...more.deeds);
  const { pairs, ...hedges } = planHedges(seed, lengthMs, wallets, accounts.length);
  accounts.push(...hedges.accounts);
  deeds.push(...hedges.deeds);
  const whales = planWhales(seed, lengthMs, accounts.length);
  wallets.push(...whales.wallets);
  accounts.push(...whales.accounts);
  deeds.push(...whales.deeds);
  deeds.sort((a, b) => a.atMs - b.atMs);
  const granted = draw.chance(0.2) ? draw.whole(8, 40) : null;
  const scarce = new Draw(seed, 17);
  const enough = wallets.length + 1;
  const requestsPerSecond =
    granted !== null && scarce.chance(scarceShare) ? Math.max(scarce.whole(3, 6), enough) : granted;
  const tranches = new Draw(seed, 14).one([1, 1, 20, 200]);
  return { wallets, accounts, pairs, deeds, requestsPerSecond, tranches };
}

/** Now and then nobody trades in one of the accounts. @returns true for the deeds of others */
function isBusy(draw: Draw, accounts: number): (deed: Deed) => boolean {
  const idle = draw.chance(idleShare) ? draw.whole(0, accounts - 1) : null;
  return (deed) =>
    !("account" in deed && deed.account === idle) &&
    !("from" in deed && [deed.from, deed.to].includes(idle!));
}

/** Each market walks, and some crash and come back. */
function pricePaths(draw: Draw, lengthMs: number): readonly Deed[] {
  const deeds: Deed[] = [];
  for (const symbol of symbols) {
    const volatility = draw.one([0.0002, 0.001, 0.003]);
    for (let atMs = draw.between(0, 10_000); atMs < lengthMs; atMs += draw.between(1_000, 15_000))
      deeds.push({
        kind: "mark",
        atMs,
        symbol,
        factor: 1 + volatility * (draw.random() + draw.random() + draw.random() - 1.5) * 2,
      });
    if (!draw.chance(0.4)) continue;
    // A crash, or a squeeze, in some steps; perhaps all the way back.
    const size = draw.between(0.03, 0.3) * (draw.chance(0.6) ? -1 : 1);
    const steps = draw.whole(1, 6);
    const factor = (1 + size) ** (1 / steps);
    let atMs = draw.between(30_000, lengthMs * 0.7);
    for (let i = 0; i < steps; i++, atMs += draw.between(500, 20_000))
      deeds.push({ kind: "mark", atMs, symbol, factor });
    if (draw.chance(0.6))
      deeds.push({ kind: "mark", atMs: atMs + draw.between(1_000, 90_000), symbol, factor: 1 / (1 + size) });
  }
  return deeds;
}

function traders(draw: Draw, accounts: readonly AccountPlan[], lengthMs: number): readonly Deed[] {
  const deeds: Deed[] = [];
  for (const [account, plan] of accounts.entries()) {
    const cross = accounts.findIndex((one) => one.wallet === plan.wallet && one.pdaIndex === plan.pdaIndex);
    const leverage = () => draw.between(0.5, draw.chance(0.3) ? 9 : 4) * (draw.chance(0.6) ? 1 : -1);
    for (const symbol of plan.symbols) {
      if (draw.chance(0.75))
        deeds.push({ kind: "trade", atMs: 0, account, symbol, leverage: leverage() / plan.symbols.length });
      if (draw.chance(0.5))
        deeds.push({ kind: "stop", atMs: 0, account, symbol, distance: draw.between(0.02, 0.2) });
    }
    const actions = draw.whole(0, 6);
    for (let i = 0; i < actions; i++) {
      const atMs = draw.between(0, lengthMs);
      const symbol = draw.one(plan.symbols);
      deeds.push(
        draw.one<() => Deed>([
          () => ({ kind: "trade", atMs, account, symbol, leverage: leverage() / 2 }),
          () => ({ kind: "close", atMs, account, symbol, share: draw.one([0.25, 0.5, 1, 1, 2]) }),
          () => ({
            kind: "stop",
            atMs,
            account,
            symbol,
            distance: draw.chance(0.4) ? null : draw.between(0.01, 0.2),
          }),
          () => ({
            kind: "order",
            atMs,
            account,
            symbol,
            leverage: leverage() / 4,
            distance: draw.between(0.002, 0.05),
          }),
          () => ({ kind: "money", atMs, account, share: draw.one([-0.6, -0.3, -0.1, 0.1, 0.5, 2]) }),
          () => ({ kind: "transfer", atMs, from: cross, to: account, share: draw.between(0.05, 0.4) }),
          () => ({ kind: "spot", atMs, account, balance: draw.whole(0, 100) }),
        ])(),
      );
    }
  }
  return deeds;
}

function exchange(draw: Draw, wallets: readonly WalletPlan[], lengthMs: number): readonly Deed[] {
  const deeds: Deed[] = [];
  const spans = (share: number, begin: (atMs: number) => Deed, end: (atMs: number) => Deed): void => {
    if (!draw.chance(share)) return;
    const atMs = draw.between(20_000, lengthMs * 0.6);
    deeds.push(begin(atMs), end(atMs + draw.between(5_000, 150_000)));
  };
  for (const symbol of symbols) {
    const percent = draw.between(-0.1, 0.1);
    spans(
      0.15,
      (atMs) => ({ kind: "funding", atMs, symbol, percent }),
      (atMs) => ({ kind: "funding", atMs, symbol, percent: null }),
    );
    spans(
      0.1,
      (atMs) => ({ kind: "halt", atMs, symbol, on: true }),
      (atMs) => ({ kind: "halt", atMs, symbol, on: false }),
    );
  }
  spans(
    0.1,
    (atMs) => ({ kind: "halt", atMs, symbol: null, on: true }),
    (atMs) => ({ kind: "halt", atMs, symbol: null, on: false }),
  );
  for (const { name } of wallets) {
    if (draw.chance(0.15))
      deeds.push({
        kind: "session",
        atMs: draw.between(0, lengthMs * 0.7),
        wallet: name,
        action: draw.one(["expire-access", "revoke"]),
      });
    if (draw.chance(0.1))
      deeds.push({ kind: "notice", atMs: draw.between(0, lengthMs), wallet: name, text: `word to ${name}` });
  }
  if (draw.chance(0.2))
    deeds.push({ kind: "notice", atMs: draw.between(0, lengthMs), wallet: null, text: "word to all" });
  return deeds;
}

/** A price that falls or rises at once by so much that accounts are bankrupt, and others' profits are taken (ADL). */
function collapses(draw: Draw, lengthMs: number): readonly Deed[] {
  if (!draw.chance(0.3)) return [];
  const symbol = draw.one(symbols);
  const factor = draw.chance(0.6) ? draw.between(0.4, 0.7) : draw.between(1.4, 1.8);
  const atMs = draw.between(60_000, lengthMs * 0.7);
  const fall: Deed = { kind: "mark", atMs, symbol, factor };
  const backMs = atMs + draw.between(2_000, 60_000);
  return draw.chance(0.6) ? [fall, { kind: "mark", atMs: backMs, symbol, factor: 1 / factor }] : [fall];
}

/** A price that falls or rises by many small steps, so that accounts are liquidated before they are bankrupt. */
function slides(draw: Draw, lengthMs: number): readonly Deed[] {
  if (!draw.chance(0.5)) return [];
  const symbol = draw.one(symbols);
  const factor = 1 + draw.between(0.002, 0.006) * (draw.chance(0.6) ? -1 : 1);
  const steps = draw.whole(40, 120);
  const beginMs = draw.between(30_000, lengthMs * 0.5);
  return Array.from({ length: steps }, (_, index): Deed => {
    return { kind: "mark", atMs: beginMs + (index + draw.random()) * 1_000, symbol, factor };
  });
}

function delistings(draw: Draw, lengthMs: number): readonly Deed[] {
  if (!draw.chance(0.14)) return [];
  const symbol = draw.one(symbols);
  const atMs = draw.between(60_000, lengthMs * 0.6);
  return [
    { kind: "delist", atMs, symbol, status: "closed" },
    { kind: "delist", atMs: atMs + draw.between(10_000, 120_000), symbol, status: "tombstoned" },
  ];
}

/** Makes the wallets and their accounts. */
export async function settle(
  simulator: Simulator,
  { wallets, accounts, tranches }: WorldPlan,
): Promise<void> {
  for (const { name } of wallets) await simulator.call("trader", { name });
  const { world } = simulator;
  for (const market of world.markets.values()) {
    const maxLiquidationSizeBaseLots = market.spec.maxLiquidationSizeBaseLots / BigInt(tranches);
    Object.assign(market, { spec: { ...market.spec, maxLiquidationSizeBaseLots } });
  }
  for (const plan of accounts) {
    // An account without collateral is opened by whoever gives it some.
    if (plan.collateral === 0) continue;
    const account = accountOf(world, plan);
    transact(world, (tx) => moveExternally(world, tx, account, BigInt(plan.collateral) * 1_000_000n));
    if (plan.spot > 0)
      await simulator.call("spot-collateral", {
        trader: plan.wallet,
        pdaIndex: plan.pdaIndex,
        balance: plan.spot,
      });
  }
}

/** Does it, now. @returns it in words; null where nothing was there to be done */
export async function perform(simulator: Simulator, plan: WorldPlan, deed: Deed): Promise<string | null> {
  const { world } = simulator;
  const marketOf = (symbol: string): Market => world.markets.get(symbol)!;
  simulator.nowMs();
  if (
    ["trade", "close", "rehedge", "order", "place", "execute"].includes(deed.kind) &&
    "symbol" in deed &&
    deed.symbol !== null
  )
    if (isDelisted(marketOf(deed.symbol))) return null;
  if ("account" in deed && isForbidden(accountOf(world, plan.accounts[deed.account]!), deed)) return null;
  if (isOfAccount(deed))
    return performOnAccount(simulator, accountOf(world, plan.accounts[deed.account]!), deed);
  switch (deed.kind) {
    case "mark": {
      const market = marketOf(deed.symbol);
      const ticks = Math.max(1, Math.round(market.markTicks * deed.factor));
      const price = ticksText(market, ticks);
      const oraclePrice = elsewhere(market, ticks);
      await simulator.call("mark-price", { symbol: deed.symbol, price, oraclePrice });
      return `mark of ${deed.symbol} ${price}`;
    }
    case "trade": {
      const account = accountOf(world, plan.accounts[deed.account]!);
      const market = marketOf(deed.symbol);
      const lots = lotsFor(account, market, deed.leverage);
      return lots === 0n ? null : traded(simulator, account, market, lots);
    }
    case "close": {
      const account = accountOf(world, plan.accounts[deed.account]!);
      const held = account.positions.get(deed.symbol)?.baseLots ?? 0n;
      const lots = (-held * BigInt(Math.round(deed.share * 100))) / 100n;
      return lots === 0n ? null : traded(simulator, account, marketOf(deed.symbol), lots);
    }
    case "rehedge": {
      const account = accountOf(world, plan.accounts[deed.account]!);
      const market = marketOf(deed.symbol);
      const lots = -nakedLots(world, plan.pairs[deed.pair]!);
      if (lots === 0n) return null;
      fund(world, account, market, lots);
      return traded(simulator, account, market, lots);
    }
    case "stop": {
      const account = accountOf(world, plan.accounts[deed.account]!);
      const market = marketOf(deed.symbol);
      const held = account.positions.get(deed.symbol)?.baseLots ?? 0n;
      if (held === 0n) return null;
      const factor = 1 - (deed.distance ?? 0) * (held > 0n ? 1 : -1);
      const ticks = Math.max(1, Math.round(market.markTicks * factor));
      const triggers = deed.distance === null ? [] : [triggerFor("stopLoss", held, ticks)];
      transact(world, (tx) => setTriggers(tx, market, account, triggers));
      await after(simulator, market);
      return `${nameOf(account)}/${deed.symbol}: ${deed.distance === null ? "stops lost" : `stop at ${ticksText(market, ticks)}`}`;
    }
    case "order": {
      const { wallet, pdaIndex, subaccount } = plan.accounts[deed.account]!;
      const account = accountOf(world, plan.accounts[deed.account]!);
      const market = marketOf(deed.symbol);
      const { reduceOnly = false, restedMs = 0 } = deed;
      const held = account.positions.get(deed.symbol)?.baseLots ?? 0n;
      const lots = reduceOnly ? -held : lotsFor(account, market, deed.leverage);
      if (lots === 0n) return null;
      const side = lots > 0n ? "bid" : "ask";
      const ticks = Math.max(1, Math.round(market.markTicks * (1 - deed.distance * (lots > 0n ? 1 : -1))));
      const size = Number(lots < 0n ? -lots : lots) / 10 ** market.spec.baseLotsDecimals;
      const order = { trader: wallet, pdaIndex, subaccountIndex: subaccount, symbol: deed.symbol, side };
      const price = ticksText(market, ticks);
      await simulator.call("order", { ...order, price, size: String(size), reduceOnly, restedMs });
      const rested = restedMs === 0 ? "" : `, for ${(restedMs / 3_600_000).toFixed(2)} h already`;
      return `${nameOf(account)}: ${side} ${size} ${deed.symbol} at ${price}${reduceOnly ? ", to reduce" : ""}${rested}`;
    }
    case "money": {
      const account = accountOf(world, plan.accounts[deed.account]!);
      if (account.collateral <= 0n) return null;
      const amount = (account.collateral * BigInt(Math.round(deed.share * 100))) / 100n;
      transact(world, (tx) => moveExternally(world, tx, account, amount));
      await after(simulator);
      return `${nameOf(account)}: ${amount > 0n ? "deposit" : "withdrawal"} of ${Math.abs(Number(amount)) / 1e6}`;
    }
    case "transfer": {
      const from = accountOf(world, plan.accounts[deed.from]!);
      const to = accountOf(world, plan.accounts[deed.to]!);
      if (from === to || from.collateral <= 0n) return null;
      const amount = (from.collateral * BigInt(Math.round(deed.share * 100))) / 100n;
      transact(world, (tx) => transfer(tx, from, to, amount));
      await after(simulator);
      return `${nameOf(from)} to ${nameOf(to)}: transfer of ${Number(amount) / 1e6}`;
    }
    case "spot": {
      const { wallet, pdaIndex, subaccount } = plan.accounts[deed.account]!;
      if (subaccount !== 0) return null;
      await simulator.call("spot-collateral", { trader: wallet, pdaIndex, balance: deed.balance });
      return `${wallet}/${pdaIndex}.0: ${deed.balance} SOL of spot collateral`;
    }
    case "funding": {
      const ratePercentage = deed.percent === null ? null : deed.percent.toFixed(6);
      await simulator.call("funding-rate", { symbol: deed.symbol, ratePercentage });
      return `funding of ${deed.symbol} ${ratePercentage ?? "as usual"}`;
    }
    case "halt":
      if (deed.symbol !== null && isDelisted(marketOf(deed.symbol))) return null;
      if (deed.symbol === null) await simulator.call("exchange", { active: !deed.on });
      else await simulator.call("market", { symbol: deed.symbol, status: deed.on ? "paused" : "active" });
      return `${deed.symbol ?? "the exchange"} ${deed.on ? "halts" : "trades again"}`;
    case "gate":
      await simulator.call("exchange", { [deed.what]: deed.what === "gated" ? deed.on : !deed.on });
      return `the exchange: ${deed.what} ${deed.what === "gated" ? deed.on : !deed.on}`;
    case "delist":
      await simulator.call("market", { symbol: deed.symbol, status: deed.status });
      return `${deed.symbol} is ${deed.status}`;
    case "session":
      await simulator.call("session", { trader: deed.wallet, action: deed.action });
      return `${deed.wallet}: ${deed.action}`;
    case "notice": {
      const body = { notificationType: "maintenance", title: deed.text, body: deed.text };
      const to = deed.wallet === null ? { source: "admin" } : { source: "general", trader: deed.wallet };
      await simulator.call("notification", { ...body, ...to });
      return `announcement: ${deed.text}`;
    }
    default:
      return performOnMarket(simulator, deed);
  }
}

const isDelisted = ({ status }: Market): boolean => status === "closed" || status === "tombstoned";

export function accountOf(
  world: World,
  plan: Pick<AccountPlan, "wallet" | "pdaIndex" | "subaccount">,
): Account {
  const wallet = [...world.wallets.values()].find(({ name }) => name === plan.wallet)!;
  return openAccount(world, wallet, plan.pdaIndex, plan.subaccount);
}

async function traded(simulator: Simulator, account: Account, market: Market, lots: bigint): Promise<string> {
  const { world } = simulator;
  transact(world, (tx) =>
    trade(world, tx, market, account, lots, market.markTicks, {
      ...{ liquidity: "taker", tradeType: "market", instructionType: "PlaceMarketOrder" },
    }),
  );
  await after(simulator, market);
  const units = Number(lots) / 10 ** market.spec.baseLotsDecimals;
  return `${nameOf(account)}: ${units} ${market.spec.symbol} at ${ticksText(market, market.markTicks)}`;
}

/** All that follows at this instant, and word of it on the stream. */
async function after(simulator: Simulator, ...moved: readonly Market[]): Promise<void> {
  follow(simulator.world, moved);
  await simulator.call("advance", { ms: 0 });
}

function lotsFor(account: Account, market: Market, leverage: number): bigint {
  if (account.collateral <= 0n) return 0n;
  return (
    (account.collateral * BigInt(Math.round(leverage * 1_000))) / 1_000n / perLot(market, market.markTicks)
  );
}
