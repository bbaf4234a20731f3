/** Recorded runs of whole daemons, with crashes, reloads and faults, are decided today as on the day on which they were recorded. */
import { expect, test } from "vitest";
import { decide, decidedBefore, linesOf, readRun, recordedSeeds } from "./runs.ts";

test.each(recordedSeeds())("run %i", { timeout: 120_000 }, async (seed) => {
  expect(linesOf(await decide(readRun(seed)))).toEqual(decidedBefore(seed));
});
