/**
 * The conditions of the shipped rules, written out by hand from their documentation, over the ground truth. Nothing of the
 * daemon's rule language is used: a change of a rule's meaning has to be made here as well.
 */
import { type Moment, type Trace, tick } from "./truth.ts";

export type Severity = "info" | "warning" | "critical";
export const rank: Readonly<Record<Severity, number>> = { info: 0, warning: 1, critical: 2 };

/** One level at one moment. `ease` above 0 makes both answers easier to hold, below 0 harder. */
export interface LevelTruth {
  readonly severity: Severity;
  /** The condition of the level holds. */
  readonly on: boolean;
  /** The condition that ends the level holds. */
  readonly off: boolean;
}

export interface Context {
  readonly trace: Trace;
  /** Names of pairs and their legs, as `wallet/SYMBOL`. */
  readonly pairs: ReadonlyMap<string, readonly string[]>;
  readonly labels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly limits: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** The last midnight at or before a time, ms; null before the first one. */
  readonly midnight: (atMs: number) => number | null;
  /** The time at which the daemon began to watch, ms. */
  readonly startedMs: number;
  /** The times of withdrawals, by wallet, ms. */
  readonly withdrawals: ReadonlyMap<string, readonly number[]>;
}

export interface Model {
  readonly rule: string;
  readonly forMs: number;
  readonly keepMs: number;
  /** Within which a change is to be reported, where that is longer than for prices and positions, ms. */
  readonly withinMs?: number;
  /** Looks back: what it says is open for so long after a time without readings, ms. */
  readonly windowMs: number;
  readonly subjects: (context: Context, moment: Moment) => readonly string[];
  /** Levels in ascending order; undefined where the subject does not exist. */
  readonly levels: (
    context: Context,
    moment: Moment,
    atMs: number,
    subject: string,
    ease: number,
  ) => readonly LevelTruth[] | undefined;
}

interface Bounds {
  readonly severity: Severity;
  readonly on: number;
  readonly off: number;
}

const below = (value: number, { severity, on, off }: Bounds, ease: number): LevelTruth => ({
  severity,
  on: value < on * (1 + ease),
  off: value > off * (1 - ease),
});
const above = (value: number, { severity, on, off }: Bounds, ease: number): LevelTruth => ({
  severity,
  on: value > on * (1 - ease),
  off: value < off * (1 + ease),
});
const level = (severity: Severity, on: number, off: number): Bounds => ({ severity, on, off });

/** The accounts of the desk's own wallets; the simulated exchange has others. */
const accounts = ({ labels }: Context, moment: Moment): string[] =>
  [...moment.accounts].flatMap(([name, { wallet }]) => (labels.has(wallet) ? [name] : []));
const positions = (context: Context, moment: Moment): string[] =>
  accounts(context, moment).flatMap((name) =>
    moment.accounts.get(name)!.positions.map(({ symbol }) => `${name}/${symbol}`),
  );
const wallets = ({ labels }: Context): string[] => [...labels.keys()];

/** `wallet/0.0/SYMBOL` → its account and position. */
export function positionOf(trace: Trace, moment: Moment, subject: string, marks = moment) {
  const at = subject.lastIndexOf("/");
  const account = trace.account(moment, subject.slice(0, at), marks);
  const position = account?.positions.find(({ symbol }) => symbol === subject.slice(at + 1));
  return account && position ? { account, position } : undefined;
}

/** Time after which the history shows what was paid out, at most, ms. */
const historyLateMs = 130_000;

const walletOf = (subject: string): string => subject.split("/")[0]!;

/** The highest profit of a time, with the equity then: the highest one that lasted, and the highest at all. */
function peaks({ trace }: Context, fromMs: number, atMs: number, wallet: string) {
  let peak = { pnl: Number.NEGATIVE_INFINITY, equity: 0 };
  let lasting = peak;
  const all = trace.between(fromMs, atMs);
  for (const [index, one] of all.entries()) {
    const figures = trace.wallet(one, wallet);
    const lastedMs = (all[index + 1]?.atMs ?? atMs) - one.atMs;
    if (figures.pnl >= peak.pnl) peak = figures;
    if (figures.pnl >= lasting.pnl && (lastedMs > 3_000 || index === 0)) lasting = figures;
  }
  return [lasting, peak];
}

/** Share of the highest profit since the start that is lost. */
export function drawdown(context: Context, moment: Moment, atMs: number, wallet: string) {
  const now = context.trace.wallet(moment, wallet);
  const shares = peaks(context, context.startedMs, atMs, wallet).map((top) => {
    const lost = Math.max(0, top.pnl - now.pnl);
    return Math.min(1, lost / Math.max(1e-9, top.equity), lost / Math.max(1e-9, now.equity + lost));
  });
  return { low: Math.min(...shares), high: Math.max(...shares) };
}

/**
 * Share of the equity that was lost within a window, at most what was lost since its peak, as a share of the equity then. At
 * least and at most, since the window's edge is seen by readings.
 */
export function lostWithin(context: Context, moment: Moment, atMs: number, wallet: string, windowMs: number) {
  const { trace } = context;
  const now = trace.wallet(moment, wallet);
  const fromMs = atMs - windowMs;
  const falls = peaks(context, fromMs, atMs, wallet).map(({ pnl, equity }) =>
    Math.max(0, (pnl - now.pnl) / Math.max(1e-9, equity)),
  );
  const shares = trace.between(fromMs - 4_000, fromMs + 4_000).flatMap((one) => {
    const lost = trace.wallet(one, wallet).pnl - now.pnl;
    return falls.map((fall) => Math.min(1, fall, lost / Math.max(1e-9, now.equity + lost)));
  });
  return { low: Math.min(...shares), high: Math.max(...shares) };
}

/** Profit since midnight; undefined before the first one. */
export function profitToday(
  context: Context,
  moment: Moment,
  atMs: number,
  wallet: string,
): number | undefined {
  const midnight = context.midnight(atMs);
  if (midnight === null) return undefined;
  const { trace } = context;
  return trace.wallet(moment, wallet).pnl - trace.wallet(trace.at(midnight), wallet).pnl;
}

/**
 * Share of the capital of today that was lost. Capital is what equity would be without the profit of the day; a withdrawal
 * lowers it, and begins a new reckoning beside those before it. When the withdrawal is counted depends on when the history
 * shows it: at least and at most.
 */
export function lossToday(context: Context, moment: Moment, atMs: number, wallet: string) {
  const midnightMs = context.midnight(atMs);
  if (midnightMs === null) return undefined;
  const { trace } = context;
  const begin = trace.wallet(trace.at(midnightMs), wallet);
  const days = [...trace.between(midnightMs, atMs), moment].map((one) => {
    const { equity, pnl } = trace.wallet(one, wallet);
    return { atMs: one.atMs, lost: begin.pnl - pnl, capital: equity - (pnl - begin.pnl) };
  });
  const { lost } = days.at(-1)!;
  if (lost <= 0) return { low: 0, high: 0 };
  const share = (part: number, capital: number) => (part <= 0 ? 0 : capital > part ? part / capital : 1);
  const whole = share(lost, Math.max(begin.equity, ...days.map(({ capital }) => capital)));
  let [low, high] = [whole, whole];
  for (const [index, { atMs: fromMs, capital }] of days.entries()) {
    if (capital > (days[index - 1]?.capital ?? begin.equity) - 0.01) continue;
    const since = days.slice(index);
    const most = Math.max(...since.map((one) => one.capital));
    const seen = since.filter((one) => one.atMs <= fromMs + historyLateMs).map((one) => one.lost);
    const shares = seen.map((before) => share(lost - Math.max(0, before), most - before));
    low = Math.max(low, Math.min(...shares));
    high = Math.max(high, ...shares);
  }
  return { low, high };
}

/** `pair/basis` → `basis`. */
export const pairName = (subject: string): string => subject.replace(/^pair\//, "");

export interface PairFigures {
  readonly imbalance: number;
  readonly naked: number;
  readonly nakedUsd: number;
}

export function pairFigures({ trace, pairs }: Context, moment: Moment, name: string): PairFigures {
  const sizes = (pairs.get(name) ?? []).map((leg) => {
    const [wallet, symbol] = leg.split("/");
    let size = 0;
    for (const [account, one] of moment.accounts)
      if (one.wallet === wallet)
        for (const position of trace.account(moment, account)?.positions ?? [])
          if (position.symbol === symbol) size += position.size;
    return { size, symbol: symbol! };
  });
  const naked = sizes.reduce((sum, { size }) => sum + size, 0);
  const largest = Math.max(...sizes.map(({ size }) => Math.abs(size)));
  const mark = moment.marks[sizes[0]?.symbol ?? ""] ?? 0;
  const imbalance = largest === 0 ? 0 : Math.abs(naked) / largest;
  return { imbalance, naked, nakedUsd: Math.abs(naked) * mark };
}

/** Window of LosingFast at the desk, ms. */
export const fastWindowMs = 40_000;
const keepMs = 5_000;
/**
 * The time limit for rules that each price judges: a frame, the judgement, the message, and half a second of the grid of
 * expectations.
 */
const pricedMs = 3_500;
const priced = { forMs: 0, keepMs, withinMs: pricedMs, windowMs: 0 };

function ofWallet(
  rule: string,
  forMs: number,
  bounds: readonly Bounds[],
  value: (
    context: Context,
    moment: Moment,
    atMs: number,
    wallet: string,
  ) => { low: number; high: number } | undefined,
  windowMs = 0,
): Model {
  return {
    rule,
    forMs,
    keepMs,
    windowMs,
    subjects: wallets,
    levels: (context, moment, atMs, wallet, ease) => {
      const share = value(context, moment, atMs, wallet);
      if (share === undefined) return undefined;
      return bounds.map((one) => ({
        severity: one.severity,
        on: above(ease > 0 ? share.high : share.low, one, ease).on,
        off: above(ease > 0 ? share.low : share.high, one, ease).off,
      }));
    },
  };
}

/** Rules with conditions; those of events are in events.ts. */
export const models: readonly Model[] = [
  {
    rule: "LiquidationNear",
    ...priced,
    subjects: positions,
    levels: ({ trace }, moment, _atMs, subject, ease) => {
      const found = positionOf(trace, moment, subject);
      if (!found) return undefined;
      const { account, position } = found;
      const { distance } = position;
      const nearest = account.positions.every((other) => other.distance >= distance * (1 - ease));
      const alone = below(distance, level("critical", 0.05, 0.06), ease);
      const joint = below(account.adverse, level("critical", 0.05, 0.06), ease);
      return [
        below(distance, level("info", 0.2, 0.22), ease),
        below(distance, level("warning", 0.1, 0.12), ease),
        { severity: "critical", on: alone.on || (joint.on && nearest), off: alone.off && joint.off },
      ];
    },
  },
  {
    rule: "AccountLiquidationNear",
    ...priced,
    subjects: accounts,
    levels: ({ trace }, moment, _atMs, subject, ease) => {
      const account = trace.account(moment, subject);
      if (!account) return undefined;
      const near = below(account.adverse, level("warning", 0.08, 0.1), ease);
      const several = account.positions.length > 1;
      return [{ severity: "warning", on: near.on && several, off: near.off || !several }];
    },
  },
  {
    rule: "MarginHigh",
    ...priced,
    subjects: accounts,
    levels: ({ trace }, moment, _atMs, subject, ease) => {
      const account = trace.account(moment, subject);
      return (
        account && [
          above(account.ratio, level("info", 0.5, 0.45), ease),
          above(account.ratio, level("warning", 0.65, 0.6), ease),
          above(account.ratio, level("critical", 0.8, 0.7), ease),
        ]
      );
    },
  },
  {
    rule: "AccountLiquidatable",
    ...priced,
    subjects: accounts,
    levels: ({ trace }, moment, _atMs, subject, ease) => {
      const account = trace.account(moment, subject);
      if (!account) return undefined;
      const share =
        account.maintenance === 0 ? Number.POSITIVE_INFINITY : account.effective / account.maintenance;
      return [below(share, level("critical", 1, 1), ease)];
    },
  },
  {
    rule: "StopLossMissing",
    forMs: 5_000,
    keepMs,
    windowMs: 0,
    subjects: (context, moment) =>
      positions(context, moment).filter((name) => context.labels.get(walletOf(name))?.stops !== "none"),
    levels: ({ trace, limits }, moment, _atMs, subject, ease) => {
      const found = positionOf(trace, moment, subject);
      if (!found) return undefined;
      const { account, position } = found;
      const open = position.stops.length > 0 ? 0 : position.notional;
      const limit = limits.get(walletOf(subject))?.stopLossAbove ?? Math.max(1_000, account.effective);
      const large = above(open, { severity: "warning", on: limit, off: 0.9 * limit }, ease);
      return [{ ...large, severity: "info" }, large];
    },
  },
  ofWallet(
    "Drawdown",
    5_000,
    [level("info", 0.05, 0.04), level("warning", 0.1, 0.08), level("critical", 0.2, 0.17)],
    drawdown,
  ),
  ofWallet(
    "LosingFast",
    3_000,
    [level("warning", 0.05, 0.03), level("critical", 0.1, 0.06)],
    (context, moment, atMs, wallet) => lostWithin(context, moment, atMs, wallet, fastWindowMs),
    fastWindowMs,
  ),
  ofWallet("DailyLoss", 3_000, [level("warning", 0.05, 0.04), level("critical", 0.1, 0.08)], lossToday),
  {
    rule: "HedgeBroken",
    forMs: 0,
    keepMs,
    windowMs: 0,
    subjects: ({ pairs }) => [...pairs.keys()].map((name) => `pair/${name}`),
    levels: (context, moment, _atMs, subject, ease) => {
      const { imbalance } = pairFigures(context, moment, pairName(subject));
      return [above(imbalance, level("critical", 0.02, 0.02), ease)];
    },
  },
  {
    rule: "ManyWithdrawals",
    forMs: 0,
    keepMs: 0,
    withinMs: 15_000,
    windowMs: 0,
    subjects: wallets,
    levels: ({ withdrawals }, _moment, atMs, wallet) => {
      const within = (withdrawals.get(wallet) ?? []).filter((ms) => ms <= atMs && ms > atMs - 3_600_000);
      return [{ severity: "warning", on: within.length >= 3, off: within.length < 3 }];
    },
  },
  {
    rule: "MarketNotTrading",
    forMs: 3_000,
    keepMs,
    withinMs: 15_000,
    windowMs: 0,
    subjects: positions,
    levels: ({ trace }, moment, _atMs, subject) => {
      if (!positionOf(trace, moment, subject)) return undefined;
      const active = moment.statuses[subject.slice(subject.lastIndexOf("/") + 1)] === "active";
      return [{ severity: "warning", on: !active, off: active }];
    },
  },
  {
    rule: "FundingRateHigh",
    forMs: 5_000,
    keepMs,
    withinMs: 15_000,
    windowMs: 0,
    subjects: positions,
    levels: ({ trace }, moment, _atMs, subject, ease) => {
      const found = positionOf(trace, moment, subject);
      if (!found) return undefined;
      const { symbol, side } = found.position;
      const yearly = (moment.rates[symbol] ?? 0) * 24 * 365 * (side === "long" ? 1 : -1);
      return [above(yearly, level("info", 0.75, 0.6), ease), above(yearly, level("warning", 2, 1.5), ease)];
    },
  },
  {
    // Of the desk's own rules: stops stand within 30 % of the mark.
    rule: "DeskStopFar",
    forMs: 0,
    keepMs: 0,
    windowMs: 0,
    subjects: positions,
    levels: ({ trace }, moment, _atMs, subject, ease) => {
      const found = positionOf(trace, moment, subject);
      if (!found) return undefined;
      const { mark, stops } = found.position;
      const distance =
        stops.length === 0 ? 0 : Math.min(...stops.map((stop) => Math.abs(mark - stop) / mark));
      return [above(distance, level("critical", 0.5, 0.5), ease)];
    },
  },
  {
    // Of the desk's own rules: no mark comes near it.
    rule: "DeskPriceZero",
    forMs: 0,
    keepMs: 0,
    windowMs: 0,
    subjects: positions,
    levels: ({ trace }, moment, _atMs, subject, ease) => {
      const found = positionOf(trace, moment, subject);
      return found && [below(found.position.mark, level("critical", tick.SOL! * 100, 1), ease)];
    },
  },
];
