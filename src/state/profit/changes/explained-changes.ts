/** Changes without an unexplained rest. They are noted as paid in or out, and later records are applied to them. */

import type { CashRecord } from "../records/cash-record.ts";
import { less, lessLate } from "../records/explain-by-record.ts";
import { lessFunding } from "../records/fitting-records.ts";
import type { FundingPayments } from "../records/funding-payments.ts";
import type { LooseRecords } from "../records/loose-records.ts";
import { contains, isWithin } from "../records/record-order.ts";
import { ExplainedFlows } from "./explained-flows.ts";
import type { RestoredChanges } from "./kept-changes.ts";
import type { OpenChange } from "./open-change.ts";
import { RoughChanges } from "./rough-changes.ts";
import { SpotFlows } from "./spot-flows.ts";
import { isExplained, isLikeSale, takenUsdOf } from "./unexplained-amount.ts";

const maxUnlisted = 20;

// Shared by the many wallets without such changes.
const noChanges: readonly OpenChange[] = [];

export class ExplainedChanges {
  /** Changes whose fills are still missing. */
  readonly rough = new RoughChanges();
  readonly flows = new ExplainedFlows();
  readonly spotFlows = new SpotFlows();
  readonly #payments: FundingPayments;
  readonly #loose: LooseRecords;
  /** Changes of accounts that no state shows: a later record belongs to one of them. */
  #unlisted = noChanges;
  /** The changes of the newest slot that has any, one per account. */
  #ofSlot = noChanges;

  constructor(payments: FundingPayments, loose: LooseRecords) {
    this.#payments = payments;
    this.#loose = loose;
  }

  get unlisted(): readonly OpenChange[] {
    return this.#unlisted;
  }

  get ofSlot(): readonly OpenChange[] {
    return this.#ofSlot;
  }

  restore({ settled = noChanges, explained, rough = [] }: RestoredChanges): void {
    this.#unlisted = settled;
    this.flows.restore(explained);
    this.rough.restore(rough);
  }

  forget(): void {
    this.#unlisted = noChanges;
    this.#ofSlot = noChanges;
    this.rough.forget();
  }

  /** Takes a change if it is explained, with funding payments if needed. @returns true if nothing remains of it */
  take(change: OpenChange, atMs: number): boolean {
    const explained = isExplained(change) ? change : lessFunding(change, this.#payments.all);
    if (explained === null) return false;
    const [open, late] = lessLate(explained);
    const takenUsd = takenUsdOf(open);
    if (takenUsd > 0) {
      // The cash would also match a sale; this is decided after the fills of trades are read.
      if (isLikeSale(open) || Object.keys(open.traded).length > 0) return false;
      this.spotFlows.payOut(open);
    }
    for (const record of late) this.#loose.add(record);
    if (open.unlisted) this.#unlisted = [...this.#unlisted.slice(1 - maxUnlisted), open];
    else {
      this.rough.add(open, atMs);
      if (open.taken === undefined) this.#noteOfSlot(open.flowUsd === 0 ? open : reported(open));
    }
    const usd = open.flowUsd - takenUsd - (open.reportedUsd ?? 0);
    if (usd !== 0) {
      const paidUsd = usd - (open.withinUsd ?? 0) + (open.reportedWithinUsd ?? 0);
      this.flows.add({ sinceMs: open.atMs, atMs, usd, paidUsd });
    }
    return true;
  }

  /** Takes a change that trades alone explain: there was no flow. */
  takeTrades(change: OpenChange, atMs: number): void {
    this.rough.add(change, atMs);
    this.#noteOfSlot(change);
  }

  /** Applies a record to the explained change of its slot. */
  takeRecord(record: CashRecord): void {
    this.#ofSlot = this.#ofSlot.map((one) => (isWithin(one, record) ? less(one, record) : one));
  }

  /** Returns and removes the change of an unlisted account that a record belongs to; undefined: none. */
  takeUnlisted(record: CashRecord): OpenChange | undefined {
    const unlisted = this.#unlisted.find((one) => isWithin(one, record));
    if (unlisted === undefined) return undefined;
    this.#unlisted = this.#unlisted.filter((one) => one !== unlisted);
    return reported(unlisted);
  }

  /** Notes an explained change: the next state of its slot, and later records, belong to it as well. */
  #noteOfSlot(open: OpenChange): void {
    const { account, toSlot } = open;
    const others = this.#ofSlot.filter(
      (one) =>
        one.toSlot >= toSlot && (one.account !== account || (one.toSlot === toSlot && !contains(open, one))),
    );
    this.#ofSlot = [...others, open];
  }
}

/** Marks all flows of an explained change as reported. */
function reported(change: OpenChange): OpenChange {
  return { ...change, reportedUsd: change.flowUsd, reportedWithinUsd: change.withinUsd ?? 0 };
}
