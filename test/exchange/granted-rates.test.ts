/** The search for the granted rate against limiters of several kinds, over the rates that matter; in virtual time. */
import { describe, expect, test } from "vitest";
import { type Limiter, Load, slidingWindow, tokenBucket } from "./granted-rates.ts";

const grants = [0.5, 0.8, 1, 1.2, 1.4, 1.5, 2, 3, 5, 10, 20, 40];

const limiters: readonly (readonly [string, (perSecond: number) => Limiter])[] = [
  ["a strict bucket", (perSecond) => tokenBucket(perSecond, Math.max(1, perSecond / 5))],
  ["a bucket of one second", (perSecond) => tokenBucket(perSecond, Math.max(1, perSecond))],
  // As observed: two of five requests back to back are refused.
  ["a bucket of three requests", (perSecond) => tokenBucket(perSecond, 3)],
  ["a window of ten seconds", (perSecond) => slidingWindow(10 * perSecond, 10_000)],
  ["a window of a minute", (perSecond) => slidingWindow(60 * perSecond, 60_000)],
];

const seconds = (waitMs: number) => Math.ceil(waitMs / 1_000) * 1_000;

describe.each(limiters)("%s", (_, limiter) => {
  test.each(grants)(
    "of %d requests a second: nine tenths are used all the time, few are refused",
    async (perSecond) => {
      for (const header of [seconds, () => null]) {
        const load = new Load(limiter(perSecond), header);
        // A window of a minute takes some minutes to find out.
        await load.pass(600_000);
        const steady = { answered: 0, refused: 0 };
        for (let minute = 0; minute < 5; minute++) {
          const { answered, refused, maxGapMs } = await load.pass(60_000);
          steady.answered += answered;
          steady.refused += refused;
          expect(answered).toBeGreaterThan(0.83 * perSecond * 60);
          // Refusal, pause, and the answer to the probe.
          expect(maxGapMs).toBeLessThan(2 * (1_000 / perSecond) + 2_500);
          expect(load.budget.ratePerSecond).toBeGreaterThan(0.7 * perSecond);
          expect(load.budget.ratePerSecond).toBeLessThan(1.2 * perSecond);
        }
        const share = steady.answered / (perSecond * 300);
        expect(share).toBeGreaterThan(0.9);
        expect(steady.refused).toBeLessThanOrEqual(12);
      }
    },
  );
});
