/** Funding that was settled with a position between two states that the daemon had: neither of them shows it. */
import type { AccountTruth, PositionTruth } from "./truth.ts";

/** The share of the entry value of what the earlier state held that is reckoned with, whatever the rate. */
const leastShare = 0.0005;
/** It may be worth less by the mark. */
const room = 0.9;

/**
 * True if positions that a later state has no longer paid or received more since an earlier one than is reckoned with. It may grow in
 * between.
 * @param stopped the daemon was stopped after the earlier one: it keeps a state only where more than funding changed, and rates of
 * before are not known
 */
export function hidesFunding(
  states: readonly AccountTruth[],
  earlier: number,
  later: number,
  stopped: boolean,
): boolean {
  const fromSequence = stopped ? keptOf(states, earlier) : earlier;
  const between = states.filter(({ sequence }) => sequence >= fromSequence && sequence <= later);
  const [first, last] = [between[0], between.at(-1)];
  if (first === undefined || last === undefined) return false;
  let [hidden, most] = [0, 0];
  for (const position of first.positions) {
    if (sameAs(position, last)) continue;
    for (const [index, state] of between.entries()) {
      const [before, now] = [index > 0 && sameAs(position, between[index - 1]!), sameAs(position, state)];
      // A trade settles what was there.
      if (!before || !now || before.baseLots !== now.baseLots) continue;
      hidden += Number(now.unsettledFunding - before.unsettledFunding);
    }
    if (!stopped) most += room * leastShare * Math.abs(Number(position.virtualQuoteLots));
  }
  return Math.abs(hidden) > most;
}

/** Sequence of the first of the states that differ by nothing but funding from the one with a sequence. */
function keptOf(states: readonly AccountTruth[], sequence: number): number {
  const sizesOf = ({ collateral, positions }: AccountTruth): string =>
    [collateral, ...positions.map((one) => `${one.symbol} ${one.sequence} ${one.baseLots}`)].join();
  let index = states.findLastIndex((one) => one.sequence <= sequence);
  while (index > 0 && sizesOf(states[index - 1]!) === sizesOf(states[index]!)) index--;
  return states[index]?.sequence ?? sequence;
}

function sameAs({ symbol, sequence }: PositionTruth, { positions }: AccountTruth): PositionTruth | undefined {
  return positions.find((one) => one.symbol === symbol && one.sequence === sequence);
}
