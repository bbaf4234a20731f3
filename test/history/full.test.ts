import { execFileSync } from "node:child_process";
import fs from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { CommitFailed } from "../../src/domain/ports.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { openDatabase } from "../../src/history/database.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { storeOn } from "../../src/history/store.ts";
import { all, everything, t0, tick } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

/** A batch of about `kilobytes` that does not compress, with a value that tells whether it is there. */
function heavy(kilobytes: number, name: string) {
  const width = 64;
  const series = Array.from({ length: width }, (_, i) => `s${i}`);
  const ticks = Array.from({ length: kilobytes * 2 }, (_, i) =>
    tick({ atMs: t0 + i, owner: name, series, values: series.map(() => Math.random()) }),
  );
  return changes({ ticks, keep: [{ name, value: "1" }] });
}

async function failure(promise: Promise<unknown>): Promise<CommitFailed> {
  const error = await promise.then(
    () => new Error("it was committed"),
    (error: unknown) => error,
  );
  if (!(error instanceof CommitFailed)) throw error;
  return error;
}

/** Fills the store until a commit fails for want of room, frees some, commits again. */
async function fillsAndRecovers(store: History, makeRoom: () => void): Promise<void> {
  await store.commit([everything()]);
  let failed: CommitFailed | undefined;
  let count = 0;
  for (; failed === undefined && count < 200; count++)
    failed = await store.commit([heavy(64, `batch ${count}`)]).then(
      () => undefined,
      (error: CommitFailed) => error,
    );
  expect(failed).toBeInstanceOf(CommitFailed);
  expect(failed?.reason).toBe("full");
  const last = `batch ${count - 1}`;
  expect((await store.keep()).has(last)).toBe(false);
  expect(await all(store.ticks({ owner: last, fromMs: 0 }))).toEqual([]);
  expect(await store.alerts({})).toEqual(everything().alerts);
  expect((await failure(store.commit([heavy(64, last)]))).reason).toBe("full");
  makeRoom();
  await store.commit([heavy(64, last)]);
  expect((await store.keep()).has(last)).toBe(true);
  expect(await all(store.ticks({ owner: last, fromMs: 0 }))).toHaveLength(128);
  expect(await store.verify()).toEqual([]);
}

test("a full database takes nothing of a commit, says so, and takes it whole when there is room", async () => {
  using folder = temporaryFolder();
  const opened = openDatabase(folder.file());
  opened.db.pragma("max_page_count = 400");
  const store = storeOn(opened);
  await fillsAndRecovers(store, () => opened.db.pragma("max_page_count = 4000"));
  await store.close();
});

test("somebody else's lock is a commit that failed, not a lost one", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file() });
  const shell = new Database(folder.file());
  shell.exec("BEGIN IMMEDIATE");
  expect((await failure(store.commit([everything()]))).reason).toBe("busy");
  expect((await failure(store.save("main", new Uint8Array([1])))).reason).toBe("busy");
  shell.exec("ROLLBACK");
  await store.commit([everything()]);
  expect(await store.alerts({})).toHaveLength(1);
  shell.close();
  await store.close();
});

/** A real file system of two megabytes takes the right to mount one; elsewhere the page limit above stands for it. */
function mounted(folder: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "perpwatch-test", folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
const mayMount = (() => {
  using folder = temporaryFolder();
  if (!mounted(folder.path)) return false;
  execFileSync("umount", [folder.path]);
  return true;
})();

if (!mayMount) console.log("no right to mount a small disk here: the page limit alone stands for a full one");

/** The disks of these tests. Where none can be mounted, they cannot run. */
for (const disk of mayMount ? ["on a disk of two megabytes"] : [])
  describe(disk, () => {
    async function onSmallDisk(run: (file: string, filler: string) => Promise<void>): Promise<void> {
      using folder = temporaryFolder();
      expect(mounted(folder.path)).toBe(true);
      try {
        await run(folder.file(), folder.file("filler"));
      } finally {
        execFileSync("umount", [folder.path]);
      }
    }

    test("a full disk takes nothing of a commit and all of it when there is room", () =>
      onSmallDisk(async (file, filler) => {
        fs.writeFileSync(filler, Buffer.alloc(900_000));
        const store = openStore({ path: file });
        await fillsAndRecovers(store, () => fs.rmSync(filler));
        await store.close();
      }));

    test("a full disk at the start is told, harms nothing, and is no obstacle later", () =>
      onSmallDisk(async (file, filler) => {
        const first = openStore({ path: file });
        await first.commit([everything()]);
        await first.close();
        const bytes = fs.readFileSync(file);
        const fill = fs.openSync(filler, "w");
        expect(() => {
          for (;;) fs.writeSync(fill, Buffer.alloc(4_096));
        }).toThrow(/ENOSPC/);
        fs.closeSync(fill);
        for (const path of [file, file.replace("perpwatch.db", "new/perpwatch.db")])
          expect(() => openStore({ path })).toThrow(expect.objectContaining({ problem: "full" }) as Error);
        expect(fs.readFileSync(file).equals(bytes)).toBe(true);
        fs.rmSync(filler);
        const again = openStore({ path: file });
        expect(await again.alerts({})).toEqual(everything().alerts);
        await again.close();
      }));

    test("a medium that cannot be written is refused with the fix, and a copy elsewhere is read", () =>
      onSmallDisk(async (file) => {
        const first = openStore({ path: file });
        await first.commit([everything()]);
        await first.close();
        execFileSync("mount", ["-o", "remount,ro", file.replace("/perpwatch.db", "")]);
        const fixes = [
          [false, "choose a history.path on a writable disk"],
          [true, "copy the database to another folder"],
        ] as const;
        for (const [readonly, fix] of fixes)
          expect(() => openStore({ path: file, readonly })).toThrow(
            expect.objectContaining({ problem: "readonly", message: expect.stringContaining(fix) }) as Error,
          );
        using elsewhere = temporaryFolder();
        fs.copyFileSync(file, elsewhere.file());
        const reader = openStore({ path: elsewhere.file(), readonly: true });
        expect(await reader.alerts({})).toEqual(everything().alerts);
        await reader.close();
      }));
  });
