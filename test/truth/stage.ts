/**
 * The scenarios of the stage `truth`: sixty seeds that are the same each time, and fifty small ones that are played twice, in two
 * files, so that each of two processes plays half of them. Worlds of more than six wallets are left to `npm run truth`, which plays any.
 */
import { expect, test } from "vitest";
import { violations } from "./invariants.ts";
import { lineOf } from "./oracle/finding.ts";
import { judge } from "./oracle/judge.ts";
import { planOf, runScenario } from "./scenario.ts";

/** The first seeds whose worlds have no more wallets than that. */
function seeds(count: number, mostWallets: number): readonly number[] {
  const found: number[] = [];
  for (let seed = 1; found.length < count; seed++)
    if (planOf(seed).world.wallets.length <= mostWallets) found.push(seed);
  return found;
}

/** Tests of every other seed. @param half 0 or 1 */
export function playHalf(half: 0 | 1): void {
  const isOurs = (_: number, index: number): boolean => index % 2 === half;
  const once = seeds(60, 6).filter(isOurs);
  const twice = new Set(seeds(50, 2).filter(isOurs));
  test.each([...new Set([...once, ...twice])])("seed %i: nothing is wrong", async (seed) => {
    const outcome = await runScenario(planOf(seed));
    expect([...violations(outcome), ...judge(outcome).findings.map(lineOf)]).toEqual([]);
    if (twice.has(seed)) expect((await runScenario(planOf(seed))).digest).toBe(outcome.digest);
  });
}
