/**
 * The ground truth: what the simulated exchange held at each moment, and the figures that follow from it.
 *
 * The arithmetic is written out here from the exchange's documentation. It shares no code with the daemon:
 *
 *   unrealized  = size · (mark − entry)                         equity = collateral + Σ unrealized + Σ unsettled funding + spot
 *   maintenance = 50 % of |size| · mark / leverage              ratio  = Σ maintenance / effective collateral
 *   liquidation = (A − M₀ − size · entry) / (m · |size| − size)   with A = collateral, funding, spot and profit of other
 *                                                               markets; M₀ = their maintenance; m = 0.5 / leverage
 *   profit      = equity − net deposits
 *
 * Profit counts in full as collateral on this exchange. Sizes at the desk stay within the first leverage tier, and no resting
 * order needs margin of its own.
 */
import type { World } from "../../src/simulator/state.ts";

export const leverage: Readonly<Record<string, number>> = { SOL: 15, BTC: 20, ETH: 20, GOLD: 10 };
/** USD of one tick. */
export const tick: Readonly<Record<string, number>> = { SOL: 0.01, BTC: 1, ETH: 0.1, GOLD: 0.1 };

export interface PositionTruth {
  readonly symbol: string;
  /** Signed. */
  readonly size: number;
  readonly entry: number;
  /** USD; positive: will be received. */
  readonly funding: number;
  readonly stops: readonly number[];
}

export interface AccountTruth {
  readonly wallet: string;
  /** `0.0`: PDA index and subaccount. */
  readonly name: string;
  readonly collateral: number;
  readonly netDeposits: number;
  /** Units of SOL that count as collateral. */
  readonly spot: number;
  readonly positions: readonly PositionTruth[];
}

export type Marks = Readonly<Record<string, number>>;

/** The exchange from one change to the next. */
export interface Moment {
  readonly atMs: number;
  readonly marks: Marks;
  readonly oracles: Marks;
  readonly statuses: Readonly<Record<string, string>>;
  readonly accounts: ReadonlyMap<string, AccountTruth>;
  /** Funding that each account has been paid in each market, by `wallet/0.0/SYMBOL`. */
  readonly rates: Marks;
}

/** Share of the value of spot collateral that counts as margin. */
export const retained = 0.9;

const usd = (lots: bigint): number => Number(lots) / 1e6;

/**
 * Reads the simulated world as it is now: numbers that it stores, none that it computes.
 * @param spotPaid by wallet, USD of spot collateral that was paid in, each at its price then
 */
export function readMoment(world: World, atMs: number, spotPaid: ReadonlyMap<string, number>): Moment {
  const marks: Record<string, number> = {};
  const oracles: Record<string, number> = {};
  const statuses: Record<string, string> = {};
  const rates: Record<string, number> = {};
  for (const [symbol, market] of world.markets) {
    marks[symbol] = market.markTicks * tick[symbol]!;
    oracles[symbol] = market.oracleTicks * tick[symbol]!;
    statuses[symbol] = market.status;
    rates[symbol] = market.pinnedRate ?? 0;
  }
  const accounts = new Map<string, AccountTruth>();
  for (const wallet of world.wallets.values()) {
    for (const account of wallet.accounts.values()) {
      const positions = [...account.positions].map(([symbol, position]): PositionTruth => {
        const market = world.markets.get(symbol)!;
        const scale = 10 ** market.spec.baseLotsDecimals;
        const size = Number(position.baseLots) / scale;
        return {
          symbol,
          size,
          entry: Math.abs(usd(position.virtualQuoteLots) / size),
          funding: usd(-(market.fundingIndex - position.fundingIndex) * position.baseLots),
          stops: position.triggers
            .filter(({ kind }) => kind === "stopLoss")
            .map(({ triggerTicks }) => triggerTicks * tick[symbol]!),
        };
      });
      const name = `${account.pdaIndex}.${account.subaccount}`;
      accounts.set(`${wallet.name}/${name}`, {
        wallet: wallet.name,
        name,
        collateral: usd(account.collateral),
        netDeposits: usd(account.netDeposits) + (name === "0.0" ? (spotPaid.get(wallet.name) ?? 0) : 0),
        spot: Number(account.spot ?? 0n) / 1e9,
        positions,
      });
    }
  }
  return { atMs, marks, oracles, statuses, accounts, rates };
}

export interface PositionFigures {
  readonly symbol: string;
  readonly side: "long" | "short";
  readonly size: number;
  readonly mark: number;
  readonly notional: number;
  readonly unrealized: number;
  /** Infinite where nothing liquidates it. */
  readonly liquidation: number;
  readonly distance: number;
  readonly stops: readonly number[];
}

export interface AccountFigures {
  readonly equity: number;
  readonly effective: number;
  readonly maintenance: number;
  readonly ratio: number;
  readonly free: number;
  readonly gross: number;
  readonly tier: string;
  /** Move of each mark against its own position at which the account is liquidatable. */
  readonly adverse: number;
  readonly positions: readonly PositionFigures[];
}

export function accountFigures(account: AccountTruth, marks: Marks, oracles: Marks): AccountFigures {
  const spotUsd = account.spot * (oracles.SOL ?? 0);
  const legs = account.positions.map((position) => {
    const { symbol, size, entry, funding, stops } = position;
    const mark = marks[symbol]!;
    const m = 0.5 / leverage[symbol]!;
    const notional = Math.abs(size) * mark;
    return { symbol, size, entry, funding, stops, mark, m, notional, unrealized: size * (mark - entry) };
  });
  const sum = (of: (leg: (typeof legs)[number]) => number) => legs.reduce((all, leg) => all + of(leg), 0);
  const cash = account.collateral + sum(({ funding }) => funding);
  const effective = cash + sum(({ unrealized }) => unrealized) + spotUsd * retained;
  const maintenance = sum(({ m, notional }) => m * notional);
  const gross = sum(({ notional }) => notional);
  // A price that also prices the collateral takes it along.
  const spotAt = (symbol: string) =>
    symbol === "SOL" && account.spot > 0
      ? account.spot * retained * ((oracles.SOL ?? 0) / (marks.SOL ?? 1))
      : 0;
  const positions = legs.map((leg): PositionFigures => {
    const { symbol, size, entry, mark, m, notional, unrealized, stops } = leg;
    const moving = spotAt(symbol);
    const others = effective - unrealized - moving * mark;
    const free = others - (maintenance - m * notional);
    const price = (free - size * entry) / (m * Math.abs(size) - size - moving);
    const long = size > 0;
    const reachable = Number.isFinite(price) && (long ? price > 0 && price <= mark : price >= mark);
    const liquidatable = effective < maintenance;
    const liquidation = liquidatable ? mark : reachable ? price : Number.POSITIVE_INFINITY;
    const distance = Number.isFinite(liquidation) ? Math.abs(mark - liquidation) / mark : liquidation;
    const side = long ? "long" : "short";
    return { symbol, side, size, mark, notional, unrealized, liquidation, distance, stops };
  });
  const signed = sum(({ m, notional, size }) => (size > 0 ? -m : m) * notional);
  const room = (effective - maintenance) / (gross + signed);
  const tier =
    effective < 0 || effective < 0.2 * maintenance
      ? "highRisk"
      : effective < 0.4 * maintenance
        ? "backstopLiquidatable"
        : effective < maintenance
          ? "liquidatable"
          : effective < 1.5 * maintenance
            ? "cancellable"
            : effective < 2 * maintenance
              ? "atRisk"
              : "safe";
  return {
    equity: cash + sum(({ unrealized }) => unrealized) + spotUsd,
    effective,
    maintenance,
    ratio: maintenance === 0 ? 0 : effective > 0 ? maintenance / effective : Number.POSITIVE_INFINITY,
    free: Math.max(0, effective - 2 * maintenance),
    gross,
    tier,
    adverse: gross === 0 ? Number.POSITIVE_INFINITY : Math.max(0, room),
    positions,
  };
}

export interface WalletFigures {
  readonly equity: number;
  /** Equity less what was paid in, since the account was opened. */
  readonly pnl: number;
}

/** Moments in order, and what the desk's figures were at each. */
export class Trace {
  readonly moments: Moment[] = [];
  readonly #wallets = new Map<Moment, Map<string, WalletFigures>>();

  /** Index of the moment that holds at a time; the first one before the beginning. */
  indexAt(atMs: number): number {
    let low = 0;
    let high = this.moments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.moments[middle]!.atMs <= atMs) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  at(atMs: number): Moment {
    return this.moments[this.indexAt(atMs)]!;
  }

  /** Moments that held at any time from one to the other, both included. */
  between(fromMs: number, toMs: number): readonly Moment[] {
    return this.moments.slice(this.indexAt(fromMs), this.indexAt(toMs) + 1);
  }

  account(moment: Moment, name: string, marks: Moment = moment): AccountFigures | undefined {
    const account = moment.accounts.get(name);
    return account && accountFigures(account, marks.marks, marks.oracles);
  }

  wallet(moment: Moment, name: string, marks: Moment = moment): WalletFigures {
    const known = marks === moment ? this.#wallets.get(moment)?.get(name) : undefined;
    if (known) return known;
    let equity = 0;
    let deposits = 0;
    for (const account of moment.accounts.values()) {
      if (account.wallet !== name) continue;
      equity += accountFigures(account, marks.marks, marks.oracles).equity;
      deposits += account.netDeposits;
    }
    const figures = { equity, pnl: equity - deposits };
    if (marks === moment) {
      const all = this.#wallets.get(moment) ?? new Map<string, WalletFigures>();
      all.set(name, figures);
      this.#wallets.set(moment, all);
    }
    return figures;
  }
}
