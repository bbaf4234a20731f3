/** Times for which a level has held beyond doubt, over restarts and over data that are too old. */
import { expect, test } from "vitest";
import type { Predicate } from "./oracle/predicate.ts";
import { type Freshness, type Run, Runs } from "./oracle/runs.ts";
import type { View } from "./oracle/view.ts";

const terms = { accountsMs: 5_000, pricesMs: 5_000, historiesMs: 30_000 };

/** The runs of a condition that holds, or does not, by what is passed to `judge`. */
function runsOf(more: Partial<Predicate> = {}) {
  let on = false;
  const ended: Run[] = [];
  const predicate = {
    ...{ rule: "Any", forMs: 60_000, keepMs: 60_000, subjects: () => ["w1"], claims: () => [] },
    levels: () => [{ severity: "warning" as const, on, off: !on }],
    ...more,
  };
  const runs = new Runs(predicate, "w1", (run) => ended.push(run));
  const judge = (atMs: number, holds: boolean, freshness: Freshness = "fresh") => {
    on = holds;
    runs.judge(
      { nowMs: atMs, terms } as unknown as View,
      "one",
      atMs,
      freshness,
      freshness === "old positions",
    );
  };
  return { runs, judge, ended, since: () => runs.levels[0]!.surelyOnMs };
}

test("time before a restart counts after it, though nothing is there yet at its beginning", () => {
  const { runs, judge, since } = runsOf();
  judge(0, true);
  judge(30_000, true);
  runs.stop(30_000, true);
  runs.breakOff(40_000);
  judge(50_000, true);
  // Less two seconds, as judgements come with answers.
  expect(since()).toBe(50_000 - 28_000);
});

test("time before a restart that carries no clocks does not count", () => {
  const { runs, judge, since } = runsOf();
  judge(0, true);
  runs.stop(30_000, false);
  judge(50_000, true);
  expect(since()).toBe(50_000);
});

test("time before data became too old counts once they are read again", () => {
  const { runs, judge, since, ended } = runsOf();
  judge(0, true);
  runs.becomeOld(30_000);
  expect(ended).toMatchObject([{ holds: true, fromMs: 0, toMs: 30_000 }]);
  judge(40_000, true, "old");
  judge(50_000, true);
  expect(since()).toBe(50_000 - 28_000);
});

test.each([
  ["it does not hold in between by data that are too old", {}, 40_000],
  ["a change of collateral may be explained meanwhile", { unreadForMs: () => undefined }, null],
] as const)("time before data became too old does not count where %s", (_, more, goneMs) => {
  const { runs, judge, since } = runsOf(more);
  judge(0, true);
  runs.becomeOld(30_000);
  if (goneMs !== null) judge(goneMs, false, "old");
  judge(50_000, true);
  expect(since()).toBe(50_000);
});

test("time by positions that are too old does not count once they are read", () => {
  const { runs, judge, since } = runsOf({ byOldPositions: true });
  judge(0, true);
  runs.positionsAreOld(5_000);
  judge(30_000, true, "old positions");
  runs.becomeOld(40_000);
  judge(50_000, true);
  expect(since()).toBe(50_000);
});
