/** Compares a state of an account with the previous one: the part that trades, funding and records do not explain is open. */

import { usdFromQuoteLots } from "../../../margin/units.ts";
import { type CashRecord, isFlow } from "../records/cash-record.ts";
import { isHandedIn, less } from "../records/explain-by-record.ts";
import type { LooseRecords } from "../records/loose-records.ts";
import { slotBefore } from "../records/record-order.ts";
import { type Balance, balanceChange, type Pricing, type TakenSpots } from "./balance-change.ts";
import type { ExplainedChanges } from "./explained-changes.ts";
import { joined, type OpenChange, type OpenPlace } from "./open-change.ts";
import type { OpenList } from "./open-list.ts";
import type { PlacedFlows } from "./placed-flows.ts";
import { isExplained } from "./unexplained-amount.ts";

const noRecords: readonly CashRecord[] = [];

export class StateComparison {
  readonly #open: OpenList;
  readonly #loose: LooseRecords;
  readonly #explained: ExplainedChanges;
  readonly #placed: PlacedFlows;

  constructor(options: {
    readonly open: OpenList;
    readonly loose: LooseRecords;
    readonly explained: ExplainedChanges;
    readonly placed: PlacedFlows;
  }) {
    this.#open = options.open;
    this.#loose = options.loose;
    this.#explained = options.explained;
    this.#placed = options.placed;
  }

  /**
   * @param waited records that waited for the second state
   * @param taken collateral in other assets that the second state no longer has
   * @returns true if it stays open
   */
  compare(
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
      // A slot may have several states: records after the first of them have the same slot.
      fromSlot: Math.min(fromSlot, toSlot - 1),
      ...{ ...change, readMs: at.atMs, waitedMs: 0, flowUsd: 0 },
      ...(taken === null ? {} : { taken }),
      beforeUsd: usdFromQuoteLots(before.collateralQuoteLots),
      ...(fromSlot < toSlot ? {} : { ofOneSlot: true }),
    };
    const isOfSlot = (one: OpenChange): boolean =>
      one.account === account && one.toSlot === toSlot && one.taken === undefined && !one.unlisted;
    // If the position of the first state is known, records can be assigned to one of two states of a slot.
    const isSame = fromSlot === toSlot && taken === null && at.fromIndex === undefined;
    const other = isSame ? this.#open.all.findLast(isOfSlot) : undefined;
    const former = other ?? (isSame ? this.#explained.ofSlot.findLast(isOfSlot) : undefined);
    const isBeside = (one: OpenChange): boolean => Object.keys(one.traded).length === 0 && !isExplained(one);
    const movedBeside = former !== undefined && (isBeside(own) || isBeside(former));
    const whole = this.#loose.lessTakeovers(
      former === undefined ? own : joined(former, movedBeside ? { ...own, movedBeside } : own),
    );
    const open = this.#loose.less(whole, fromSlot);
    if (other !== undefined) this.#open.set(this.#open.all.filter((one) => one !== other));
    // A deposit may have been withdrawn again before the state was read.
    if (taken === null && isExplained(open) && !waited.some(isFlow)) {
      const left = this.#lessAll(open, waited);
      if (!isExplained(left)) return this.add(left, noRecords) || other !== undefined;
      this.#explained.takeTrades(left, at.atMs);
      return other !== undefined;
    }
    return this.add(open, waited) || other !== undefined;
  }

  /** Takes the unexplained rest of the records of an account that was opened and closed between two answers. */
  compareUnlisted(at: OpenPlace, waited: readonly CashRecord[]): void {
    const nothing = { cashUsd: 0, traded: {}, slackUsd: 0, flowUsd: 0 };
    this.add({ ...at, ...nothing, readMs: at.atMs, waitedMs: 0, unlisted: true }, waited);
  }

  /** Adds a change less the part that records explain. @returns true if it stays open */
  add(change: OpenChange, records: readonly CashRecord[]): boolean {
    let open = this.#lessAll(change, records);
    if (!isExplained(open)) open = this.#loose.less(open, slotBefore(open));
    if (this.#explained.take(open, change.atMs)) return false;
    this.#open.add(open);
    return true;
  }

  /** Applies records, and keeps takeovers among them that the change does not show. */
  #lessAll(change: OpenChange, records: readonly CashRecord[]): OpenChange {
    let open = change;
    for (const record of records) {
      if (record.kind === "takeover") continue;
      this.#placed.take(change, record, change.untilMs ?? change.atMs);
      open = less(open, record);
    }
    // A fill that opened the position may be known together with its takeover, or later.
    for (const record of records) {
      if (record.kind !== "takeover") continue;
      if (record.handed !== undefined && !isHandedIn(open, record)) this.#loose.addTakeover(record);
      else open = less(open, record);
    }
    return open;
  }
}
