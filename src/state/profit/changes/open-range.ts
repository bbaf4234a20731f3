/** The range of the flows that open changes may be in sum. Pure. */
import type { OpenChange } from "./open-change.ts";
import { centUsd, slackOf, takenUsdOf, unexplainedUsd } from "./unexplained-amount.ts";

/** Maximum difference between the sides of a transfer, a share of it, whatever the error of the estimates. */
const transferSlack = 0.1;
/** Maximum duration in slots for which rough estimates can show a transfer: a longer one may contain flows of any kind. */
const roughSlots = 50;

/** The range of the flows that open changes may be, USD; both 0: nothing is open. */
export interface OpenRange {
  /** Maximum amount paid in; not negative. */
  readonly inUsd: number;
  /** Maximum amount paid out; not positive. */
  readonly outUsd: number;
}

export const nothingOpen: OpenRange = { inUsd: 0, outUsd: 0 };

/** Sides of transfers cancel each other out: those with the smallest sum are matched first. */
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

/** True if these changes can be the sides of transfers between accounts: they have one time, and their sum is about 0. */
function isTransfer(changes: readonly OpenChange[]): boolean {
  let usd = 0;
  let slackUsd = 0;
  let movedUsd = 0;
  let fromSlot = Number.NEGATIVE_INFINITY;
  let toSlot = Number.POSITIVE_INFINITY;
  let maxSlots = 0;
  for (const one of changes) {
    if (takenUsdOf(one) > 0) return false;
    const own = unexplainedUsd(one);
    usd += own;
    movedUsd += Math.abs(own) / 2;
    slackUsd += slackOf(one);
    fromSlot = Math.max(fromSlot, one.fromSlot);
    toSlot = Math.min(toSlot, one.toSlot);
    maxSlots = Math.max(maxSlots, one.toSlot - one.fromSlot);
  }
  if (fromSlot >= toSlot) return false;
  // A trade is estimated at the present mark, which may be far from that of its time if nothing was read for long.
  const roughUsd = maxSlots > roughSlots ? 0 : movedUsd * transferSlack;
  return Math.abs(usd) <= Math.min(slackUsd, centUsd + roughUsd);
}

export function isOpen({ inUsd, outUsd }: OpenRange): boolean {
  return inUsd !== 0 || outUsd !== 0;
}
