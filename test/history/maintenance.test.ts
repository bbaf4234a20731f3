import fs from "node:fs";
import { expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import type { Tick } from "../../src/domain/observation.ts";
import { CommitFailed } from "../../src/domain/ports.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { openDatabase } from "../../src/history/database.ts";
import { openStore } from "../../src/history/index.ts";
import { storeOn } from "../../src/history/store.ts";
import { FakeClock } from "../support/clock.ts";
import { all, event, t0, tick } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const random = seededRandom(11);

/** `count` ticks of each owner, two layouts in turn, a second apart. */
function ticksOf(owners: readonly string[], count: number, fromMs: number, width = 8): Tick[] {
  const layouts = ["a", "b"].map((letter) => Array.from({ length: width }, (_, i) => `${letter}${i}`));
  return Array.from({ length: count }, (_, i) =>
    owners.map((owner) =>
      tick({
        atMs: fromMs + i * 1_000,
        owner,
        series: layouts[i % 2] as string[],
        values: Array.from({ length: width }, () => random()),
      }),
    ),
  ).flat();
}

const own = (ticks: readonly Tick[], owner: string) => ticks.filter((tick) => tick.owner === owner);

test("at every step of packing each tick is read once, while others are committed and packed", async () => {
  using folder = temporaryFolder();
  // The budget is real time here: each call of `maintain` makes one step.
  const store = openStore({ path: folder.file(), retention: { samplesMs: null } });
  const reader = openStore({ path: folder.file(), readonly: true });
  const owners = ["x", "y", "z"];
  const written = ticksOf(owners, 1_500, t0);
  await store.commit([changes({ ticks: written })]);
  let steps = 0;
  for (let finished = false; !finished; steps++) {
    // Those that come meanwhile are too young to be due.
    ({ finished } = await store.maintain(t0 + hourMs, 0));
    const more = ticksOf(owners, 1, t0 + (1_500 + steps) * 1_000);
    await store.commit([changes({ ticks: more })]);
    written.push(...more);
    for (const owner of owners)
      expect(await all(reader.ticks({ owner, fromMs: 0 }))).toEqual(own(written, owner));
    expect(steps).toBeLessThan(200);
  }
  expect(steps).toBeGreaterThan(5);
  await reader.close();
  await store.close();
  const again = openStore({ path: folder.file() });
  await again.commit([changes({ ticks: ticksOf(["x"], 1, t0 + dayMs) })]);
  expect(await all(again.ticks({ owner: "x", fromMs: 0 }))).toHaveLength(own(written, "x").length + 1);
  await again.close();
});

test("a packing that was given up at any step, and begun anew after a restart, counts nothing twice", async () => {
  for (let given = 1, whole = false; !whole; given++) {
    using folder = temporaryFolder();
    const open = () => openStore({ path: folder.file(), retention: { samplesMs: null } });
    const first = open();
    const written = ticksOf(["x", "y"], 1_200, t0, 2);
    await first.commit([changes({ ticks: written })]);
    for (let step = 0; step < given && !whole; step++) whole = (await first.maintain(t0 + dayMs, 0)).finished;
    await first.close();
    const second = open();
    expect(await second.tickOwners()).toEqual(["x", "y"]);
    const more = ticksOf(["x"], 1, t0 + dayMs, 2);
    await second.commit([changes({ ticks: more })]);
    await second.maintain(t0 + 3 * dayMs, 60_000);
    await second.close();
    // All of the log is in chunks now: what comes next must not be taken for packed.
    const third = open();
    await third.commit([changes({ ticks: ticksOf(["z"], 1, t0, 2) })]);
    expect(await all(third.ticks({ owner: "z", fromMs: 0 }))).toHaveLength(1);
    expect(await all(third.ticks({ owner: "x", fromMs: 0 }))).toEqual([...own(written, "x"), ...more]);
    expect(await all(third.ticks({ owner: "y", fromMs: 0 }))).toEqual(own(written, "y"));
    await third.close();
    expect(given).toBeLessThan(50);
  }
});

test("a reading that goes on while its ticks are packed misses none and repeats none", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file(), clock: new FakeClock(t0), retention: { samplesMs: null } });
  const written = ticksOf(["x"], 1_500, t0);
  await store.commit([changes({ ticks: written })]);
  const seen: Tick[] = [];
  for await (const one of store.ticks({ owner: "x", fromMs: 0 })) {
    seen.push(one);
    if (seen.length === 700) await store.maintain(t0 + dayMs, 1);
  }
  expect(seen).toEqual(written);
  await store.close();
});

test("ticks of the past, committed late, come in their place", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file(), clock: new FakeClock(t0), retention: { samplesMs: null } });
  const late = ticksOf(["x"], 300, t0 + 500);
  const now = ticksOf(["x"], 2_500, t0);
  for (const ticks of [now, late]) {
    await store.commit([changes({ ticks })]);
    await store.maintain(t0 + dayMs, 1);
  }
  const expected = [...now, ...late].sort((a, b) => a.atMs - b.atMs);
  expect(await all(store.ticks({ owner: "x", fromMs: 0 }))).toEqual(expected);
  const span = { fromMs: t0 + 100_250, toMs: t0 + 200_500 };
  expect(await all(store.ticks({ owner: "x", ...span }))).toEqual(
    expected.filter(({ atMs }) => atMs >= span.fromMs && atMs <= span.toMs),
  );
  await store.close();
});

test("packing makes the file smaller than the values alone, and gives the space back", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file(), clock: new FakeClock(t0), retention: { samplesMs: null } });
  const width = 20;
  const series = Array.from({ length: width }, (_, i) => `s${i}`);
  const count = 6_000;
  for (let i = 0; i < count; i += 100)
    await store.commit([
      changes({
        ticks: Array.from({ length: 100 }, (_, j) =>
          tick({
            atMs: t0 + (i + j) * 1_000,
            owner: "x",
            series,
            values: series.map((_, k) => 1_000 + k + (i + j) / 1_024),
          }),
        ),
      }),
    ]);
  const before = await store.sizeBytes();
  expect((await store.maintain(t0 + dayMs, 1)).finished).toBe(true);
  expect(fs.statSync(`${folder.file()}-wal`).size).toBe(0);
  const after = await store.sizeBytes();
  expect(after).toBeLessThan(before / 2);
  expect(after).toBeLessThan(count * width * 8);
  await store.close();
});

test("what is past its keeping is deleted, the rest is kept", async () => {
  using folder = temporaryFolder();
  const nowMs = t0 + 100 * dayMs;
  const store = openStore({
    path: folder.file(),
    clock: new FakeClock(nowMs),
    retention: { samplesMs: 35 * dayMs, payloadsMs: 3 * dayMs, failedReadsMs: 10 * dayMs, eventsMs: null },
  });
  const payload = (atMs: number) => ({ atMs, source: "funding", wallet: null, body: "b", problem: "p" });
  const failed = (atMs: number) =>
    ({ atMs, source: "funding", wallet: null, symbol: null, reason: "timeout", detail: "" }) as const;
  const old = ticksOf(["x"], 1_000, t0);
  const young = ticksOf(["x"], 10, nowMs - dayMs);
  const oldPayloads = Array.from({ length: 450 }, (_, i) => payload(t0 + i));
  // Packed apart, as they are when they come apart.
  const gone = ticksOf(["gone"], 10, t0);
  await store.commit([changes({ ticks: [...old, ...gone] })]);
  await store.maintain(t0 + dayMs, 1);
  expect(await store.tickOwners()).toEqual(["gone", "x"]);
  expect(await all(store.ticks({ owner: "x", fromMs: 0 }))).toEqual(old);
  await store.commit([
    changes({
      ticks: young,
      payloads: [...oldPayloads, payload(nowMs - dayMs)],
      failedReads: [failed(nowMs - 11 * dayMs), failed(nowMs - 9 * dayMs)],
      events: [event({ happenedMs: t0 })],
    }),
  ]);
  const { finished, deletedRows } = await store.maintain(nowMs, 1);
  expect(finished).toBe(true);
  expect(deletedRows).toBeGreaterThan(451);
  expect(await all(store.ticks({ owner: "x", fromMs: 0 }))).toEqual(young);
  expect(await store.tickOwners()).toEqual(["x"]);
  expect(await store.payloads({})).toEqual([payload(nowMs - dayMs)]);
  expect(await store.failedReads({})).toEqual([failed(nowMs - 9 * dayMs)]);
  expect(await store.events({})).toHaveLength(1);
  await store.close();
});

test("a packing that finds no room loses nothing, and neither does reading", async () => {
  using folder = temporaryFolder();
  const opened = openDatabase(folder.file());
  const store = storeOn(opened, { clock: new FakeClock(t0), retention: { samplesMs: null } });
  // So many that reading packs them first.
  const written = ticksOf(["x"], 52_000, t0, 2);
  await store.commit([changes({ ticks: written })]);
  const rowsIn = (table: string) =>
    opened.db.prepare<[], { n: number }>(`SELECT count(*) AS n FROM ${table}`).get()?.n;
  const pages = opened.db.pragma("page_count", { simple: true }) as number;
  opened.db.pragma(`max_page_count = ${pages + 5}`);
  await expect(store.maintain(t0 + dayMs, 1)).rejects.toThrow(CommitFailed);
  expect(await all(store.ticks({ owner: "x", fromMs: 0 }))).toEqual(written);
  expect(rowsIn("ticks")).toBe(52_000);
  opened.db.pragma("max_page_count = 100000");
  expect(await all(store.ticks({ owner: "x", fromMs: t0 + 51_999_000 }))).toEqual(written.slice(-1));
  expect([rowsIn("ticks"), rowsIn("chunks")]).toEqual([0, 52]);
  expect(await all(store.ticks({ owner: "x", fromMs: 0 }))).toEqual(written);
  expect(await store.verify()).toEqual([]);
  await store.close();
});

test("a store that is closed in the middle of its maintenance stops it quietly", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file(), clock: new FakeClock(t0), retention: { samplesMs: null } });
  await store.commit([changes({ ticks: ticksOf(["x"], 3_000, t0) })]);
  const maintaining = store.maintain(t0 + dayMs, 1);
  await store.close();
  expect((await maintaining).finished).toBe(false);
  const again = openStore({ path: folder.file() });
  expect(await all(again.ticks({ owner: "x", fromMs: 0 }))).toHaveLength(3_000);
  await again.close();
});

test("no question of the store goes through a whole table", async () => {
  using folder = temporaryFolder();
  const opened = openDatabase(folder.file());
  const asked: string[] = [];
  const prepare = opened.db.prepare.bind(opened.db);
  const store = storeOn(
    Object.assign(opened, {
      db: Object.assign(opened.db, {
        prepare: (sql: string) => {
          asked.push(sql);
          return prepare(sql);
        },
      }),
    }),
  );
  await store.events({ kind: "fill", fromMs: 1, limit: 5 });
  await store.events({ wallet: "main", newestFirst: true, limit: 5 });
  await store.events({ fromMs: 1 });
  await store.eventByKey("fill", "k");
  await store.knownEvents([{ kind: "fill", key: "k" }]);
  await store.facts("main");
  await store.factHistory({ owner: "main", fromMs: 1 });
  await store.failedReads({ fromMs: 1 });
  await store.payloads({ fromMs: 1 });
  await store.milestones("started");
  await store.alerts({ state: "firing" });
  await store.alerts({ ids: [1] });
  await store.alertChanges({ alertId: 1 });
  await store.alertChanges({ ids: [1] });
  await store.deliveryItems({ open: true });
  await store.deliveryItems({ alertIds: [1] });
  await store.messages({ open: true });
  await store.messages({ alertIds: [1] });
  await store.messages({ ids: ["m"] });
  await store.acknowledgements({ open: true });
  await store.acknowledgements({ keys: ["k"] });
  await store.acknowledgements({ wallet: "main" });
  await store.lastIds();
  const questions = asked.filter((sql) => sql.startsWith("SELECT") && sql.includes("WHERE"));
  expect(questions.length).toBeGreaterThan(20);
  for (const sql of questions) {
    const values = Array.from({ length: sql.split("?").length - 1 }, () => null);
    const plan = opened.db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    const whole = plan
      .map(({ detail }) => detail)
      // The two short tables of names and of the pulse may be gone through. A partial index is as
      // long as the list of what is open.
      .filter(
        (detail) =>
          /^SCAN/.test(detail) &&
          !/SCAN (owners|pulse)\b|json_each|VIRTUAL TABLE|CONSTANT ROW|_open\b/.test(detail),
      );
    expect({ sql, whole }).toEqual({ sql, whole: [] });
  }
  await store.close();
});

test("the write-ahead file stays small, but for a reader that holds on to one moment; after it, it is emptied", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file(), clock: new FakeClock(t0), retention: { samplesMs: null } });
  const write = async (from: number) => {
    for (let i = 0; i < 60; i++)
      await store.commit([changes({ ticks: ticksOf(["x"], 500, t0 + (from + i) * 500_000, 60) })]);
  };
  await write(0);
  const steady = await store.walBytes();
  expect(steady).toBeLessThan(8_388_608);
  const { db, close } = openDatabase(folder.file(), { readonly: true });
  db.exec("BEGIN");
  db.prepare("SELECT count(*) FROM owners").get();
  await write(60);
  await store.maintain(t0, 1);
  expect(await store.walBytes()).toBeGreaterThan(12_000_000);
  db.exec("COMMIT");
  close();
  await store.maintain(t0, 1);
  expect(await store.walBytes()).toBe(0);
  await store.close();
});
