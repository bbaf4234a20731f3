/**
 * Profit of one wallet: its equity less a baseline, less the flows since.
 *
 * Equity is known with each answer and each price. While a change of collateral is open (see open-changes.ts) profit is a range:
 * at one end money in was paid in and money out was lost, at the other end money in was earned and money out was withdrawn. The
 * figures are absent then, and rules are judged at both ends (`Doubt`). If nothing is open they are as fresh as equity.
 */

import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Facts, FactValue } from "../../rules/index.ts";
import type { AccountEntry } from "../accounts/account-entry.ts";
import { noStretches } from "../day/stretches.ts";
import type { ExplainedFlow } from "./changes/explained-flows.ts";
import { OpenChanges } from "./changes/open-changes.ts";
import { isOpen, nothingOpen, type OpenRange } from "./changes/open-range.ts";
import type { HiddenLimits } from "./changes/rough-changes.ts";
import { Slots } from "./changes/slots.ts";
import { HeldProfit } from "./held-profit.ts";
import { type KeptProfit, keptProfit, type StoredProfit, sinceSlot } from "./kept-profit.ts";
import { Peak } from "./peak.ts";
import type { Doubt } from "./profit-doubt.ts";
import type { HeldSample } from "./profit-gaps.ts";

/** Tolerance for a partial baseline: profit equals the equity of PDA indices to within this share of it. */
const partialShare = 0.1;

/**
 * Open changes of up to this share of equity leave profit known. Otherwise repeated unexplained cents would make it permanently
 * unknown, and absent from windows and history.
 */
const negligibleShare = 1e-4;

/** Share of equity above which flows that may be hidden in the estimate of a trade count. */
const hiddenShare = 1e-3;
/** The same for a trade whose fills are known: fills are rounded, and funding that was settled is estimated. */
const knownShare = 3e-3;

// Shared: most wallets have the first PDA index only.
const noIndices: readonly number[] = [];

export class Profit implements Doubt {
  readonly changes = new OpenChanges();
  /** PDA indices whose states were compared since the start. */
  comparedIndices = noIndices;
  /** Equity at which the profit of today would be 0, USD; NaN: not known. */
  zeroTodayUsd = Number.NaN;
  /** The whole of today, and the time since each of its withdrawals. */
  stretches = noStretches;
  /** The range of the open changes that concern today's profit. */
  openToday = nothingOpen;
  /** Equity at the newest answer about the accounts, and the time of that answer: the next day begins with it. */
  answerUsd = Number.NaN;
  answerMs = Number.NEGATIVE_INFINITY;
  readonly held = new HeldProfit();
  /** True if equity contains states of accounts that profit was not compared with yet, as their collateral had no value. */
  isBehind = false;
  readonly #facts: Facts;
  readonly #wallet: string;
  #kept: KeptProfit | null = null;
  /** True if the baseline is known to cover the PDA indices that are read now. */
  #checked = false;
  /** Equity at which profit would be 0, USD; NaN: not known. */
  #zeroUsd = Number.NaN;
  #peak = new Peak();

  constructor(facts: Facts, wallet: string) {
    this.#facts = facts;
    this.#wallet = wallet;
  }

  get inUsd(): number {
    return Math.max(this.changes.range.inUsd, this.openToday.inUsd);
  }

  get outUsd(): number {
    return Math.min(this.changes.range.outUsd, this.openToday.outUsd);
  }

  get hasBegun(): boolean {
    return this.#checked;
  }

  /** The present range of profit; null: profit is known. */
  get doubt(): Doubt | null {
    return this.#isOpen(this) ? this : null;
  }

  /** True if a range of open changes makes profit unknown. */
  #isOpen(range: OpenRange): boolean {
    if (!isOpen(range)) return false;
    const { equity } = this.#facts.values;
    const limitUsd = typeof equity === "number" ? Math.abs(equity) * negligibleShare : 0;
    return !(range.inUsd - range.outUsd <= limitUsd);
  }

  /** Amounts up to which flows hidden in the estimates of trades are ignored. */
  get hiddenLimits(): HiddenLimits {
    const { equity } = this.#facts.values;
    const usd = typeof equity === "number" ? Math.abs(equity) : 0;
    return { roughUsd: usd * hiddenShare, knownUsd: usd * knownShare };
  }

  /** Releases trades that may hide a flow, after their time has passed. @param isRead the collateral history was read */
  release(atMs: number, isRead: boolean): void {
    if (this.held.isEmpty || this.changes.open.some(({ reopened }) => reopened)) return;
    this.#peak.take(this.held.release(atMs, isRead, this.hiddenLimits.knownUsd));
  }

  /** Takes the profit of an earlier time that has become known. */
  takeLate(profitUsd: number): void {
    this.#peak.take(profitUsd);
  }

  /** Returns the figures for a sample. Profit that may be too high is left out. */
  sample(): Readonly<Record<string, FactValue>> {
    const { values } = this.#facts;
    if (this.held.isEmpty) return values;
    const { pnl: _pnl, pnlToday: _pnlToday, lossToday: _lossToday, ...others } = values;
    return others;
  }

  /** Returns the profit that is left out of a sample; null: it is not left out, or not known. */
  heldSample(): HeldSample | null {
    const { pnl } = this.#facts.values;
    if (this.held.isEmpty || typeof pnl !== "number") return null;
    return { pnl, leastPnl: pnl - this.held.usd, sinceMs: this.held.sinceMs };
  }

  /** See `OpenChanges.explainedSince`. */
  explainedSince(ms: number, raisedMs: number): ExplainedFlow | null {
    return this.changes.explained.flows.since(ms, raisedMs);
  }

  restore(stored: StoredProfit): void {
    const { open, ahead, settled, explained, loose, looseTakeovers, rough, placed, unplacedMs, ...kept } =
      stored;
    const changes = { open, ahead, settled, explained, loose, looseTakeovers, rough, placed, unplacedMs };
    this.#kept = kept;
    this.#peak = new Peak(kept.highUsd);
    this.held.restore(kept.held ?? []);
    // The baseline contains all accounts of its time: an account that is neither in it nor in a later state is new.
    for (const [name, slot] of kept.slots ?? [])
      if (/^\d+$/.test(name)) this.changes.states.restoreWhole(Number(name), slot);
    this.changes.restore(changes);
    this.#facts.values.highWaterMark = this.#peak.usd;
  }

  /** Corrects the peak for a counted flow that was part of the profit until now. @param isAfter as for `takeFlow` */
  takePaidIn(account: string, slot: number, usd: number, isAfter: boolean): void {
    this.#peak.paidIn(account, isAfter ? slot + 1 : slot, usd);
    this.held.paidIn(usd);
  }

  /** Notes a state of an account whose collateral may have changed. */
  takeChange(account: string, slot: number, atMs: number): void {
    this.#peak.changed(account, slot, atMs);
  }

  /** True if the baseline of an account is earlier than a slot. */
  isSince(account: string, slot: number): boolean {
    return this.#kept !== null && slot > sinceSlot(this.#kept, account);
  }

  /**
   * Adds a flow to the sum, which has to stay finite. @returns true if it counts
   * @param usd positive: paid in
   * @param isAfter true if it is later than the state of its slot, see `OpenChanges.isAfterState`
   */
  takeFlow(account: string, slot: number, usd: number, isAfter = false): boolean {
    const kept = this.#kept;
    if (!Number.isFinite(usd)) return false;
    if (kept === null) return true;
    if (!isAfter && slot <= sinceSlot(kept, account)) return false;
    this.#kept = { ...kept, netUsd: kept.netUsd + usd };
    return true;
  }

  /**
   * Called when the whole wallet was read and its equity is known. Sets a baseline if none is stored, and compares a stored one
   * with the PDA indices that are read now.
   *
   * @param historyRead the collateral history was read, so that the flows since the baseline are known
   * @returns a text for the log; null: nothing to report
   */
  begin(
    indices: readonly number[] | undefined,
    accounts: readonly AccountEntry[],
    historyRead: boolean,
    builder: ChangesBuilder,
  ): string | null {
    if (this.#checked) return null;
    const { equity } = this.#facts.values;
    if (typeof equity !== "number") return null;
    const kept = this.#kept;
    const now = indices ?? null;
    const covered = now === null || kept === null ? null : this.#coveredBy(kept, now);
    const fresh = (): KeptProfit => {
      // The baseline contains all changes that were not explained before.
      this.changes.forget();
      const slots = this.changes.states.slots();
      return { baselineUsd: equity, slots, indices: now, netUsd: this.changes.ahead.usd, highUsd: 0 };
    };
    let text: string | null = null;
    if (kept === null) this.#kept = fresh();
    else if (!kept.indices && now !== null && covered === null) {
      // The profit shows if the baseline covers all of them, which requires the flows to be known.
      if (!historyRead || isOpen(this.changes.range)) return null;
      const missingUsd = this.#missingFrom(kept, equity, accounts);
      this.#kept = { ...kept, indices: now };
      if (missingUsd !== 0) {
        this.#kept = { ...this.#kept, baselineUsd: kept.baselineUsd + missingUsd, highUsd: 0 };
        text =
          "the stored profit baseline covered only some of the PDA indices; the others count from now on";
      }
    } else if (covered !== null && now !== null) {
      const gone = covered.some((index) => !now.includes(index));
      const added = now.filter((index) => !covered.includes(index));
      if (gone) {
        this.#kept = fresh();
        text = "a PDA index is no longer read; profit since watching began starts anew";
      } else if (added.length > 0) {
        const usd = equityOf(accounts, added);
        const slots = new Slots(kept.slots);
        for (const { name, ref } of accounts)
          if (added.includes(ref.pdaIndex)) slots.set(name, this.changes.states.slotOf(name));
        this.#kept = { ...kept, baselineUsd: kept.baselineUsd + usd, slots, indices: now };
      } else if (!kept.indices) this.#kept = { ...kept, indices: now };
    }
    this.#checked = true;
    if (this.#kept!.highUsd !== this.#peak.usd) this.#peak = new Peak(this.#kept!.highUsd);
    this.refresh();
    this.keep(builder);
    return text;
  }

  /**
   * Returns the PDA indices that a stored baseline covers; null: several were read, and an earlier version, which did not store
   * them, may have set the baseline before all of them were read. An index without a stored account was not read then.
   */
  #coveredBy({ indices }: KeptProfit, now: readonly number[]): readonly number[] | null {
    if (indices) return indices;
    const stored = now.filter((index) => this.changes.states.restoredIndices.includes(index));
    if (stored.length === 0 || stored.length === now.length) return now.length > 1 ? null : now;
    return stored;
  }

  /**
   * Equity that a stored baseline lacks, USD; 0: none.
   *
   * A baseline of an earlier version may be a sum over some of the PDA indices only, if it was set before the others were read.
   * Profit then contains the equity of the others ever since, and so does its highest value. So the baseline is partial if
   * profit and its highest value equal, to within a tenth, the equity of some of the indices, but not of all.
   */
  #missingFrom(kept: KeptProfit, equity: number, accounts: readonly AccountEntry[]): number {
    const usd = equity - kept.baselineUsd - kept.netUsd + this.changes.ahead.usd;
    const indices = [...new Set(accounts.map(({ ref }) => ref.pdaIndex))];
    let best = 0;
    let bestApart = Number.POSITIVE_INFINITY;
    for (let set = 1; set < 2 ** Math.min(indices.length, 16) - 1; set++) {
      const missing = indices.filter((_, i) => (set & (1 << i)) !== 0);
      const missingUsd = equityOf(accounts, missing);
      const apart = Math.abs(usd - missingUsd);
      if (apart > partialShare * missingUsd || kept.highUsd < (1 - partialShare) * missingUsd) continue;
      if (apart >= bestApart) continue;
      best = missingUsd;
      bestApart = apart;
    }
    return best;
  }

  /** Recomputes the figures after flows or open changes. */
  refresh(): void {
    const kept = this.#kept;
    const { values } = this.#facts;
    if (kept === null || !this.#checked) return;
    const netUsd = kept.netUsd - this.changes.ahead.usd;
    values.netDeposits = netUsd;
    this.#zeroUsd = kept.baselineUsd + netUsd;
  }

  /** Writes the figures at the newest equity. */
  publish(): void {
    const { equity } = this.#facts.values;
    if (typeof equity === "number" && !this.isBehind && !this.#isOpen(this.changes.range)) {
      const pnl = equity - this.#zeroUsd;
      if (!Number.isNaN(pnl)) {
        this.held.take(pnl);
        this.#peak.take(pnl - this.held.usd);
      }
    }
    this.leave();
  }

  assume(high: boolean): void {
    const { values } = this.#facts;
    const { equity } = values;
    if (typeof equity !== "number") return;
    const { range } = this.changes;
    const pnl = equity - this.#zeroUsd - (high ? range.outUsd : range.inUsd);
    if (!Number.isNaN(pnl)) {
      values.pnl = pnl;
      values.highWaterMark = Math.max(this.#peak.usd, pnl);
    }
    const { openToday } = this;
    this.#publishToday(equity, this.zeroTodayUsd + (high ? openToday.outUsd : openToday.inUsd));
  }

  leave(): void {
    const { values } = this.#facts;
    const { equity } = values;
    const usd = typeof equity === "number" ? equity : Number.NaN;
    const pnl = this.#isOpen(this.changes.range) ? Number.NaN : usd - this.#zeroUsd;
    if (!Number.isNaN(pnl)) values.pnl = pnl;
    else if (values.pnl !== undefined) delete values.pnl;
    this.#publishToday(usd, this.#isOpen(this.openToday) ? Number.NaN : this.zeroTodayUsd);
    if (this.#kept !== null) values.highWaterMark = pnl > this.#peak.usd ? pnl : this.#peak.usd;
  }

  /** @param zeroUsd equity at which the profit of today would be 0; NaN: not known */
  #publishToday(equity: number, zeroUsd: number): void {
    const { values } = this.#facts;
    const pnlToday = equity - zeroUsd;
    if (Number.isNaN(pnlToday)) {
      if (values.pnlToday === undefined) return;
      delete values.pnlToday;
      delete values.lossToday;
      return;
    }
    values.pnlToday = pnlToday;
    let share = 0;
    if (pnlToday < 0)
      for (const { lossUsd, capitalUsd } of this.stretches) {
        // A profit before a withdrawal compensates for a loss after it.
        const lost = -pnlToday - Math.max(lossUsd, 0);
        // Includes money paid in since, even if it is not explained yet.
        const capital = Math.max(capitalUsd, zeroUsd) - lossUsd;
        if (lost > 0) share = Math.max(share, lost < capital ? lost / capital : 1);
      }
    values.lossToday = share;
  }

  /** Removes the figures of the previous day. */
  endDay(): void {
    const { values } = this.#facts;
    delete values.pnlToday;
    delete values.lossToday;
  }

  /** Stores the profit for the next start. */
  keep(builder: ChangesBuilder): void {
    if (this.#kept === null) return;
    this.#kept.highUsd = this.#peak.usd;
    if (this.held.isEmpty) delete this.#kept.held;
    else this.#kept.held = this.held.kept;
    keptProfit.put(this.#wallet, { ...this.#kept, ...this.changes.kept }, builder);
  }

  /** Stores the profit if only its highest value changed. */
  keepHigh(builder: ChangesBuilder): void {
    if (this.#kept !== null && this.#kept.highUsd !== this.#peak.usd) this.keep(builder);
  }
}

function equityOf(accounts: readonly AccountEntry[], indices: readonly number[]): number {
  let usd = 0;
  for (const { node, ref } of accounts) {
    const { equity } = node.facts.values;
    if (indices.includes(ref.pdaIndex) && typeof equity === "number") usd += equity;
  }
  return usd;
}
