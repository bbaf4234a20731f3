/**
 * Changes of the collateral of a wallet's accounts that nothing explains yet.
 *
 * Each state of an account is compared with the one before. What its trades and its funding do not explain is an open change
 * until records of the histories explain it, which may be minutes late: a record of the collateral history as paid in or out,
 * fills and takeovers as profit or loss. States and records of an account are ordered by slot: a record of a later slot than
 * the newest state waits until a state shows it, and so does one of its very slot where that state has the collateral of before
 * it. An account that a whole answer about its PDA index does not list is empty:
 * one that came and went between two answers has records and no state.
 */

import { FewMap } from "../../domain/few-map.ts";
import { usdFromQuoteLots } from "../../margin/units.ts";
import {
  type Balance,
  balanceChange,
  emptyBalance,
  type Pricing,
  type TakenSpots,
} from "./balance-change.ts";
import {
  type CashRecord,
  type FundingRecord,
  isFlow,
  type LooseRecord,
  type Place,
  sumOf,
} from "./cash-record.ts";
import { isHandedIn, isTakenIn, less, lessLate, unshownLess } from "./explain-by-record.ts";
import { fittingOf, lessFunding } from "./fitting-records.ts";
import { joined, type OpenChange, type OpenPlace } from "./open-change.ts";
import { nothingOpen, type OpenRange, rangeOf } from "./open-range.ts";
import {
  contains,
  exactUsd,
  firstFlowOf,
  isAfter,
  isAfterLast,
  isFlowBefore,
  isOfSlotBefore,
  isWithin,
  precedes,
  slotBefore,
} from "./record-order.ts";
import { type HiddenLimits, type Proof, type Rough, RoughChanges } from "./rough-changes.ts";
import { pdaIndexOf, Slots, withIndex } from "./slots.ts";
import {
  isExplained,
  isLikeSale,
  isSale,
  slackOf,
  takenUsdOf,
  unexplainedUsd,
} from "./unexplained-amount.ts";

/** Time of readings of the collateral history for which an open change waits before it is profit or loss, ms. */
const openPatienceMs = 300_000;
/** From one reading to the next at most this counts, ms: longer, the history was not read in between. */
const readingMs = 30_000;
const maxOpen = 100;
const maxAhead = 1_000;
const maxSettled = 20;
const maxLoose = 20;
const maxExplained = 20;
const maxPlaced = 50;
const maxPayments = 200;
/** So many states of one slot are kept of each account. */
const maxStates = 20;
/** A payment of the funding history is kept for so long after it was read, ms: longer than an open change waits. */
const paymentForMs = 600_000;
/** Explained changes are kept for so long, ms. */
const explainedForMs = 3_600_000;

/** A change that turned out to be paid in (positive) or out. */
export interface ExplainedFlow {
  /** The times at which it was seen and explained, ms. */
  readonly sinceMs: number;
  readonly atMs: number;
  readonly usd: number;
  /** The part that did not move between accounts of the wallet. Absent: all, in what an earlier version stored. */
  readonly paidUsd?: number;
}

/** A flow that an open change shows. */
export interface PlacedFlow {
  /** The times of the first and the last state that may be the one that shows it, ms. */
  readonly sinceMs: number;
  readonly untilMs: number;
  /** The time from which it counts, ms. */
  readonly atMs: number;
  readonly usd: number;
}

/** Collateral in other assets that was paid in or, negative, out, USD. */
export interface SpotFlow {
  readonly account: string;
  readonly slot: number;
  readonly atMs: number;
  readonly usd: number;
  /** It came after a state of its slot, which does not show it. Absent: after a state of an earlier one. */
  readonly after?: true;
}

export interface KeptChanges {
  readonly open: readonly OpenChange[];
  readonly ahead: readonly CashRecord[];
  /** Absent: there are none. */
  readonly settled?: readonly OpenChange[];
  /** Absent: there are none. */
  readonly explained?: readonly ExplainedFlow[];
  /** Records of the slots of newest states that no change shows yet. Absent: there are none. */
  readonly loose?: readonly LooseRecord[];
  /** Absent: there are none. */
  readonly looseTakeovers?: readonly CashRecord[];
  /** Explained changes whose fills are still to come. Absent: there are none. */
  readonly rough?: readonly Rough[];
  /** Absent: there are none. */
  readonly placed?: readonly PlacedFlow[];
  /** The time at which a flow was read last that no open change shows, ms. Absent: none was. */
  readonly unplacedMs?: number;
}

/** The newest state of an account that was compared with the one before. */
export interface SeenBalance {
  readonly slot: number;
  /** The place within its slot up to which it tells of the ledger; undefined: not known. */
  readonly index?: number | undefined;
  readonly balance: Balance;
}

/** As `SeenBalance`, while the daemon runs. */
interface Seen {
  slot: number;
  index?: number | undefined;
  /** The newest known place among the states of this slot; undefined: none is known. */
  knownIndex?: number | undefined;
  balance: Balance;
}

/** The place of an answer: of all up to it. `index`: within the slot; absent: not known. */
export interface StatePlace {
  readonly slot: number;
  readonly index?: number | undefined;
  /** The time at which it was seen, ms. */
  readonly atMs: number;
}

interface ReadPayment extends FundingRecord {
  readonly readMs: number;
}

// Shared: of most wallets there is nothing to keep.
const noChanges: readonly OpenChange[] = [];
const noRecords: readonly CashRecord[] = [];
const noFlows: readonly SpotFlow[] = [];
const noLoose: readonly LooseRecord[] = [];
const noPayments: readonly ReadPayment[] = [];
const noPlaced: readonly PlacedFlow[] = [];
const noExplained: readonly ExplainedFlow[] = [];
const noIndices: readonly number[] = [];

export class OpenChanges {
  readonly #seen = new FewMap<string, Seen>();
  /**
   * By PDA index, slots of the baseline or the first whole answer ever, of the first one since the start, and of the newest: an
   * account that is not listed is empty.
   */
  readonly #wholes = new FewMap<
    number,
    {
      sinceSlot: number;
      readonly firstSlot: number;
      readonly firstIndex?: number | undefined;
      slot: number;
      index?: number | undefined;
    }
  >();
  /** By account, the collateral of the newest states that are of one slot. */
  readonly #ofSlot = new FewMap<string, { readonly slot: number; readonly quoteLots: readonly bigint[] }>();
  #open: readonly OpenChange[] = noChanges;
  #ahead: readonly CashRecord[] = noRecords;
  /** Explained changes of accounts that no state shows: a record that comes later belongs to one of them. */
  #settled: readonly OpenChange[] = noChanges;
  #spotFlows: readonly SpotFlow[] = noFlows;
  /** The range of all open changes together. */
  range: OpenRange = nothingOpen;
  /** PDA indices of which a state from before a restart was taken. */
  restoredIndices: readonly number[] = noIndices;
  /** Explained changes up to the newest slot that has any, one an account. */
  #explainedOfSlot: readonly OpenChange[] = noChanges;
  /**
   * Fills and flows of the slots of newest states that belong to no open change: the next state of such a slot's account may show
   * them.
   */
  #loose: readonly LooseRecord[] = noLoose;
  /** Takeovers that state what was handed over, and sales, of such slots, that no change shows yet. */
  #looseTakeovers: readonly CashRecord[] = noRecords;
  /** All that loose records were tried with last. */
  #tried: readonly unknown[] = [];
  /** Payments of the funding history that were read lately, oldest first. */
  #payments: readonly ReadPayment[] = noPayments;
  /** Those that turned out to be paid in or out lately, oldest first. */
  #explained: readonly ExplainedFlow[] = noExplained;
  /** Explained changes whose fills are still to come. */
  readonly #rough = new RoughChanges();
  /** Flows that open changes showed, by the time from which they count, newest last. */
  #placed: readonly PlacedFlow[] = noPlaced;
  #unplacedMs = Number.NEGATIVE_INFINITY;

  get open(): readonly OpenChange[] {
    return this.#open;
  }

  get kept(): KeptChanges {
    const kept: { -readonly [K in keyof KeptChanges]: KeptChanges[K] } = {
      open: this.#open,
      ahead: this.#ahead,
    };
    if (this.#settled.length > 0) kept.settled = this.#settled;
    if (this.#explained.length > 0) kept.explained = this.#explained;
    if (this.#loose.length > 0) kept.loose = this.#loose;
    if (this.#looseTakeovers.length > 0) kept.looseTakeovers = this.#looseTakeovers;
    if (this.#rough.kept.length > 0) kept.rough = this.#rough.kept;
    if (this.#placed.length > 0) kept.placed = this.#placed;
    if (Number.isFinite(this.#unplacedMs)) kept.unplacedMs = this.#unplacedMs;
    return kept;
  }

  restore({
    open = noChanges,
    ahead = noRecords,
    settled = noChanges,
    explained = noExplained,
    loose = noLoose,
    looseTakeovers = noRecords,
    rough = [],
    placed = noPlaced,
    unplacedMs = Number.NEGATIVE_INFINITY,
  }: { readonly [K in keyof KeptChanges]?: KeptChanges[K] | undefined }): void {
    this.#placed = placed;
    this.#unplacedMs = unplacedMs;
    this.#rough.restore(rough);
    this.#settled = settled;
    this.#explained = explained;
    // Those that a state showed before a stop were taken.
    this.#ahead = noRecords;
    for (const record of ahead)
      if (isFlow(record) && this.isAhead(record)) this.#ahead = [...this.#ahead, record];
    const flows = this.#ahead;
    const waitsWith = (one: CashRecord): boolean =>
      flows.some(({ account, slot }) => account === one.account && slot === one.slot);
    this.#ahead = ahead.filter((one) =>
      isFlow(one) ? flows.includes(one) : this.isAhead(one) || waitsWith(one),
    );
    // A state that left all as it was is not stored: what was of its slot waits for the next one.
    const isLater = (one: CashRecord): boolean => one.slot > this.slotOf(one.account);
    this.#keepLoose(loose.filter((one) => !isLater(one)));
    this.#looseTakeovers = looseTakeovers.filter((one) => !isLater(one));
    const later = [...loose, ...looseTakeovers].filter(isLater);
    this.#ahead = this.#ahead.concat(
      later.map((one) => (one.kind === "flow" ? { ...one, unshown: true } : one)),
    );
    this.#setOpen(open);
  }

  /** Takes the state that an account had before a restart. */
  restoreState(account: string, state: SeenBalance): void {
    const { slot } = state;
    this.#seen.set(account, { ...state, knownIndex: state.index });
    const pdaIndex = pdaIndexOf(account);
    if (!this.restoredIndices.includes(pdaIndex))
      this.restoredIndices = withIndex(this.restoredIndices, pdaIndex);
    const known = this.#wholes.get(pdaIndex);
    if (known !== undefined && slot <= known.slot) return;
    // A state whose place is known is of an answer that told of all.
    this.#wholes.set(pdaIndex, {
      sinceSlot: known?.sinceSlot ?? slot,
      firstSlot: slot,
      firstIndex: state.index,
      slot,
      index: state.index,
    });
  }

  /** Takes the slot of a whole answer from before a restart: what it did not list came later. */
  restoreWhole(pdaIndex: number, slot: number): void {
    const known = this.#wholes.get(pdaIndex);
    if (known === undefined) this.#wholes.set(pdaIndex, { sinceSlot: slot, firstSlot: slot, slot });
    else known.sinceSlot = Math.min(known.sinceSlot, slot);
  }

  /** Slot of the newest state of an account, which is empty where it is not listed; -1 before the first. */
  slotOf(account: string): number {
    const seen = this.#seen.get(account);
    if (seen !== undefined && seen.balance !== emptyBalance) return seen.slot;
    return Math.max(seen?.slot ?? -1, this.#wholes.get(pdaIndexOf(account))?.slot ?? -1);
  }

  /** The place within the slot of the newest state of an account; undefined: not known. */
  #indexOf(account: string): number | undefined {
    const seen = this.#seen.get(account);
    if (seen !== undefined && seen.balance !== emptyBalance) return seen.index;
    const whole = this.#wholes.get(pdaIndexOf(account));
    return whole === undefined || whole.slot < (seen?.slot ?? -1) ? seen?.index : whole.index;
  }

  /** True if no state shows what a record tells of. */
  isAhead(record: CashRecord): boolean {
    const { account } = record;
    const slot = this.slotOf(account);
    if (record.slot !== slot) return record.slot > slot;
    const isLater = isAfter(record, this.#indexOf(account));
    if (isLater !== undefined && !(isLater && isShownBy(this.before(account), record))) return isLater;
    if (this.#wasShown(record)) return false;
    if (record.kind === "flow" && record.unshown) return true;
    if (record.kind === "flow" && record.shown) return false;
    const balance = this.before(account);
    if (balance === undefined) return false;
    const waiting = this.#ahead.filter((one) => isFlow(one) && one.account === account && one.slot === slot);
    return precedes(balance, record, sumOf(waiting));
  }

  /** True if one of several states of its slot has the collateral of after a flow. */
  #wasShown(record: CashRecord): boolean {
    if (record.kind !== "flow" || record.afterUsd === undefined) return false;
    const states = this.#ofSlot.get(record.account);
    if (states === undefined || states.slot !== record.slot) return false;
    const { afterUsd } = record;
    return states.quoteLots.some((lots) => Math.abs(usdFromQuoteLots(lots) - afterUsd) <= exactUsd);
  }

  /** True if a flow of the slot of a state came after it: no state shows it yet, or the next one did. */
  isAfterState(record: CashRecord): boolean {
    return this.isAhead(record) || this.#open.some((one) => isFlowBefore(one, record));
  }

  /** True if a flow waits for a state that shows it. */
  isWaiting({ account, slot, usd }: Place & { readonly usd: number }): boolean {
    if (slot > this.slotOf(account)) return true;
    return this.#ahead.some(
      (one) => one.kind === "flow" && one.account === account && one.slot === slot && one.usd === usd,
    );
  }

  /** The newest state of an account. */
  seen(account: string): SeenBalance | undefined {
    return this.#seen.get(account);
  }

  /** The collateral of an account in its newest state: one that was not listed had none; undefined: nothing is known of it. */
  before(account: string): Balance | undefined {
    const seen = this.#seen.get(account);
    if (seen !== undefined) return seen.balance;
    return this.#wholes.has(pdaIndexOf(account)) ? emptyBalance : undefined;
  }

  /** True if there is an open change of an account at a slot that was never part of the profit. */
  isOpenAt(place: Place): boolean {
    return this.#open.some((one) => !one.reopened && isWithin(one, place));
  }

  /** The slots of the newest states. */
  slots(): Slots {
    const slots = new Slots();
    for (const [pdaIndex, { slot }] of this.#wholes) slots.set(String(pdaIndex), slot);
    for (const account of this.#seen.keys()) {
      const slot = this.slotOf(account);
      if (slots.of(account) !== slot) slots.set(account, slot);
    }
    return slots;
  }

  /** Accounts with an open change between two states of their newest slot. */
  shownTwice(): readonly string[] {
    return this.#open.flatMap(({ account, toSlot, ofOneSlot }) =>
      ofOneSlot && toSlot === this.slotOf(account) ? [account] : [],
    );
  }

  accounts(): Iterable<string> {
    return this.#seen.keys();
  }

  /** Flows that no state shows yet, USD. */
  aheadUsd(): number {
    return sumOf(this.#ahead);
  }

  /** The range of the changes that were seen after a time. */
  rangeAfter(ms: number): OpenRange {
    return rangeOf(this.#open.filter(({ atMs }) => atMs > ms));
  }

  /** Hands over collateral in other assets that turned out to be paid out, or in without a state that shows it. */
  takeSpotFlows(): readonly SpotFlow[] {
    const flows = this.#spotFlows;
    this.#spotFlows = noFlows;
    return flows;
  }

  /**
   * Hands over how far the estimates of trades that explained a change may be wrong, USD: so much may have flowed unseen.
   * @param limits what is within them is 0
   * @param atMs the time from which that is held
   */
  takeHidden(limits: HiddenLimits, atMs: number): number {
    return this.#rough.takeHidden(limits, atMs);
  }

  /** Hands over that fills have told of such trades. */
  takeProofs(): readonly Proof[] {
    return this.#rough.takeProofs();
  }

  /** Takes the newest state of an account if it left its collateral as it was and no record waits for it. @returns true if so */
  takeSame(account: string, { slot, index }: StatePlace, balance: Balance): boolean {
    const seen = this.#seen.get(account);
    if (seen === undefined || this.#ahead.length > 0) return false;
    const before = seen.balance;
    if (
      before.collateralQuoteLots !== balance.collateralQuoteLots ||
      before.spotCollaterals !== balance.spotCollaterals
    )
      return false;
    renew(seen, slot, index, balance);
    return true;
  }

  /**
   * Takes the newest state of an account. With the first answer about its PDA index one that is not known belongs to the
   * beginning.
   * @param taken collateral in other assets that it has no longer
   * @returns true if open changes, or what waits, are others now
   */
  takeState(
    account: string,
    { slot, index, atMs }: StatePlace,
    balance: Balance,
    pricingOf: (symbol: string) => Pricing | undefined,
    taken: TakenSpots | null = null,
  ): boolean {
    const seen = this.#seen.get(account);
    if (seen === undefined) {
      this.#seen.set(account, { slot, index, knownIndex: index, balance });
      const waited = this.#takeAhead(account, { slot, index }, balance);
      const whole = this.#wholes.get(pdaIndexOf(account));
      if (whole === undefined) return true;
      const since = { fromSlot: whole.slot, fromIndex: whole.index };
      const at = { account, ...since, toSlot: slot, toIndex: index, atMs };
      this.#compare(at, emptyBalance, balance, waited, pricingOf);
      return true;
    }
    const before = seen.balance;
    const since = { fromSlot: this.slotOf(account), fromIndex: this.#indexOf(account) };
    if (seen.slot === slot) this.#noteStates(account, slot, before, balance);
    renew(seen, slot, index, balance);
    const waited = this.#ahead.length === 0 ? noRecords : this.#takeAhead(account, { slot, index }, balance);
    const still = before.collateralQuoteLots === balance.collateralQuoteLots && taken === null;
    if (still && !waited.some(isFlow)) return waited.length > 0;
    const at = { account, ...since, toSlot: slot, toIndex: index, atMs };
    const opened = this.#compare(at, before, balance, waited, pricingOf, taken);
    return opened || waited.length > 0 || this.#spotFlows.length > 0;
  }

  #noteStates(account: string, slot: number, before: Balance, after: Balance): void {
    const known = this.#ofSlot.get(account);
    const quoteLots = known?.slot === slot ? known.quoteLots : [before.collateralQuoteLots];
    this.#ofSlot.set(account, {
      slot,
      quoteLots: [...quoteLots.slice(1 - maxStates), after.collateralQuoteLots],
    });
  }

  /** Takes that an account is no longer there. `taken` and what it returns are as of `takeState`. */
  takeGone(
    account: string,
    at: StatePlace,
    pricingOf: (symbol: string) => Pricing | undefined,
    taken: TakenSpots | null,
  ): boolean {
    return this.#seen.has(account) && this.takeState(account, at, emptyBalance, pricingOf, taken);
  }

  /**
   * All accounts of a PDA index were told of, and their states were taken: what waits for others was in accounts that came
   * and went before.
   * @returns as of `takeState`
   */
  takeWhole(pdaIndex: number, { slot, index, atMs }: StatePlace): boolean {
    const whole = this.#wholes.get(pdaIndex);
    const since = whole === undefined ? null : { fromSlot: whole.slot, fromIndex: whole.index };
    if (whole === undefined)
      this.#wholes.set(pdaIndex, { sinceSlot: slot, firstSlot: slot, firstIndex: index, slot, index });
    else {
      whole.slot = slot;
      whole.index = index;
    }
    if (this.#ahead.length === 0) return false;
    const isLater = (one: CashRecord): boolean =>
      one.slot > slot || (one.slot === slot && isAfter(one, index) === true);
    const gone = new Set<string>();
    for (const one of this.#ahead)
      if (!isLater(one) && pdaIndexOf(one.account) === pdaIndex && !this.#isListed(one.account))
        gone.add(one.account);
    for (const account of gone) {
      const waited = this.#takeAhead(account, { slot, index }, emptyBalance);
      if (since === null) continue;
      this.#compareUnlisted({ account, ...since, toSlot: slot, toIndex: index, atMs }, waited);
    }
    return gone.size > 0;
  }

  /** @returns true if open changes, or what waits, are others now */
  takeRecord(record: CashRecord, atMs: number): boolean {
    if (this.isAhead(record)) {
      this.#wait(record);
      return true;
    }
    if (this.#takeTakeover(record, atMs) || this.#takeSale(record, atMs)) return true;
    const index = this.#placeOf(record);
    if (index < 0) {
      if (record.kind === "flow") this.#unplacedMs = atMs;
      this.#explainedOfSlot = this.#explainedOfSlot.map((one) =>
        isWithin(one, record) ? less(one, record) : one,
      );
      const isLoose = (record.kind === "fill" || record.kind === "flow") && this.#takeLoose(record);
      this.#rough.take(record, atMs);
      return this.#takeUnlisted(record, atMs) || isLoose;
    }
    const found = this.#open[index]!;
    if (record.kind === "sale") this.#takeUnseen(found, record, atMs);
    this.#place(found, record, atMs);
    const isGuess = record.kind === "flow" && !isWithin(found, record) && !isFlowBefore(found, record);
    const left = this.#lessTakeovers(less(isGuess ? { ...found, guessed: true } : found, record));
    this.#setOpen(this.#open.toSpliced(index, 1, ...(this.#isSettled(left, atMs) ? [] : [left])));
    return true;
  }

  /** Takes the place of a transfer whose direction is not known. */
  takeUnknown(place: Place): void {
    this.#rough.takeUnknown(place);
  }

  /**
   * All records of a reading were taken: loose ones explain open changes, and what fills do not explain of changes that estimates
   * explained is open. @returns the latter
   */
  settle(atMs: number): readonly OpenChange[] {
    const known = [this.#open, this.#loose, this.#looseTakeovers, this.#payments];
    if (this.#loose.length > 0 && known.some((one, index) => one !== this.#tried[index])) {
      for (const one of this.#open) this.#explainByLoose(one, atMs);
      this.#tried = [this.#open, this.#loose, this.#looseTakeovers, this.#payments];
    }
    const left = this.#rough.settle().filter((one) => !isExplained(one));
    if (left.length > 0)
      this.#setOpen([...this.#open, ...left.map((one) => ({ ...one, reopened: true }))].slice(-maxOpen));
    return left;
  }

  /** Takes payments of the funding history that were read before. */
  rememberPayments(payments: readonly FundingRecord[], atMs: number): void {
    const recent = this.#payments.filter(({ readMs }) => readMs > atMs - paymentForMs);
    const fresh = payments.filter(({ key }) => !recent.some((one) => one.key === key));
    const all = [...recent, ...fresh.map((one) => ({ ...one, readMs: atMs }))];
    this.#payments = all.sort((a, b) => a.endMs - b.endMs).slice(-maxPayments);
  }

  /** Takes payments of the funding history that were read together. @returns true if they explain an open change */
  takePayments(payments: readonly FundingRecord[], atMs: number): boolean {
    this.rememberPayments(payments, atMs);
    const { length } = this.#open;
    const left = this.#open.filter((one) => !this.#isSettled(one, atMs));
    if (left.length < length) this.#setOpen(left);
    return this.#open.length < length;
  }

  /**
   * A transfer whose record does not say which way it went, USD, by the open change of its account: it is the first flow after the
   * state before, or all that is not explained; null: neither.
   * @param afterUsd collateral after it; undefined: not known
   */
  directionOf(place: Place, sizeUsd: number, afterUsd: number | undefined): number | null {
    for (const one of this.#open) {
      if (!isWithin(one, place)) continue;
      const first = afterUsd === undefined ? undefined : firstFlowOf(one, sizeUsd, afterUsd);
      if (first !== undefined) return first;
      const usd = unexplainedUsd(one);
      if (Math.abs(Math.abs(usd) - sizeUsd) <= slackOf(one)) return Math.sign(usd) * sizeUsd;
    }
    return null;
  }

  /**
   * True if this is the first flow of an account that came and went between two answers: it had nothing that it could give.
   * Had an answer shown the account, it would have a change there that is open, as this flow is not known yet.
   */
  isFirstFlow(place: Place): boolean {
    const { account, slot } = place;
    const seen = this.#seen.get(account);
    const whole = this.#wholes.get(pdaIndexOf(account));
    const sinceSlot = seen?.slot ?? whole?.sinceSlot;
    if (sinceSlot === undefined || slot < sinceSlot || this.#isListed(account)) return false;
    const sinceIndex = seen ? seen.index : whole?.firstSlot === sinceSlot ? whole.firstIndex : undefined;
    if (slot === sinceSlot && isAfter(place, sinceIndex) !== true) return false;
    if (this.#ahead.some((one) => isFlow(one) && one.account === account && one.slot <= slot)) return false;
    return ![...this.#open, ...this.#settled].some(
      (one) => isWithin(one, place) && !(one.unlisted && one.flowUsd === 0),
    );
  }

  /**
   * The flow that raised an alert, with those explained after it, if the newest was explained from a time on; null: there is
   * none. What moved between accounts is none; where nothing else flowed it is 0. Flows of both directions have no sum that tells
   * anything: the newest stands for them.
   *
   * @param raisedMs when the alert was raised
   */
  explainedSince(ms: number, raisedMs: number): ExplainedFlow | null {
    const newest = this.#explained.at(-1);
    if (newest === undefined || newest.atMs < ms) return null;
    const flows = this.#explained.filter(({ atMs }) => atMs >= raisedMs);
    const sinceMs = Math.min(...flows.map((one) => one.sinceMs));
    if (sinceMs > raisedMs) return null;
    const paid = flows.map(({ usd, paidUsd = usd }) => paidUsd).filter((usd) => Math.abs(usd) > exactUsd);
    const last = paid.at(-1) ?? 0;
    const isSame = paid.every((usd) => Math.sign(usd) === Math.sign(last));
    return { sinceMs, atMs: newest.atMs, usd: isSame ? paid.reduce((sum, usd) => sum + usd, 0) : last };
  }

  /** The flows that count since after a time, ms; null: there are others, of which it is not known when states showed them. */
  placedAfter(ms: number): readonly PlacedFlow[] | null {
    if (this.#unplacedMs > ms || (this.#placed.length === maxPlaced && this.#placed[0]!.atMs > ms))
      return null;
    return this.#placed.filter(({ atMs }) => atMs > ms);
  }

  /** Notes a flow that an open change shows: of an account that no state shows it is not known when. */
  #place({ atMs: sinceMs, untilMs = sinceMs, unlisted }: OpenChange, record: CashRecord, atMs: number): void {
    if (record.kind !== "flow") return;
    if (unlisted) this.#unplacedMs = atMs;
    const { usd } = record;
    this.#placed = [...this.#placed.slice(1 - maxPlaced), { sinceMs, untilMs, atMs, usd }];
  }

  /** Lets go of all open changes. */
  forget(): void {
    this.#settled = noChanges;
    this.#explainedOfSlot = noChanges;
    this.#rough.forget();
    this.#loose = noLoose;
    this.#looseTakeovers = noRecords;
    this.#setOpen([]);
  }

  /** The collateral history was read: what it has not explained for long is profit or loss. @returns true if there was any */
  expire(atMs: number): boolean {
    const { length } = this.#open;
    const waiting = this.#open.map((one) => ({
      ...one,
      readMs: atMs,
      waitedMs: one.waitedMs + Math.min(atMs - one.readMs, readingMs),
    }));
    for (const one of waiting) if (one.waitedMs >= openPatienceMs && !isSale(one)) this.#payOut(one);
    this.#setOpen(waiting.filter(({ waitedMs }) => waitedMs < openPatienceMs));
    return this.#open.length < length;
  }

  /** @returns true if it stays open */
  #compare(
    at: OpenPlace,
    before: Balance,
    after: Balance,
    waited: readonly CashRecord[],
    pricingOf: (symbol: string) => Pricing | undefined,
    taken: TakenSpots | null = null,
  ): boolean {
    const change = balanceChange(before, after, pricingOf);
    const { account, fromSlot, toSlot } = at;
    const own: OpenChange = {
      ...at,
      // A slot may have several states: what happened after the first of them has records of the same slot.
      fromSlot: Math.min(fromSlot, toSlot - 1),
      ...{ ...change, readMs: at.atMs, waitedMs: 0, flowUsd: 0 },
      ...(taken === null ? {} : { taken }),
      beforeUsd: usdFromQuoteLots(before.collateralQuoteLots),
      ...(fromSlot < toSlot ? {} : { ofOneSlot: true }),
    };
    const isOfSlot = (one: OpenChange): boolean =>
      one.account === account && one.toSlot === toSlot && one.taken === undefined && !one.unlisted;
    // Records tell of which of two states they are where the place of the first one is known.
    const isSame = fromSlot === toSlot && taken === null && at.fromIndex === undefined;
    const other = isSame ? this.#open.findLast(isOfSlot) : undefined;
    const former = other ?? (isSame ? this.#explainedOfSlot.findLast(isOfSlot) : undefined);
    const isBeside = (one: OpenChange): boolean => Object.keys(one.traded).length === 0 && !isExplained(one);
    const movedBeside = former !== undefined && (isBeside(own) || isBeside(former));
    const whole = this.#lessTakeovers(
      former === undefined ? own : joined(former, movedBeside ? { ...own, movedBeside } : own),
    );
    const open = this.#lessLoose(whole, fromSlot);
    if (other !== undefined) this.#setOpen(this.#open.filter((one) => one !== other));
    // A deposit may have been paid out again before the state was seen.
    if (taken === null && isExplained(open) && !waited.some(isFlow)) {
      const left = this.#lessAll(open, waited);
      if (!isExplained(left)) return this.#addOpen(left, noRecords) || other !== undefined;
      this.#rough.add(left, at.atMs);
      this.#noteOfSlot(left);
      return other !== undefined;
    }
    return this.#addOpen(open, waited) || other !== undefined;
  }

  /** Applies fills and flows of the slot of the state before that explain a change: that state was of before them. */
  #lessLoose(open: OpenChange, fromSlot: number): OpenChange {
    if (this.#loose.length === 0) return open;
    const { account } = open;
    const [left, fitting] = this.#lessFitting(open, fromSlot);
    this.#keepLoose(
      this.#loose.filter(
        (one) =>
          one.account !== account ||
          (!fitting.includes(one) &&
            (one.slot >= fromSlot || this.#open.some((change) => isOfSlotBefore(change, one)))),
      ),
    );
    return left;
  }

  /**
   * Takes a fill or a flow of the slot of a newest state, or of the state before an open change: together with others it may explain
   * such a change. @returns true if it is one
   */
  #takeLoose(record: LooseRecord): boolean {
    const { account, slot } = record;
    const isOfNext = this.#open.some((one) => isOfSlotBefore(one, record));
    const isBeforeNext = this.#open.some(
      (one) =>
        one.account === account && slotBefore(one) === slot && isAfter(record, one.fromIndex) === false,
    );
    if (!isOfNext && (isBeforeNext || !this.#mayFollow(record))) return false;
    this.#addLoose(record);
    return true;
  }

  #addLoose(record: LooseRecord): void {
    const own = this.#loose.filter(({ account }) => account === record.account);
    const oldest = own.length < maxLoose ? null : own[0];
    this.#keepLoose([...this.#loose.filter((one) => one !== oldest), record]);
  }

  /** Applies fills and flows of the slot of the state before that explain an open change. */
  #explainByLoose(open: OpenChange, atMs: number): void {
    const [left, fitting] = this.#lessFitting(open, slotBefore(open));
    if (fitting.length === 0) return;
    this.#keepLoose(this.#loose.filter((one) => !fitting.includes(one)));
    const settled = this.#isSettled(left, atMs);
    this.#setOpen(this.#open.toSpliced(this.#open.indexOf(open), 1, ...(settled ? [] : [left])));
  }

  /**
   * A change less the fills and flows of a slot that explain it, and these: alone, or with takeovers of positions that the change does
   * not show, as they were opened by these fills. Such takeovers are let go of.
   */
  #lessFitting(open: OpenChange, slot: number): readonly [left: OpenChange, fitting: readonly LooseRecord[]] {
    const loose = this.#loose.filter(
      (one) => one.slot === slot && (isWithin(open, one) || isOfSlotBefore(open, one)),
    );
    const alone = fittingOf(open, loose, this.#payments);
    if (alone.length > 0 || loose.length === 0) return [alone.reduce(less, open), alone];
    const takeovers = this.#looseTakeovers.filter(
      (one) => one.kind === "takeover" && (isWithin(open, one) || isOfSlotBefore(open, one)),
    );
    let best: readonly [left: OpenChange, fitting: readonly LooseRecord[]] = [open, []];
    // Not each record says of which side the position was.
    for (const side of takeovers.length > 0 ? (["long", "short"] as const) : []) {
      const handed = takeovers.reduce((left, one) => unshownLess(left, one, side), open);
      const fitting = fittingOf(handed, loose, this.#payments);
      if (fitting.length === 0) continue;
      const left = fitting.reduce(less, handed);
      if (best[1].length === 0 || Math.abs(unexplainedUsd(left)) < Math.abs(unexplainedUsd(best[0])))
        best = [left, fitting];
    }
    if (best[1].length > 0)
      this.#looseTakeovers = this.#looseTakeovers.filter((one) => !takeovers.includes(one));
    return best;
  }

  #keepLoose(records: readonly LooseRecord[]): void {
    this.#loose = records.length > 0 ? records : noLoose;
  }

  /**
   * Takes a stated takeover of the slot of a newest state, or of the state before an open change, that no change of this slot shows,
   * or of an open change that shows it once a fill is known by which the position was opened.
   * @returns true if it is one
   */
  #takeTakeover(record: CashRecord, atMs: number): boolean {
    if (record.kind !== "takeover" || record.handed === undefined) return false;
    const isShownIn = (one: OpenChange): boolean => isWithin(one, record) && isHandedIn(one, record);
    // Without its side it is no more than like an explained change, which may be the opening.
    const isSided = record.handed.side !== undefined;
    if (this.#open.some(isShownIn) || (isSided && this.#explainedOfSlot.some(isShownIn))) return false;
    const index = this.#open.findIndex((one) => isOfSlotBefore(one, record) && isHandedIn(one, record));
    if (index >= 0) {
      const left = less(this.#open[index]!, record);
      this.#setOpen(this.#open.toSpliced(index, 1, ...(this.#isSettled(left, atMs) ? [] : [left])));
      return true;
    }
    // The account may have held none of it: a fill of the same slot may have opened the position.
    const isOpen = (one: OpenChange): boolean => isWithin(one, record) || isOfSlotBefore(one, record);
    const isSeen = this.#mayFollow(record) || this.#explainedOfSlot.some((one) => isWithin(one, record));
    if (!isSeen && !this.#open.some(isOpen)) return false;
    this.#keepTakeover(record);
    return true;
  }

  /**
   * Takes a sale of collateral of the slot of a newest state that no change shows: the next state of that slot may, or an open change
   * did whose state before is of that slot. @returns true if it is one
   */
  #takeSale(record: CashRecord, atMs: number): boolean {
    if (record.kind !== "sale" || this.#open.some((one) => isWithin(one, record))) return false;
    const index = this.#open.findIndex((one) => isOfSlotBefore(one, record) && isTakenIn(one, record));
    if (index >= 0) {
      const left = less(this.#open[index]!, record);
      this.#setOpen(this.#open.toSpliced(index, 1, ...(this.#isSettled(left, atMs) ? [] : [left])));
      return true;
    }
    if (!this.#mayFollow(record)) return false;
    this.#keepTakeover(record);
    return true;
  }

  /** True if a record of the slot of the newest state of its account may have come after that state. */
  #mayFollow(record: CashRecord): boolean {
    const { account, slot } = record;
    if (slot !== this.slotOf(account) || isAfter(record, this.#indexOf(account)) !== undefined) return false;
    const seen = this.#seen.get(account);
    return seen?.slot !== slot || isAfter(record, seen.knownIndex) !== false;
  }

  #keepTakeover(record: CashRecord): void {
    this.#looseTakeovers = [...this.#looseTakeovers.slice(1 - maxLoose), record];
  }

  /** Applies stated takeovers and sales that a change shows, of its slots or that of the state before it. */
  #lessTakeovers(open: OpenChange): OpenChange {
    let left = open;
    for (const one of this.#looseTakeovers) {
      if (one.account !== open.account || isAfterLast(open, one)) continue;
      const isOf = (change: OpenChange): boolean => isWithin(change, one) || isOfSlotBefore(change, one);
      const isOfIt = isOf(open);
      if (isOfIt && !isHandedIn(left, one) && !isTakenIn(left, one)) continue;
      // One that is open may show it once a fill is known by which the position was opened.
      if (!isOfIt && this.#open.some(isOf)) continue;
      this.#looseTakeovers = this.#looseTakeovers.filter((other) => other !== one);
      if (isOfIt) left = less(left, one);
    }
    return left;
  }

  /** Notes a change that is explained: the next state of its slot, and records that come later, belong to it as well. */
  #noteOfSlot(open: OpenChange): void {
    const { account, toSlot } = open;
    const others = this.#explainedOfSlot.filter(
      (one) =>
        one.toSlot >= toSlot && (one.account !== account || (one.toSlot === toSlot && !contains(open, one))),
    );
    this.#explainedOfSlot = [...others, open];
  }

  /** Nothing is left of what the records of an account say that came and went between two answers. */
  #compareUnlisted(at: OpenPlace, waited: readonly CashRecord[]): void {
    const nothing = { cashUsd: 0, traded: {}, slackUsd: 0, flowUsd: 0 };
    this.#addOpen({ ...at, ...nothing, readMs: at.atMs, waitedMs: 0, unlisted: true }, waited);
  }

  /** Takes a record of an account that came and went between two answers that were taken before. @returns true if it is one */
  #takeUnlisted(record: CashRecord, atMs: number): boolean {
    const { account, slot } = record;
    const whole = this.#wholes.get(pdaIndexOf(account));
    if (whole === undefined || this.#isListed(account)) return false;
    const seen = this.#seen.get(account);
    const [fromSlot, fromIndex] = seen ? [seen.slot, seen.index] : [whole.firstSlot, whole.firstIndex];
    if (slot < fromSlot || (slot === fromSlot && isAfter(record, fromIndex) !== true)) return false;
    const settled = this.#settled.find((one) => isWithin(one, record));
    if (settled !== undefined) {
      this.#settled = this.#settled.filter((one) => one !== settled);
      this.#addOpen({ ...reported(settled), readMs: atMs, waitedMs: 0 }, [record]);
      return true;
    }
    const since = { fromSlot, fromIndex };
    this.#compareUnlisted({ account, ...since, toSlot: whole.slot, toIndex: whole.index, atMs }, [record]);
    return true;
  }

  #isListed(account: string): boolean {
    const seen = this.#seen.get(account);
    return seen !== undefined && seen.balance !== emptyBalance;
  }

  /** Adds a change less what records explain. @returns true if it stays open */
  #addOpen(change: OpenChange, records: readonly CashRecord[]): boolean {
    let open = this.#lessAll(change, records);
    if (!isExplained(open)) open = this.#lessLoose(open, slotBefore(open));
    if (this.#isSettled(open, change.atMs)) return false;
    this.#setOpen([...this.#open.slice(1 - maxOpen), open]);
    return true;
  }

  /** Applies records, and keeps the stated takeovers among them that the change does not show. */
  #lessAll(change: OpenChange, records: readonly CashRecord[]): OpenChange {
    let open = change;
    for (const record of records) {
      if (record.kind === "takeover") continue;
      this.#place(change, record, change.untilMs ?? change.atMs);
      open = less(open, record);
    }
    // A position may have been opened by a fill that is known with its takeover, or later.
    for (const record of records) {
      if (record.kind !== "takeover") continue;
      if (record.handed !== undefined && !isHandedIn(open, record)) this.#keepTakeover(record);
      else open = less(open, record);
    }
    return open;
  }

  /** Flows wait as long as it takes, as without one the sum of all would be wrong: the farthest of too many may have no true slot. */
  #wait(record: CashRecord): void {
    const all = [...this.#ahead, record];
    if (all.length > maxAhead) {
      const spare = all.findIndex((one) => !isFlow(one));
      const lastSlot = Math.max(...all.map(({ slot }) => slot));
      all.splice(spare < 0 ? all.findIndex(({ slot }) => slot === lastSlot) : spare, 1);
    }
    this.#ahead = all;
  }

  /**
   * Removes what waited for a state of this slot. Where it has the collateral of before a flow, that flow and what came after it wait
   * on, and all of the slot where that is its first one.
   */
  #takeAhead(
    account: string,
    { slot, index: last }: Pick<StatePlace, "slot" | "index">,
    balance: Balance,
  ): readonly CashRecord[] {
    const isKnown = (one: CashRecord): boolean =>
      isAfter(one, last) !== undefined && !isShownBy(balance, one);
    const isOf = (one: CashRecord): boolean => one.account === account && one.slot === slot && !isKnown(one);
    const flows = this.#ahead.filter((one) => isOf(one) && isFlow(one));
    const next = flows.find((one) => precedes(balance, one, 0));
    const fromIndex = next === undefined ? Number.POSITIVE_INFINITY : this.#ahead.indexOf(next);
    const waits = (one: CashRecord, index: number): boolean =>
      one.account !== account ||
      one.slot > slot ||
      (one.slot === slot && isKnown(one) && isAfter(one, last) === true) ||
      (isOf(one) && next !== undefined && (next === flows[0] || index >= fromIndex));
    const due = this.#ahead.filter((one, index) => !waits(one, index));
    if (due.length > 0) this.#ahead = this.#ahead.filter(waits);
    return due;
  }

  /**
   * Index of the open change that a record belongs to: by slot, or a flow by the collateral that it states, or its very amount; -1:
   * there is none.
   */
  #placeOf(record: CashRecord): number {
    const index = this.#open.findIndex((one) => isWithin(one, record));
    if (record.kind !== "flow") return index;
    const next = this.#open.findIndex((one) => isFlowBefore(one, record));
    // The state between the two may be one of the middle of its slot.
    if (index >= 0 && (next < 0 || this.#open[index]!.toSlot !== record.slot)) return index;
    if (next >= 0) return next;
    return this.#open.findIndex(
      (one) => one.account === record.account && Math.abs(unexplainedUsd(one) - record.usd) <= slackOf(one),
    );
  }

  /** Notes a change that is explained as paid in or out. @returns true if nothing is left of it */
  #isSettled(change: OpenChange, atMs: number): boolean {
    const explained = isExplained(change) ? change : lessFunding(change, this.#payments);
    if (explained === null) return false;
    const [open, late] = lessLate(explained);
    const takenUsd = takenUsdOf(open);
    if (takenUsd > 0) {
      // As far as the cash goes it may have been sold just as well; before the fills of trades are read that is not known.
      if (isLikeSale(open) || Object.keys(open.traded).length > 0) return false;
      this.#payOut(open);
    }
    for (const record of late) this.#addLoose(record);
    if (open.unlisted) this.#settled = [...this.#settled.slice(1 - maxSettled), open];
    else {
      this.#rough.add(open, atMs);
      if (open.taken === undefined) this.#noteOfSlot(open.flowUsd === 0 ? open : reported(open));
    }
    const usd = open.flowUsd - takenUsd - (open.reportedUsd ?? 0);
    if (usd !== 0) {
      const recent = this.#explained.filter((one) => one.atMs > atMs - explainedForMs);
      const paidUsd = usd - (open.withinUsd ?? 0) + (open.reportedWithinUsd ?? 0);
      this.#explained = [...recent.slice(1 - maxExplained), { sinceMs: open.atMs, atMs, usd, paidUsd }];
    }
    return true;
  }

  #payOut(open: OpenChange): void {
    const { account, toSlot: slot, atMs, ofOneSlot } = open;
    const usd = -takenUsdOf(open);
    if (usd !== 0) this.#addSpotFlow({ account, slot, atMs, usd }, ofOneSlot);
  }

  #addSpotFlow(flow: SpotFlow, ofOneSlot: boolean | undefined): void {
    this.#spotFlows = [...this.#spotFlows, ofOneSlot ? { ...flow, after: true } : flow];
  }

  /** More of an asset was sold than the states of a change show as taken: the rest was paid in between them, for about as much. */
  #takeUnseen(
    { taken, ofOneSlot }: OpenChange,
    record: CashRecord & { readonly kind: "sale" },
    atMs: number,
  ): void {
    const { account, slot, assetIndex, units, usd } = record;
    const unseen = units - (taken?.[assetIndex]?.units ?? 0);
    if (unseen > units * 1e-9)
      this.#addSpotFlow({ account, slot, atMs, usd: usd * (unseen / units) }, ofOneSlot);
  }

  #setOpen(open: readonly OpenChange[]): void {
    this.#open = open.length > 0 ? open : noChanges;
    this.range = rangeOf(open);
  }
}

/** Takes a newer state. */
function renew(seen: Seen, slot: number, index: number | undefined, balance: Balance): void {
  seen.knownIndex = index ?? (seen.slot === slot ? seen.knownIndex : undefined);
  seen.slot = slot;
  seen.index = index;
  seen.balance = balance;
}

/** An explained change, all of whose flows were reported. */
function reported(change: OpenChange): OpenChange {
  return { ...change, reportedUsd: change.flowUsd, reportedWithinUsd: change.withinUsd ?? 0 };
}

/** True if a state has the collateral of after a flow: that tells more than the place of the slot that it states. */
function isShownBy(balance: Balance | undefined, record: CashRecord): boolean {
  if (balance === undefined || record.kind !== "flow" || record.afterUsd === undefined) return false;
  return Math.abs(usdFromQuoteLots(balance.collateralQuoteLots) - record.afterUsd) <= exactUsd;
}
