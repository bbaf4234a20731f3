/** Updates the profit of each wallet from the states of its accounts, after the data that value them were read. */

import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { AccountEntry, AccountsSeen } from "../accounts/account-entry.ts";
import type { Accounts } from "../accounts/accounts.ts";
import type { WalletEntry } from "../wallets/wallets.ts";
import { emptyBalance } from "./changes/balance-change.ts";
import type { StatePlace } from "./changes/newest-states.ts";
import { withIndex } from "./changes/slots.ts";
import type { SpotFlow } from "./changes/spot-flows.ts";
import type { CollateralValues } from "./collateral-values.ts";
import type { HistoryReadings } from "./history-readings.ts";
import type { ProfitFigures } from "./profit-figures.ts";

type StatesSeen = Pick<AccountsSeen, "wallet" | "pdaIndex" | "slot" | "told"> &
  Partial<Pick<AccountsSeen, "slotIndex" | "exact">>;

export class ProfitStates {
  readonly #accounts: Accounts;
  readonly #values: CollateralValues;
  readonly #figures: ProfitFigures;
  readonly #readings: HistoryReadings;
  readonly #onGone: (account: string, builder: ChangesBuilder) => void;
  /** Wallets with an account that was read before the data that value it. */
  readonly #waiting = new Set<WalletEntry>();
  /** Accounts with collateral whose market had no price at their last reading, and their wallets. */
  readonly #unpriced = new Map<AccountEntry, WalletEntry>();

  constructor(options: {
    readonly accounts: Accounts;
    readonly values: CollateralValues;
    readonly figures: ProfitFigures;
    readonly readings: HistoryReadings;
    /** Called for each account that no longer exists. */
    readonly onGone: (account: string, builder: ChangesBuilder) => void;
  }) {
    this.#accounts = options.accounts;
    this.#values = options.values;
    this.#figures = options.figures;
    this.#readings = options.readings;
    this.#onGone = options.onGone;
  }

  /** Takes the newest states of accounts of a wallet, before its figures are summed. */
  take(entry: WalletEntry, listed: readonly AccountEntry[], seen: StatesSeen, builder: ChangesBuilder): void {
    const { changes, comparedIndices } = entry.profit;
    const first = !comparedIndices.includes(seen.pdaIndex);
    if (!this.#values.isReady(entry, listed, first)) {
      this.#waiting.add(entry);
      entry.profit.isBehind = true;
      return;
    }
    // A partial answer says nothing about the other accounts, which have to be known first.
    if (first && seen.told !== undefined) return;
    if (first) entry.profit.comparedIndices = withIndex(comparedIndices, seen.pdaIndex);
    const openBefore = changes.open;
    const unpricedBefore = this.#unpriced.size;
    const at = placeOf(seen, builder);
    let moved = false;
    let whole = seen.told === undefined;
    for (let i = 0; i < listed.length; i++) {
      const { name, state } = listed[i]!;
      if (this.#unpriced.size > 0) this.#unpriced.delete(listed[i]!);
      if (changes.takeSame(name, at, state)) continue;
      const spot = this.#values.spotChange(entry, name, state);
      // It is compared after its collateral can be valued, as its equity is known then.
      if (spot === null) {
        whole = false;
        this.#unpriced.set(listed[i]!, entry);
        continue;
      }
      const { addedUsd: usd, taken } = spot;
      // A baseline of the same slot contains the state before this one.
      const isSameSlot = changes.states.slotOf(name) === seen.slot;
      if (changes.states.before(name)?.collateralQuoteLots !== state.collateralQuoteLots)
        entry.profit.takeChange(name, seen.slot, builder.atMs);
      if (changes.takeState(name, at, state, this.#values.pricingOf, taken)) moved = true;
      if (usd === 0) continue;
      const flow: SpotFlow = { account: name, slot: seen.slot, atMs: builder.atMs, usd };
      this.#figures.takeSpotFlow(entry, isSameSlot ? { ...flow, after: true } : flow, builder);
      moved = true;
    }
    if (unpricedBefore > 0 || this.#unpriced.size > 0) this.#noteBehind(entry);
    if (first && this.#takeGone(entry, listed, seen, builder)) moved = true;
    if (whole && changes.takeWhole(seen.pdaIndex, at)) moved = true;
    if (moved) {
      this.#figures.refresh(entry, builder);
      entry.profit.keep(builder);
    }
    if (changes.open !== openBefore) this.#figures.opened(entry, builder);
    else if (first && (changes.open.length > 0 || !entry.profit.held.isEmpty))
      this.#readings.ask(entry, builder);
    this.#figures.readHidden(entry, builder);
  }

  /**
   * Called after data that value accounts were read: takes the states that were read before.
   * @returns the wallets with such states
   */
  valued(builder: ChangesBuilder): readonly WalletEntry[] {
    if (this.#waiting.size === 0 && this.#unpriced.size === 0) return [];
    const taken = new Set<WalletEntry>();
    for (const entry of this.#waiting) {
      const { name } = entry.wallet;
      const accounts = this.#accounts.ofWallet(name);
      if (!this.#values.isReady(entry, accounts, true)) continue;
      this.#waiting.delete(entry);
      this.#noteBehind(entry);
      for (const pdaIndex of this.#accounts.readIndices(name)) {
        const listed = accounts.filter(({ ref }) => ref.pdaIndex === pdaIndex);
        const { slot, slotIndex, exact } = this.#accounts.placeOf(name, pdaIndex);
        this.take(entry, listed, { wallet: name, pdaIndex, slot, slotIndex, exact }, builder);
      }
      taken.add(entry);
    }
    for (const [account, entry] of [...this.#unpriced]) {
      const { ref, name, state, slot } = account;
      if (this.#accounts.get(ref) !== account) {
        this.#unpriced.delete(account);
        this.#noteBehind(entry);
      } else if (this.#values.spotChange(entry, name, state) !== null) {
        this.take(entry, [account], { ...ref, slot, told: [ref.subaccount] }, builder);
        taken.add(entry);
      }
    }
    for (const entry of taken) {
      this.answered(entry, builder);
      if (!entry.injected) entry.profit.publish();
    }
    return [...taken];
  }

  /** Called after the wallet's figures were summed from an answer about its accounts. */
  answered(entry: WalletEntry, builder: ChangesBuilder): void {
    const { profit, node, injected } = entry;
    const { equity } = node.facts.values;
    if (injected || typeof equity !== "number") return;
    profit.release(builder.atMs, false);
    // The equity of a day's beginning must not contain states whose flows may still be reported.
    if (!this.#waiting.has(entry)) {
      profit.answerUsd = equity;
      profit.answerMs = builder.atMs;
    }
    this.#figures.begin(entry, builder);
    profit.keepHigh(builder);
  }

  /** Takes that an account no longer exists. */
  takeAccountGone(entry: WalletEntry, { name, ref }: AccountEntry, builder: ChangesBuilder): void {
    this.#onGone(name, builder);
    const place = this.#accounts.placeOf(ref.wallet, ref.pdaIndex);
    if (this.#takeEmptied(entry, name, placeOf(place, builder))) {
      this.#figures.refresh(entry, builder);
      this.#figures.opened(entry, builder);
    }
    this.#figures.readHidden(entry, builder);
  }

  /** Continues after a reload: changes that were not explained before it are still open. */
  goOn(entry: WalletEntry, builder: ChangesBuilder): void {
    const { comparedIndices } = entry.profit;
    for (const pdaIndex of this.#accounts.readIndices(entry.wallet.name))
      if (!comparedIndices.includes(pdaIndex)) this.#waiting.add(entry);
    this.#noteBehind(entry);
    this.#readings.ask(entry, builder);
  }

  /** Takes that stored accounts that the first answer does not list no longer exist. */
  #takeGone(
    entry: WalletEntry,
    listed: readonly AccountEntry[],
    seen: StatesSeen,
    builder: ChangesBuilder,
  ): boolean {
    const { changes } = entry.profit;
    const prefix = `${seen.wallet}/${seen.pdaIndex}.`;
    let moved = false;
    for (const name of [...changes.states.accounts()]) {
      if (!name.startsWith(prefix) || listed.some((one) => one.name === name)) continue;
      if (this.#takeEmptied(entry, name, placeOf(seen, builder))) moved = true;
      this.#onGone(name, builder);
    }
    return moved;
  }

  /** Takes that an account no longer exists. @returns as for `OpenChanges.takeState` */
  #takeEmptied(entry: WalletEntry, name: string, at: StatePlace): boolean {
    const taken = this.#values.spotChange(entry, name, emptyBalance)?.taken ?? null;
    entry.profit.takeChange(name, at.slot, at.atMs);
    return entry.profit.changes.takeGone(name, at, this.#values.pricingOf, taken);
  }

  #noteBehind(entry: WalletEntry): void {
    const isUnpriced = [...this.#unpriced.values()].includes(entry);
    entry.profit.isBehind = isUnpriced || this.#waiting.has(entry);
  }
}

/** The ledger position up to which an answer contains the ledger. */
function placeOf(
  { slot, slotIndex, exact }: Pick<StatesSeen, "slot" | "slotIndex" | "exact">,
  { atMs }: ChangesBuilder,
): StatePlace {
  return { slot, index: exact ? slotIndex : undefined, atMs };
}
