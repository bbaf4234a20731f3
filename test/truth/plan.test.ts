/** Plans of starts and of histories that lag, the record of a run, and its coverage. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Journal } from "../../src/simulator/journal.ts";
import type { Wallet } from "../../src/simulator/state.ts";
import { chosenSeeds } from "./choose.ts";
import { VirtualTime } from "./clock.ts";
import { Coverage, featureNames, pairsOf, type Reach, shippedRules } from "./coverage.ts";
import { faultKinds, lifeKinds } from "./faults.ts";
import { letHistoriesLag } from "./histories.ts";
import { type Done, Progress } from "./progress.ts";
import { lengthMs, planOf } from "./scenario.ts";
import { planStart, startKinds } from "./start.ts";
import { Weather } from "./weather.ts";

const starts = Array.from({ length: 200 }, (_, index) => planStart(index + 1, lengthMs));

test("all kinds of starts come up soon", () => {
  expect([...new Set(starts.map(({ kind }) => kind))].sort()).toEqual([...startKinds].sort());
});

test("a day begins at the midnight that a start names, and at no other moment of the scenario", () => {
  for (const { atMs, timezone, midnightMs } of starts) {
    if (timezone === null) continue;
    const format = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone });
    const days = new Map<string, number>();
    const from = Math.floor(atMs / 1_000) * 1_000;
    for (let ms = from; ms <= atMs + lengthMs; ms += 1_000)
      if (!days.has(format.format(ms))) days.set(format.format(ms), ms);
    expect([...days.values()].slice(1)).toEqual(midnightMs === null ? [] : [midnightMs]);
  }
});

test("histories that lag show entries later and in their order", async () => {
  const time = new VirtualTime(0);
  const journals = { collateral: new Journal(), fills: new Journal(), liquidations: new Journal() };
  const fault = {
    fromMs: 10,
    toMs: 30,
    kind: "historiesLate",
    wallets: ["w1"],
    mostMs: 1_000,
  } as const;
  const draws = [0.5, 0, 0.1, 0, 0];
  letHistoriesLag({ name: "w1", ...journals } as unknown as Wallet, {
    time,
    weather: new Weather([fault], () => time.elapsedMs),
    random: () => draws.shift() ?? 0,
  });
  const { fills } = journals;
  for (const ms of [0, 10, 20, 40, 600]) time.after(ms, () => fills.push(ms));
  const shown = async (ms: number) => {
    await time.runTo(ms);
    return [...fills.all()];
  };
  expect(await shown(50)).toEqual([0]);
  expect(await shown(509)).toEqual([0]);
  expect(await shown(511)).toEqual([0, 10, 20, 40]);
  expect(await shown(600)).toEqual([0, 10, 20, 40, 600]);
});

/** Sums of chances are off by so much. */
const roundingError = 1e-9;

describe("the record of a run", () => {
  const one = (seed: number): Done => ({
    ...{ seed, wallets: 1, messages: 0, tookMs: 1, violations: [] },
    reach: { troubles: [], features: [], rules: [] },
  });
  let folder: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "truth-progress-"));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));

  test("it has what was played, without the line that broke off", () => {
    const first = new Progress(folder, "v1", false);
    first.add(one(3));
    first.add(one(5));
    fs.appendFileSync(path.join(folder, "done.jsonl"), '{"seed": 7, "wal');
    new Progress(folder, "v1", true).add(one(9));
    expect([...new Progress(folder, "v1", true).done.values()]).toEqual([one(3), one(5), one(9)]);
  });

  test("versions are not mixed, and without resume it begins anew", () => {
    new Progress(folder, "v1", false).add(one(3));
    expect(() => new Progress(folder, "v2", true)).toThrow("is of version v1, and this is v2");
    expect(new Progress(folder, "v2", false).done.size).toBe(0);
  });
});

describe("coverage", () => {
  const troubles = [...faultKinds, ...lifeKinds];
  const full: Reach = {
    troubles,
    features: featureNames,
    rules: shippedRules().map((rule) => [rule, { fired: 2, ended: 2 }]),
  };
  const shortOf = (times: number, ...more: readonly Reach[]): readonly string[] => {
    const coverage = new Coverage();
    for (let i = 0; i < times; i++) coverage.add(full);
    for (const reach of more) coverage.add(reach);
    return coverage.short();
  };

  test("nothing is short where each pair and each rule was there often enough", () => {
    expect(shortOf(50)).toEqual([]);
  });

  test("a pair and a rule that were there too seldom are named", () => {
    const features = featureNames.filter((name) => name !== "ADL");
    const rules = full.rules.map(([rule, count]) =>
      rule === "Liquidated" ? ([rule, { fired: 2, ended: 1 }] as const) : ([rule, count] as const),
    );
    expect(shortOf(49, { ...full, features, rules })).toEqual([
      ...troubles.map((name) => `${name} in less than 50 with: ADL 49`),
      "Liquidated fired 100 and ended 99 times, less than 100",
    ]);
  });

  test("of many seeds those are chosen that bring about each pair often enough, and few of them", () => {
    const plans = new Map(Array.from({ length: 400 }, (_, index) => [index + 1, planOf(index + 1)]));
    const chosen = chosenSeeds(plans, 3);
    const countIn = (seeds: Iterable<number>): Map<string, number> => {
      const count = new Map<string, number>();
      for (const [pair, chance] of [...seeds].flatMap((seed) => [...pairsOf(plans.get(seed)!)]))
        count.set(pair, (count.get(pair) ?? 0) + chance);
      return count;
    };
    const [all, few] = [countIn(plans.keys()), countIn(chosen)];
    for (const [pair, count] of all)
      expect(few.get(pair)).toBeGreaterThanOrEqual(Math.min(count, 3) - roundingError);
    expect(chosen.length).toBeLessThan(350);
    expect(chosenSeeds(plans, 3)).toEqual(chosen);
    expect(chosenSeeds(new Map(), 3)).toEqual([]);
    expect(chosenSeeds(plans, 3, new Map([...all.keys()].map((pair) => [pair, 3])))).toEqual([]);
    const [one, ...others] = few.keys();
    const more = chosenSeeds(plans, 3, new Map(others.map((pair) => [pair, 3])));
    expect(countIn(more).get(one!)).toBeGreaterThanOrEqual(Math.min(all.get(one!)!, 3) - roundingError);
    expect(more.length).toBeLessThan(chosen.length / 2);
  });
});
