/** Funding that was settled with a position between two states that the daemon had: neither of them shows it. */
import type { AccountTruth, PositionTruth } from "./truth.ts";

/** Payments that are reckoned with, on what the earlier state held. */
const payments = 2;

/**
 * True if positions that a later state has no longer paid or received more since an earlier one than some payments on what they held
 * then. It may grow in between.
 */
export function hidesFunding(states: readonly AccountTruth[], earlier: number, later: number): boolean {
  const between = states.filter(({ sequence }) => sequence >= earlier && sequence <= later);
  const [first, last] = [between[0], between.at(-1)];
  if (first === undefined || last === undefined) return false;
  let [hidden, most] = [0, 0];
  for (const position of first.positions) {
    if (sameAs(position, last)) continue;
    let perLot = 0;
    for (const [index, state] of between.entries()) {
      const [before, now] = [index > 0 && sameAs(position, between[index - 1]!), sameAs(position, state)];
      // A trade settles what was there.
      if (!before || !now || before.baseLots !== now.baseLots) continue;
      const paid = Number(now.unsettledFunding - before.unsettledFunding);
      hidden += paid;
      perLot = Math.max(perLot, Math.abs(paid / Number(now.baseLots)));
    }
    most += payments * perLot * Math.abs(Number(position.baseLots));
  }
  return Math.abs(hidden) > most;
}

function sameAs({ symbol, sequence }: PositionTruth, { positions }: AccountTruth): PositionTruth | undefined {
  return positions.find((one) => one.symbol === symbol && one.sequence === sequence);
}
