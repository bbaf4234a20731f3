/** Order of the records and the states of an account: by slot, by place within it, and by the collateral that they state. Pure. */

import { usdFromQuoteLots } from "../../../margin/units.ts";
import type { Balance } from "../changes/balance-change.ts";
import type { OpenChange, OpenPlace } from "../changes/open-change.ts";
import type { CashRecord, Place } from "./cash-record.ts";

/** Amounts are multiples of 10⁻⁶ USD, read as doubles. */
export const exactUsd = 5e-7;

/** True if a record is of a change, or may be. */
export function isWithin(change: OpenPlace, record: Place): boolean {
  if (record.account !== change.account || isAfterLast(change, record)) return false;
  return isAfterFirst(change, record) ?? record.slot > change.fromSlot;
}

/** True if a record is known to have come after the state after a change. */
export function isAfterLast({ toSlot, toIndex }: OpenPlace, record: Place): boolean {
  return record.slot > toSlot || (record.slot === toSlot && isAfter(record, toIndex) === true);
}

/** The slot of the state before a change. */
export function slotBefore({
  fromSlot,
  toSlot,
  ofOneSlot = false,
}: Pick<OpenPlace, "fromSlot" | "toSlot" | "ofOneSlot">): number {
  return ofOneSlot ? toSlot : fromSlot;
}

/** True if a record is of the slot of the state before a change, and may have come after that state. */
export function isOfSlotBefore(change: OpenPlace, record: Place): boolean {
  return (
    record.account === change.account &&
    record.slot === slotBefore(change) &&
    isAfterFirst(change, record) === undefined &&
    !isAfterLast(change, record)
  );
}

/** True if a record of the slot of the state after a change may have come after that state. */
export function isOfSlotAfter({ account, toSlot, toIndex }: OpenPlace, record: Place): boolean {
  return record.account === account && record.slot === toSlot && isAfter(record, toIndex) === undefined;
}

/** True if a change contains another one of its account and slot: no record tells two states apart whose places are not known. */
export function contains(change: OpenChange, other: OpenChange): boolean {
  const { account, toSlot, fromIndex, ofOneSlot = false } = change;
  if (other.account !== account || other.toSlot !== toSlot) return false;
  return !ofOneSlot || fromIndex === undefined || other.fromIndex === fromIndex;
}

/** True if a record of the slot of a state came after that state; undefined: it is not known. @param index of the state */
export function isAfter(record: Place, index: number | undefined): boolean | undefined {
  return index === undefined || record.index === undefined ? undefined : record.index > index;
}

/** The same of the state before a change; undefined also where it is of another slot. */
function isAfterFirst(change: OpenPlace, record: Place): boolean | undefined {
  return record.slot === slotBefore(change) ? isAfter(record, change.fromIndex) : undefined;
}

/** True if a balance is that of before a flow. @param usd flows between the two */
export function precedes({ collateralQuoteLots }: Balance, record: CashRecord, usd: number): boolean {
  return isOf(usdFromQuoteLots(collateralQuoteLots) + usd, record);
}

/** True if collateral, in USD, is that of before a flow. */
function isOf(collateralUsd: number, record: CashRecord): boolean {
  if (record.kind !== "flow" || record.afterUsd === undefined) return false;
  return Math.abs(collateralUsd - (record.afterUsd - record.usd)) <= exactUsd;
}

/** True if a flow of the slot of the state before a change came after that state. */
export function isFlowBefore(open: OpenChange, record: CashRecord): boolean {
  const { account, beforeUsd } = open;
  if (record.account !== account || record.slot !== slotBefore(open)) return false;
  const isLater = isAfterFirst(open, record);
  if (isLater !== undefined) return isLater && isWithin(open, record);
  if (record.kind === "flow" && record.shown) return false;
  return beforeUsd !== undefined && isOf(beforeUsd, record);
}

/** A flow of a size, USD, that came after the state before a change and before all others; undefined: that does not fit. */
export function firstFlowOf(
  { beforeUsd }: OpenChange,
  sizeUsd: number,
  afterUsd: number,
): number | undefined {
  if (beforeUsd === undefined) return undefined;
  return [sizeUsd, -sizeUsd].find((usd) => Math.abs(beforeUsd + usd - afterUsd) <= exactUsd);
}
