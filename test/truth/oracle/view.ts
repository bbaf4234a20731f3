/** The ground of one judgement: the versions of the truth that the daemon had, and the figures that follow from them. */
import type { AccountFigures, Margins, PositionFigures } from "./margin.ts";
import type { Seen } from "./seen.ts";
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
  readonly #margins: Margins;

  constructor(seen: Seen, margins: Margins, money: Wallets, wallets: readonly WalletTerms[]) {
    this.seen = seen;
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

export const walletOf = (subject: string): string => subject.split("/")[0]!;
/** The symbol in the name of a position. */
export const symbolOf = (subject: string): string => subject.split("/")[2] ?? "";
export const accountOf = (subject: string): string => subject.split("/").slice(0, 2).join("/");
