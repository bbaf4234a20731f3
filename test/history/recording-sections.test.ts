/** The limits of reading the recording, what is kept of it, and who may read meanwhile. */
import { expect, test } from "vitest";
import type { Observation } from "../../src/domain/observation.ts";
import type { RecordingQuery } from "../../src/domain/ports.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { openDatabase } from "../../src/history/database.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { FakeClock } from "../support/clock.ts";
import { all, t0 } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const time = (minute: number): Observation => ({ kind: "time", atMs: t0 + minute * minuteMs });
const watching = (minute: number): Observation => ({
  kind: "watching",
  atMs: t0 + minute * minuteMs,
  reloaded: false,
});
const session = (minute: number, wallet = "main"): Observation => ({
  kind: "session",
  wallet,
  atMs: t0 + minute * minuteMs,
  signedIn: true,
  detail: `since ${minute}`,
});
const failed = (minute: number): Observation => ({
  kind: "failed",
  source: "traderState",
  wallet: "main",
  symbol: null,
  atMs: t0 + minute * minuteMs,
  reason: "timeout",
  detail: "",
});

interface Opened extends Disposable {
  readonly store: History;
  readonly path: string;
  feed(...observations: readonly Observation[]): Promise<void>;
  read(query: Partial<RecordingQuery>): Promise<readonly string[]>;
}

/** `kind@minute` of each. */
function named(observations: readonly Observation[]): readonly string[] {
  return observations.map(({ kind, atMs }) => `${kind}@${(atMs - t0) / minuteMs}`);
}

function open(payloadsMs: number | null = null): Opened {
  const folder = temporaryFolder();
  const path = folder.file();
  const store = openStore({ path, clock: new FakeClock(t0), retention: { payloadsMs } });
  return {
    store,
    path,
    async feed(...observations) {
      for (const one of observations) await store.commit([changes({ observations: [one] })]);
    },
    async read(query) {
      return named(await all(store.recording({ fromMs: t0, ...query })));
    },
    [Symbol.dispose]() {
      void store.close();
      folder[Symbol.dispose]();
    },
  };
}

test("reading begins where a watch began, and ends before what is later", async () => {
  using opened = open();
  const { feed, read, store } = opened;
  await feed(watching(0), time(1), time(2), watching(10), time(11), time(12));
  expect(await read({})).toHaveLength(6);
  expect(await read({ fromMs: t0 + 9 * minuteMs })).toHaveLength(6);
  expect(await read({ fromMs: t0 + 10 * minuteMs })).toEqual(["watching@10", "time@11", "time@12"]);
  expect(await read({ fromMs: t0 + 30 * minuteMs })).toEqual(["watching@10", "time@11", "time@12"]);
  expect(await read({ toMs: t0 + 2 * minuteMs })).toEqual(["watching@0", "time@1", "time@2"]);
  expect(await read({ toMs: t0 - 1 })).toEqual([]);
  expect(await store.recorded()).toEqual({ fromMs: t0, toMs: t0 + 12 * minuteMs, gaps: [] });
});

test("every hour reading can begin anew, led by what was not seen again for long", async () => {
  using opened = open();
  const { feed, read } = opened;
  await feed(watching(0), session(1), session(2, "other"), failed(3));
  for (let minute = 4; minute <= 70; minute++) await feed(time(minute));
  await feed(session(71));
  // From the beginning everything comes once.
  const whole = await read({});
  expect(whole).toHaveLength(4 + 67 + 1);
  expect(new Set(whole).size).toBe(whole.length);
  const later = await read({ fromMs: t0 + 65 * minuteMs });
  expect(later.slice(0, 4)).toEqual(["time@60", "session@1", "session@2", "time@61"]);
  expect(later.at(-1)).toBe("session@71");
  // A failed read says nothing of how things stand.
  expect(later.some((name) => name.startsWith("failed"))).toBe(false);
});

test("what was seen just before the hour leads the next one too, when it does not come again by itself", async () => {
  using opened = open();
  const { feed, read } = opened;
  await feed(watching(0), session(1), session(59.5, "other"), session(59.75, "third"));
  for (const minute of [60, 60.5]) await feed(time(minute));
  await feed(session(60.75, "third"));
  for (let minute = 61; minute <= 70; minute++) await feed(time(minute));
  const later = await read({ fromMs: t0 + 65 * minuteMs });
  expect(later.filter((name) => name.startsWith("session"))).toEqual([
    "session@1",
    "session@60.75",
    "session@59.5",
  ]);
  const whole = await read({});
  expect(new Set(whole).size).toBe(whole.length);
});

test("what comes before it is carried on is not told twice", async () => {
  using opened = open();
  const { feed, read, store } = opened;
  await feed(watching(0), session(1));
  await store.commit([changes({ observations: [time(61), session(61)] })]);
  expect(await read({ fromMs: t0 + 62 * minuteMs })).toEqual(["time@61", "session@61"]);
});

test("much is carried a little with each commit", async () => {
  using opened = open();
  const { feed, read } = opened;
  const wallets = Array.from({ length: 100 }, (_, i) => session(1, `wallet ${i}`));
  await feed(watching(0), ...wallets, time(61));
  expect((await read({ fromMs: t0 + 61 * minuteMs })).filter((name) => name === "session@1")).toHaveLength(
    32,
  );
  await feed(time(62), time(63), time(64), time(65));
  expect((await read({ fromMs: t0 + 61 * minuteMs })).filter((name) => name === "session@1")).toHaveLength(
    100,
  );
});

test("after a commit that failed reading can begin anew, and nothing of it is told twice", async () => {
  using opened = open();
  const { feed, read, store } = opened;
  await feed(watching(0), session(1));
  const ticks = [{ atMs: t0, owner: "main", series: ["one"], values: [] }];
  await expect(store.commit([changes({ observations: [time(5)], ticks })])).rejects.toThrow(RangeError);
  await feed(time(5), time(6));
  expect(await read({})).toEqual(["watching@0", "session@1", "time@5", "time@6"]);
  expect(await read({ fromMs: t0 + 7 * minuteMs })).toEqual(["time@5", "session@1", "time@6"]);
});

test("what is past its keeping goes by whole sections, and what is left can be read", async () => {
  using opened = open(3 * hourMs);
  const { feed, read, store } = opened;
  for (let minute = 0; minute <= 400; minute++) await feed(minute === 0 ? watching(0) : time(minute));
  await store.maintain(t0 + 400 * minuteMs, 10_000);
  const left = await read({});
  // 220 min is the edge; the section around it began at 180.
  expect(left).toEqual(Array.from({ length: 221 }, (_, i) => `time@${180 + i}`));
  expect((await store.recorded())?.fromMs).toBe(t0 + 180 * minuteMs);
  // The newest section stays, however old.
  await store.maintain(t0 + 100 * hourMs, 10_000);
  expect((await read({}))[0]).toBe("time@360");
});

test("a reader beside the daemon reads what was there when it began, also while old sections go", async () => {
  using opened = open(2 * hourMs);
  const { feed, store, path } = opened;
  for (let minute = 0; minute <= 400; minute++) await feed(minute === 0 ? watching(0) : time(minute));
  const reader = openStore({ path, readonly: true });
  const read: Observation[] = [];
  for await (const one of reader.recording({ fromMs: t0 })) {
    read.push(one);
    if (read.length === 40) {
      await feed(time(401));
      await store.maintain(t0 + 400 * minuteMs, 10_000);
    }
  }
  await reader.close();
  const minutes = read.map(({ atMs }) => (atMs - t0) / minuteMs);
  // The first rows were read already; what followed on rows that are gone is left out, never read wrongly.
  expect(minutes.slice(0, 40)).toEqual(Array.from({ length: 40 }, (_, i) => i));
  const rest = minutes.slice(minutes.indexOf(240));
  expect(rest).toEqual(Array.from({ length: 161 }, (_, i) => 240 + i));
});

test("a gap is told with what is recorded", async () => {
  using opened = open();
  const { feed, store } = opened;
  await feed(watching(0));
  const value = JSON.stringify({ fromMs: t0 + 1, toMs: t0 + 2, lost: 7 });
  await store.commit([changes({ milestones: [{ atMs: t0 + 2, kind: "recordingGap", value }] })]);
  await feed(time(1));
  expect((await store.recorded())?.gaps).toEqual([{ fromMs: t0 + 1, toMs: t0 + 2 }]);
});

test("bytes that are not a recording are named, and read as nothing else", async () => {
  using opened = open();
  const { feed, store, path } = opened;
  await feed(watching(0), session(1), time(2));
  await store.close();
  const raw = openDatabase(path);
  raw.db.exec("UPDATE recording SET body = x'05ff' WHERE id = 2");
  raw.close();
  const reader = openStore({ path, readonly: true });
  await expect(all(reader.recording({ fromMs: t0 }))).rejects.toThrow(/row 2 of the recording is damaged/);
  await reader.close();
});
