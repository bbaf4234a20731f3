/**
 * Records in the slots of newest states that no change shows. The next state of such a slot may show them, or an open change
 * whose earlier state has that slot, together with other records. Fills and flows explain a change as a selection (`fittingOf`);
 * takeovers and sales explain it by the amounts that they state.
 */

import type { KeptChanges } from "../changes/kept-changes.ts";
import type { NewestStates } from "../changes/newest-states.ts";
import type { OpenChange } from "../changes/open-change.ts";
import type { OpenList } from "../changes/open-list.ts";
import { unexplainedUsd } from "../changes/unexplained-amount.ts";
import type { CashRecord, LooseRecord } from "./cash-record.ts";
import { isHandedIn, isTakenIn, less, unshownLess } from "./explain-by-record.ts";
import { fittingOf } from "./fitting-records.ts";
import type { FundingPayments } from "./funding-payments.ts";
import { isAfter, isAfterLast, isOfSlotBefore, isWithin, slotBefore } from "./record-order.ts";

const maxLoose = 20;

const noLoose: readonly LooseRecord[] = [];
const noRecords: readonly CashRecord[] = [];

export class LooseRecords {
  readonly #states: NewestStates;
  readonly #open: OpenList;
  readonly #payments: FundingPayments;
  /** Fills and flows. */
  #records: readonly LooseRecord[] = noLoose;
  /** Takeovers and sales. */
  #takeovers: readonly CashRecord[] = noRecords;
  /** The inputs of the last attempt to explain changes. */
  #tried: readonly unknown[] = [];

  constructor(states: NewestStates, open: OpenList, payments: FundingPayments) {
    this.#states = states;
    this.#open = open;
    this.#payments = payments;
  }

  get kept(): Pick<KeptChanges, "loose" | "looseTakeovers"> {
    return {
      ...(this.#records.length > 0 ? { loose: this.#records } : {}),
      ...(this.#takeovers.length > 0 ? { looseTakeovers: this.#takeovers } : {}),
    };
  }

  /** @returns those of a later slot than the newest state of their account: an unchanged state is not stored */
  restore(records = noLoose, takeovers = noRecords): readonly CashRecord[] {
    const isLater = (one: CashRecord): boolean => one.slot > this.#states.slotOf(one.account);
    this.#set(records.filter((one) => !isLater(one)));
    this.#takeovers = takeovers.filter((one) => !isLater(one));
    return [...records, ...takeovers].filter(isLater);
  }

  forget(): void {
    this.#records = noLoose;
    this.#takeovers = noRecords;
  }

  /**
   * Takes a fill or a flow in the slot of a newest state, or of the state before an open change: together with others it may
   * explain such a change. @returns true if it is one
   */
  take(record: CashRecord): boolean {
    if (record.kind !== "fill" && record.kind !== "flow") return false;
    const { account, slot } = record;
    const isOfNext = this.#open.all.some((one) => isOfSlotBefore(one, record));
    const isBeforeNext = this.#open.all.some(
      (one) =>
        one.account === account && slotBefore(one) === slot && isAfter(record, one.fromIndex) === false,
    );
    if (!isOfNext && (isBeforeNext || !this.#states.mayFollow(record))) return false;
    this.add(record);
    return true;
  }

  add(record: LooseRecord): void {
    const own = this.#records.filter(({ account }) => account === record.account);
    const oldest = own.length < maxLoose ? null : own[0];
    this.#set([...this.#records.filter((one) => one !== oldest), record]);
  }

  addTakeover(record: CashRecord): void {
    this.#takeovers = [...this.#takeovers.slice(1 - maxLoose), record];
  }

  /** @returns the rest of each open change that some of them explain; these records are removed */
  *explain(): Generator<readonly [open: OpenChange, left: OpenChange]> {
    const known = (): readonly unknown[] => [
      this.#open.all,
      this.#records,
      this.#takeovers,
      this.#payments.all,
    ];
    if (this.#records.length === 0 || known().every((one, index) => one === this.#tried[index])) return;
    for (const open of this.#open.all) {
      const [left, fitting] = this.#lessFitting(open, slotBefore(open));
      if (fitting.length === 0) continue;
      this.#set(this.#records.filter((one) => !fitting.includes(one)));
      yield [open, left];
    }
    this.#tried = known();
  }

  /** Applies fills and flows in the slot of the state before that explain a change: they are later than that state. */
  less(open: OpenChange, fromSlot: number): OpenChange {
    if (this.#records.length === 0) return open;
    const { account } = open;
    const [left, fitting] = this.#lessFitting(open, fromSlot);
    this.#set(
      this.#records.filter(
        (one) =>
          one.account !== account ||
          (!fitting.includes(one) &&
            (one.slot >= fromSlot || this.#open.all.some((change) => isOfSlotBefore(change, one)))),
      ),
    );
    return left;
  }

  /**
   * Subtracts the fills and flows of a slot that explain a change, and returns them: alone, or with takeovers of positions that
   * the change does not show because these fills opened them. Such takeovers are removed.
   */
  #lessFitting(open: OpenChange, slot: number): readonly [left: OpenChange, fitting: readonly LooseRecord[]] {
    const loose = this.#records.filter(
      (one) => one.slot === slot && (isWithin(open, one) || isOfSlotBefore(open, one)),
    );
    const alone = fittingOf(open, loose, this.#payments.all);
    if (alone.length > 0 || loose.length === 0) return [alone.reduce(less, open), alone];
    const takeovers = this.#takeovers.filter(
      (one) => one.kind === "takeover" && (isWithin(open, one) || isOfSlotBefore(open, one)),
    );
    let best: readonly [left: OpenChange, fitting: readonly LooseRecord[]] = [open, []];
    // Some records do not state the side of the position.
    for (const side of takeovers.length > 0 ? (["long", "short"] as const) : []) {
      const handed = takeovers.reduce((left, one) => unshownLess(left, one, side), open);
      const fitting = fittingOf(handed, loose, this.#payments.all);
      if (fitting.length === 0) continue;
      const left = fitting.reduce(less, handed);
      if (best[1].length === 0 || Math.abs(unexplainedUsd(left)) < Math.abs(unexplainedUsd(best[0])))
        best = [left, fitting];
    }
    if (best[1].length > 0) this.#takeovers = this.#takeovers.filter((one) => !takeovers.includes(one));
    return best;
  }

  /** Applies takeovers and sales that a change shows, in its slots or in that of the state before it. */
  lessTakeovers(open: OpenChange): OpenChange {
    let left = open;
    for (const one of this.#takeovers) {
      if (one.account !== open.account || isAfterLast(open, one)) continue;
      const isOf = (change: OpenChange): boolean => isWithin(change, one) || isOfSlotBefore(change, one);
      const isOfIt = isOf(open);
      if (isOfIt && !isHandedIn(left, one) && !isTakenIn(left, one)) continue;
      // An open change may show it after the fill that opened the position is known.
      if (!isOfIt && this.#open.all.some(isOf)) continue;
      this.#takeovers = this.#takeovers.filter((other) => other !== one);
      if (isOfIt) left = less(left, one);
    }
    return left;
  }

  #set(records: readonly LooseRecord[]): void {
    this.#records = records.length > 0 ? records : noLoose;
  }
}
