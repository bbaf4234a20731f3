/** The ground of one judgement: the versions of the truth that the daemon had, and the figures that follow from them. */
import { isWhale } from "../names.ts";
import type { Hedges } from "./hedges.ts";
import { type AccountFigures, type PositionFigures, tickUsd } from "./margin.ts";
import type { Seen } from "./seen.ts";
import type { Sizes } from "./sizes.ts";
import type { Terms } from "./terms.ts";
import type { AccountTruth, PositionTruth } from "./truth.ts";
import type { Wallets } from "./wallets.ts";

export interface WalletTerms {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, number>>;
}

export interface Holding {
  readonly account: AccountTruth;
  readonly position: PositionTruth;
  readonly figures: PositionFigures;
  readonly of: AccountFigures;
}

/** The parts of a view. */
interface Ground {
  readonly seen: Seen;
  readonly money: Wallets;
  readonly hedges: Hedges;
  readonly sizes: Sizes;
  readonly terms: Terms;
}

/** USD from which a position of a stranger is large, where nothing else is said. */
const usuallyAbove = 100_000;

export class View implements Ground {
  readonly seen: Seen;
  readonly wallets: ReadonlyMap<string, WalletTerms>;
  readonly money: Wallets;
  readonly hedges: Hedges;
  readonly sizes: Sizes;
  readonly terms: Terms;
  /** The daemon's clock. */
  nowMs = 0;
  /** The daily moves of markets by the newest candles that the daemon read since it started, fractions. */
  readonly dailyMoves = new Map<string, number>();
  readonly #ownWallets: readonly string[];
  readonly #whales: ReadonlySet<string>;
  /** The names of what is there, each asked for by many rules. */
  #names: Names = { version: -1, accounts: [], positions: [], whalePositions: [] };

  constructor(ground: Ground, wallets: readonly WalletTerms[]) {
    this.seen = ground.seen;
    this.terms = ground.terms;
    this.money = ground.money;
    this.hedges = ground.hedges;
    this.sizes = ground.sizes;
    this.wallets = new Map(wallets.map((one) => [one.name, one]));
    this.#ownWallets = wallets.filter((one) => !isWhale(one)).map(({ name }) => name);
    this.#whales = new Set(wallets.filter(isWhale).map(({ name }) => name));
  }

  labels(subject: string): Readonly<Record<string, string>> {
    return this.wallets.get(walletOf(subject))?.labels ?? {};
  }

  /** Those that rules about one's own money judge: no stranger's. */
  ownWallets(): readonly string[] {
    return this.#ownWallets;
  }

  /** The accounts of those. */
  accounts(): readonly string[] {
    return this.#there().accounts;
  }

  /** Names of their positions, `wallet/0.0/SYMBOL`. */
  positions(): readonly string[] {
    return this.#there().positions;
  }

  whalePositions(): readonly string[] {
    return this.#there().whalePositions;
  }

  /** USD from which a position of a stranger is large. */
  whaleAbove(wallet: string): number {
    return this.wallets.get(wallet)?.limits?.whaleAbove ?? usuallyAbove;
  }

  #there(): Names {
    const { version, accounts } = this.seen;
    if (this.#names.version === version) return this.#names;
    const all = [...accounts.values()];
    const own = all.filter(({ wallet }) => !this.#whales.has(wallet));
    this.#names = {
      version,
      accounts: own.map(({ name }) => name),
      positions: own.flatMap(positionNames),
      whalePositions: all.filter(({ wallet }) => this.#whales.has(wallet)).flatMap(positionNames),
    };
    return this.#names;
  }

  /** The mark of a market, USD; undefined: not known. */
  mark(symbol: string): number | undefined {
    const [rules, price] = [this.seen.rules.get(symbol), this.seen.prices.get(symbol)];
    return rules && price && price.markTicks * tickUsd(rules);
  }

  /** The oracle price of a position's market, USD. */
  oracle(subject: string): number | undefined {
    const [held, price] = [this.marked(subject), this.seen.prices.get(symbolOf(subject))];
    return held && price && (held.figures.mark * price.oracleTicks) / price.markTicks;
  }

  /** Undefined: it is not there, or something that its figures rest on is not known. */
  account(name: string): AccountFigures | undefined {
    const account = this.seen.accounts.get(name);
    return account && this.seen.figures(account);
  }

  /** A position as it was read. */
  state(subject: string): PositionTruth | undefined {
    const account = this.seen.accounts.get(accountOf(subject));
    return account?.positions.find(({ symbol }) => symbol === symbolOf(subject));
  }

  /** Undefined as of `account`. */
  position(subject: string): Holding | undefined {
    return this.#holding(subject, true);
  }

  /** The same for figures that rest on the mark alone, and on nothing else in its account: notional, size, … */
  marked(subject: string): Omit<Holding, "of"> | undefined {
    return this.#holding(subject, false);
  }

  #holding(subject: string, whole: boolean): Holding | undefined {
    const account = this.seen.accounts.get(accountOf(subject));
    const position = this.state(subject);
    if (!account || !position) return undefined;
    const alone = () => this.seen.figures({ ...account, positions: [position], orders: [], spot: 0n }, false);
    const of = this.seen.figures(account, whole) ?? (whole ? undefined : alone());
    return of && { account, position, figures: of.positions.get(position.symbol)!, of };
  }
}

/** The subjects that there are, at a version of what is seen. */
interface Names {
  readonly version: number;
  readonly accounts: readonly string[];
  readonly positions: readonly string[];
  readonly whalePositions: readonly string[];
}

const namesOfPositions = new WeakMap<AccountTruth, readonly string[]>();

function positionNames(account: AccountTruth): readonly string[] {
  const known = namesOfPositions.get(account);
  if (known !== undefined) return known;
  const names = account.positions.map(({ symbol }) => `${account.name}/${symbol}`);
  namesOfPositions.set(account, names);
  return names;
}

export const walletOf = (subject: string): string => placeOf(subject).wallet;
/** The symbol in the name of a position. */
export const symbolOf = (subject: string): string => placeOf(subject).symbol;
export const accountOf = (subject: string): string => placeOf(subject).account;

interface Place {
  readonly wallet: string;
  readonly account: string;
  readonly symbol: string;
}

/** Names are few, and looked at with each observation. */
const places = new Map<string, Place>();

function placeOf(subject: string): Place {
  const known = places.get(subject);
  if (known) return known;
  const [wallet = "", index, symbol = ""] = subject.split("/");
  const place = { wallet, account: index === undefined ? wallet : `${wallet}/${index}`, symbol };
  places.set(subject, place);
  return place;
}
