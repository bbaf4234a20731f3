/** Roll-ups are made once of every sample, whatever happens between: packing, merging, late samples, restarts, crashes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import type { Tick } from "../../src/domain/observation.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import {
  mergeStats,
  noStats,
  type Resolution,
  type RollUp,
  resolutionMs,
  type Stats,
} from "../../src/domain/stored/history.ts";
import { openDatabase } from "../../src/history/database.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { migrations } from "../../src/history/migrations.ts";
import { encodeRollUps, RollUpTable, StoredRollUps } from "../../src/history/samples/rollup-table.ts";
import { FakeClock } from "../support/clock.ts";
import { all, tick } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
/** The begin of a block of both resolutions. */
const t0 = Math.floor(1_760_000_000_000 / (16 * dayMs)) * 16 * dayMs;
const forever = { samplesMs: null, minutesMs: null, hoursMs: null };

/** The roll-ups of the samples themselves, in plain memory. */
function expected(
  ticks: readonly Tick[],
  owner: string,
  resolution: Resolution,
): Map<number, Map<string, Stats>> {
  const buckets = new Map<number, Map<string, Stats>>();
  const own = ticks.filter((one) => one.owner === owner).sort((a, b) => a.atMs - b.atMs);
  for (const { atMs, series, values } of own) {
    if (series.length === 0) continue;
    const at = Math.floor(atMs / resolutionMs[resolution]) * resolutionMs[resolution];
    const bucket = buckets.get(at) ?? new Map<string, Stats>();
    buckets.set(at, bucket);
    for (const [i, name] of series.entries()) {
      const value = values[i]!;
      const one = Number.isNaN(value)
        ? noStats
        : {
            count: 1,
            min: value,
            max: value,
            sum: value,
            sumSquares: value * value,
            last: value,
            lastMs: atMs,
          };
      bucket.set(name, mergeStats(bucket.get(name) ?? noStats, one));
    }
  }
  return new Map([...buckets].sort(([a], [b]) => a - b));
}

const found = (rollUps: readonly RollUp[]) =>
  new Map(
    rollUps.map(({ atMs, series, stats }) => [atMs, new Map(series.map((name, i) => [name, stats[i]!]))]),
  );

async function check(store: History, ticks: readonly Tick[], owners: readonly string[]): Promise<void> {
  for (const owner of owners) {
    for (const resolution of ["minute", "hour"] as const) {
      const whole = await all(store.rollups({ owner, resolution, fromMs: 0 }));
      expect(found(whole)).toEqual(expected(ticks, owner, resolution));
      expect(whole.map(({ atMs }) => atMs)).toEqual([...expected(ticks, owner, resolution).keys()]);
    }
  }
}

const owners = ["main/0.0", "markets"];
// Whole numbers, so that sums do not depend on their order.
const value = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -1_000, max: 1_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY) },
);
const sample = fc.record({
  atMs: fc.oneof(
    fc.integer({ min: 0, max: 5 * minuteMs }),
    fc.integer({ min: 0, max: 20 * dayMs }),
    fc.constant(minuteMs),
  ),
  owner: fc.constantFrom(...owners),
  layout: fc.constantFrom(["a", "b"], ["b", "c", "a"], ["a"], []),
  values: fc.array(value, { minLength: 3, maxLength: 3 }),
});
type Step =
  | { do: "commit"; samples: (typeof sample extends fc.Arbitrary<infer S> ? S : never)[] }
  | { do: "keep" | "little" | "reopen" };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("commit" as const),
      samples: fc.array(sample, { maxLength: 30 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("keep" as const, "little" as const, "reopen" as const) }),
  },
);

test("minutes and hours are what all samples come to, however these were committed, packed and merged", {
  timeout: 120_000,
}, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.log(`roll-ups: SEED=${seed}`);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      using folder = temporaryFolder();
      const open = () => openStore({ path: folder.file(), retention: forever });
      let store = open();
      const ticks: Tick[] = [];
      try {
        for (const one of steps) {
          if (one.do === "commit") {
            const batch = one.samples.map(({ atMs, owner, layout, values }, i) => ({
              // No two of one moment, of which either could be the last.
              atMs: t0 + atMs + (ticks.length + i) / 1_024,
              owner,
              series: layout,
              values: values.slice(0, layout.length),
            }));
            ticks.push(...batch);
            await store.commit([changes({ ticks: batch })]);
          } else if (one.do === "reopen") {
            await store.close();
            store = open();
          } else await store.maintain(t0 + 100 * dayMs, one.do === "keep" ? 60_000 : 0);
        }
        await check(store, ticks, owners);
        const reader = openStore({ path: folder.file(), readonly: true });
        await check(reader, ticks, owners);
        await reader.close();
      } finally {
        await store.close();
      }
    }),
    { seed, numRuns: 30 },
  );
});

const random = seededRandom(5);
/** A tick each five seconds of each owner, figures as those of marks. */
function ticksOf(names: readonly string[], count: number, fromMs = t0): Tick[] {
  const series = ["trader.equity", "trader.marginRatio", "position[SOL].size"];
  return Array.from({ length: count }, (_, i) =>
    names.map((owner) =>
      tick({ atMs: fromMs + i * 5_000, owner, series, values: [i % 97, Math.floor(random() * 50), 40] }),
    ),
  ).flat();
}

test("a packing given up at any step counts nothing twice and loses nothing", async () => {
  for (let given = 1, whole = false; !whole; given++) {
    using folder = temporaryFolder();
    const open = () => openStore({ path: folder.file(), retention: forever });
    const first = open();
    const written = ticksOf(["x", "y"], 900);
    await first.commit([changes({ ticks: written })]);
    for (let at = 0; at < given && !whole; at++) whole = (await first.maintain(t0 + dayMs, 0)).finished;
    await first.close();
    const second = open();
    await check(second, written, ["x", "y"]);
    await second.maintain(t0 + 40 * dayMs, 60_000);
    await check(second, written, ["x", "y"]);
    await second.close();
    expect(given).toBeLessThan(60);
  }
});

test("a reading that goes on while its samples are packed and merged misses none and repeats none", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file(), clock: new FakeClock(t0), retention: forever });
  const written = ticksOf(["x"], 12_000);
  for (let from = 0; from < written.length; from += 1_000) {
    await store.commit([changes({ ticks: written.slice(from, from + 1_000) })]);
    if (from < 8_000) await store.maintain(t0 + hourMs * 20, 1);
  }
  const seen: RollUp[] = [];
  for await (const one of store.rollups({ owner: "x", resolution: "minute", fromMs: 0 })) {
    seen.push(one);
    if (seen.length === 300) await store.maintain(t0 + 40 * dayMs, 1);
  }
  expect(found(seen)).toEqual(expected(written, "x", "minute"));
  await store.close();
});

test("a query gives the buckets that begin within its span, and of these the series that it wants", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file(), retention: forever });
  const written = ticksOf(["x"], 2_000);
  await store.commit([changes({ ticks: written.slice(0, 1_500) })]);
  await store.maintain(t0 + dayMs, 60_000);
  await store.commit([changes({ ticks: written.slice(1_500) })]);
  const query = {
    owner: "x",
    resolution: "minute",
    fromMs: t0 + 10 * minuteMs + 1,
    toMs: t0 + 150 * minuteMs,
    wanted: (name: string) => name.startsWith("position"),
  } as const;
  const some = await all(store.rollups(query));
  expect(some.map(({ atMs }) => (atMs - t0) / minuteMs)).toEqual(
    Array.from({ length: 140 }, (_, i) => i + 11),
  );
  const of = expected(written, "x", "minute");
  for (const { atMs, series, stats } of some) {
    expect(series).toEqual(["position[SOL].size"]);
    expect(stats).toEqual([of.get(atMs)!.get("position[SOL].size")]);
  }
  expect(await all(store.rollups({ ...query, owner: "nobody" }))).toEqual([]);
  // The same array as long as the layout is the same: whoever reads makes a plan once.
  expect(new Set(some.map(({ series }) => series)).size).toBeLessThanOrEqual(2);
  await store.close();
});

test("what was packed before there were roll-ups is rolled up once, and is in every answer meanwhile", async () => {
  using folder = temporaryFolder();
  const written = ticksOf(["x", "y"], 3_000);
  const young = openStore({ path: folder.file(), retention: forever });
  await young.commit([changes({ ticks: written })]);
  await young.maintain(t0 + dayMs, 60_000);
  await young.close();
  // As an older program left it.
  const opened = openDatabase(folder.file());
  opened.db.exec(
    "DELETE FROM rollups; UPDATE pulse SET rolled_from = 0, rolled_to = (SELECT max(id) FROM chunks)",
  );
  const chunks = opened.db.prepare<[], { n: number }>("SELECT count(*) AS n FROM chunks").get()!.n;
  opened.close();
  expect(chunks).toBeGreaterThan(4);
  const store = openStore({ path: folder.file(), retention: forever });
  for (let finished = false, steps = 0; !finished; steps++) {
    await check(store, written, ["x", "y"]);
    ({ finished } = await store.maintain(t0 + dayMs, 0));
    expect(steps).toBeLessThan(40);
  }
  await check(store, written, ["x", "y"]);
  await store.close();
});

test("the database of an older program is brought up to it", async () => {
  using folder = temporaryFolder();
  const old = openDatabase(folder.file(), { migrations: migrations.slice(0, 1) });
  old.close();
  const store = openStore({ path: folder.file(), retention: forever });
  const written = ticksOf(["x"], 30);
  await store.commit([changes({ ticks: written })]);
  await check(store, written, ["x"]);
  await store.close();
});

test("minutes and hours are kept for as long as each is to be", async () => {
  using folder = temporaryFolder();
  const nowMs = t0 + 200 * dayMs;
  const retention = { samplesMs: 10 * dayMs, minutesMs: 50 * dayMs, hoursMs: 150 * dayMs };
  const store = openStore({ path: folder.file(), clock: new FakeClock(nowMs), retention });
  const days = [5, 20, 60, 160];
  for (const day of days) {
    await store.commit([changes({ ticks: ticksOf(["x"], 20, nowMs - day * dayMs) })]);
    await store.maintain(nowMs, 1);
  }
  await store.maintain(nowMs, 1);
  const ages = (times: readonly number[]) => new Set(times.map((atMs) => Math.round((nowMs - atMs) / dayMs)));
  const of = async (resolution: Resolution) =>
    (await all(store.rollups({ owner: "x", resolution, fromMs: 0 }))).map(({ atMs }) => atMs);
  expect(ages((await all(store.ticks({ owner: "x", fromMs: 0 }))).map(({ atMs }) => atMs))).toEqual(
    new Set([5]),
  );
  expect(ages(await of("minute"))).toEqual(new Set([20, 5]));
  expect(ages(await of("hour"))).toEqual(new Set([60, 20, 5]));
  await store.close();
});

test("parts of a block that is over are merged, and take less room", async () => {
  using folder = temporaryFolder();
  const opened = openDatabase(folder.file());
  opened.close();
  const store = openStore({ path: folder.file(), clock: new FakeClock(t0), retention: forever });
  const written = ticksOf(["x"], 4_000);
  const rows = () => {
    const { db, close } = openDatabase(folder.file(), { readonly: true });
    const { n, bytes } = db
      .prepare<[], { n: number; bytes: number }>(
        "SELECT count(*) AS n, sum(length(body)) AS bytes FROM rollups",
      )
      .get()!;
    close();
    return { n, bytes };
  };
  for (let from = 0; from < written.length; from += 100) {
    await store.commit([changes({ ticks: written.slice(from, from + 100) })]);
    await store.maintain(t0 + from * 5_000 + 2 * hourMs, 1);
  }
  const before = rows();
  await store.maintain(t0 + 40 * dayMs, 1);
  const after = rows();
  expect(after.n).toBe(2);
  expect(after.bytes).toBeLessThan(before.bytes * 0.7);
  expect(before.n).toBeGreaterThan(10);
  await check(store, written, ["x"]);
  await store.close();
});

test("every bit of a figure comes back", () => {
  const double = fc.double();
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }).chain((width) =>
        fc.array(
          fc.record({
            atMs: fc.integer({ min: -100_000, max: 2_000_000 }),
            values: fc.array(fc.oneof(double, fc.constantFrom(-0, 0, 150.25)), {
              minLength: width,
              maxLength: width,
            }),
          }),
          { minLength: 1, maxLength: 30 },
        ),
      ),
      (ticks) => {
        const width = ticks[0]!.values.length;
        const table = new RollUpTable(width, minuteMs);
        for (const { atMs, values } of ticks.sort((a, b) => a.atMs - b.atMs))
          table.addTick(atMs, (i) => values[i]!);
        const stored = new StoredRollUps(encodeRollUps(table), table.length, width, minuteMs);
        const back = RollUpTable.of(stored, width, minuteMs);
        expect(back.times).toEqual(table.times);
        expect(back.columns).toEqual(table.columns);
      },
    ),
    { numRuns: 300 },
  );
});
