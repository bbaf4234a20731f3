/** Order of records and states of an account: by slot, by position within the slot, and by the collateral that they state. Pure. */

import { usdFromQuoteLots } from "../../../margin/units.ts";
import type { Balance } from "../changes/balance-change.ts";
import type { OpenChange, OpenPlace } from "../changes/open-change.ts";
import type { CashRecord, Place } from "./cash-record.ts";

/** Tolerance for amounts, USD: they are multiples of 10⁻⁶ USD, read as doubles. */
export const exactUsd = 5e-7;

/** True if a record belongs to a change, or may belong to it. */
export function isWithin(change: OpenPlace, record: Place): boolean {
  if (record.account !== change.account || isAfterLast(change, record)) return false;
  return isAfterFirst(change, record) ?? record.slot > change.fromSlot;
}

/** True if a record is known to be later than the state after a change. */
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

/** True if a record has the slot of the state before a change, and may be later than that state. */
export function isOfSlotBefore(change: OpenPlace, record: Place): boolean {
  return (
    record.account === change.account &&
    record.slot === slotBefore(change) &&
    isAfterFirst(change, record) === undefined &&
    !isAfterLast(change, record)
  );
}

/** True if a record with the slot of the state after a change may be later than that state. */
export function isOfSlotAfter({ account, toSlot, toIndex }: OpenPlace, record: Place): boolean {
  return record.account === account && record.slot === toSlot && isAfter(record, toIndex) === undefined;
}

/** True if a change contains another one of its account and slot. Without known positions, records do not distinguish the two. */
export function contains(change: OpenChange, other: OpenChange): boolean {
  const { account, toSlot, fromIndex, ofOneSlot = false } = change;
  if (other.account !== account || other.toSlot !== toSlot) return false;
  return !ofOneSlot || fromIndex === undefined || other.fromIndex === fromIndex;
}

/** True if a record in the slot of a state is later than that state; undefined: not known. @param index of the state */
export function isAfter(record: Place, index: number | undefined): boolean | undefined {
  return index === undefined || record.index === undefined ? undefined : record.index > index;
}

/** The same for the state before a change; undefined also if it has another slot. */
function isAfterFirst(change: OpenPlace, record: Place): boolean | undefined {
  return record.slot === slotBefore(change) ? isAfter(record, change.fromIndex) : undefined;
}

/** True if a balance is that from before a flow. @param usd flows between the two */
export function precedes({ collateralQuoteLots }: Balance, record: CashRecord, usd: number): boolean {
  return isOf(usdFromQuoteLots(collateralQuoteLots) + usd, record);
}

/** True if collateral, USD, is that from before a flow. */
function isOf(collateralUsd: number, record: CashRecord): boolean {
  if (record.kind !== "flow" || record.afterUsd === undefined) return false;
  return Math.abs(collateralUsd - (record.afterUsd - record.usd)) <= exactUsd;
}

/** True if a flow in the slot of the state before a change is later than that state. */
export function isFlowBefore(open: OpenChange, record: CashRecord): boolean {
  const { account, beforeUsd } = open;
  if (record.account !== account || record.slot !== slotBefore(open)) return false;
  const isLater = isAfterFirst(open, record);
  if (isLater !== undefined) return isLater && isWithin(open, record);
  if (record.kind === "flow" && record.shown) return false;
  return beforeUsd !== undefined && isOf(beforeUsd, record);
}

/** Finds a flow of a size, USD, that comes after the state before a change and before all other flows; undefined: does not fit. */
export function firstFlowOf(
  { beforeUsd }: OpenChange,
  sizeUsd: number,
  afterUsd: number,
): number | undefined {
  if (beforeUsd === undefined) return undefined;
  return [sizeUsd, -sizeUsd].find((usd) => Math.abs(beforeUsd + usd - afterUsd) <= exactUsd);
}
