/**
 * The simulated world. Time advances in steps of a fixed grid, so that its state does not depend on how often it is
 * read. Order within a step: prices move, funding falls due, orders fill and triggers fire, traders act, margin is
 * enforced, figures are recorded. A control call makes its change and then runs the same from "orders fill" on.
 */
import { seededRandom } from "../domain/clock.ts";
import { traderActions } from "./accounts/activity.ts";
import { momentMs, noteMoment, recordVersion } from "./accounts/history.ts";
import { enforceMargin } from "./accounts/liquidation.ts";
import { fireTriggers, matchOrders } from "./accounts/orders.ts";
import { Journal } from "./journal.ts";
import { createLedger } from "./ledger/ledger.ts";
import { accrueFunding, samplePremium } from "./markets/funding.ts";
import {
  fundingIntervalMs,
  type MarketSpec,
  marketSpecs,
  moreMarketSpecs,
  riskOf,
} from "./markets/markets.ts";
import { barsAt, tradeOutsiders, walkPrices } from "./markets/prices.ts";
import { workTwaps } from "./markets/twap.ts";
import type { Account, Market, Wallet, World } from "./state.ts";
import { slotAt } from "./time.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly startMs: number;
  /** Length of a step; divides an hour. */
  readonly stepMs: number;
  readonly walk: boolean;
  readonly activity: boolean;
  /** Default: true. */
  readonly observed?: boolean;
  /** Symbols of `moreMarketSpecs` to list as well. */
  readonly moreMarkets?: readonly string[];
  readonly houseAuthority: string;
  readonly deriveAddress: World["deriveAddress"];
}

const restingStepMs = 60_000;

/** Creates markets and the house account, which has large funds; without traders. */
export function createWorld(options: WorldOptions): World {
  const { seed, startMs, stepMs, walk, activity, deriveAddress } = options;
  const houseWallet = emptyWallet("house", options.houseAuthority, 1, false);
  const address = deriveAddress(options.houseAuthority, 0, 0);
  const house = emptyAccount(houseWallet, 0, 0, address, 1);
  const world: World = {
    seed,
    observed: options.observed ?? true,
    random: seededRandom(seed),
    startMs,
    nowMs: startMs,
    steppedMs: startMs - (startMs % stepMs),
    stepMs,
    walk,
    activity,
    markets: new Map(),
    risks: new Map(),
    marks: new Map(),
    wallets: new Map(),
    accounts: new Map([[address, house]]),
    house,
    exchange: { active: true, gated: false, withdrawalsAvailable: true },
    exchangeSequence: 1,
    externalFlows: 0n,
    ledger: createLedger(seed),
    twaps: new Set(),
    unchecked: new Set(),
    lastSlot: 0,
    lastSlotIndex: 0,
    nextNotificationId: 90_001,
    nextUserId: 4_001,
    nextTraderId: 6_001,
    nextTwap: 1,
    listeners: new Set(),
    deriveAddress,
  };
  const reserve = 1_000_000_000_000_000n;
  house.collateral = reserve;
  world.externalFlows = reserve;
  const more = (options.moreMarkets ?? []).map((symbol) => {
    const spec = moreMarketSpecs.find((one) => one.symbol === symbol.toUpperCase());
    if (spec === undefined)
      throw new RangeError(
        `markets: ${symbol} is none of ${moreMarketSpecs.map((it) => it.symbol).join(", ")}`,
      );
    return spec;
  });
  for (const [index, spec] of [...marketSpecs, ...more].entries()) addMarket(world, spec, index + 1);
  return world;
}

function addMarket(world: World, spec: MarketSpec, marketId: number): void {
  const risk = riskOf(spec);
  const market: Market = {
    spec,
    risk,
    marketId,
    tickSize: BigInt(spec.tickSize),
    status: "active",
    session: { state: "open", nextMs: null },
    markTicks: spec.startTicks,
    oracleTicks: spec.startTicks,
    oracle: spec.startTicks,
    bookBasis: 0,
    perpBasis: 0,
    held: false,
    pinnedRate: null,
    fundingIndex: 0n,
    premiumSum: 0,
    premiumCount: 0,
    rates: [],
    bars: [],
    fineBars: [],
    moments: [],
    // One trade of outsiders a second: some hours of them.
    fills: new Journal(20_000),
    makerFees: 0n,
    takerFees: 0n,
    orderSequence: 1_000,
    bookSequence: 0,
    tradeSequence: 500_000,
    positionSequence: 100,
    openInterestLots: 0n,
    holders: new Set(),
    orders: new Set(),
  };
  world.markets.set(spec.symbol, market);
  world.risks.set(spec.symbol, risk);
  world.marks.set(spec.symbol, spec.startTicks);
  barsAt(market, world.nowMs);
  noteMoment(market, world.nowMs);
}

function emptyWallet(name: string, authority: string, userId: number, acts: boolean): Wallet {
  return {
    name,
    acts,
    authority,
    userId,
    accounts: new Map(),
    fills: new Journal(),
    collateral: new Journal(),
    orders: new Journal(),
    sent: new Journal(),
    funding: new Journal(),
    liquidations: new Journal(),
    notifications: new Journal(),
  };
}

function emptyAccount(
  wallet: Wallet,
  pdaIndex: number,
  subaccount: number,
  address: string,
  traderId: number,
): Account {
  const account: Account = {
    wallet,
    pdaIndex,
    subaccount,
    address,
    traderId,
    sequence: 0,
    onboarded: true,
    lostRights: new Set(),
    maxPositions: subaccount === 0 ? 128 : 1,
    collateral: 0n,
    spot: null,
    positions: new Map(),
    orders: new Set(),
    lastDepositSlot: 0,
    totals: new Map(),
    netDeposits: 0n,
    versions: [],
  };
  wallet.accounts.set(`${pdaIndex}.${subaccount}`, account);
  return account;
}

/** Creates a wallet with its cross account, or returns the existing one. */
export function openWallet(world: World, name: string, authority: string, acts: boolean): Wallet {
  const known = world.wallets.get(authority);
  if (known) return known;
  const wallet = emptyWallet(name, authority, world.nextUserId++, acts);
  world.wallets.set(authority, wallet);
  openAccount(world, wallet, 0, 0);
  return wallet;
}

/** Creates an account of a wallet, or returns the existing one. */
export function openAccount(world: World, wallet: Wallet, pdaIndex: number, subaccount: number): Account {
  const known = wallet.accounts.get(`${pdaIndex}.${subaccount}`);
  if (known) return known;
  const address = world.deriveAddress(wallet.authority, pdaIndex, subaccount);
  const account = emptyAccount(wallet, pdaIndex, subaccount, address, world.nextTraderId++);
  account.sequence = 1;
  world.accounts.set(address, account);
  recordVersion(world, account);
  return account;
}

/**
 * Advances the world to `ms`, step by step. A world without automatic changes advances by the minute, which candles,
 * funding and samples need at least, so that months pass quickly.
 */
export function advanceTo(world: World, ms: number): void {
  for (;;) {
    const resting = !world.walk && !world.activity && world.unchecked.size === 0 && world.twaps.size === 0;
    const grid = resting ? Math.max(world.stepMs, restingStepMs) : world.stepMs;
    const next = world.steppedMs - (world.steppedMs % grid) + grid;
    if (next > ms) break;
    world.steppedMs = next;
    world.nowMs = Math.max(world.nowMs, next);
    step(world, world.stepMs);
  }
  world.steppedMs = Math.max(world.steppedMs, ms - (ms % world.stepMs));
  world.nowMs = Math.max(world.nowMs, ms);
}

/** Runs one step of the grid at the world's present time. */
export function step(world: World, stepMs: number): void {
  const moved: Market[] = [];
  for (const market of world.markets.values()) {
    for (const bar of barsAt(market, world.nowMs)) bar.openInterestLots = market.openInterestLots;
    if (world.walk) {
      if (walkPrices(world, market, stepMs)) moved.push(market);
      tradeOutsiders(world, market, stepMs);
    }
    samplePremium(market);
  }
  if (world.nowMs % fundingIntervalMs === 0) {
    for (const market of world.markets.values()) accrueFunding(world, market);
  }
  follow(world, moved, () => {
    workTwaps(world);
    if (world.activity) traderActions(world, stepMs);
  });
  if (world.nowMs % momentMs === 0)
    for (const market of world.markets.values()) noteMoment(market, world.nowMs);
}

/** Runs everything that follows from changed marks and accounts at this time. */
export function follow(world: World, moved: Iterable<Market>, meanwhile: () => void = () => {}): void {
  for (const market of moved) {
    matchOrders(world, market);
    fireTriggers(world, market);
    for (const account of market.holders) world.unchecked.add(account);
  }
  meanwhile();
  // An action on one account may leave another one short of margin. An account that was acted on is checked again in
  // the next step.
  const done = new Set<Account>();
  for (;;) {
    const due = [...world.unchecked].filter((it) => !done.has(it));
    if (due.length === 0) break;
    for (const account of due) world.unchecked.delete(account);
    for (const account of due) if (enforceMargin(world, account)) done.add(account);
  }
  world.unchecked.clear();
  for (const account of done) if (account.positions.size > 0) world.unchecked.add(account);
}

/** The present place on the ledger. */
export function present(world: World): { readonly slot: number; readonly slotIndex: number } {
  const slot = slotAt(world.nowMs);
  return { slot, slotIndex: slot === world.lastSlot ? world.lastSlotIndex : 0 };
}
