/** Determines from the other side of a transfer if the state of its slot shows the flow. */

import type { Event } from "../../../domain/event.ts";
import type { WalletEntry } from "../../wallets/wallets.ts";
import type { FlowRecord } from "./cash-record.ts";
import { accountOf, otherSide, transferOf } from "./flows.ts";
import { exactUsd } from "./record-order.ts";

type Shown = Pick<FlowRecord, "shown" | "unshown">;

/**
 * Determines from the other side of a transfer if the state of its slot shows the flow: one answer contains both accounts. The
 * account's own collateral may not show it: fills of the slot may have changed it as well, and an account that returned what it
 * received has the earlier amount again.
 */
export function shownByOtherSide(
  { profit }: WalletEntry,
  event: Event,
  own: FlowRecord,
  read: readonly Event[],
): Shown {
  const other = transferOf(event) === null ? undefined : otherSide(event, read);
  const account = other === undefined ? null : accountOf(other);
  if (other === undefined || account === null || other.pdaIndex !== event.pdaIndex) return {};
  const { changes } = profit;
  const { after } = other.fields;
  if (typeof after !== "number" || after === own.afterUsd) return {};
  if (changes.states.slotOf(own.account) !== own.slot || changes.states.slotOf(account) !== own.slot)
    return isUndone(event, own, read) ? { shown: true } : {};
  const isAhead = changes.ahead.isAhead({
    kind: "flow",
    account,
    slot: own.slot,
    index: event.slotIndex,
    usd: -own.usd,
    afterUsd: after,
  });
  if (isAhead && !isUndone(other, { usd: -own.usd, afterUsd: after }, read)) return { unshown: true };
  return changes.ahead.isAhead(own) && isUndone(event, own, read) ? { shown: true } : {};
}

/** True if a later row of the slot returns an account to its collateral from before a flow. */
function isUndone(
  event: Event,
  { usd, afterUsd = Number.NaN }: Pick<FlowRecord, "usd" | "afterUsd">,
  read: readonly Event[],
): boolean {
  return read.some((one) => {
    const { after } = one.fields;
    if (one.slot !== event.slot || accountOf(one) !== accountOf(event)) return false;
    if ((one.slotIndex - event.slotIndex || one.eventIndex - event.eventIndex) <= 0) return false;
    return typeof after === "number" && Math.abs(after - (afterUsd - usd)) <= exactUsd;
  });
}
