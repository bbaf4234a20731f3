/**
 * The scenarios of the stage `truth`: sixty seeds that are the same each time, in two files, so that each of two processes plays
 * half of them. Worlds of more than six wallets are left to `npm run truth`, which plays any.
 */
import { expect, test } from "vitest";
import { violations } from "./invariants.ts";
import { lineOf } from "./oracle/finding.ts";
import { judge } from "./oracle/judge.ts";
import { planOf, runScenario } from "./scenario.ts";

const count = 60;
const mostWallets = 6;

function seeds(): readonly number[] {
  const found: number[] = [];
  for (let seed = 1; found.length < count; seed++)
    if (planOf(seed).world.wallets.length <= mostWallets) found.push(seed);
  return found;
}

/** Tests of every other seed. @param half 0 or 1 */
export function playHalf(half: 0 | 1): void {
  test.each(seeds().filter((_, index) => index % 2 === half))("seed %i: nothing is wrong", async (seed) => {
    const outcome = await runScenario(planOf(seed));
    expect([...violations(outcome), ...judge(outcome).findings.map(lineOf)]).toEqual([]);
  });
}
