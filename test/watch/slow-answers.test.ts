/**
 * Answers that arrive more slowly than `staleAfter`. Time counts for `for` and `keepFiringFor` up to the moment at which
 * the last answer became stale, and a source that is stale for 30 s of any two minutes is reported.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Harness, position, subaccount } from "./harness.ts";

/** Inputs are stale after three intervals of their schedule. */
const staleAfterMs = 15_000;
const near = (forText: string, keepFiringFor: string, noData = "keep"): string => `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    for: ${forText}
    keepFiringFor: ${keepFiringFor}
    noData: ${noData}
    summary: "near"
`;
const held = [position(100, 150)];
const endangered = [subaccount(1_000, held)];
const safe = [subaccount(5_000, held)];

function answer(h: Harness, accounts = endangered): void {
  h.config();
  h.mark(150);
  h.account(accounts);
}

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

describe("a rule that is true in every answer", () => {
  test.each([16, 20, 30, 44])("fires with answers every %i s", (everyS) => {
    const h = new Harness({ rules: near("1m", "0s") });
    // 15 s of each interval count: 60 s are reached 15 s after the fourth answer.
    for (let i = 0; i < 4; i++) {
      answer(h);
      expect(h.told).toEqual([]);
      h.pass(everyS * 1_000);
    }
    // The last span ends at the very moment of staleness, at which the answer still counts.
    expect(h.told).toEqual(["Near main/0.0/SOL fired critical"]);
  });

  test("ends after it recovered, with answers every 44 s", () => {
    const h = new Harness({ rules: near("0s", "1m") });
    answer(h);
    expect(h.told).toEqual(["Near main/0.0/SOL fired critical"]);
    for (let i = 0; i < 4; i++) {
      h.pass(44_000);
      answer(h, safe);
    }
    expect(h.told).toHaveLength(1);
    h.pass(14_999);
    expect(h.told).toHaveLength(1);
    h.pass(1);
    expect(h.told.at(-1)).toBe("Near main/0.0/SOL ended critical recovered");
  });

  test("counts the fresh part of every interval and nothing else, whatever the intervals and restarts", () => {
    const gaps = fc.array(fc.record({ gapS: fc.integer({ min: 1, max: 60 }), restart: fc.boolean() }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 5, max: 120 }), (list, forS) => {
        let h = new Harness({ rules: near(`${forS}s`, "0s") });
        let knownMs = 0;
        let fired = false;
        answer(h);
        for (const { gapS, restart } of list) {
          const gapMs = gapS * 1_000;
          h.pass(gapMs);
          fired ||= h.told.includes("Near main/0.0/SOL fired critical");
          const spanMs = Math.min(gapMs, staleAfterMs);
          expect(fired).toBe(knownMs + spanMs >= forS * 1_000);
          if (fired) return;
          // What is stored includes the span up to staleness, once it is over.
          const stored = gapMs > staleAfterMs;
          if (!restart || stored) knownMs += spanMs;
          if (restart)
            h = new Harness({ rules: near(`${forS}s`, "0s"), remembered: h.remembered, atMs: h.nowMs });
          answer(h);
        }
      }),
      { seed, numRuns: 200 },
    );
  });

  test("does not count the time in which the process stood still", () => {
    const h = new Harness({ rules: near("40s", "0s") });
    answer(h);
    h.nowMs += 600_000;
    h.see({ kind: "time", atMs: h.nowMs });
    for (let i = 0; i < 2; i++) {
      answer(h);
      h.pass(20_000);
    }
    answer(h);
    h.pass(9_999);
    expect(h.told).toEqual([]);
    h.pass(1);
    expect(h.told).toEqual(["Near main/0.0/SOL fired critical"]);
  });
});
