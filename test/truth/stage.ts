/**
 * The scenarios of two stages, the same seeds each time: `truth` plays sixty and judges them, `repeat` plays fifty of them again. Each
 * stage has two files, so that each of two processes plays half. Larger worlds are left to `npm run truth`, which plays any.
 */
import { expect, test } from "vitest";
import { Digests } from "./digests.ts";
import { violations } from "./invariants.ts";
import { lineOf } from "./oracle/finding.ts";
import { judge } from "./oracle/judge.ts";
import { planOf, runScenario } from "./scenario.ts";

type Half = 0 | 1;

const digests = new Digests();

/** Every other one of the first seeds with so many wallets. */
function seeds(count: number, wallets: readonly number[], half: Half): readonly number[] {
  const found: number[] = [];
  for (let seed = 1; found.length < count; seed++)
    if (wallets.includes(planOf(seed).world.wallets.length)) found.push(seed);
  return found.filter((_, index) => index % 2 === half);
}

const small = (count: number, half: Half): readonly number[] => seeds(count, [1, 2], half);
const larger = (half: Half): readonly number[] => seeds(4, [3], half);

export function playHalf(half: Half): void {
  test.each([...small(56, half), ...larger(half)])("seed %i: nothing is wrong", async (seed) => {
    const outcome = await runScenario(planOf(seed));
    digests.note(seed, outcome.digest);
    expect([...violations(outcome), ...judge(outcome).findings.map(lineOf)]).toEqual([]);
  });
}

export function repeatHalf(half: Half): void {
  test.each(small(50, half))("seed %i: the same observations, changes and messages again", async (seed) => {
    const first = digests.of(seed) ?? (await runScenario(planOf(seed))).digest;
    expect((await runScenario(planOf(seed))).digest).toBe(first);
  });
}
