/** Tells of the flow of a transfer by its other side: the state of its slot does not show it, or does. */

import type { Event } from "../../../domain/event.ts";
import type { WalletEntry } from "../../wallets/wallets.ts";
import type { FlowRecord } from "./cash-record.ts";
import { accountOf, otherSide, transferOf } from "./flows.ts";
import { exactUsd } from "./record-order.ts";

type Shown = Pick<FlowRecord, "shown" | "unshown">;

/**
 * Tells by the other side of a transfer that the state of its slot does not show a flow, or does: one answer tells of both accounts.
 * Fills of the slot may have changed the collateral beside it, and an account that gave back what it was given has what it had, so
 * that its own does not tell.
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

/** True if an account has again what it had before a flow, by a later row of its slot. */
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
