/** Chooses, of many seeds, those whose plans let each trouble meet each feature of a world often enough, at little cost. */
import { pairsOf } from "./coverage.ts";
import type { Plan } from "./scenario.ts";

/** The time of a scenario grows with its wallets: so many wallets are as much as the rest of it. */
const restAsWallets = 2;

/**
 * Takes the plan that adds most to what is short, for its cost, again and again.
 * @param plans by seed   @param least scenarios for each pair, as far as there are any
 * @param met scenarios in which a pair has met already, by pair   @returns seeds in ascending order
 */
export function chosenSeeds(
  plans: ReadonlyMap<number, Plan>,
  least: number,
  met: ReadonlyMap<string, number> = new Map(),
): readonly number[] {
  const pairs = new Map([...plans].map(([seed, plan]) => [seed, pairsOf(plan)]));
  const there = new Map<string, number>();
  for (const found of pairs.values())
    for (const [pair, chance] of found) there.set(pair, (there.get(pair) ?? 0) + chance);
  const short = new Map(
    [...there].map(([pair, count]) => [pair, Math.min(count, least - (met.get(pair) ?? 0))]),
  );
  // A rare pair weighs more: common ones come with it.
  const gainOf = (seed: number): number => {
    let gain = 0;
    for (const [pair, chance] of pairs.get(seed)!)
      if (short.get(pair)! > 0) gain += chance / there.get(pair)!;
    return gain / (restAsWallets + plans.get(seed)!.world.wallets.length);
  };
  const left = [...plans.keys()]
    .map((seed) => ({ seed, gain: gainOf(seed) }))
    .sort((a, b) => a.gain - b.gain);
  const chosen: number[] = [];
  for (let last = left.pop(); last !== undefined && last.gain > 0; last = left.pop()) {
    const { seed } = last;
    const gain = gainOf(seed);
    // A gain only gets less: one that is as much as the next one was is the best.
    if (gain >= (left.at(-1)?.gain ?? 0)) {
      if (gain > 0) chosen.push(seed);
      for (const [pair, chance] of pairs.get(seed)!) short.set(pair, short.get(pair)! - chance);
    } else left.splice(placeOf(left, gain), 0, { seed, gain });
  }
  return chosen.sort((a, b) => a - b);
}

/** The place of a gain in an ascending list. */
function placeOf(list: readonly { readonly gain: number }[], gain: number): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (list[middle]!.gain < gain) from = middle + 1;
    else to = middle;
  }
  return from;
}
