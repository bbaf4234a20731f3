/**
 * Keeps the profit of each wallet up with the states of its accounts and the records of its histories, and has the histories
 * read at once, and again, while a change of collateral is not explained.
 */
import type { SpotCollateralState } from "../../domain/account.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/deadlines.ts";
import type { Event } from "../../domain/event.ts";
import { unitsFromBaseLots } from "../../margin/units.ts";
import type { AccountEntry, AccountsSeen } from "../account-entry.ts";
import type { Accounts } from "../accounts.ts";
import type { Markets } from "../markets/markets.ts";
import { hasSpot } from "../markets/spot-collateral.ts";
import type { WalletEntry } from "../wallets.ts";
import {
  type Balance,
  emptyBalance,
  noSpotChange,
  type Pricing,
  type SpotChange,
  spotChange,
} from "./balance-change.ts";
import type { FlowRecord } from "./cash-record.ts";
import { accountOf, flowOf, guessOf, otherSide, paymentOf, tradeOf, transferOf } from "./flows.ts";
import type { StatePlace } from "./newest-states.ts";
import { exactUsd } from "./record-order.ts";
import { withIndex } from "./slots.ts";
import type { SpotFlow } from "./spot-flows.ts";
import type { Today } from "./today.ts";

/** Pauses after which the histories are read again while a change is open: often at first. */
const againMs = 2_000;
const laterMs = 10_000;
const oftenForMs = 30_000;
/** So many sides of transfers wait for the other one in each wallet. */
const maxLoneSides = 32;

type Shown = Pick<FlowRecord, "shown" | "unshown">;
type StatesSeen = Pick<AccountsSeen, "wallet" | "pdaIndex" | "slot" | "told"> &
  Partial<Pick<AccountsSeen, "slotIndex" | "exact">>;

/** Readings of the histories of one wallet outside of their schedules. */
class Reading implements Due {
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined;
  readonly #due: () => void;

  constructor(due: () => void) {
    this.#due = due;
  }

  onDue(): void {
    this.#due();
  }
}

export class Profits {
  readonly #markets: Markets;
  readonly #accounts: Accounts;
  readonly #today: Today;
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  readonly #note: (text: string) => void;
  readonly #onGone: (account: string, builder: ChangesBuilder) => void;
  readonly #onSpotFlow: (wallet: string, atMs: number) => void;
  /** Some rule reads profit: the histories are read at once for it. */
  readonly #asked: boolean;
  readonly #readings = new Map<string, Reading>();
  /** Flows of sides of transfers, as the other side tells them or as they were taken; null: not known. */
  readonly #directions = new WeakMap<Event, number | null>();
  /** Sides of transfers, by wallet, that were read without the other one: that may follow. Newest last. */
  readonly #loneSides = new Map<string, readonly Event[]>();
  /** Transfers, by wallet, of which nobody knew the direction when they were read: fills that are read later may tell it. Newest last. */
  readonly #undirected = new Map<
    string,
    readonly { readonly event: Event; readonly read: readonly Event[] }[]
  >();
  /** Wallets of which an account was read before what values it. */
  readonly #waiting = new Set<WalletEntry>();
  /** Accounts with collateral whose market had no price when they were read last, and their wallets. */
  readonly #unpriced = new Map<AccountEntry, WalletEntry>();
  readonly #pricingOf = (symbol: string): Pricing | undefined => {
    const market = this.#markets.risk.get(symbol);
    if (market === undefined) return undefined;
    const markUsd = this.#markets.entries.get(symbol)?.prices?.markPriceUsd;
    return {
      unitsPerLot: unitsFromBaseLots(1, market),
      markUsd,
      ratePerHour: this.#markets.rates.get(symbol),
    };
  };

  readonly #unitUsdOf = ({ assetIndex, decimals }: SpotCollateralState): number | undefined => {
    const asset = this.#markets.assets?.get(assetIndex);
    if (asset === undefined) return undefined;
    // As in equity: an asset without a market counts for nothing.
    if (this.#markets.countsForNothing(asset)) return 0;
    const symbol = this.#markets.symbolOfAsset(assetIndex);
    const indexUsd =
      symbol === undefined ? undefined : this.#markets.entries.get(symbol)?.prices?.oraclePriceUsd;
    return indexUsd === undefined ? undefined : indexUsd / 10 ** decimals;
  };

  constructor(options: {
    readonly markets: Markets;
    readonly accounts: Accounts;
    readonly today: Today;
    readonly deadlines: Deadlines;
    readonly builder: () => ChangesBuilder;
    /** For the log. */
    readonly note: (text: string) => void;
    /** Told of each account that is no longer there. */
    readonly onGone: (account: string, builder: ChangesBuilder) => void;
    /** Collateral in other assets was paid in or out. */
    readonly onSpotFlow: (wallet: string, atMs: number) => void;
    readonly asked: boolean;
  }) {
    this.#markets = options.markets;
    this.#accounts = options.accounts;
    this.#today = options.today;
    this.#deadlines = options.deadlines;
    this.#builder = options.builder;
    this.#note = options.note;
    this.#onGone = options.onGone;
    this.#onSpotFlow = options.onSpotFlow;
    this.#asked = options.asked;
  }

  /**
   * True once what values these accounts, and those of the wallet before, was read: before that no trade can be told from a
   * flow, and no equity is whole.
   */
  #isReady({ profit: { changes } }: WalletEntry, told: readonly AccountEntry[], first: boolean): boolean {
    const { configAtMs, pricesAtMs, assets } = this.#markets;
    if (configAtMs === null || pricesAtMs === null) return false;
    if (assets !== null) return true;
    for (let i = 0; i < told.length; i++) if (hasSpot(told[i]!.state)) return false;
    // Later on all that is known of them was told since the start.
    if (!first) return true;
    for (const account of changes.states.accounts())
      if (hasSpot(changes.states.seen(account)!.balance)) return false;
    return true;
  }

  /** Takes the newest states of accounts of a wallet, before its figures are summed up. */
  takeStates(
    entry: WalletEntry,
    told: readonly AccountEntry[],
    seen: StatesSeen,
    builder: ChangesBuilder,
  ): void {
    const { changes, comparedIndices } = entry.profit;
    const first = !comparedIndices.includes(seen.pdaIndex);
    if (!this.#isReady(entry, told, first)) {
      this.#waiting.add(entry);
      entry.profit.isBehind = true;
      return;
    }
    // A part of an account family says nothing of the others, which have to be known first.
    if (first && seen.told !== undefined) return;
    if (first) entry.profit.comparedIndices = withIndex(comparedIndices, seen.pdaIndex);
    const openBefore = changes.open;
    const unpricedBefore = this.#unpriced.size;
    const at = placeOf(seen, builder);
    let moved = false;
    let whole = seen.told === undefined;
    for (let i = 0; i < told.length; i++) {
      const { name, state } = told[i]!;
      if (this.#unpriced.size > 0) this.#unpriced.delete(told[i]!);
      if (changes.takeSame(name, at, state)) continue;
      const spot = this.#spotChange(entry, name, state);
      // It is compared when its collateral can be valued, as its equity is known then.
      if (spot === null) {
        whole = false;
        this.#unpriced.set(told[i]!, entry);
        continue;
      }
      const { addedUsd: usd, taken } = spot;
      // A baseline of the slot has the state before this one.
      const isSameSlot = changes.states.slotOf(name) === seen.slot;
      if (changes.states.before(name)?.collateralQuoteLots !== state.collateralQuoteLots)
        entry.profit.takeChange(name, seen.slot, builder.atMs);
      if (changes.takeState(name, at, state, this.#pricingOf, taken)) moved = true;
      if (usd === 0) continue;
      const flow: SpotFlow = { account: name, slot: seen.slot, atMs: builder.atMs, usd };
      this.#takeSpotFlow(entry, isSameSlot ? { ...flow, after: true } : flow, builder);
      moved = true;
    }
    if (unpricedBefore > 0 || this.#unpriced.size > 0) this.#noteBehind(entry);
    if (first && this.#takeGone(entry, told, seen, builder)) moved = true;
    if (whole && changes.takeWhole(seen.pdaIndex, at)) moved = true;
    if (moved) {
      this.#refresh(entry, builder);
      entry.profit.keep(builder);
    }
    if (changes.open !== openBefore) this.#opened(entry, builder);
    else if (first && (changes.open.length > 0 || !entry.profit.held.isEmpty)) this.#readAll(entry, builder);
    this.#readHidden(entry, builder);
  }

  #noteBehind(entry: WalletEntry): void {
    const isUnpriced = [...this.#unpriced.values()].includes(entry);
    entry.profit.isBehind = isUnpriced || this.#waiting.has(entry);
  }

  /**
   * Something that values accounts was read: takes the states of those that were read before it.
   * @returns the wallets of which it took some
   */
  valued(builder: ChangesBuilder): readonly WalletEntry[] {
    if (this.#waiting.size === 0 && this.#unpriced.size === 0) return [];
    const taken = new Set<WalletEntry>();
    for (const entry of this.#waiting) {
      const { name } = entry.wallet;
      const accounts = this.#accounts.ofWallet(name);
      if (!this.#isReady(entry, accounts, true)) continue;
      this.#waiting.delete(entry);
      this.#noteBehind(entry);
      for (const pdaIndex of this.#accounts.readIndices(name)) {
        const told = accounts.filter(({ ref }) => ref.pdaIndex === pdaIndex);
        const { slot, slotIndex, exact } = this.#accounts.placeOf(name, pdaIndex);
        this.takeStates(entry, told, { wallet: name, pdaIndex, slot, slotIndex, exact }, builder);
      }
      taken.add(entry);
    }
    for (const [account, entry] of [...this.#unpriced]) {
      const { ref, name, state, slot } = account;
      if (this.#accounts.get(ref) !== account) {
        this.#unpriced.delete(account);
        this.#noteBehind(entry);
      } else if (this.#spotChange(entry, name, state) !== null) {
        this.takeStates(entry, [account], { ...ref, slot, told: [ref.subaccount] }, builder);
        taken.add(entry);
      }
    }
    for (const entry of taken) {
      this.answered(entry, builder);
      if (!entry.injected) entry.profit.publish();
    }
    return [...taken];
  }

  /** Returns the change of the collateral in other assets; null where it cannot be valued. */
  #spotChange({ profit }: WalletEntry, account: string, after: Balance): SpotChange | null {
    const before = profit.changes.states.before(account);
    return before === undefined ? noSpotChange : spotChange(before, after, this.#unitUsdOf);
  }

  /** Counts collateral in other assets that was paid in or out. */
  #takeSpotFlow({ profit, wallet }: WalletEntry, flow: SpotFlow, builder: ChangesBuilder): void {
    profit.takeFlow(flow.account, flow.slot, flow.usd, flow.after);
    this.#onSpotFlow(wallet.name, builder.atMs);
    this.#today.takeFlow(wallet.name, flow);
    this.#today.keep(wallet.name, builder);
    profit.keep(builder);
  }

  /** An account is no longer there. */
  takeAccountGone(entry: WalletEntry, { name, ref }: AccountEntry, builder: ChangesBuilder): void {
    this.#onGone(name, builder);
    const place = this.#accounts.placeOf(ref.wallet, ref.pdaIndex);
    if (this.#takeEmptied(entry, name, placeOf(place, builder))) {
      this.#refresh(entry, builder);
      this.#opened(entry, builder);
    }
    this.#readHidden(entry, builder);
  }

  /** The wallet's figures were summed up after an answer about its accounts. */
  answered(entry: WalletEntry, builder: ChangesBuilder): void {
    const { profit, node, injected } = entry;
    const { equity } = node.facts.values;
    if (injected || typeof equity !== "number") return;
    profit.release(builder.atMs, false);
    // A day does not begin with an equity of states of which flows may still have to be told.
    if (!this.#waiting.has(entry)) {
      profit.answerUsd = equity;
      profit.answerMs = builder.atMs;
    }
    this.#begin(entry, builder);
    profit.keepHigh(builder);
  }

  /**
   * Takes a new record of a history. The caller stores the profit when all of a reading are taken.
   * @param read all that were read with it
   * @returns true if the figures changed
   */
  takeEvent(entry: WalletEntry, event: Event, read: readonly Event[], builder: ChangesBuilder): boolean {
    if (event.kind === "collateral") return this.#takeFlow(entry, event, read, builder);
    const record = tradeOf(event);
    if (record === null || isPast(entry, event, record.account)) return false;
    if (!entry.profit.changes.takeRecord(record, builder.atMs)) return false;
    this.#refresh(entry, builder, false);
    this.#readHidden(entry, builder);
    return true;
  }

  /** All records of a reading were taken. The caller stores the profit. @returns as of `takeEvent` */
  takeRead(entry: WalletEntry, builder: ChangesBuilder): boolean {
    const directed = this.#takeDirections(entry, builder);
    const { changes } = entry.profit;
    const { open } = changes;
    const reopened = changes.settle(builder.atMs);
    if (this.#takeProofs(entry)) entry.profit.keep(builder);
    if (changes.open === open) return directed;
    this.#refresh(entry, builder, false);
    this.#readHidden(entry, builder);
    if (reopened.length > 0) this.#opened(entry, builder);
    return true;
  }

  /** Takes transfers whose direction open changes tell by now. @returns as of `takeEvent` */
  #takeDirections(entry: WalletEntry, builder: ChangesBuilder): boolean {
    const { name } = entry.wallet;
    const waiting = this.#undirected.get(name) ?? [];
    if (waiting.length === 0 || entry.profit.changes.open.length === 0) return false;
    // Its other side may have told it since.
    const isOpen = (event: Event): boolean => (this.#directions.get(event) ?? null) === null;
    const left = waiting.filter(({ event }) => isOpen(event));
    const directed = left.filter(({ event, read }) => {
      if (isOpen(event)) for (const one of [event, ...read]) this.#directions.delete(one);
      return this.#flowOf(entry, event, read) !== null;
    });
    this.#undirected.set(
      name,
      left.filter((one) => !directed.includes(one)),
    );
    let moved = false;
    for (const { event, read } of directed) if (this.#takeFlow(entry, event, read, builder)) moved = true;
    return moved;
  }

  /** Takes stored payments of the funding history, before the first observation. */
  rememberPayments({ profit }: WalletEntry, stored: readonly Event[], atMs: number): void {
    const payments = stored.flatMap((event) => paymentOf(event) ?? []);
    profit.changes.rememberPayments(payments, atMs);
  }

  /** Takes what was read of the funding history. The caller stores the profit. @returns as of `takeEvent` */
  takePayments(entry: WalletEntry, read: readonly Event[], builder: ChangesBuilder): boolean {
    const payments = read.flatMap((event) => paymentOf(event) ?? []);
    if (!entry.profit.changes.takePayments(payments, builder.atMs)) return false;
    this.#refresh(entry, builder, false);
    return true;
  }

  /** The collateral history was read. @param past only older pages of it @returns true if open changes were settled */
  historyRead(entry: WalletEntry, past: boolean, builder: ChangesBuilder): boolean {
    entry.node.facts.seenMs.collateral = builder.atMs;
    const { profit } = entry;
    this.#begin(entry, builder);
    const waited = !past && profit.changes.open.length > 0;
    const expired = waited && profit.changes.expire(builder.atMs);
    if (!past) profit.release(builder.atMs, true);
    this.#refresh(entry, builder);
    if (!entry.injected) profit.publish();
    if (waited) profit.keep(builder);
    else profit.keepHigh(builder);
    return expired;
  }

  /** Returns a flow, USD; null where the direction of a transfer is not known. The other side of a transfer is its opposite. */
  #flowOf(entry: WalletEntry, event: Event, read: readonly Event[]): number | null {
    const known = this.#directions.get(event);
    if (known !== undefined) return known;
    const own = this.#ownFlowOf(entry, event);
    if (transferOf(event) === null) return own;
    const other = otherSide(event, read);
    if (other === undefined) return this.#flowOfLone(entry, event, own);
    const its = this.#ownFlowOf(entry, other);
    // Both sides count, or none of them.
    const told = own === null ? (its === null ? null : -its) : its !== null && its !== -own ? null : own;
    const usd = own === null && its === null ? guessOf(event) : told;
    this.#directions.set(other, usd === null ? null : -usd);
    return usd;
  }

  /** The same of a side that was read without the other one. */
  #flowOfLone({ wallet }: WalletEntry, event: Event, own: number | null): number | null {
    const sides = this.#loneSides.get(wallet.name) ?? [];
    const other = otherSide(event, sides);
    const its = other === undefined ? undefined : this.#directions.get(other);
    const usd = typeof its === "number" ? -its : (own ?? guessOf(event));
    if (other === undefined) this.#loneSides.set(wallet.name, [...sides.slice(1 - maxLoneSides), event]);
    this.#directions.set(event, usd);
    return usd;
  }

  /** Takes the other side of a transfer, which was read before without a direction. */
  #takeOtherSide(entry: WalletEntry, event: Event, usd: number, builder: ChangesBuilder): boolean {
    const other = otherSide(event, this.#loneSides.get(entry.wallet.name) ?? []);
    if (other === undefined || this.#directions.get(other) !== null) return false;
    this.#directions.set(other, -usd);
    return this.#takeFlow(entry, other, [event], builder);
  }

  /** The same by what is known of this side alone; null also where that is a guess. */
  #ownFlowOf({ profit, wallet }: WalletEntry, event: Event): number | null {
    const account = accountOf(event);
    const found = this.#accounts.ofWallet(wallet.name).find(({ name }) => name === account);
    const usd = flowOf(event, found);
    const transfer = transferOf(event);
    if (usd !== null || account === null || transfer === null) return usd;
    const { transferUsd } = transfer;
    const place = { account, slot: event.slot, index: event.slotIndex };
    const { after } = event.fields;
    if (after === transferUsd && profit.changes.isFirstFlow(place)) return transferUsd;
    return profit.changes.directionOf(place, transferUsd, typeof after === "number" ? after : undefined);
  }

  #takeFlow(entry: WalletEntry, event: Event, read: readonly Event[], builder: ChangesBuilder): boolean {
    const { profit, wallet } = entry;
    const account = accountOf(event);
    const usd = this.#flowOf(entry, event, read);
    const transfer = transferOf(event);
    const { slot, slotIndex: index, fields } = event;
    const after = typeof fields.after === "number" ? { afterUsd: fields.after } : {};
    const within = transfer?.within ? ({ within: true } as const) : {};
    const own =
      account === null || usd === null
        ? null
        : ({ kind: "flow", account, slot, index, usd, ...after, ...within } as const);
    const record = own === null ? null : { ...own, ...this.#otherSideShown(entry, event, own, read) };
    const isAfter = record !== null && profit.changes.isAfterState(record);
    // Between two accounts that are both watched the wallet as a whole has neither more nor less.
    this.#today.take(event, usd ?? (transfer?.within ? 0 : null), isAfter);
    if (account === null || isPast(entry, event, account)) return false;
    if (usd === null) {
      profit.changes.rough.takeUnknown({ account, slot, index });
      if (transfer !== null) this.#awaitDirection(wallet.name, event, read);
      if (transfer !== null && !transfer.within)
        this.#note(
          `${wallet.name}: a transfer at slot ${event.slot} does not say whether it came in or went out; wallet.pnl counts it as profit or loss`,
        );
      return false;
    }
    if (usd === 0 || record === null) return false;
    const movedBefore = transfer !== null && this.#takeOtherSide(entry, event, usd, builder);
    const counts = profit.takeFlow(account, slot, usd, isAfter);
    // What moves within the wallet is none of it at any time.
    // Nor is what an open change shows: profit was not known with it, or as what it is.
    const isHidden = transfer?.within !== true && !profit.changes.isOpenAt(record);
    if (counts && usd > 0 && isHidden) profit.takePaidIn(account, slot, usd, isAfter);
    if (!profit.changes.takeRecord(record, builder.atMs) && !counts) return movedBefore;
    this.#refresh(entry, builder, false);
    return true;
  }

  #awaitDirection(wallet: string, event: Event, read: readonly Event[]): void {
    const waiting = this.#undirected.get(wallet) ?? [];
    const other = otherSide(event, read);
    const one = { event, read: other === undefined ? [] : [other] };
    this.#undirected.set(wallet, [...waiting.slice(1 - maxLoneSides), one]);
  }

  /**
   * Tells by the other side of a transfer that the state of its slot does not show a flow, or does: one answer tells of both accounts.
   * Fills of the slot may have changed the collateral beside it, and an account that gave back what it was given has what it had, so
   * that its own does not tell.
   */
  #otherSideShown({ profit }: WalletEntry, event: Event, own: FlowRecord, read: readonly Event[]): Shown {
    const other = transferOf(event) === null ? undefined : otherSide(event, read);
    const account = other === undefined ? null : accountOf(other);
    if (other === undefined || account === null || other.pdaIndex !== event.pdaIndex) return {};
    const { changes } = profit;
    const { after } = other.fields;
    if (typeof after !== "number" || after === own.afterUsd) return {};
    if (changes.states.slotOf(own.account) !== own.slot || changes.states.slotOf(account) !== own.slot)
      return isUndone(event, own, read) ? { shown: true } : {};
    const isAhead = changes.ahead.isAhead({
      kind: "flow",
      account,
      slot: own.slot,
      index: event.slotIndex,
      usd: -own.usd,
      afterUsd: after,
    });
    if (isAhead && !isUndone(other, { usd: -own.usd, afterUsd: after }, read)) return { unshown: true };
    return changes.ahead.isAhead(own) && isUndone(event, own, read) ? { shown: true } : {};
  }

  #begin(entry: WalletEntry, builder: ChangesBuilder): void {
    const { profit, wallet, node, injected } = entry;
    if (injected || profit.hasBegun) return;
    if (!(wallet.pdaIndices ?? profit.comparedIndices).every((one) => profit.comparedIndices.includes(one)))
      return;
    if (profit.comparedIndices.length === 0) return;
    const historyRead = node.facts.seenMs.collateral !== undefined;
    const text = profit.begin(wallet.pdaIndices, this.#accounts.ofWallet(wallet.name), historyRead, builder);
    if (text !== null) this.#note(`${wallet.name}: ${text}`);
    if (!profit.hasBegun) return;
    this.#today.refresh(entry);
    profit.publish();
  }

  /** Accounts that a restart remembers and the first answer does not list are gone. */
  #takeGone(
    entry: WalletEntry,
    told: readonly AccountEntry[],
    seen: StatesSeen,
    builder: ChangesBuilder,
  ): boolean {
    const { changes } = entry.profit;
    const prefix = `${seen.wallet}/${seen.pdaIndex}.`;
    let moved = false;
    for (const name of [...changes.states.accounts()]) {
      if (!name.startsWith(prefix) || told.some((one) => one.name === name)) continue;
      if (this.#takeEmptied(entry, name, placeOf(seen, builder))) moved = true;
      this.#onGone(name, builder);
    }
    return moved;
  }

  /** Takes that an account is no longer there. @returns as of `OpenChanges.takeState` */
  #takeEmptied(entry: WalletEntry, name: string, at: StatePlace): boolean {
    const taken = this.#spotChange(entry, name, emptyBalance)?.taken ?? null;
    entry.profit.takeChange(name, at.slot, at.atMs);
    return entry.profit.changes.takeGone(name, at, this.#pricingOf, taken);
  }

  /** @param keep false: the day is stored later, by who calls */
  #refresh(entry: WalletEntry, builder: ChangesBuilder, keep = true): void {
    for (const flow of entry.profit.changes.takeSpotFlows()) this.#takeSpotFlow(entry, flow, builder);
    entry.profit.refresh();
    this.#today.refresh(entry);
    if (keep) this.#today.keep(entry.wallet.name, builder);
  }

  #opened(entry: WalletEntry, builder: ChangesBuilder): void {
    entry.profit.keep(builder);
    this.#readAll(entry, builder);
  }

  /** After a reload: what was not explained before it is not now. */
  goOn(entry: WalletEntry, builder: ChangesBuilder): void {
    const { comparedIndices } = entry.profit;
    for (const pdaIndex of this.#accounts.readIndices(entry.wallet.name))
      if (!comparedIndices.includes(pdaIndex)) this.#waiting.add(entry);
    this.#noteBehind(entry);
    this.#readAll(entry, builder);
  }

  /** A flow may be hidden in the estimate of a trade: has the collateral history read, now if that is not under way, and again. */
  #readHidden(entry: WalletEntry, builder: ChangesBuilder): void {
    const { profit } = entry;
    const usd = profit.changes.rough.takeHidden(profit.hiddenLimits, builder.atMs);
    if (usd === 0 || !this.#asked) return;
    const reading = this.#readingOf(entry);
    const isUnderWay = reading.dueMs !== Number.POSITIVE_INFINITY;
    profit.held.add(builder.atMs, usd);
    this.#takeProofs(entry);
    profit.keep(builder);
    if (!isUnderWay) this.#readAll(entry, builder);
  }

  /** @returns true if there were any: what is held is another then */
  #takeProofs({ profit: { changes, held } }: WalletEntry): boolean {
    const proofs = changes.rough.takeProofs();
    for (const proof of proofs) held.prove(proof);
    return proofs.length > 0;
  }

  #readingOf(entry: WalletEntry): Reading {
    const { name } = entry.wallet;
    const reading = this.#readings.get(name) ?? new Reading(() => this.#readAll(entry, this.#builder()));
    this.#readings.set(name, reading);
    return reading;
  }

  /** Asks for the histories that may explain what is open, now and again. */
  #readAll(entry: WalletEntry, builder: ChangesBuilder): void {
    const { name } = entry.wallet;
    const { held, changes } = entry.profit;
    const { open } = changes;
    if (!this.#asked || (open.length === 0 && held.isEmpty)) return;
    const reading = this.#readingOf(entry);
    builder.ask("collateral", name);
    if (open.length > 0 || held.isRough) builder.ask("fills", name);
    const nextMs = held.nextReadMs(builder.atMs);
    if (open.length === 0) {
      if (Number.isFinite(nextMs)) this.#deadlines.set(reading, nextMs);
      return;
    }
    if (open.some(({ traded }) => Object.keys(traded).length > 0)) builder.ask("liquidations", name);
    if (open.some(({ taken }) => taken !== undefined)) builder.ask("notifications", name);
    if (open.some(({ gone }) => gone !== undefined)) builder.ask("funding", name);
    const often = open.some(({ atMs }) => builder.atMs - atMs < oftenForMs);
    this.#deadlines.set(reading, Math.min(nextMs, builder.atMs + (often ? againMs : laterMs)));
  }
}

/** True if an account has again what it had before a flow, by a later row of its slot. */
function isUndone(
  event: Event,
  { usd, afterUsd = Number.NaN }: Pick<FlowRecord, "usd" | "afterUsd">,
  read: readonly Event[],
): boolean {
  return read.some((one) => {
    const { after } = one.fields;
    if (one.slot !== event.slot || accountOf(one) !== accountOf(event)) return false;
    if ((one.slotIndex - event.slotIndex || one.eventIndex - event.eventIndex) <= 0) return false;
    return typeof after === "number" && Math.abs(after - (afterUsd - usd)) <= exactUsd;
  });
}

/** The place of the ledger up to which an answer tells of it. */
function placeOf(
  { slot, slotIndex, exact }: Pick<StatesSeen, "slot" | "slotIndex" | "exact">,
  { atMs }: ChangesBuilder,
): StatePlace {
  return { slot, index: exact ? slotIndex : undefined, atMs };
}

/** True for a record of before profit began: the first reading of a history has those, and those of a stop, too. */
function isPast({ profit }: WalletEntry, { backfilled, slot }: Event, account: string): boolean {
  return backfilled && !profit.isSince(account, slot);
}
