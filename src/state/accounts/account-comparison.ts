/** Comparison of an account's states, from answer to answer. */

import type { PositionState, SubaccountState } from "../../domain/account.ts";
import { symbolKey } from "../../domain/symbol.ts";
import type { AccountEntry, PositionEntry } from "./account-entry.ts";

/** True if a list holds these positions, each in its place: their figures are written over, not made anew. */
export function listsAll(list: unknown, positions: ReadonlyMap<string, PositionEntry>): boolean {
  if (!Array.isArray(list) || list.length !== positions.size) return false;
  let index = 0;
  for (const { node } of positions.values()) if (list[index++] !== node.facts.values) return false;
  return true;
}

/** True if each position that was known is one that the newest answer tells of. */
export function holdsAll({ positions, state }: AccountEntry): boolean {
  let index = 0;
  for (const symbol of positions.keys()) {
    // Mostly they stand in the same order.
    const likely = state.positions[index++];
    if (likely !== undefined && likely.baseLots !== 0n && symbolKey(likely.symbol) === symbol) continue;
    if (!holds(state, symbol)) return false;
  }
  return true;
}

export function holds({ positions }: SubaccountState, symbol: string): boolean {
  return positions.some((one) => one.baseLots !== 0n && symbolKey(one.symbol) === symbol);
}

/** Answers share what did not change, but not with those of another source: then the balances tell. */
export function hasSameSpot(
  a: SubaccountState["spotCollaterals"],
  b: SubaccountState["spotCollaterals"],
): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  return a.every(
    ({ assetIndex, balance }, index) => assetIndex === b[index]!.assetIndex && balance === b[index]!.balance,
  );
}

/** True if no funding accrued or was settled, and nothing was traded. Answers share what did not change, recorded ones do not. */
export function hasSameFunding(a: readonly PositionState[], b: readonly PositionState[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  return a.every((one, index) => {
    const other = b[index]!;
    return (
      one.symbol === other.symbol &&
      one.sequence === other.sequence &&
      one.baseLots === other.baseLots &&
      one.virtualQuoteLots === other.virtualQuoteLots &&
      one.unsettledFundingQuoteLots === other.unsettledFundingQuoteLots &&
      one.accumulatedFundingQuoteLots === other.accumulatedFundingQuoteLots
    );
  });
}

/** True if it is still that position. Asked with each answer: mostly what made its name tells, and no name is made. */
export function isSameOne({ state, node }: PositionEntry, position: PositionState): boolean {
  const { sequence } = position;
  if (
    node.incarnation.endsWith(sequence) &&
    state.sequence === sequence &&
    sideOf(state) === sideOf(position)
  )
    return true;
  return node.incarnation === incarnationOf(position);
}

/** Tells a position from the one of its name before it. */
export function incarnationOf(position: PositionState): string {
  return `${sideOf(position)} ${position.sequence}`;
}

export function sideOf(position: PositionState): "long" | "short" {
  return position.baseLots > 0n ? "long" : "short";
}
