/** Comparison of an account's states between answers. */

import type { PositionState, SubaccountState } from "../../domain/account.ts";
import { symbolKey } from "../../domain/symbol.ts";
import type { AccountEntry, PositionEntry } from "./account-entry.ts";

/** True if a list has these positions at the same indices: their figures are then overwritten, not created anew. */
export function listsAll(list: unknown, positions: ReadonlyMap<string, PositionEntry>): boolean {
  if (!Array.isArray(list) || list.length !== positions.size) return false;
  let index = 0;
  for (const { node } of positions.values()) if (list[index++] !== node.facts.values) return false;
  return true;
}

/** True if the newest answer contains each known position. */
export function holdsAll({ positions, state }: AccountEntry): boolean {
  let index = 0;
  for (const symbol of positions.keys()) {
    // The order is usually the same.
    const likely = state.positions[index++];
    if (likely !== undefined && likely.baseLots !== 0n && symbolKey(likely.symbol) === symbol) continue;
    if (!holds(state, symbol)) return false;
  }
  return true;
}

export function holds({ positions }: SubaccountState, symbol: string): boolean {
  return positions.some((one) => one.baseLots !== 0n && symbolKey(one.symbol) === symbol);
}

/** Compares spot balances. States share unchanged arrays, but not with states of another source: then balances are compared. */
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

/** True if no funding accrued or was settled, and nothing was traded. Live states share unchanged arrays, recorded ones do not. */
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

/** True if it is the same position. Called for each answer: compares the parts of the name first, and creates no name. */
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

/** The name that distinguishes a position from an earlier one of the same market. */
export function incarnationOf(position: PositionState): string {
  return `${sideOf(position)} ${position.sequence}`;
}

export function sideOf(position: PositionState): "long" | "short" {
  return position.baseLots > 0n ? "long" : "short";
}
