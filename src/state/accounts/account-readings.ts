/** Figures that a reading of an account leaves, beside its state: its distances, sizes and collateral at that time. */

import { usdFromQuoteLots } from "../../margin/units.ts";
import type { SubjectNode } from "../subjects.ts";
import type { AccountEntry, AccountsSeen } from "./account-entry.ts";

/** The figures of a reading where none was kept. */
export const unread = { readDistance: Number.NaN, readMark: Number.NaN, leastDistance: Number.NaN };
/** Enough to look back from a collateral history that is read once a minute. */
const collateralsKept = 32;

/**
 * Keeps what a reading of an account says of its positions, once that is assessed: marks move on, readings may stop.
 * @param first only of positions of which nothing was kept: prices or terms came after their reading
 */
export function noteReading({ positions }: AccountEntry, first = false): void {
  for (const position of positions.values()) {
    if (first && !Number.isNaN(position.readDistance)) continue;
    const { liquidationDistance, markPrice } = position.node.facts.values;
    if (typeof liquidationDistance !== "number" || typeof markPrice !== "number") {
      // The figures of the reading before are not those of this one.
      Object.assign(position, unread);
      continue;
    }
    position.readDistance = liquidationDistance;
    position.leastDistance = liquidationDistance;
    position.readMark = markPrice;
  }
}

export function noteResized(account: AccountEntry, slot: number): void {
  account.sizesSlot = slot;
  account.moved = true;
}

export function noteCollateral(
  account: AccountEntry,
  { slot, slotIndex, exact = false }: AccountsSeen,
): void {
  const { risk, collaterals } = account;
  const usd = usdFromQuoteLots(risk.collateralQuoteLots);
  if (collaterals[collaterals.length - 1]?.usd === usd) return;
  account.collaterals = collaterals
    .slice(1 - collateralsKept)
    .concat({ slot, index: exact ? slotIndex : undefined, usd });
}

/** @param atMs as of when; an age that is not known is no figure */
export function openFacts({ facts, openedMs }: SubjectNode, atMs: number): void {
  if (openedMs !== null) facts.values.openedAgo = Math.max(0, atMs - openedMs);
}
