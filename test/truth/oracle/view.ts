/** The ground of one judgement: the versions of the truth that the daemon had, and the figures that follow from them. */
import type { AccountFigures, Margins, PositionFigures } from "./margin.ts";
import type { Seen } from "./seen.ts";
import type { Terms } from "./terms.ts";
import type { AccountTruth, PositionTruth } from "./truth.ts";
import type { Wallets } from "./wallets.ts";

export interface WalletTerms {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface Holding {
  readonly account: AccountTruth;
  readonly position: PositionTruth;
  readonly figures: PositionFigures;
  readonly of: AccountFigures;
}

export class View {
  readonly seen: Seen;
  readonly wallets: ReadonlyMap<string, WalletTerms>;
  readonly money: Wallets;
  readonly terms: Terms;
  /** The daemon's clock. */
  nowMs = 0;
  readonly #margins: Margins;

  constructor(seen: Seen, margins: Margins, money: Wallets, wallets: readonly WalletTerms[], terms: Terms) {
    this.seen = seen;
    this.terms = terms;
    this.money = money;
    this.#margins = margins;
    this.wallets = new Map(wallets.map((one) => [one.name, one]));
  }

  labels(subject: string): Readonly<Record<string, string>> {
    return this.wallets.get(walletOf(subject))?.labels ?? {};
  }

  accounts(): readonly string[] {
    return [...this.seen.accounts.keys()];
  }

  /** Names of positions, `wallet/0.0/SYMBOL`. */
  positions(): readonly string[] {
    return [...this.seen.accounts.values()].flatMap(({ name, positions }) =>
      positions.map(({ symbol }) => `${name}/${symbol}`),
    );
  }

  /** The oracle price of a position's market, USD. */
  oracle(subject: string): number | undefined {
    const [held, price] = [this.position(subject), this.seen.prices.get(symbolOf(subject))];
    return held && price && (held.figures.mark * price.oracleTicks) / price.markTicks;
  }

  /** Undefined: it is not there, or a price is not known. */
  account(name: string): AccountFigures | undefined {
    const account = this.seen.accounts.get(name);
    return account && this.#margins.of(account, this.seen.prices);
  }

  position(subject: string): Holding | undefined {
    const account = this.seen.accounts.get(accountOf(subject));
    const position = account?.positions.find(({ symbol }) => symbol === symbolOf(subject));
    const of = account && position && this.#margins.of(account, this.seen.prices);
    return of && { account, position, figures: of.positions.get(position.symbol)!, of };
  }
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
