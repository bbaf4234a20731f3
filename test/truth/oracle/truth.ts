/**
 * The truth of a scenario: each state that an account, a market or the exchange had, in the order of their times. It is read from
 * the simulated exchange's own records, and only what they store; what follows from that is computed by `margin.ts`.
 */
import type { Account, Market, Wallet, World } from "../../../src/simulator/state.ts";
import { nameOf } from "../names.ts";

export interface TriggerTruth {
  readonly kind: "stopLoss" | "takeProfit";
  readonly ticks: number;
  /** The worst price at which it may be executed. */
  readonly executionTicks: number;
}

export interface PositionTruth {
  readonly symbol: string;
  /** Signed. */
  readonly baseLots: bigint;
  readonly virtualQuoteLots: bigint;
  /** Positive: will be received. */
  readonly unsettledFunding: bigint;
  /** Another one is another position. */
  readonly sequence: number;
  readonly triggers: readonly TriggerTruth[];
}

export interface OrderTruth {
  readonly symbol: string;
  readonly sequence: string;
  readonly side: "bid" | "ask";
  readonly priceTicks: number;
  readonly lots: bigint;
  readonly reduceOnly: boolean;
  readonly placedMs: number;
}

/** An account after the transaction that gave it its sequence. Times are true wall times, ms. */
export interface AccountTruth {
  readonly name: string;
  readonly wallet: string;
  readonly atMs: number;
  /** The exchange's own time of the transaction, ms: what follows from time alone it does when it is asked next. */
  readonly ofMs: number;
  readonly sequence: number;
  readonly collateral: bigint;
  /** Deposits less withdrawals and transfers. */
  readonly netDeposits: bigint;
  /** Native units of SOL. */
  readonly spot: bigint;
  readonly positions: readonly PositionTruth[];
  readonly orders: readonly OrderTruth[];
  /** As the exchange calls it. */
  readonly state: string;
  /** `yes`, `no`, or only by being made active again. */
  readonly rights: Readonly<Record<string, string>>;
}

export interface MarketTruth {
  readonly atMs: number;
  readonly markTicks: number;
  readonly oracleTicks: number;
  readonly status: string;
  readonly session: string;
  /** The time at which the session becomes the other one, ms; null: none is set. */
  readonly nextMs: number | null;
  /** The rate that the interval under way is held at, a fraction; null: it follows the premium. */
  readonly pinnedRate: number | null;
  /** Typical trading of outsiders, units a minute: what they quote follows from it. */
  readonly crowdUnits: number;
  readonly takerFeeMillionths: bigint;
  readonly openInterestCap: bigint;
}

export interface ExchangeTruth {
  readonly atMs: number;
  readonly active: boolean;
  readonly gated: boolean;
  readonly withdrawalsAvailable: boolean;
}

export type Breaker = "adl" | "liquidation" | "stop" | "fill";

/** Something that changed a position. */
export interface BreakerTruth {
  readonly by: Breaker;
  readonly account: string;
  readonly symbol: string;
  /** The exchange's own time, ms. */
  readonly atMs: number;
}

/** The part of a market that never changes. */
export type MarketRules = Pick<Market["spec"], "symbol" | "tickSize" | "baseLotsDecimals" | "leverageTiers"> &
  Pick<Market["risk"], "riskFactors">;

export class Truth {
  /** By name, each by sequence: states of one account that follow each other. */
  readonly accounts = new Map<string, AccountTruth[]>();
  readonly markets = new Map<string, MarketTruth[]>();
  readonly exchange: ExchangeTruth[] = [];
  readonly rules = new Map<string, MarketRules>();
  readonly #world: World;
  /** Once they are asked for, nothing happens any more. */
  readonly #breakers = new Map<string, readonly BreakerTruth[]>();
  readonly #nowMs: () => number;

  /** Follows a world from now on. @param nowMs true wall time */
  constructor(world: World, nowMs: () => number) {
    this.#world = world;
    this.#nowMs = nowMs;
    for (const [symbol, { spec, risk }] of world.markets)
      this.rules.set(symbol, { ...spec, symbol, riskFactors: risk.riskFactors });
    world.listeners.add(({ accounts }) => {
      this.note();
      for (const account of accounts.keys()) this.#noteAccount(account);
    });
    this.note();
  }

  /** Notes what changed without a transaction. */
  note(): void {
    const { markets, wallets, exchange } = this.#world;
    for (const [symbol, market] of markets) {
      const { markTicks, oracleTicks, status, session, pinnedRate, spec } = market;
      append(this.markets, symbol, {
        ...{ atMs: this.#nowMs(), markTicks, oracleTicks, status, pinnedRate },
        ...{ session: session.state, nextMs: session.nextMs, crowdUnits: spec.crowdUnitsPerMinute },
        takerFeeMillionths: spec.takerFeeMillionths,
        openInterestCap: spec.openInterestCapBaseLots,
      });
    }
    const last = this.exchange.at(-1);
    if (!last || !isAs(last, { ...exchange })) this.exchange.push({ atMs: this.#nowMs(), ...exchange });
    for (const wallet of wallets.values())
      for (const account of wallet.accounts.values())
        if (!this.accounts.has(nameOf(account))) this.#noteAccount(account);
  }

  /** The state with a sequence. */
  account(name: string, sequence: number): AccountTruth | undefined {
    const states = this.accounts.get(name) ?? [];
    // Sequences grow by one with each state.
    const index = sequence - (states[0]?.sequence ?? 0);
    return states[index]?.sequence === sequence
      ? states[index]
      : states.findLast((one) => one.sequence === sequence);
  }

  /** Trades and liquidations of a wallet, as far as they can break a hedge, in their order. */
  breakers(wallet: string): readonly BreakerTruth[] {
    const known = this.#breakers.get(wallet);
    if (known) return known;
    const found = breakersOf([...this.#world.wallets.values()].find(({ name }) => name === wallet)!);
    this.#breakers.set(wallet, found);
    return found;
  }

  /** Payments of funding to a wallet, USD; positive: received. */
  payments(
    wallet: string,
  ): readonly { readonly symbol: string; readonly atMs: number; readonly usd: number }[] {
    const found = [...this.#world.wallets.values()].find(({ name }) => name === wallet);
    return (found?.funding.all() ?? []).map(({ symbol, atMs, payment }) => {
      return { symbol, atMs, usd: Number(payment) / 1e6 };
    });
  }

  #noteAccount(account: Account): void {
    if (account === this.#world.house) return;
    const { collateral, netDeposits, sequence, wallet } = account;
    const name = nameOf(account);
    const positions = [...account.positions].map(([symbol, one]): PositionTruth => {
      const { fundingIndex } = this.#world.markets.get(symbol)!;
      return {
        symbol,
        baseLots: one.baseLots,
        virtualQuoteLots: one.virtualQuoteLots,
        unsettledFunding: (one.fundingIndex - fundingIndex) * one.baseLots,
        sequence: one.sequence,
        triggers: one.triggers.map(({ kind, triggerTicks, executionTicks }) => {
          return { kind, ticks: triggerTicks, executionTicks };
        }),
      };
    });
    const orders = [...account.orders].map(({ symbol, side, priceTicks, remainingLots, ...order }) => {
      return {
        symbol,
        sequence: order.sequence,
        side,
        priceTicks,
        lots: remainingLots,
        reduceOnly: order.reduceOnly,
        placedMs: order.place.atMs,
      };
    });
    const state: AccountTruth = {
      ...{ name, wallet: wallet.name, atMs: this.#nowMs(), ofMs: this.#world.nowMs },
      ...{ sequence, collateral, netDeposits },
      ...{ spot: account.spot ?? 0n, positions, orders },
      ...rightsOf(account),
    };
    const states = this.accounts.get(name) ?? [];
    this.accounts.set(name, states);
    states.push(state);
  }
}

const rightNames = [
  "placeLimitOrder",
  "placeMarketOrder",
  "riskIncreasingTrade",
  "riskReducingTrade",
  "depositCollateral",
  "withdrawCollateral",
] as const;

function rightsOf({ onboarded, lostRights: lost }: Account): Pick<AccountTruth, "state" | "rights"> {
  const word = onboarded ? "yes" : "viaActivation";
  const rights = Object.fromEntries(rightNames.map((name) => [name, lost.has(name) ? "no" : word]));
  if (!onboarded) return { state: "cold", rights };
  if (rightNames.every((name) => lost.has(name))) return { state: "frozen", rights };
  return { state: lost.has("riskIncreasingTrade") ? "reduceOnly" : "active", rights };
}

/** The state of a time: the last one that is not later; undefined before the first. */
export function at<T extends { readonly atMs: number }>(states: readonly T[], atMs: number): T | undefined {
  let low = 0;
  let high = states.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (states[middle]!.atMs <= atMs) low = middle + 1;
    else high = middle;
  }
  return states[low - 1];
}

/** The sessions that a state of a market brings about until a time. */
export function sessionsOf({ session, nextMs }: MarketTruth, untilMs: number): readonly string[] {
  return nextMs !== null && nextMs <= untilMs
    ? [session, session === "open" ? "afterHours" : "open"]
    : [session];
}

/** All states that held at some moment from one time to another. */
export function between<T extends { readonly atMs: number }>(
  states: readonly T[],
  fromMs: number,
  toMs: number,
): readonly T[] {
  const first = at(states, fromMs);
  return states.filter((one) => one === first || (one.atMs > fromMs && one.atMs <= toMs));
}

function append(all: Map<string, MarketTruth[]>, symbol: string, state: MarketTruth): void {
  const states = all.get(symbol) ?? [];
  all.set(symbol, states);
  const last = states.at(-1);
  if (!last || !isAs(last, { ...state, atMs: last.atMs })) states.push(state);
}

function isAs<T extends object>(one: T, other: Partial<T>): boolean {
  return (Object.keys(other) as (keyof T)[]).every((name) => one[name] === other[name]);
}

/** Notifications of orders that a price triggered. */
const stops: ReadonlySet<string> = new Set(["stop_loss_executed", "conditional_order_executed"]);

function breakersOf({ fills, liquidations, notifications }: Wallet): readonly BreakerTruth[] {
  const found = fills.all().map(({ account, symbol, tradeType, atMs }): BreakerTruth => {
    const by = tradeType === "adl" || tradeType === "liquidation" ? tradeType : "fill";
    return { by, account: nameOf(account), symbol, atMs };
  });
  for (const { account, role, symbol, detail, atMs } of liquidations.all())
    if (account !== null && role !== "adl_caller")
      found.push({
        by: detail.kind === "adl" ? "adl" : "liquidation",
        account: nameOf(account),
        symbol,
        atMs,
      });
  for (const { account, notificationType, data, createdMs } of notifications.all())
    if (account !== null && stops.has(notificationType))
      found.push({
        ...{ by: "stop", account: nameOf(account), atMs: createdMs },
        symbol: (data as { readonly symbol: string }).symbol,
      });
  return found.sort((a, b) => a.atMs - b.atMs);
}
