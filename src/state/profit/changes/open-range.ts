/** The range of flows that open changes may be together. Pure. */
import type { OpenChange } from "./open-change.ts";
import { centUsd, slackOf, takenUsdOf, unexplainedUsd } from "./unexplained-amount.ts";

/** The sides of a transfer are the same to this share of it, however rough the estimates are that stand in them. */
const transferSlack = 0.1;
/** Rough estimates tell a transfer only of a time as short as this, in slots: in a longer one there may be flows of any kind. */
const roughSlots = 50;

/** The amounts between which the flows lie that open changes are, USD; both 0: nothing is open. */
export interface OpenRange {
  /** At most so much came in; not negative. */
  readonly inUsd: number;
  /** At most so much went out; not positive. */
  readonly outUsd: number;
}

export const nothingOpen: OpenRange = { inUsd: 0, outUsd: 0 };

/** The sides of transfers come to nothing: those first that come nearest to it. */
export function rangeOf(changes: readonly OpenChange[]): OpenRange {
  if (changes.length === 0) return nothingOpen;
  if (isTransfer(changes)) return nothingOpen;
  const left = new Set(changes);
  const pairs = changes.flatMap((one, index) =>
    changes.slice(index + 1).flatMap((other) => {
      const apartUsd = Math.abs(unexplainedUsd(one) + unexplainedUsd(other));
      return isTransfer([one, other]) ? [{ one, other, apartUsd }] : [];
    }),
  );
  for (const { one, other } of pairs.sort((a, b) => a.apartUsd - b.apartUsd)) {
    if (!left.has(one) || !left.has(other)) continue;
    left.delete(one);
    left.delete(other);
  }
  let inUsd = 0;
  let outUsd = 0;
  for (const one of left) {
    const usd = unexplainedUsd(one);
    const takenUsd = takenUsdOf(one);
    inUsd += Math.max(0, usd - takenUsd);
    outUsd += Math.min(0, usd) - takenUsd;
  }
  return { inUsd, outUsd };
}

/** True if these changes can be the sides of transfers between accounts: they are of one time, and come to nothing together. */
function isTransfer(changes: readonly OpenChange[]): boolean {
  let usd = 0;
  let slackUsd = 0;
  let movedUsd = 0;
  let fromSlot = Number.NEGATIVE_INFINITY;
  let toSlot = Number.POSITIVE_INFINITY;
  let mostSlots = 0;
  for (const one of changes) {
    if (takenUsdOf(one) > 0) return false;
    const own = unexplainedUsd(one);
    usd += own;
    movedUsd += Math.abs(own) / 2;
    slackUsd += slackOf(one);
    fromSlot = Math.max(fromSlot, one.fromSlot);
    toSlot = Math.min(toSlot, one.toSlot);
    mostSlots = Math.max(mostSlots, one.toSlot - one.fromSlot);
  }
  if (fromSlot >= toSlot) return false;
  // A trade is estimated at the mark of now, which may be far from that of its time where nothing was read for long.
  const roughUsd = mostSlots > roughSlots ? 0 : movedUsd * transferSlack;
  return Math.abs(usd) <= Math.min(slackUsd, centUsd + roughUsd);
}

export function isOpen({ inUsd, outUsd }: OpenRange): boolean {
  return inUsd !== 0 || outUsd !== 0;
}
