/** The known trader accounts of the watched wallets, by wallet, name and market. */

import type { TraderViewState } from "../../domain/account.ts";
import type { Source } from "../../domain/sources.ts";
import { FewMap } from "../../domain/structures/few-map.ts";
import type { AccountRef } from "../../domain/subject.ts";
import type { SubjectNode } from "../subjects.ts";
import type { AccountEntry, AccountsSeen, Successor } from "./account-entry.ts";
import { MarketIndex } from "./market-index.ts";

const noAccounts: readonly AccountEntry[] = [];

/** The accounts of one (wallet, PDA index), which is the scope of one answer. */
export interface AccountGroup {
  slot: number;
  slotIndex: number;
  exact: boolean;
  readonly accounts: FewMap<number, AccountEntry>;
}

const nowhere = { slot: 0, slotIndex: 0, exact: false };

/** Callbacks for subjects that appear and disappear. */
export interface SubjectCallbacks {
  trader(ref: AccountRef, first: boolean): SubjectNode;
  position(account: AccountEntry, symbol: string, incarnation: string, first: boolean): SubjectNode;
  /** `symbol` null: the whole account disappeared. */
  gone(node: SubjectNode, account: AccountEntry, symbol: string | null, why: Successor): void;
}

export class Accounts {
  /** By wallet, then PDA index: most lookups are for one wallet of thousands. */
  readonly #groups = new Map<string, FewMap<number, AccountGroup>>();
  /** Lists of accounts, created on first use. */
  readonly #byWallet = new Map<string, readonly AccountEntry[]>();
  #all: readonly AccountEntry[] | null = null;
  readonly #keeper: SubjectCallbacks;
  /** Accounts by the markets that their figures depend on. */
  readonly index = new MarketIndex<AccountEntry>();

  constructor(keeper: SubjectCallbacks) {
    this.#keeper = keeper;
  }

  /** Removes all accounts of a wallet. */
  forget(wallet: string): void {
    for (const group of this.#groups.get(wallet)?.values() ?? [])
      for (const account of [...group.accounts.values()]) this.remove(account);
    this.#groups.delete(wallet);
    this.#listAnew(wallet);
  }

  /** The PDA indices of a wallet that were read. */
  readIndices(wallet: string): Iterable<number> {
    return this.#groups.get(wallet)?.keys() ?? [];
  }

  /** The present accounts. The list is not updated: a new or removed account is in the next list. */
  all(): readonly AccountEntry[] {
    if (this.#all) return this.#all;
    this.#all = [...this.#groups.keys()].flatMap((wallet) => this.ofWallet(wallet));
    for (const [place, account] of this.#all.entries()) account.place = place;
    return this.#all;
  }

  /** The accounts whose figures depend on one of these markets, in the order of `all()`. */
  inMarkets(symbols: Iterable<string>): readonly AccountEntry[] {
    const found = this.index.in(symbols);
    if (found.length < 2) return found;
    this.all();
    return found.sort((a, b) => a.place - b.place);
  }

  /** The present accounts of one wallet. */
  ofWallet(wallet: string): readonly AccountEntry[] {
    const known = this.#byWallet.get(wallet);
    if (known !== undefined) return known;
    const groups = this.#groups.get(wallet);
    if (groups === undefined) return noAccounts;
    // A copy has no spare capacity. All lists that are kept are copied, as there are several for each account.
    const list = [...groups.values()].flatMap(({ accounts }) => [...accounts.values()]).slice();
    this.#byWallet.set(wallet, list);
    return list;
  }

  get(ref: AccountRef): AccountEntry | undefined {
    return this.#groups.get(ref.wallet)?.get(ref.pdaIndex)?.accounts.get(ref.subaccount);
  }

  /** The slot of the newest answer about a wallet's PDA index; 0 before the first answer. */
  slotOf(wallet: string, pdaIndex: number): number {
    return this.placeOf(wallet, pdaIndex).slot;
  }

  /** The ledger position of the newest answer about a wallet's PDA index. */
  placeOf(
    wallet: string,
    pdaIndex: number,
  ): Pick<AccountsSeen, "slot" | "slotIndex"> & { readonly exact: boolean } {
    return this.#groups.get(wallet)?.get(pdaIndex) ?? nowhere;
  }

  /** The accounts of a wallet with a position or a resting order in a market; for rows that name no subaccount. */
  holding(wallet: string, pdaIndex: number | null, symbol: string): AccountEntry[] {
    return this.ofWallet(wallet).filter(
      (account) =>
        (pdaIndex === null || account.ref.pdaIndex === pdaIndex) &&
        account.positions.has(symbol.toUpperCase()),
    );
  }

  /** True if any account has a position or a resting order in a market. */
  anyIn(symbol: string): boolean {
    return this.index.holds(symbol);
  }

  /** Returns true if the account's figures depend on one of these markets. */
  dependsOn(account: AccountEntry, symbols: ReadonlySet<string>): boolean {
    for (const symbol of account.markets) if (symbols.has(symbol)) return true;
    return !account.assessed;
  }

  takeView(wallet: string, view: TraderViewState, atMs: number): AccountEntry | undefined {
    const account = this.get({ wallet, pdaIndex: view.pdaIndex, subaccount: view.subaccount });
    if (!account) return undefined;
    account.view = { atMs, view };
    return account;
  }

  /** The accounts of the newest answer about a wallet's PDA index; undefined before the first answer. */
  group(wallet: string, pdaIndex: number): AccountGroup | undefined {
    return this.#groups.get(wallet)?.get(pdaIndex);
  }

  /** Adds an empty group for a PDA index before its first answer. */
  addGroup(wallet: string, pdaIndex: number): AccountGroup {
    const group: AccountGroup = { ...nowhere, accounts: new FewMap() };
    const groups = this.#groups.get(wallet) ?? new FewMap<number, AccountGroup>();
    this.#groups.set(wallet, groups.set(pdaIndex, group));
    return group;
  }

  add(group: AccountGroup, account: AccountEntry): void {
    group.accounts.set(account.ref.subaccount, account);
    this.#listAnew(account.ref.wallet);
  }

  remove(account: AccountEntry): void {
    const { wallet, pdaIndex, subaccount } = account.ref;
    this.group(wallet, pdaIndex)?.accounts.delete(subaccount);
    this.#listAnew(wallet);
    for (const [symbol, entry] of account.positions) this.#keeper.gone(entry.node, account, symbol, "closed");
    account.positions.clear();
    this.index.remove(account);
    this.#keeper.gone(account.node, account, null, "closed");
  }

  /** Drops the cached lists after the accounts of a wallet changed. */
  #listAnew(wallet: string): void {
    this.#byWallet.delete(wallet);
    this.#all = null;
  }

  /** The sources that an account's figures depend on. */
  static readonly sources: readonly Source[] = ["traderState", "markets", "marketConfig"];
}
