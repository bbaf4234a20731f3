/** Takes the states of trader accounts from answers, and adds and removes accounts and positions accordingly. */

import type { SubaccountState } from "../../domain/account.ts";
import type { AccountRef } from "../../domain/subject.ts";
import { symbolKey } from "../../domain/symbol.ts";
import { isActive } from "../../margin/fast.ts";
import { usdFromQuoteLots } from "../../margin/units.ts";
import type { Markets } from "../markets/markets.ts";
import {
  hasSameFunding,
  hasSameSpot,
  holds,
  holdsAll,
  incarnationOf,
  isSameOne,
  sideOf,
} from "./account-comparison.ts";
import type { AccountEntry, AccountsSeen } from "./account-entry.ts";
import { positionStateFacts } from "./account-facts.ts";
import type { AccountOrders } from "./account-orders.ts";
import { noteCollateral, noteResized, openFacts, unread } from "./account-readings.ts";
import type { AccountGroup, Accounts, SubjectCallbacks } from "./accounts.ts";
import { newAccount, noMarkets } from "./new-account.ts";

export class AccountStates {
  readonly #accounts: Accounts;
  readonly #markets: Markets;
  readonly #keeper: SubjectCallbacks;
  readonly #orders: AccountOrders;
  /** True if the markets of the account that is being taken may have changed. */
  #reshaped = false;
  #ordersRead: boolean;

  /** @param ordersRead a rule reads or shows resting orders */
  constructor(
    accounts: Accounts,
    markets: Markets,
    keeper: SubjectCallbacks,
    orders: AccountOrders,
    ordersRead: boolean,
  ) {
    this.#accounts = accounts;
    this.#markets = markets;
    this.#keeper = keeper;
    this.#orders = orders;
    this.#ordersRead = ordersRead;
  }

  /** Sets if facts of resting orders are needed from the next answer on. */
  readOrders(read: boolean): void {
    this.#ordersRead = read;
  }

  /** @returns the accounts in the answer, or null if the answer is older than the known state */
  take(seen: AccountsSeen): AccountEntry[] | null {
    const known = this.#accounts.group(seen.wallet, seen.pdaIndex);
    if (known && (seen.slot < known.slot || (seen.slot === known.slot && seen.slotIndex < known.slotIndex)))
      return null;
    const onlyOf = seen.told === undefined ? null : new Set(seen.told);
    // A partial answer is applied to a complete one, which is still to come.
    if (onlyOf && !known) return null;
    const first = known === undefined;
    const group = known ?? this.#accounts.addGroup(seen.wallet, seen.pdaIndex);
    const newer = seen.slot > group.slot;
    group.slot = seen.slot;
    group.slotIndex = seen.slotIndex;
    group.exact = seen.exact ?? false;
    const listed: AccountEntry[] = [];
    for (const state of seen.subaccounts) {
      if (onlyOf?.has(state.subaccount) === false) continue;
      listed.push(this.#takeSubaccount(group, seen, state, first, newer));
    }
    if (onlyOf) return listed;
    // In nearly all cases the account in the answer is the only one.
    if (listed.length === 1 && group.accounts.size === 1) return listed;
    for (const account of [...group.accounts.values()]) {
      if (!seen.subaccounts.some((state) => state.subaccount === account.ref.subaccount))
        this.#accounts.remove(account);
    }
    return listed;
  }

  /** Recomputes the figures that depend on state and market configuration, after the latter was read. */
  configured(account: AccountEntry): void {
    if (account.injected) return;
    this.#linkMarkets(account);
    this.#accounts.index.take(account);
    for (const [symbol, { node, state }] of account.positions)
      positionStateFacts(node.facts, state, this.#markets.risk.get(symbol));
    if (this.#ordersRead) this.#orders.refresh(account, account.seenMs, false);
  }

  #takeSubaccount(
    group: AccountGroup,
    seen: AccountsSeen,
    state: SubaccountState,
    first: boolean,
    newer: boolean,
  ): AccountEntry {
    let account = group.accounts.get(state.subaccount);
    if (!account) {
      const ref: AccountRef = { wallet: seen.wallet, pdaIndex: seen.pdaIndex, subaccount: state.subaccount };
      const node = this.#keeper.trader(ref, first);
      account = newAccount(ref, node, state, { seenMs: seen.atMs, slot: seen.slot, injected: false });
      this.#linkMarkets(account);
      this.#accounts.add(group, account);
    } else if (newer || state.sequence >= account.state.sequence) {
      const { orders, positions, spotCollaterals, collateralQuoteLots } = account.state;
      if (
        state.collateralQuoteLots !== collateralQuoteLots ||
        !hasSameSpot(state.spotCollaterals, spotCollaterals)
      )
        account.moved = true;
      if (!hasSameFunding(state.positions, positions)) account.accrued = true;
      account.state = state;
      account.risk.take(state);
      if (orders !== state.orders || spotCollaterals !== state.spotCollaterals) this.#linkMarkets(account);
    }
    account.seenMs = seen.atMs;
    noteCollateral(account, seen);
    // Assigned by literal name, here and below: an assignment by a variable name takes several times as long.
    account.node.facts.seenMs.traderState = seen.atMs;
    this.#stateFacts(account, seen.atMs, first);
    this.#takePositions(account, seen, first);
    account.slot = seen.slot;
    // Nearly every answer leaves the markets of an account unchanged.
    if (this.#reshaped) this.#accounts.index.take(account);
    this.#reshaped = false;
    return account;
  }

  #linkMarkets(account: AccountEntry): void {
    this.#reshaped = true;
    const { risk, state } = account;
    if (risk.orders.length === 0 && state.spotCollaterals.length === 0) {
      account.otherMarkets = noMarkets;
      return;
    }
    const symbols = new Set<string>();
    for (const order of risk.orders) if (isActive(order)) symbols.add(order.symbol);
    for (const { assetIndex, balance } of state.spotCollaterals) {
      const symbol = balance > 0n ? this.#markets.symbolOfAsset(assetIndex) : undefined;
      if (symbol !== undefined) symbols.add(symbol);
    }
    account.otherMarkets = this.#accounts.index.list(symbols);
  }

  #stateFacts(account: AccountEntry, atMs: number, first: boolean): void {
    const values = account.node.facts.values;
    const { state, ref, risk } = account;
    values.name = account.name;
    values.account = ref.pdaIndex;
    values.subaccount = ref.subaccount;
    values.state = state.lifecycle;
    values.collateral = usdFromQuoteLots(risk.collateralQuoteLots);
    if (this.#ordersRead) this.#orders.refresh(account, atMs, first);
  }

  #takePositions(account: AccountEntry, { atMs, slot }: AccountsSeen, first: boolean): void {
    for (const position of account.state.positions) {
      if (position.baseLots === 0n) continue;
      const symbol = symbolKey(position.symbol);
      let entry = account.positions.get(symbol);
      if (entry && !isSameOne(entry, position)) {
        const why = sideOf(entry.state) === sideOf(position) ? "reopened" : "flipped";
        account.positions.delete(symbol);
        this.#reshaped = true;
        account.shrunkAtMs = atMs;
        noteResized(account, slot);
        this.#keeper.gone(entry.node, account, symbol, why);
        entry = undefined;
      }
      if (entry) {
        if (position.baseLots !== entry.state.baseLots) noteResized(account, slot);
        if (magnitude(position.baseLots) < magnitude(entry.state.baseLots)) account.shrunkAtMs = atMs;
        entry.state = position;
      } else {
        // Listed before the node is created, so that lookups from the node find the whole account.
        const node = this.#keeper.position(account, symbol, incarnationOf(position), first);
        entry = { state: position, node, ...unread };
        account.positions.set(symbol, entry);
        this.#reshaped = true;
        noteResized(account, slot);
      }
      entry.node.facts.seenMs.traderState = atMs;
      openFacts(entry.node, atMs);
      positionStateFacts(entry.node.facts, position, this.#markets.risk.get(symbol));
    }
    if (holdsAll(account)) return;
    for (const [symbol, entry] of [...account.positions]) {
      if (holds(account.state, symbol)) continue;
      account.positions.delete(symbol);
      this.#reshaped = true;
      account.shrunkAtMs = atMs;
      noteResized(account, slot);
      this.#keeper.gone(entry.node, account, symbol, "closed");
    }
  }
}

function magnitude(lots: bigint): bigint {
  return lots < 0n ? -lots : lots;
}
