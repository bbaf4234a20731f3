import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  firingSeverity,
  type Judged,
  type Lifecycle,
  type LifecycleRule,
  newLifecycle,
  nextDeadlineMs,
  step,
} from "../../src/alerts/lifecycle.ts";
import type { Severity } from "../../src/domain/alerts/alert.ts";

const oneLevel = (forMs: number, keepFiringForMs: number): LifecycleRule => ({
  levels: [{ severity: "critical" }],
  forMs,
  keepFiringForMs,
});
const threeLevels: LifecycleRule = {
  levels: [{ severity: "info" }, { severity: "warning" }, { severity: "critical" }],
  forMs: 0,
  keepFiringForMs: 10_000,
};
const known = (severity: Severity | null): Judged => ({ known: true, severity });
const unknown: Judged = { known: false };

/** Runs judgements `[second, judged]` and writes down what happened, as `second transition`. */
function run(rule: LifecycleRule, judged: readonly (readonly [number, Judged])[]): string[] {
  let state = newLifecycle(rule, 0);
  const happened: string[] = [];
  for (const [second, one] of judged) {
    const next = step(state, one, rule, second * 1_000);
    state = next.state;
    if (next.transition !== "none") {
      const severity = firingSeverity(state.levels);
      happened.push(`${second} ${next.transition}${severity ? ` ${severity}` : ""}`);
    }
  }
  return happened;
}

describe("one level", () => {
  test.each<[string, LifecycleRule, readonly (readonly [number, Judged])[], string[]]>([
    ["fires at once without `for`", oneLevel(0, 0), [[1, known("critical")]], ["1 fired critical"]],
    [
      "is pending until it has held for `for`",
      oneLevel(10_000, 0),
      [
        [1, known("critical")],
        [6, known("critical")],
        [11, known("critical")],
      ],
      ["1 pending", "11 fired critical"],
    ],
    [
      "starts anew when it was gone in between",
      oneLevel(10_000, 0),
      [
        [1, known("critical")],
        [6, known(null)],
        [7, known("critical")],
        [12, known("critical")],
        [17, known("critical")],
      ],
      ["1 pending", "6 cleared", "7 pending", "17 fired critical"],
    ],
    [
      "does not count blind time, and does not start anew because of it",
      oneLevel(10_000, 0),
      [
        [1, known("critical")],
        [6, known("critical")],
        [8, unknown],
        [100, known("critical")],
        [104, known("critical")],
        [105, known("critical")],
      ],
      ["1 pending", "105 fired critical"],
    ],
    [
      "ends when it has been gone for `keepFiringFor`",
      oneLevel(0, 10_000),
      [
        [1, known("critical")],
        [5, known(null)],
        [10, known(null)],
        [15, known(null)],
      ],
      ["1 fired critical", "15 ended"],
    ],
    [
      "keeps firing when it comes back in time",
      oneLevel(0, 10_000),
      [
        [1, known("critical")],
        [5, known(null)],
        [14, known("critical")],
        [20, known(null)],
        [29, known(null)],
        [30, known(null)],
      ],
      ["1 fired critical", "30 ended"],
    ],
    [
      "never ends while blind",
      oneLevel(0, 10_000),
      [
        [1, known("critical")],
        [5, known(null)],
        [6, unknown],
        [500, unknown],
        [501, known(null)],
        [509, known(null)],
        [511, known(null)],
      ],
      ["1 fired critical", "511 ended"],
    ],
    ["does not fire on an unknown", oneLevel(0, 0), [[1, unknown]], []],
  ])("%s", (_, rule, judged, happened) => {
    expect(run(rule, judged)).toEqual(happened);
  });
});

describe("levels", () => {
  test("rise at once, fall after `keepFiringFor`, end as one alert", () => {
    const judged: (readonly [number, Judged])[] = [
      [1, known("info")],
      [2, known("critical")],
      [3, known("warning")],
      [12, known("warning")],
      [13, known("warning")],
      [14, known(null)],
      [24, known(null)],
    ];
    expect(run(threeLevels, judged)).toEqual([
      "1 fired info",
      "2 rose critical",
      "13 fell warning",
      "24 ended",
    ]);
  });

  test("hold `for` each on its own", () => {
    const rule: LifecycleRule = { ...threeLevels, forMs: 10_000 };
    const judged: (readonly [number, Judged])[] = [
      [0, known("info")],
      [8, known("critical")],
      [10, known("critical")],
      [18, known("critical")],
    ];
    expect(run(rule, judged)).toEqual(["0 pending", "10 fired info", "18 rose critical"]);
  });

  test("that become uncertain fire 10 s after that at the earliest", () => {
    const rule: LifecycleRule = { levels: [{ severity: "warning" }], forMs: 20_000, keepFiringForMs: 0 };
    const held = (uncertainAfterMs: number): number => {
      let state = newLifecycle(rule, 0);
      let certainBefore: Severity | null | undefined;
      for (let ms = 0; ; ms += 1_000) {
        const certain = ms < uncertainAfterMs ? ("warning" as const) : null;
        const next = step(state, known("warning"), { ...rule, certain, certainBefore }, ms);
        if (next.transition === "fired") return ms;
        state = next.state;
        certainBefore = certain;
      }
    };
    expect([0, 5_000, 14_000, 30_000].map(held)).toEqual([20_000, 20_000, 24_000, 20_000]);
  });
});

describe("deadlines", () => {
  test("name the moment at which `for` is over", () => {
    const rule = oneLevel(10_000, 0);
    const { state } = step(newLifecycle(rule, 0), known("critical"), rule, 1_000);
    expect(nextDeadlineMs(state, rule)).toBe(11_000);
  });

  test("stand still while blind", () => {
    const rule = oneLevel(10_000, 0);
    const first = step(newLifecycle(rule, 0), known("critical"), rule, 1_000).state;
    expect(nextDeadlineMs(step(first, unknown, rule, 2_000).state, rule)).toBeNull();
  });

  test("are where the next transition happens: judging there gives it, judging a moment before does not", () => {
    const judgements = fc.array(
      fc.record({ afterMs: fc.integer({ min: 1, max: 20_000 }), judged: fc.constantFrom(...judgedKinds) }),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(
        judgements,
        fc.integer({ min: 0, max: 15_000 }),
        fc.integer({ min: 0, max: 15_000 }),
        (steps, forMs, keep) => {
          const rule: LifecycleRule = { ...threeLevels, forMs, keepFiringForMs: keep };
          let state: Lifecycle = newLifecycle(rule, 0);
          let nowMs = 0;
          let last: Judged = unknown;
          for (const { afterMs, judged } of steps) {
            nowMs += afterMs;
            state = step(state, judged, rule, nowMs).state;
            last = judged;
          }
          const dueMs = nextDeadlineMs(state, rule);
          if (dueMs === null) return;
          expect(dueMs).toBeGreaterThan(nowMs);
          const active = (at: Lifecycle): string => JSON.stringify(at.levels.map((level) => level.active));
          expect(active(step(state, last, rule, dueMs - 1).state)).toBe(active(state));
          expect(active(step(state, last, rule, dueMs).state)).not.toBe(active(state));
        },
      ),
    );
  });
});

const judgedKinds: readonly Judged[] = [
  unknown,
  known(null),
  known("info"),
  known("warning"),
  known("critical"),
];
