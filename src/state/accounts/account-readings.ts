/** Figures that are recorded with each reading of an account: distances, sizes and collateral at that time. */

import { usdFromQuoteLots } from "../../margin/units.ts";
import type { SubjectNode } from "../subjects.ts";
import type { AccountEntry, AccountsSeen } from "./account-entry.ts";

/** The figures if none were recorded. */
export const unread = { readDistance: Number.NaN, readMark: Number.NaN, leastDistance: Number.NaN };
/** Maximum number of recorded collaterals: enough for a collateral history that is read once a minute. */
const collateralsKept = 32;

/**
 * Records the distances of an account's positions at a reading, after it was assessed. Marks move later, and readings may stop.
 * @param first only positions without a record: prices or terms came after their reading
 */
export function noteReading({ positions }: AccountEntry, first = false): void {
  for (const position of positions.values()) {
    if (first && !Number.isNaN(position.readDistance)) continue;
    const { liquidationDistance, markPrice } = position.node.facts.values;
    if (typeof liquidationDistance !== "number" || typeof markPrice !== "number") {
      // The figures of the previous reading do not apply to this one.
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

/** @param atMs time of the figures, ms; an unknown age is left out */
export function openFacts({ facts, openedMs }: SubjectNode, atMs: number): void {
  if (openedMs !== null) facts.values.openedAgo = Math.max(0, atMs - openedMs);
}
