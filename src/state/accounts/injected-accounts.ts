/** Accounts and positions with injected figures, which are not computed from states. */
import type { PositionState, SubaccountState } from "../../domain/account.ts";
import type { AccountRef } from "../../domain/subject.ts";
import { sideOf } from "./account-comparison.ts";
import type { AccountEntry, PositionEntry, Successor } from "./account-entry.ts";
import { unread } from "./account-readings.ts";
import type { Accounts, SubjectCallbacks } from "./accounts.ts";
import { newAccount } from "./new-account.ts";

const nothingHeld: Omit<SubaccountState, "subaccount"> = {
  sequence: 0,
  collateralQuoteLots: 0n,
  spotCollaterals: [],
  lifecycle: "active",
  capabilities: {},
  positions: [],
  orders: [],
};
const noPosition: Omit<PositionState, "symbol" | "baseLots"> = {
  virtualQuoteLots: 0n,
  unsettledFundingQuoteLots: 0n,
  accumulatedFundingQuoteLots: 0n,
  sequence: "0",
  triggers: [],
};

export class InjectedAccounts {
  readonly #accounts: Accounts;
  readonly #keeper: SubjectCallbacks;

  constructor(accounts: Accounts, keeper: SubjectCallbacks) {
    this.#accounts = accounts;
    this.#keeper = keeper;
  }

  /** Returns the account of this name with injected figures; creates it if it is not known. */
  addAccount({ wallet, pdaIndex, subaccount }: AccountRef, atMs: number): AccountEntry {
    const ref: AccountRef = { wallet, pdaIndex, subaccount };
    const known = this.#accounts.get(ref);
    if (known) return known;
    const group = this.#accounts.group(wallet, pdaIndex) ?? this.#accounts.addGroup(wallet, pdaIndex);
    const node = this.#keeper.trader(ref, true);
    const state: SubaccountState = { ...nothingHeld, subaccount };
    const account = newAccount(ref, node, state, { seenMs: atMs, slot: 0, injected: true });
    this.#accounts.add(group, account);
    return account;
  }

  /** Returns a position of such an account; the other side is another position. `first`: see `SubjectCallbacks`. */
  addPosition(account: AccountEntry, symbol: string, side: "long" | "short", first: boolean): PositionEntry {
    const known = account.positions.get(symbol);
    const state: PositionState = { ...noPosition, symbol, baseLots: side === "long" ? 1n : -1n };
    if (known && sideOf(known.state) === side) return known;
    if (known) this.remove(account, symbol, account.seenMs, "flipped");
    const node = this.#keeper.position(account, symbol, `${side} given`, first);
    const entry = { state, node, ...unread };
    account.positions.set(symbol, entry);
    this.#accounts.index.take(account);
    return entry;
  }

  /** Removes a position of such an account; with `symbol` null the account itself. */
  remove(account: AccountEntry, symbol: string | null, atMs: number, why: Successor): void {
    account.shrunkAtMs = atMs;
    if (symbol === null) {
      this.#accounts.remove(account);
      return;
    }
    const entry = account.positions.get(symbol);
    if (!entry) return;
    account.positions.delete(symbol);
    this.#accounts.index.take(account);
    this.#keeper.gone(entry.node, account, symbol, why);
  }
}
