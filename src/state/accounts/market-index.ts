/**
 * The accounts whose figures depend on each market (through a position, a resting order, or collateral that the market
 * values), so that a new price updates these accounts only.
 */

/** The part of an account that names its markets. */
export interface InMarkets {
  /** True if its sums are known. */
  readonly assessed: boolean;
  /** Symbols of the last `take`; set by the index. */
  markets: readonly string[];
  readonly positions: ReadonlyMap<string, unknown>;
  readonly otherMarkets: readonly string[];
}

/** Maximum number of shared lists of symbols. */
const maxLists = 1_000;

export class MarketIndex<A extends InMarkets> {
  readonly #accounts = new Map<string, Set<A>>();
  /** Accounts whose sums are unknown: the price of any market may be the missing input. */
  readonly #unassessed = new Set<A>();
  /** Lists of symbols, by their joined symbols. */
  readonly #lists = new Map<string, readonly string[]>();

  /** Takes an account in its present state. */
  take(account: A): void {
    this.noteAssessed(account);
    if (isCurrent(account)) return;
    const markets = new Set(account.positions.keys());
    for (const symbol of account.otherMarkets) markets.add(symbol);
    for (const symbol of account.markets) if (!markets.has(symbol)) this.#leave(symbol, account);
    for (const symbol of markets) this.#enter(symbol, account);
    account.markets = this.list(markets);
  }

  /** Returns the symbols as a list to keep: accounts in the same markets share one list. */
  list(symbols: ReadonlySet<string>): readonly string[] {
    const list = [...symbols];
    const name = JSON.stringify(list);
    const known = this.#lists.get(name);
    if (known !== undefined) return known;
    if (this.#lists.size >= maxLists) this.#lists.clear();
    this.#lists.set(name, list);
    return list;
  }

  /** Removes an account. */
  remove(account: A): void {
    for (const symbol of account.markets) this.#leave(symbol, account);
    account.markets = [];
    this.#unassessed.delete(account);
  }

  noteAssessed(account: A): void {
    if (!account.assessed) this.#unassessed.add(account);
    else if (this.#unassessed.size > 0) this.#unassessed.delete(account);
  }

  /** Returns true if any account depends on the market. */
  holds(symbol: string): boolean {
    return this.#accounts.has(symbol);
  }

  /** The accounts in any of these markets, and those whose sums are unknown; in no particular order. */
  in(symbols: Iterable<string>): A[] {
    const found = new Set(this.#unassessed);
    for (const symbol of symbols) for (const account of this.#accounts.get(symbol) ?? []) found.add(account);
    return [...found];
  }

  #enter(symbol: string, account: A): void {
    const accounts = this.#accounts.get(symbol);
    if (accounts) accounts.add(account);
    else this.#accounts.set(symbol, new Set([account]));
  }

  #leave(symbol: string, account: A): void {
    const accounts = this.#accounts.get(symbol);
    accounts?.delete(account);
    if (accounts?.size === 0) this.#accounts.delete(symbol);
  }
}

/** Returns true if the account is in the same markets as at its last `take`, which is so for nearly every answer. */
function isCurrent({ markets, positions, otherMarkets }: InMarkets): boolean {
  let found = 0;
  for (const symbol of markets) if (positions.has(symbol)) found++;
  if (found !== positions.size) return false;
  for (const symbol of otherMarkets) if (!markets.includes(symbol)) return false;
  if (found === markets.length) return true;
  return markets.every((symbol) => positions.has(symbol) || otherMarkets.includes(symbol));
}
