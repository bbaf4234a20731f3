/**
 * The scenarios of two stages, the same seeds each time: `truth` plays sixty and judges them, `repeat` plays fifty small ones twice.
 * Each stage has two files, so that each of two processes plays half. Larger worlds are left to `npm run truth`, which plays any.
 */
import { expect, test } from "vitest";
import { violations } from "./invariants.ts";
import { lineOf } from "./oracle/finding.ts";
import { judge } from "./oracle/judge.ts";
import { planOf, runScenario } from "./scenario.ts";

type Half = 0 | 1;

/** Every other one of the first seeds whose worlds have no more wallets than that. */
function seeds(count: number, mostWallets: number, half: Half): readonly number[] {
  const found: number[] = [];
  for (let seed = 1; found.length < count; seed++)
    if (planOf(seed).world.wallets.length <= mostWallets) found.push(seed);
  return found.filter((_, index) => index % 2 === half);
}

export function playHalf(half: Half): void {
  test.each(seeds(60, 3, half))("seed %i: nothing is wrong", async (seed) => {
    const outcome = await runScenario(planOf(seed));
    expect([...violations(outcome), ...judge(outcome).findings.map(lineOf)]).toEqual([]);
  });
}

export function repeatHalf(half: Half): void {
  test.each(seeds(50, 2, half))(
    "seed %i: the same observations, changes and messages again",
    async (seed) => {
      const { digest } = await runScenario(planOf(seed));
      expect((await runScenario(planOf(seed))).digest).toBe(digest);
    },
  );
}
