/** `perpwatch history` on a database without a daemon, or with a writer. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { sparkline } from "../../../src/cli/commands/history/query.ts";
import { seededRandom } from "../../../src/domain/clock.ts";
import type { Tick } from "../../../src/domain/observation.ts";
import { changes } from "../../../src/domain/stored/changes.ts";
import { openStore } from "../../../src/history/index.ts";
import { event } from "../../history/examples.ts";
import { openDashboard } from "../../web/open.ts";
import { nowMs } from "../../web/world.ts";
import { desk, plainConfig, run, runProcess } from "../run.ts";

const minuteMs = 60_000;
const t0 = Date.UTC(2026, 2, 1, 12);
const since = "2026-03-01T12:00:00Z";
const until = "2026-03-01T14:00:00Z";
const series = ["trader.equity", "position[SOL].size"];

function ticks(owner: string, count: number): Tick[] {
  return Array.from({ length: count }, (_, i) => ({
    atMs: t0 + i * 10_000,
    owner,
    series: owner === "markets" ? ["market[SOL].markPrice"] : series,
    values: owner === "markets" ? [150 + (i % 7)] : [1_000 + i, i % 2 === 0 ? 40 : Number.NaN],
  }));
}

/** A folder with a configuration and two hours of history, the first of them packed. */
async function left() {
  const place = desk();
  place.write("config.yaml", plainConfig);
  const file = path.join(place.folder, "perpwatch");
  const store = openStore({ path: file, retention: { samplesMs: null } });
  const all = ["main/0.0", "other/0.0", "markets"].flatMap((owner) => ticks(owner, 720));
  await store.commit([changes({ ticks: all.slice(0, 1_500) })]);
  await store.maintain(t0 + 86_400_000, 60_000);
  await store.commit([
    changes({
      ticks: all.slice(1_500),
      events: [
        event({ key: "k1", happenedMs: t0 }),
        event({
          ...{ key: "k2", kind: "funding", wallet: "other", happenedMs: t0 + 1 },
          fields: { payment: 1547.9099999999999, rate: 0.000125, size: -2.5000000000000004, side: "short" },
        }),
        event({ key: "k3", kind: "order", happenedMs: t0 - 3_600_000, fields: { placedAgo: 5_400_123 } }),
      ],
    }),
  ]);
  await store.close();
  return { ...place, file, [Symbol.dispose]: () => place[Symbol.dispose]() };
}

describe("times that are none", () => {
  const wrong: [args: string[], option: string, found: string][] = [
    [["query", "trader.equity", "--since", "yesterday"], "--since", "yesterday"],
    [["events", "--until", "1x"], "--until", "1x"],
    [["export", "--series", "trader.equity", "--since", "7days"], "--since", "7days"],
  ];
  test.each(wrong)("%s", async (args, option, found) => {
    using place = desk();
    place.write("config.yaml", plainConfig);
    const { status, stdout, stderr } = await run(["history", ...args], place);
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: "",
      stderr: `perpwatch: ${option} is a duration such as 30d, or a time such as 2026-01-05T12:00:00Z; found ${found}\n`,
    });
  });
});

describe("query", () => {
  test("lists owners and series", async () => {
    using place = await left();
    const { stdout, stderr } = await run(["history", "query"], place);
    expect(stderr).toBe("");
    expect(stdout).toBe(
      "main/0.0\n  trader.equity\n  position[SOL].size\nmarkets\n  market[SOL].markPrice\nother/0.0\n  trader.equity\n  position[SOL].size\n",
    );
  });

  test("reads minutes, and states that", async () => {
    using place = await left();
    const args = ["history", "query", "main/0.0:trader.equity", "--since", since, "--until", until];
    const people = (await run([...args, "--every", "30m"], place)).stdout.split("\n");
    expect(people[0]).toBe("main/0.0:trader.equity: 4 rows from minutes, a row every 30m");
    expect(people[1]).toBe("▁▃▆█");
    expect(people[3]).toMatch(/^AT +SAMPLES +LEAST +MEAN +GREATEST +LAST$/);
    expect(people[4]).toMatch(/ 180 +1000 +1089\.5 +1179 +1179$/);
    const hours = (await run([...args, "--every", "1h", "--json"], place)).json() as {
      resolution: string;
      rows: { atMs: number; count: number; mean: number }[];
    };
    expect(hours.resolution).toBe("hours");
    expect(hours.rows.map(({ atMs, count, mean }) => [atMs, count, mean])).toEqual([
      [t0, 360, 1_179.5],
      [t0 + 60 * minuteMs, 360, 1_539.5],
    ]);
    const short = (
      await run(
        [
          "history",
          "query",
          "market[SOL].markPrice",
          "--since",
          since,
          "--until",
          "2026-03-01T12:01:00Z",
          "--json",
        ],
        place,
      )
    ).json();
    expect(short).toMatchObject({
      owner: "markets",
      resolution: "samples",
      rows: Array.from({ length: 7 }, (_, i) => ({ last: 150 + (i % 7) })),
    });
  });

  test("names what it does not know, and what it could mean", async () => {
    using place = await left();
    const asked = async (...args: string[]) => {
      const { status, stderr } = await run(["history", "query", ...args], place);
      return [status, stderr];
    };
    expect(await asked("trader.equty")).toEqual([
      2,
      "perpwatch: no series is called trader.equty (did you mean trader.equity?); `history query` lists all\n",
    ]);
    expect(await asked("trader.equity")).toEqual([
      2,
      "perpwatch: 2 owners have a series trader.equity; name one: main/0.0:trader.equity, other/0.0:trader.equity\n",
    ]);
    expect(await asked("market[SOL].markPrice", "--every", "90s")).toEqual([
      2,
      "perpwatch: --every takes whole minutes such as 1m, 15m, 1h or 1d, not 90s\n",
    ]);
  });

  test("a line of blocks goes from the least to the greatest", () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe("▁▂▃▄▅▆▇█");
    expect(sparkline([5, 5])).toBe("▅▅");
    expect(sparkline([1, Number.POSITIVE_INFINITY, 2, Number.NaN])).toBe("▁██ ");
  });
});

describe("export", () => {
  test("writes every sample, to a file or the output", async () => {
    using place = await left();
    const args = [
      "history",
      "export",
      "--series",
      "main/0.0:trader.equity",
      "markets:market[SOL].markPrice",
      "--since",
      since,
      "--until",
      until,
    ];
    const { stdout, stderr } = await run(args, place);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(1 + 2 * 720);
    expect(lines.slice(0, 2)).toEqual([
      "time,owner,series,value",
      "2026-03-01T12:00:00.000Z,main/0.0,trader.equity,1000",
    ]);
    expect(stderr).toBe("1440 lines\n");
    const out = path.join(place.folder, "all.jsonl");
    const rolled = [...args, "--format", "jsonl", "--resolution", "minute", "--out", out];
    expect((await run(rolled, place)).status).toBe(0);
    const rows = readFileSync(out, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(rows).toHaveLength(240);
    expect(rows[0]).toEqual({
      ...{
        time: "2026-03-01T12:00:00.000Z",
        owner: "main/0.0",
        series: "trader.equity",
        count: 6,
        min: 1_000,
        max: 1_005,
      },
      ...{ sum: 6_015, sumSquares: 6_030_055, last: 1_005, lastTime: "2026-03-01T12:00:50.000Z" },
    });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(await run(rolled, place)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is there already") as unknown,
    });
    expect((await run([...rolled, "--force"], place)).status).toBe(0);
  });
});

test("events, by kind and wallet", async () => {
  using place = await left();
  const listed = async (...args: string[]) =>
    (
      (await run(["history", "events", "--since", since, "--json", ...args], place)).json() as {
        events: { key: string }[];
      }
    ).events.map(({ key }) => key);
  expect(await listed()).toEqual(["k2", "k1"]);
  expect(await listed("--kind", "funding")).toEqual(["k2"]);
  expect(await listed("--wallet", "main")).toEqual(["k1"]);
  const people = await run(["history", "events", "--since", since], { ...place, columns: 150 });
  expect(people.stdout).toMatch(/^HAPPENED +KIND +ACCOUNT +MARKET +FIGURES\n/);
  expect(people.stdout).toContain("payment $1,547.91 · rate 0.0125%/h · size -2.5 · side short\n");
  const order = await run(["history", "events", "--since", "2026-03-01", "--kind", "order"], place);
  expect(order.stdout).toMatch(/ placedAgo 1h 30m\n/);
  const wrong = await run(["history", "events", "--kind", "fundng"], place);
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain("no event is of the kind fundng (did you mean funding?)");
});

describe("backup and restore", () => {
  test("a backup beside a writer is whole, and goes back where it was", async () => {
    using place = await left();
    const copy = path.join(place.folder, "copy.db");
    const writer = openStore({ path: place.file });
    const marked = (value: string) => writer.commit([changes({ keep: [{ name: "mark", value }] })]);
    await marked("before");
    const times = { createdMs: nowMs, expiresMs: null, usedMs: null };
    await writer.saveAccess({
      hash: "a".repeat(64),
      kind: "token",
      name: "grafana",
      rights: "act",
      ...times,
    });
    const backing = runProcess(["history", "backup", copy], place);
    let commits = 0;
    for (let ended = false; !ended; commits++) {
      await marked(`${commits}`);
      ended = await Promise.race([
        backing.then(() => true),
        new Promise<false>((go) => setTimeout(go, 5, false)),
      ]);
    }
    const { status, stdout } = await backing;
    expect(status).toBe(0);
    expect(stdout).toMatch(/copy\.db: .*, checked\n$/);
    expect(commits).toBeGreaterThan(1);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(readdirSync(place.folder).filter((name) => name.startsWith("copy"))).toEqual(["copy.db"]);
    expect(await run(["history", "backup", copy], place)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("--force") as unknown,
    });
    // The database has a writer: no restore.
    const refused = await runProcess(["history", "restore", copy], place);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("another perpwatch");
    await marked("after");
    await writer.close();

    const restored = await run(["history", "restore", copy, "--json"], place);
    expect(restored.status).toBe(0);
    const { aside } = restored.json() as { aside: string };
    const markOf = async (file: string) => {
      const store = openStore({ path: file });
      const mark = (await store.keep()).get("mark");
      // A backup may contain tokens that were revoked since, or that others added.
      expect(await store.accessEntries()).toHaveLength(file === aside ? 1 : 0);
      expect(await store.verify()).toEqual([]);
      await store.close();
      return mark;
    };
    expect(await markOf(place.file)).not.toBe("after");
    expect(await markOf(aside)).toBe("after");
    const read = await run(
      ["history", "query", "market[SOL].markPrice", "--since", since, "--until", until, "--json"],
      place,
    );
    expect((read.json() as { rows: unknown[] }).rows.length).toBeGreaterThan(20);
  });

  test("what is no whole history is not put back, and nothing is changed", async () => {
    using place = await left();
    const before = readFileSync(place.file);
    const copy = path.join(place.folder, "copy.db");
    await run(["history", "backup", copy], place);
    const bytes = readFileSync(copy);
    const bad: Record<string, Buffer> = {
      "text.db": Buffer.from("no database at all, but long enough to be looked at"),
      "torn.db": bytes.subarray(0, bytes.length - 20_000),
      "damaged.db": Buffer.concat([
        bytes.subarray(0, 8_192),
        Buffer.alloc(16_384, 7),
        bytes.subarray(24_576),
      ]),
    };
    for (const [name, change] of [
      ["table.db", "CREATE TABLE more (x)"],
      ["index.db", "CREATE INDEX more ON alerts (id)"],
      ["trigger.db", "CREATE TRIGGER more AFTER INSERT ON alerts BEGIN DELETE FROM alerts; END"],
      ["less.db", "DROP TABLE sessions"],
    ] as const) {
      const file = path.join(place.folder, name);
      writeFileSync(file, bytes);
      const db = new Database(file);
      db.exec(change);
      db.close();
      bad[name] = readFileSync(file);
    }
    for (const [name, content] of Object.entries(bad)) {
      const file = path.join(place.folder, name);
      writeFileSync(file, content);
      const { status, stderr } = await run(["history", "restore", file], place);
      expect([name, status, stderr]).toEqual([name, 1, expect.stringContaining("perpwatch: ")]);
      expect(stderr, name).not.toContain("please report");
      expect(readFileSync(place.file).equals(before), name).toBe(true);
    }
    expect(readdirSync(place.folder).filter((name) => /partial|restoring|before/.test(name))).toEqual([]);
    expect((await run(["history", "restore", "gone.db"], place)).stderr).toContain("there is no such file");
  });

  test("a daemon keeps a restore away", async () => {
    await using dashboard = await openDashboard();
    using place = desk();
    const database = dashboard.socketPath.replace(/\.sock$/, "");
    place.write("config.yaml", `history: { path: ${database} }\n`);
    const { status, stderr } = await run(["history", "restore", "x.db"], place);
    expect([status, stderr]).toEqual([
      1,
      "perpwatch: the daemon is running: stop it first, then restore, then start it again\n",
    ]);
    expect(await run(["history", "compact", "--json"], place)).toMatchObject({ status: 0 });
    expect(dashboard.asked).toContainEqual(["compactHistory"]);
    expect(existsSync(database)).toBe(false);
  });
});

test("times before now are by the clock of the running daemon", async () => {
  await using dashboard = await openDashboard();
  using place = desk();
  const database = dashboard.socketPath.replace(/\.sock$/, "");
  place.write("config.yaml", `history: { path: ${database} }\n`);
  const store = openStore({ path: database });
  await store.commit([
    changes({ ticks: [{ atMs: nowMs - 60_000, owner: "main/0.0", series, values: [1_000, 40] }] }),
  ]);
  await store.close();
  const { status, stdout } = await run(["history", "query", "trader.equity", "--since", "5m"], place);
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining("1 row from samples") });
});

test("history is read beside a daemon that does not answer", { timeout: 30_000 }, async () => {
  using place = await left();
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(`${place.file}.sock`, resolve));
  const { status, stdout, stderr } = await run(
    ["history", "query", "main/0.0:trader.equity", "--since", since],
    place,
  );
  server.closeAllConnections();
  server.close();
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/ rows? from /) });
  expect(stderr).toMatch(/did not answer within 2 s: times before now are by this machine's clock\n$/);
});

test.each([["query", "trader.equity"], ["events"], ["export", "--series", "trader.equity"]])(
  "a span that ends before it begins is wrong use of history %s, with a database and without",
  async (...args) => {
    using place = await left();
    using empty = desk();
    empty.write("config.yaml", "history: { path: none.db }\n");
    for (const one of [place, empty])
      expect(await run(["history", ...args, "--since", "1h", "--until", "2h"], one)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining("--since has to be before --until"),
      });
  },
);

test("compact gives free space back without a daemon", async () => {
  using place = await left();
  const store = openStore({ path: place.file });
  const random = seededRandom(3);
  const body = () => Array.from({ length: 4_000 }, () => String.fromCharCode(33 + random() * 90)).join("");
  const payload = () => ({ atMs: t0, source: "funding", wallet: null, body: body(), problem: "p" });
  const payloads = Array.from({ length: 100 }, payload);
  await store.commit([changes({ payloads })]);
  await store.maintain(t0 + 1_000 * 86_400_000, 60_000);
  await store.close();
  const before = statSync(place.file).size;
  const { stdout, status } = await run(["history", "compact", "--json"], place);
  expect(status).toBe(0);
  const { freedBytes } = JSON.parse(stdout) as { freedBytes: number };
  expect(statSync(place.file).size).toBe(before - freedBytes);
  expect(freedBytes).toBeGreaterThan(0);
  expect((await run(["history", "compact"], place)).stdout).toBe("There was nothing to give back.\n");
});
