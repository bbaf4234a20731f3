/** The parts of a day for which loss is measured. */
import type { DayFlow } from "./day-book.ts";

/** A part of today, up to now, whose loss is measured against the capital at its beginning. */
export interface Stretch {
  /** Loss of the day at its beginning, USD; negative: profit. */
  readonly lossUsd: number;
  /** The highest equity within it at which the profit of today would have been 0, USD. */
  readonly capitalUsd: number;
}

/** Shared by the many wallets whose day is not known. */
export const noStretches: readonly Stretch[] = [];

/**
 * Returns the parts of a day for which loss is measured: the whole day, and one from each withdrawal on.
 *
 * @param onWithdrawal called with the last flow of each slot in which more was paid out than in
 */
export function stretchesOf(
  midnightUsd: number,
  flows: readonly DayFlow[],
  onWithdrawal: (flow: DayFlow) => void,
): readonly Stretch[] {
  const stretches = [{ lossUsd: 0, capitalUsd: midnightUsd }];
  const sorted = [...flows].sort((a, b) => a.slot - b.slot);
  let usd = midnightUsd;
  let slotUsd = 0;
  for (const [i, flow] of sorted.entries()) {
    slotUsd += flow.usd!;
    // Both sides of a transfer have the same slot.
    if (sorted[i + 1]?.slot === flow.slot) continue;
    usd += slotUsd;
    for (const one of stretches) one.capitalUsd = Math.max(one.capitalUsd, usd);
    if (slotUsd < 0) {
      onWithdrawal(flow);
      if (flow.lossUsd !== undefined) stretches.push({ lossUsd: flow.lossUsd, capitalUsd: usd });
    }
    slotUsd = 0;
  }
  return stretches;
}
