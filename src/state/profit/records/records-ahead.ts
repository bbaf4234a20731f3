/** Records later than the newest states of their accounts: each waits for a state that shows it. */

import { usdFromQuoteLots } from "../../../margin/units.ts";
import type { Balance } from "../changes/balance-change.ts";
import type { NewestStates, StatePlace } from "../changes/newest-states.ts";
import { pdaIndexOf } from "../changes/slots.ts";
import { type CashRecord, isFlow, type Place, sumOf } from "./cash-record.ts";
import { exactUsd, isAfter, precedes } from "./record-order.ts";

const maxAhead = 1_000;

const noRecords: readonly CashRecord[] = [];
const nobody: ReadonlySet<string> = new Set();

export class RecordsAhead {
  readonly #states: NewestStates;
  #records: readonly CashRecord[] = noRecords;

  constructor(states: NewestStates) {
    this.#states = states;
  }

  get all(): readonly CashRecord[] {
    return this.#records;
  }

  /** Flows that no state shows yet, USD. */
  get usd(): number {
    return sumOf(this.#records);
  }

  /** @param later loose records of later slots than the states that are known at a start */
  restore(records: readonly CashRecord[], later: readonly CashRecord[]): void {
    // Records that a state before the stop showed were taken then.
    this.#records = noRecords;
    for (const record of records)
      if (isFlow(record) && this.isAhead(record)) this.#records = [...this.#records, record];
    const flows = this.#records;
    const waitsWith = (one: CashRecord): boolean =>
      flows.some(({ account, slot }) => account === one.account && slot === one.slot);
    const waiting = records.filter((one) =>
      isFlow(one) ? flows.includes(one) : this.isAhead(one) || waitsWith(one),
    );
    this.#records = waiting.concat(
      later.map((one) => (one.kind === "flow" ? { ...one, unshown: true } : one)),
    );
  }

  /** True if no state shows a record. */
  isAhead(record: CashRecord): boolean {
    const { account } = record;
    const slot = this.#states.slotOf(account);
    if (record.slot !== slot) return record.slot > slot;
    const isLater = isAfter(record, this.#states.indexOf(account));
    if (isLater !== undefined && !(isLater && isShownBy(this.#states.before(account), record)))
      return isLater;
    if (this.#states.wasShown(record)) return false;
    if (record.kind === "flow" && record.unshown) return true;
    if (record.kind === "flow" && record.shown) return false;
    const balance = this.#states.before(account);
    if (balance === undefined) return false;
    const waiting = this.#records.filter(
      (one) => isFlow(one) && one.account === account && one.slot === slot,
    );
    return precedes(balance, record, sumOf(waiting));
  }

  /** True if a flow waits for a state that shows it. */
  isWaiting({ account, slot, usd }: Place & { readonly usd: number }): boolean {
    if (slot > this.#states.slotOf(account)) return true;
    return this.#records.some(
      (one) => one.kind === "flow" && one.account === account && one.slot === slot && one.usd === usd,
    );
  }

  /** True if a flow of an account with this slot or an earlier one waits. */
  hasFlowUntil({ account, slot }: Place): boolean {
    return this.#records.some((one) => isFlow(one) && one.account === account && one.slot <= slot);
  }

  /** Adds a record. Above the maximum a record other than a flow is dropped, else that of the latest slot, which may be a wrong slot. */
  wait(record: CashRecord): void {
    const all = [...this.#records, record];
    if (all.length > maxAhead) {
      const spare = all.findIndex((one) => !isFlow(one));
      const lastSlot = Math.max(...all.map(({ slot }) => slot));
      all.splice(spare < 0 ? all.findIndex(({ slot }) => slot === lastSlot) : spare, 1);
    }
    this.#records = all;
  }

  /** Accounts of a PDA index that are not listed, with records up to the place of a complete answer. */
  unlistedUntil(pdaIndex: number, { slot, index }: StatePlace): ReadonlySet<string> {
    if (this.#records.length === 0) return nobody;
    const isLater = (one: CashRecord): boolean =>
      one.slot > slot || (one.slot === slot && isAfter(one, index) === true);
    const gone = new Set<string>();
    for (const one of this.#records)
      if (!isLater(one) && pdaIndexOf(one.account) === pdaIndex && !this.#states.isListed(one.account))
        gone.add(one.account);
    return gone;
  }

  /**
   * Removes the records that waited for a state of this slot. If the state has the collateral from before a flow, that flow and
   * later records stay; if it is the first flow of the slot, all records of the slot stay.
   */
  take(account: string, { slot, index: last }: StatePlace, balance: Balance): readonly CashRecord[] {
    if (this.#records.length === 0) return noRecords;
    const isKnown = (one: CashRecord): boolean =>
      isAfter(one, last) !== undefined && !isShownBy(balance, one);
    const isOf = (one: CashRecord): boolean => one.account === account && one.slot === slot && !isKnown(one);
    const flows = this.#records.filter((one) => isOf(one) && isFlow(one));
    const next = flows.find((one) => precedes(balance, one, 0));
    const fromIndex = next === undefined ? Number.POSITIVE_INFINITY : this.#records.indexOf(next);
    const waits = (one: CashRecord, index: number): boolean =>
      one.account !== account ||
      one.slot > slot ||
      (one.slot === slot && isKnown(one) && isAfter(one, last) === true) ||
      (isOf(one) && next !== undefined && (next === flows[0] || index >= fromIndex));
    const due = this.#records.filter((one, index) => !waits(one, index));
    if (due.length > 0) this.#records = this.#records.filter(waits);
    return due;
  }
}

/** True if a state has the collateral from after a flow, which is more certain than the slot that the state has. */
function isShownBy(balance: Balance | undefined, record: CashRecord): boolean {
  if (balance === undefined || record.kind !== "flow" || record.afterUsd === undefined) return false;
  return Math.abs(usdFromQuoteLots(balance.collateralQuoteLots) - record.afterUsd) <= exactUsd;
}
