/** The open changes of a wallet, and the range of the flows that they may be in sum. */

import type { CashRecord, Place } from "../records/cash-record.ts";
import { firstFlowOf, isFlowBefore, isWithin } from "../records/record-order.ts";
import type { OpenChange } from "./open-change.ts";
import { nothingOpen, type OpenRange, rangeOf } from "./open-range.ts";
import { slackOf, unexplainedUsd } from "./unexplained-amount.ts";

const maxOpen = 100;

// Shared by the many wallets without open changes.
const noChanges: readonly OpenChange[] = [];

export class OpenList {
  #all = noChanges;
  /** The range of the sum of all of them. */
  range: OpenRange = nothingOpen;

  get all(): readonly OpenChange[] {
    return this.#all;
  }

  set(open: readonly OpenChange[]): void {
    this.#all = open.length > 0 ? open : noChanges;
    this.range = rangeOf(open);
  }

  add(open: OpenChange): void {
    this.set([...this.#all.slice(1 - maxOpen), open]);
  }

  /** Adds changes that were assumed to be explained. */
  reopen(changes: readonly OpenChange[]): void {
    this.set([...this.#all, ...changes.map((one) => ({ ...one, reopened: true }))].slice(-maxOpen));
  }

  /** @param left the rest of the change; null: nothing */
  replace(open: OpenChange, left: OpenChange | null): void {
    this.set(this.#all.toSpliced(this.#all.indexOf(open), 1, ...(left === null ? [] : [left])));
  }

  /** True if there is a change of an account and a slot that was never part of the profit. */
  isOpenAt(place: Place): boolean {
    return this.#all.some((one) => !one.reopened && isWithin(one, place));
  }

  /** The range of the changes after a time. */
  rangeAfter(ms: number): OpenRange {
    return rangeOf(this.#all.filter(({ atMs }) => atMs > ms));
  }

  /** The change that a record belongs to: by slot, or for a flow by its stated collateral or its exact amount. */
  of(record: CashRecord): OpenChange | undefined {
    const own = this.#all.find((one) => isWithin(one, record));
    if (record.kind !== "flow") return own;
    const next = this.#all.find((one) => isFlowBefore(one, record));
    // The state between the two may be one in the middle of its slot.
    if (own !== undefined && (next === undefined || own.toSlot !== record.slot)) return own;
    if (next !== undefined) return next;
    return this.#all.find(
      (one) => one.account === record.account && Math.abs(unexplainedUsd(one) - record.usd) <= slackOf(one),
    );
  }

  /**
   * The signed flow of a transfer whose record has no direction, USD, from the open change of its account: it is the first flow
   * after the state before, or the whole unexplained amount; null: neither.
   * @param afterUsd collateral after it; undefined: not known
   */
  directionOf(place: Place, sizeUsd: number, afterUsd: number | undefined): number | null {
    for (const one of this.#all) {
      if (!isWithin(one, place)) continue;
      const first = afterUsd === undefined ? undefined : firstFlowOf(one, sizeUsd, afterUsd);
      if (first !== undefined) return first;
      const usd = unexplainedUsd(one);
      if (Math.abs(Math.abs(usd) - sizeUsd) <= slackOf(one)) return Math.sign(usd) * sizeUsd;
    }
    return null;
  }
}
