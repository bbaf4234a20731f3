/** The alerts about faults of the daemon's own: its disk, a channel, its knowledge of the exchange's words. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, test, vi } from "vitest";
import { CommitFailed } from "../../src/domain/ports.ts";
import type { Changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const long = { collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" } as const;
const calm = {
  MarginHigh: { enabled: false },
  OrdersMayBeCancelled: { enabled: false },
  Drawdown: { enabled: false },
  LosingFast: { enabled: false },
  DailyLoss: { enabled: false },
  StopLossMissing: { enabled: false },
};

/** A place for the database, and how it is made to refuse commits and to take them again. */
interface Disk extends Disposable {
  readonly folder: string;
  refuse(): void;
  take(): void;
}

/** Somebody else holds the database's lock: an editor, a backup. */
function lockedDisk(): Disk {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-disk-"));
  let shell: Database.Database | undefined;
  return {
    folder,
    refuse() {
      shell = new Database(path.join(folder, "perpwatch.db"));
      shell.exec("BEGIN IMMEDIATE");
    },
    take() {
      shell?.exec("ROLLBACK");
      shell?.close();
    },
    [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}

/** A real disk of a few megabytes, filled to the last byte. Null where this process has no right to mount one. */
function smallDisk(): Disk | null {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-disk-"));
  try {
    const options = ["-t", "tmpfs", "-o", "size=4m", "perpwatch-test", folder];
    execFileSync("mount", options, { stdio: "ignore" });
  } catch {
    fs.rmSync(folder, { recursive: true });
    return null;
  }
  const filler = path.join(folder, "filler");
  return {
    folder,
    refuse() {
      const fill = fs.openSync(filler, "w");
      try {
        for (;;) fs.writeSync(fill, Buffer.alloc(512));
      } catch {
        fs.closeSync(fill);
      }
    },
    take: () => fs.rmSync(filler),
    [Symbol.dispose]() {
      execFileSync("umount", [folder]);
      fs.rmSync(folder, { recursive: true });
    },
  };
}

const disks: readonly (readonly [string, () => Disk | null])[] = [
  ["full", smallDisk],
  ["locked by somebody else", lockedDisk],
];
const mayMount = (() => {
  const disk = smallDisk();
  disk?.[Symbol.dispose]();
  return disk !== null;
})();
if (!mayMount)
  console.log("no right to mount a small disk here: a locked database alone stands for a full one");

test.each(mayMount ? disks : disks.slice(1))(
  "a database that is %s: what is critical leaves all the same, once",
  async (_name, make) => {
    using disk = make();
    if (disk === null) throw new Error("no disk");
    await using house = await openHouse({ databaseFolder: disk.folder });
    await house.hold(long);
    const first = await house.start({ ruleOverrides: calm });
    await house.clock.advance(10_000);

    disk.refuse();
    await house.clock.advance(10_000);
    const brokenAtMs = house.clock.nowMs();
    await house.call("notification", { trader: "main", notificationType: "stop_loss_executed" });
    await house.bring("SOL", 0.03);
    await house.clock.advance(15_000);
    expect(first.daemon.status().state).toBe("degraded");
    expect(house.headlines()).toHaveLength(1);
    expect(house.headlines()[0]).toContain("FIRING critical: main: SOL long is 3% from liquidation");
    expect(house.subjects()).toHaveLength(1);
    expect((house.discord.messages[0]?.sentAtMs ?? 0) - brokenAtMs).toBeLessThanOrEqual(8_000);
    // Neither what is less than critical, nor the exchange, hears anything that is not written down.
    await house.clock.advance(120_000);
    expect(house.headlines()).toHaveLength(1);
    expect((await house.inbox()).acked).toEqual([]);
    const told = house.log.filter(({ msg }) => /does not take commits/.test(msg));
    expect(told.map(({ level }) => level)).toEqual(["error"]);

    disk.take();
    await house.clock.advance(30_000);
    expect(first.daemon.status().state).toBe("running");
    expect(house.log.filter(({ msg }) => /takes commits again/.test(msg))).toHaveLength(1);
    expect((await house.inbox()).open).toEqual([]);
    expect(house.subjects().map((subject) => subject.replace(/ \(#\d+\)/, ""))).toEqual([
      "FIRING critical: main: SOL long is 3% from liquidation",
      expect.stringMatching(/^WARNING: main: a stop or take profit was executed/),
    ]);
    expect(house.headlines()).toHaveLength(2);
    const rows = await house.read((store) => store.messages({}));
    expect(rows.map(({ status }) => status)).toEqual(["delivered", "delivered", "delivered", "delivered"]);

    // The rows are as if nothing had been: the next run repeats nothing, and ends the alert in the same thread.
    await first.stop();
    await house.start({ ruleOverrides: calm });
    await house.bring("SOL", 0.5);
    await house.clock.advance(90_000);
    expect(house.subjects()).toHaveLength(3);
    expect(house.smtp.mails[2]?.subject).toMatch(/^RESOLVED: main: SOL long/);
    expect(house.smtp.mails[2]?.headers.get("in-reply-to")).toBe(house.smtp.mails[0]?.messageId);
    expect(house.discord.messages[2]?.channelId).toBe(house.discord.messages[0]?.id);
  },
);

/** A database that refuses some commits. */
function refusing(isRefused: (changes: Changes) => boolean): typeof openStore {
  return (options) => {
    const store = openStore(options);
    const commit = store.commit.bind(store);
    store.commit = async (batch) => {
      if (batch.some(isRefused)) throw new CommitFailed("full", "the disk is full");
      return commit(batch);
    };
    return store;
  };
}

test("a disk that takes nothing ends no start, and the rules in use are noted when it does", async () => {
  await using house = await openHouse();
  await house.hold(long);
  let isFull = true;
  const run = await house.start({ ruleOverrides: calm }, undefined, { openStore: refusing(() => isFull) });
  await house.bring("SOL", 0.03);
  await house.clock.advance(15_000);
  expect(house.headlines()).toEqual([
    expect.stringContaining("FIRING critical: main: SOL long is 3% from liquidation"),
  ]);
  isFull = false;
  await house.clock.advance(30_000);
  await run.stop();
  const kinds = ["ruleSet", "routingSet"] as const;
  for (const kind of kinds)
    expect(await house.read(async (store) => (await store.milestones(kind)).length), kind).toBe(1);
});

test("a reload whose rules cannot be noted down at once is a reload", async () => {
  await using house = await openHouse();
  await house.hold(long);
  let isFull = false;
  const run = await house.start({ ruleOverrides: calm }, undefined, {
    openStore: refusing(({ milestones }) => isFull && milestones.some(({ kind }) => kind === "ruleSet")),
  });
  await house.clock.advance(5_000);
  isFull = true;
  const setAtMs = house.clock.nowMs();
  const other = { ...calm, LiquidationNear: { levels: { critical: { when: "value < 0.06" } } } };
  await house.clock.finish(run.daemon.reload(house.settings({ ruleOverrides: other })));
  await house.clock.advance(10_000);
  isFull = false;
  await house.clock.advance(10_000);
  const noted = await house.read((store) => store.milestones("ruleSet"));
  expect(noted).toHaveLength(2);
  expect(noted[1]!.atMs).toBe(setAtMs);
  expect(noted[1]!.value).toContain("value < 0.06");
});

test("a bot whose token is refused is told by mail, and what it missed leaves when it is mended", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.start({ ruleOverrides: calm });
  await house.clock.advance(5_000);
  const good = house.discord.token;
  // To the daemon its own is the wrong one now.
  house.discord.token = "MTEwMDAwMDAwMDAwMDAwMDAwMQ.GbotTk.another-token-altogether-0000000000000";
  await house.bring("SOL", 0.08);
  await house.clock.advance(30_000);
  // What is critical goes at once, what is not waits for its group.
  expect(house.subjects()).toEqual([
    "FIRING critical: The channel chat does not take messages (#2)",
    "FIRING warning: main: SOL long is 8% from liquidation (#1)",
  ]);
  expect(house.smtp.mails[0]?.text).toMatch(/401/);
  expect(house.headlines()).toEqual([]);
  const said = house.log.filter(({ level, channel }) => level === "warn" && channel === "chat");
  expect(new Set(said.map(({ msg }) => msg)).size).toBe(said.length);
  expect(house.warnings()).toEqual([]);

  // Mended on the other side: found by itself.
  house.discord.token = good;
  await house.clock.advance(300_000);
  const subjects = house.subjects();
  expect(subjects.filter((subject) => /^RESOLVED: The channel chat/.test(subject))).toHaveLength(1);
  expect(house.headlines().filter((line) => /FIRING warning: main: SOL/.test(line))).toHaveLength(1);
  expect(house.chats(/The channel chat does not take/)).toEqual([]);
  const lines = [...house.log.map((line) => JSON.stringify(line)), ...house.smtp.mails.map(({ raw }) => raw)];
  expect(lines.filter((line) => line.includes(good))).toEqual([]);
});

test("a notification of a kind that nobody knows is delivered as it is, and waits for a person", async () => {
  await using house = await openHouse();
  await house.hold(long);
  await house.start({ ruleOverrides: calm });
  await house.clock.advance(5_000);
  const data = { planet: "Mars", weight: "12.5" };
  await house.call("notification", { trader: "main", notificationType: "moon_landing", data });
  await house.clock.advance(120_000);
  expect(house.subjects()).toEqual([
    "WARNING: The exchange sent a notification of a kind that is not known here: moon_landing (#1)",
  ]);
  expect(house.smtp.mails[0]?.text).toContain("Mars");
  expect(house.headlines()).toHaveLength(1);
  expect(await house.inbox()).toEqual({ acked: [], open: ["moon_landing"] });

  await house.ask("POST", "/api/v1/alerts/1/ack", { by: "me", comment: "seen" });
  await house.clock.advance(10_000);
  expect(await house.inbox()).toEqual({ acked: ["moon_landing"], open: [] });
});
