/**
 * Changes of the collateral of a wallet's accounts that are not explained yet.
 *
 * Each state of an account is compared with the previous one (`StateComparison`). The part that trades and funding do not explain
 * is an open change until records of the histories explain it, which may arrive minutes later: a record of the collateral history
 * as a flow, fills and takeovers as profit or loss. States and records of an account are ordered by slot: a record of a later slot
 * than the newest state waits until a state shows it (`RecordsAhead`), and so does a record of the same slot if that state has the
 * collateral from before it. An account that a complete answer about its PDA index does not list is empty (`NewestStates`).
 */

import { type CashRecord, type FundingRecord, isFlow, type Place } from "../records/cash-record.ts";
import { isHandedIn, isTakenIn, less } from "../records/explain-by-record.ts";
import { FundingPayments } from "../records/funding-payments.ts";
import { LooseRecords } from "../records/loose-records.ts";
import { isAfter, isFlowBefore, isOfSlotBefore, isWithin } from "../records/record-order.ts";
import { RecordsAhead } from "../records/records-ahead.ts";
import { type Balance, emptyBalance, type Pricing, type TakenSpots } from "./balance-change.ts";
import { ExplainedChanges } from "./explained-changes.ts";
import type { KeptChanges, RestoredChanges } from "./kept-changes.ts";
import { NewestStates, type StatePlace } from "./newest-states.ts";
import type { OpenChange } from "./open-change.ts";
import { OpenList } from "./open-list.ts";
import type { OpenRange } from "./open-range.ts";
import { PlacedFlows } from "./placed-flows.ts";
import type { SpotFlow } from "./spot-flows.ts";
import { StateComparison } from "./state-comparison.ts";
import { isExplained, isSale } from "./unexplained-amount.ts";

/** Time of readings of the collateral history after which an open change counts as profit or loss, ms. */
const maxOpenMs = 300_000;
/** Maximum time that counts between two readings, ms: in a longer one the history was not read. */
const readingMs = 30_000;

export class OpenChanges {
  readonly states = new NewestStates();
  readonly ahead = new RecordsAhead(this.states);
  readonly placed = new PlacedFlows();
  readonly #list = new OpenList();
  readonly #payments = new FundingPayments();
  readonly #loose = new LooseRecords(this.states, this.#list, this.#payments);
  readonly explained = new ExplainedChanges(this.#payments, this.#loose);
  readonly #comparison = new StateComparison({
    open: this.#list,
    loose: this.#loose,
    explained: this.explained,
    placed: this.placed,
  });

  get open(): readonly OpenChange[] {
    return this.#list.all;
  }

  /** The range of the sum of all open changes. */
  get range(): OpenRange {
    return this.#list.range;
  }

  /** See `OpenList.rangeAfter`. */
  rangeAfter(ms: number): OpenRange {
    return this.#list.rangeAfter(ms);
  }

  get kept(): KeptChanges {
    const { unlisted, flows, rough } = this.explained;
    return {
      open: this.#list.all,
      ahead: this.ahead.all,
      ...(unlisted.length > 0 ? { settled: unlisted } : {}),
      ...(flows.all.length > 0 ? { explained: flows.all } : {}),
      ...this.#loose.kept,
      ...(rough.kept.length > 0 ? { rough: rough.kept } : {}),
      ...this.placed.kept,
    };
  }

  restore(kept: RestoredChanges): void {
    this.placed.restore(kept.placed, kept.unplacedMs);
    this.explained.restore(kept);
    const later = this.#loose.restore(kept.loose, kept.looseTakeovers);
    this.ahead.restore(kept.ahead ?? [], later);
    this.#list.set(kept.open ?? []);
  }

  /** True if a flow in the slot of a state is later than the state: no state shows it yet, or the next one did. */
  isAfterState(record: CashRecord): boolean {
    return this.ahead.isAhead(record) || this.#list.all.some((one) => isFlowBefore(one, record));
  }

  /** See `OpenList.isOpenAt`. */
  isOpenAt(place: Place): boolean {
    return this.#list.isOpenAt(place);
  }

  /** Accounts with an open change between two states of their newest slot. */
  shownTwice(): readonly string[] {
    return this.#list.all.flatMap(({ account, toSlot, ofOneSlot }) =>
      ofOneSlot && toSlot === this.states.slotOf(account) ? [account] : [],
    );
  }

  /** Returns and removes the flows of collateral in other assets: paid out, or paid in without a state that shows it. */
  takeSpotFlows(): readonly SpotFlow[] {
    return this.explained.spotFlows.take();
  }

  /** Takes the newest state of an account if its collateral is unchanged and no record waits for it. @returns true if so */
  takeSame(account: string, place: StatePlace, balance: Balance): boolean {
    return this.ahead.all.length === 0 && this.states.takeSame(account, place, balance);
  }

  /**
   * Takes the newest state of an account. In the first answer about its PDA index, an unknown account is part of the baseline.
   * @param taken collateral in other assets that it no longer has
   * @returns true if open changes or waiting records changed
   */
  takeState(
    account: string,
    place: StatePlace,
    balance: Balance,
    pricingOf: (symbol: string) => Pricing | undefined,
    taken: TakenSpots | null = null,
  ): boolean {
    const { slot, index, atMs } = place;
    const known = this.states.seen(account)?.balance;
    const since = this.states.take(account, place, balance);
    const waited = this.ahead.take(account, place, balance);
    const at = since && { account, ...since, toSlot: slot, toIndex: index, atMs };
    if (known === undefined) {
      if (at !== null) this.#comparison.compare(at, emptyBalance, balance, waited, pricingOf);
      return true;
    }
    const still = known.collateralQuoteLots === balance.collateralQuoteLots && taken === null;
    if (at === null || (still && !waited.some(isFlow))) return waited.length > 0;
    const opened = this.#comparison.compare(at, known, balance, waited, pricingOf, taken);
    return opened || waited.length > 0 || !this.explained.spotFlows.isEmpty;
  }

  /** Takes that an account no longer exists. `taken` and the result are as for `takeState`. */
  takeGone(
    account: string,
    at: StatePlace,
    pricingOf: (symbol: string) => Pricing | undefined,
    taken: TakenSpots | null,
  ): boolean {
    return (
      this.states.seen(account) !== undefined && this.takeState(account, at, emptyBalance, pricingOf, taken)
    );
  }

  /**
   * Called after all accounts of a complete answer were taken: records that wait for other accounts belong to accounts that were
   * opened and closed before.
   * @returns as for `takeState`
   */
  takeWhole(pdaIndex: number, place: StatePlace): boolean {
    const { slot, index, atMs } = place;
    const since = this.states.takeWhole(pdaIndex, place);
    const gone = this.ahead.unlistedUntil(pdaIndex, place);
    for (const account of gone) {
      const waited = this.ahead.take(account, place, emptyBalance);
      if (since === null) continue;
      this.#comparison.compareUnlisted({ account, ...since, toSlot: slot, toIndex: index, atMs }, waited);
    }
    return gone.size > 0;
  }

  /** @returns true if open changes or waiting records changed */
  takeRecord(record: CashRecord, atMs: number): boolean {
    if (this.ahead.isAhead(record)) {
      this.ahead.wait(record);
      return true;
    }
    if (this.#takeTakeover(record, atMs) || this.#takeSale(record, atMs)) return true;
    const found = this.#list.of(record);
    if (found === undefined) {
      this.placed.takeUnplaced(record, atMs);
      this.explained.takeRecord(record);
      const isLoose = this.#loose.take(record);
      this.explained.rough.take(record, atMs);
      return this.#takeUnlisted(record, atMs) || isLoose;
    }
    if (record.kind === "sale") this.explained.spotFlows.payInUnseen(found, record, atMs);
    this.placed.take(found, record, atMs);
    const isGuess = record.kind === "flow" && !isWithin(found, record) && !isFlowBefore(found, record);
    const left = this.#loose.lessTakeovers(less(isGuess ? { ...found, guessed: true } : found, record));
    this.#replace(found, left, atMs);
    return true;
  }

  /**
   * Called after all records of a reading were taken: loose records explain open changes, and changes that were explained by
   * estimates are opened again for the part that fills do not explain. @returns the latter
   */
  settle(atMs: number): readonly OpenChange[] {
    for (const [open, left] of this.#loose.explain()) this.#replace(open, left, atMs);
    const left = this.explained.rough.settle().filter((one) => !isExplained(one));
    if (left.length > 0) this.#list.reopen(left);
    return left;
  }

  /** Takes payments of the funding history from an earlier run. */
  rememberPayments(payments: readonly FundingRecord[], atMs: number): void {
    this.#payments.add(payments, atMs);
  }

  /** Takes payments of the funding history from one reading. @returns true if they explain an open change */
  takePayments(payments: readonly FundingRecord[], atMs: number): boolean {
    this.#payments.add(payments, atMs);
    const { length } = this.#list.all;
    const left = this.#list.all.filter((one) => !this.explained.take(one, atMs));
    if (left.length < length) this.#list.set(left);
    return this.#list.all.length < length;
  }

  /** See `OpenList.directionOf`. */
  directionOf(place: Place, sizeUsd: number, afterUsd: number | undefined): number | null {
    return this.#list.directionOf(place, sizeUsd, afterUsd);
  }

  /**
   * True if this is the first flow of an account that was opened and closed between two answers: it can only be paid in. If an
   * answer had shown the account, it would have an open change, as this flow is not known yet.
   */
  isFirstFlow(place: Place): boolean {
    if (!this.states.wasEmptyBefore(place) || this.ahead.hasFlowUntil(place)) return false;
    return ![...this.#list.all, ...this.explained.unlisted].some(
      (one) => isWithin(one, place) && !(one.unlisted && one.flowUsd === 0),
    );
  }

  /** Removes all open changes. */
  forget(): void {
    this.explained.forget();
    this.#loose.forget();
    this.#list.set([]);
  }

  /** Called when the collateral history was read: changes that it did not explain for long are profit or loss. @returns true if any */
  expire(atMs: number): boolean {
    const { length } = this.#list.all;
    const waiting = this.#list.all.map((one) => ({
      ...one,
      readMs: atMs,
      waitedMs: one.waitedMs + Math.min(atMs - one.readMs, readingMs),
    }));
    for (const one of waiting)
      if (one.waitedMs >= maxOpenMs && !isSale(one)) this.explained.spotFlows.payOut(one);
    this.#list.set(waiting.filter(({ waitedMs }) => waitedMs < maxOpenMs));
    return this.#list.all.length < length;
  }

  /**
   * Takes a takeover in the slot of a newest state, or of the state before an open change, that no change of this slot shows, or of
   * an open change that shows it only after the fill that opened the position is known.
   * @returns true if it is one
   */
  #takeTakeover(record: CashRecord, atMs: number): boolean {
    if (record.kind !== "takeover" || record.handed === undefined) return false;
    const open = this.#list.all;
    const isShownIn = (one: OpenChange): boolean => isWithin(one, record) && isHandedIn(one, record);
    // Without a side it only resembles an explained change, which may be the opening.
    const isSided = record.handed.side !== undefined;
    if (open.some(isShownIn) || (isSided && this.explained.ofSlot.some(isShownIn))) return false;
    const found = open.find((one) => isOfSlotBefore(one, record) && isHandedIn(one, record));
    if (found !== undefined) {
      this.#replace(found, less(found, record), atMs);
      return true;
    }
    // The account may have had no such position before: a fill of the same slot may have opened it.
    const isOpen = (one: OpenChange): boolean => isWithin(one, record) || isOfSlotBefore(one, record);
    const isSeen =
      this.states.mayFollow(record) || this.explained.ofSlot.some((one) => isWithin(one, record));
    if (!isSeen && !open.some(isOpen)) return false;
    this.#loose.addTakeover(record);
    return true;
  }

  /**
   * Takes a sale of collateral in the slot of a newest state that no change shows: the next state of that slot may show it, or an
   * open change whose earlier state has that slot did. @returns true if it is one
   */
  #takeSale(record: CashRecord, atMs: number): boolean {
    const open = this.#list.all;
    if (record.kind !== "sale" || open.some((one) => isWithin(one, record))) return false;
    const found = open.find((one) => isOfSlotBefore(one, record) && isTakenIn(one, record));
    if (found !== undefined) {
      this.#replace(found, less(found, record), atMs);
      return true;
    }
    if (!this.states.mayFollow(record)) return false;
    this.#loose.addTakeover(record);
    return true;
  }

  /** Takes a record of an account that was opened and closed between two answers already taken. @returns true if it is one */
  #takeUnlisted(record: CashRecord, atMs: number): boolean {
    const { account, slot } = record;
    const span = this.states.unlistedSpan(account);
    if (span === null || slot < span.fromSlot) return false;
    if (slot === span.fromSlot && isAfter(record, span.fromIndex) !== true) return false;
    const explained = this.explained.takeUnlisted(record);
    if (explained !== undefined) this.#comparison.add({ ...explained, readMs: atMs, waitedMs: 0 }, [record]);
    else this.#comparison.compareUnlisted({ account, ...span, atMs }, [record]);
    return true;
  }

  /** @param left the rest of an open change: it is removed if the rest is explained */
  #replace(open: OpenChange, left: OpenChange, atMs: number): void {
    this.#list.replace(open, this.explained.take(left, atMs) ? null : left);
  }
}
