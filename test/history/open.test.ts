import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { expect, test, vi } from "vitest";
import type { Severity } from "../../src/domain/alerts/alert.ts";
import { encode } from "../../src/domain/text/json.ts";
import { openDatabase } from "../../src/history/database.ts";
import {
  backupDatabase,
  HistoryError,
  type HistoryProblem,
  openStore,
  restoreDatabase,
} from "../../src/history/index.ts";
import { migrations } from "../../src/history/migrations.ts";
import { alert, alertChange, all, everything } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

/** The error of opening; a store that opens is closed and fails the test. */
function refusal(run: () => { close(): unknown }): HistoryError {
  try {
    run().close();
  } catch (error) {
    if (error instanceof HistoryError) return error;
    throw error;
  }
  throw new Error("it opened");
}

/**
 * Every file in a folder with a hash of its bytes. The writer's lock aside, and the empty files that any reader of a
 * database in WAL mode leaves beside it.
 */
function contents(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const name of fs.readdirSync(folder).sort()) {
    const bytes = fs.readFileSync(path.join(folder, name));
    const passing =
      name.endsWith(".lock") || name.endsWith("-shm") || (name.endsWith("-wal") && bytes.length === 0);
    if (!passing) files[name] = createHash("sha256").update(bytes).digest("hex");
  }
  return files;
}

async function written(file: string): Promise<void> {
  const store = openStore({ path: file });
  await store.commit([everything()]);
  await store.close();
}

test("the folder is made for its user alone, and so are the files", async () => {
  using folder = temporaryFolder();
  const file = folder.file("deep/er/perpwatch.db");
  const store = openStore({ path: file });
  await store.commit([everything()]);
  const mode = (name: string) => (fs.statSync(name).mode & 0o777).toString(8);
  expect(mode(path.dirname(file))).toBe("700");
  expect(mode(folder.file("deep"))).toBe("700");
  for (const ending of ["", "-wal", "-shm", ".lock"]) expect(mode(file + ending)).toBe("600");
  await store.close();
  const db = new Database(file, { readonly: true });
  expect(db.pragma("auto_vacuum", { simple: true })).toBe(2);
  expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
  db.close();
});

/** Each thing that may stand where the database should, and what is said about it. */
const wrong: [string, HistoryProblem, RegExp, (file: string) => void | Promise<void>][] = [
  [
    "a text file",
    "notADatabase",
    /is not a database; move it away/,
    (file) => fs.writeFileSync(file, "dear diary\n"),
  ],
  [
    "a long text file",
    "notADatabase",
    /is not a database/,
    (file) => fs.writeFileSync(file, "dear diary\n".repeat(999)),
  ],
  ["a directory", "directory", /is a directory; name a file/, (file) => fs.mkdirSync(file)],
  [
    "another program's database",
    "foreign",
    /another program's database/,
    (file) => {
      const db = new Database(file);
      db.exec("CREATE TABLE songs (name TEXT)");
      db.close();
    },
  ],
  [
    "a database of a newer program",
    "newer",
    /newer perpwatch \(database version 99, this program knows \d+\)/,
    async (file) => {
      await written(file);
      const db = new Database(file);
      db.pragma("user_version = 99");
      db.close();
    },
  ],
  [
    "a database with a trigger",
    "foreign",
    /holds "copy", which runs on its own/,
    async (file) => {
      await written(file);
      const db = new Database(file);
      db.exec("CREATE TRIGGER copy AFTER INSERT ON alerts BEGIN DELETE FROM alerts; END");
      db.close();
    },
  ],
  [
    "a database with a view",
    "foreign",
    /holds "all_alerts"/,
    async (file) => {
      await written(file);
      const db = new Database(file);
      db.exec("CREATE VIEW all_alerts AS SELECT * FROM alerts");
      db.close();
    },
  ],
  [
    "a database that lost its end",
    "corrupt",
    /is damaged; nothing was changed/,
    async (file) => {
      await written(file);
      fs.truncateSync(file, 8_192);
    },
  ],
  [
    "a database with pages overwritten",
    "corrupt",
    /is damaged/,
    async (file) => {
      await written(file);
      const handle = fs.openSync(file, "r+");
      for (let page = 2; page < 20; page++)
        fs.writeSync(handle, Buffer.alloc(4_096, page), 0, 4_096, page * 4_096);
      fs.closeSync(handle);
    },
  ],
];

for (const readonly of [false, true])
  for (const [name, problem, text, make] of wrong)
    test(`${name} is refused by a ${readonly ? "reader" : "writer"} and left as it is`, async () => {
      using folder = temporaryFolder();
      const file = folder.file();
      await make(file);
      const isDirectory = fs.statSync(file).isDirectory();
      const before = isDirectory ? {} : contents(folder.path);
      const error = refusal(() => openStore({ path: file, readonly }));
      expect(error.problem).toBe(problem);
      expect(error.message).toMatch(text);
      expect(error.message).toContain(file);
      if (!isDirectory) expect(contents(folder.path)).toEqual(before);
      // It is no worse off for a second try, and the lock is free again.
      expect(refusal(() => openStore({ path: file, readonly })).problem).toBe(problem);
    });

test.each<[string, number, boolean]>([
  ["others may read", 0o604, false],
  ["others may write", 0o602, false],
  ["everybody may use", 0o666, false],
  ["only its owner may use", 0o600, true],
  ["only its owner may read", 0o400, true],
])("a database that %s (mode %o): opened by a writer %s", async (_, mode, isOpened) => {
  using folder = temporaryFolder();
  const file = folder.file();
  await written(file);
  fs.chmodSync(file, mode);
  const before = contents(folder.path);
  if (isOpened) {
    // Root writes whatever the mode says.
    if (process.getuid?.() === 0 || mode === 0o600) await openStore({ path: file }).close();
    return;
  }
  const error = refusal(() => openStore({ path: file }));
  expect(error.problem).toBe("permission");
  expect(error.message).toContain(`mode 0${mode.toString(8)}`);
  expect(error.message).toContain(`chmod 600 ${file}`);
  expect(contents(folder.path)).toEqual(before);
});

test("an empty file that others may use does not become a database", () => {
  using folder = temporaryFolder();
  const file = folder.file();
  fs.writeFileSync(file, "", { mode: 0o600 });
  fs.chmodSync(file, 0o666);
  expect(refusal(() => openStore({ path: file })).problem).toBe("permission");
});

test("a reader says when there is nothing to read, and makes nothing", () => {
  using folder = temporaryFolder();
  expect(refusal(() => openStore({ path: folder.file("a/b.db"), readonly: true })).problem).toBe("missing");
  fs.writeFileSync(folder.file(), "");
  expect(refusal(() => openStore({ path: folder.file(), readonly: true })).problem).toBe("missing");
  expect(fs.readdirSync(folder.path)).toEqual(["perpwatch.db"]);
});

test("a path through a file is refused with the fix", () => {
  using folder = temporaryFolder();
  fs.writeFileSync(folder.file("plain"), "");
  const error = refusal(() => openStore({ path: folder.file("plain/perpwatch.db") }));
  expect([error.problem, error.message]).toEqual(["io", expect.stringContaining("is a file, not a folder")]);
});

test("an empty file, and one that a crash left without tables, become databases", async () => {
  using folder = temporaryFolder();
  for (const name of ["empty.db", "early.db"]) fs.writeFileSync(folder.file(name), "", { mode: 0o600 });
  const early = new Database(folder.file("early.db"));
  early.pragma("journal_mode = WAL");
  early.close();
  for (const name of ["empty.db", "early.db"]) {
    await written(folder.file(name));
    const db = new Database(folder.file(name), { readonly: true });
    expect(db.pragma("auto_vacuum", { simple: true })).toBe(2);
    db.close();
  }
});

test("a second writer is refused by name of the first, in this process or another, until the first is gone", async () => {
  using folder = temporaryFolder();
  const file = folder.file();
  const first = openStore({ path: file });
  const again = refusal(() => openStore({ path: file }));
  expect([again.problem, again.message]).toEqual([
    "locked",
    expect.stringContaining(`process ${process.pid}`),
  ]);
  await first.commit([everything()]);
  await first.close();

  const child = spawn(process.execPath, [fileURLToPath(new URL("./holder.ts", import.meta.url)), file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const other = refusal(() => openStore({ path: file }));
  expect([other.problem, other.message]).toEqual(["locked", expect.stringContaining(`process ${child.pid}`)]);
  const reader = openStore({ path: file, readonly: true });
  expect(await reader.alerts({})).toHaveLength(1);
  await reader.close();
  child.kill("SIGKILL");
  await once(child, "exit");
  const successor = openStore({ path: file });
  expect(await successor.alerts({})).toHaveLength(1);
  await successor.close();
});

test("an older database is copied beside itself before it is migrated, and a failed migration leaves it as it was", async () => {
  using folder = temporaryFolder();
  const file = folder.file();
  await written(file);
  const next = migrations.length + 1;
  const good = [...migrations, { version: next, sql: "CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT" }];
  const bad = [...migrations, { version: next, sql: "CREATE TABLE extra (id); CREATE TABLE alerts (id)" }];

  expect(refusal(() => openDatabase(file, { readonly: true, migrations: good })).problem).toBe("older");
  expect(() => openDatabase(file, { migrations: bad })).toThrow(/alerts already exists/);
  const unharmed = openStore({ path: file });
  expect(await unharmed.alerts({})).toEqual(everything().alerts);
  await unharmed.close();

  openDatabase(file, { migrations: good }).close();
  expect(refusal(() => openStore({ path: file })).problem).toBe("newer");
  const copy = `${file}.before-v${next}`;
  expect((fs.statSync(copy).mode & 0o777).toString(8)).toBe("600");
  const old = openStore({ path: copy });
  expect(await old.alerts({})).toEqual(everything().alerts);
  expect(await all(old.ticks({ owner: "main/0.0", fromMs: 0 }))).toEqual(everything().ticks);
  await old.close();
  expect(fs.existsSync(`${copy}.partial`)).toBe(false);
});

test("alerts of before their worst levels were kept have them from the steps in their lives", async () => {
  using folder = temporaryFolder();
  const file = folder.file();
  const old = openDatabase(file, { migrations: migrations.slice(0, 3) });
  const put = (id: number, ...severities: Severity[]): void => {
    const value = Number.POSITIVE_INFINITY;
    const last = alert({ id, value, severity: severities.at(-1)! });
    old.db.prepare("INSERT INTO alerts VALUES (?, 'ended', ?)").run(id, encode(last));
    for (const severity of severities) {
      const change = alertChange({ alertId: id, alert: alert({ id, value, severity }) });
      old.db.prepare("INSERT INTO alert_changes (alert_id, row) VALUES (?, ?)").run(id, encode(change));
    }
  };
  put(1, "warning", "critical", "warning", "info");
  put(2, "warning", "critical");
  put(3, "info", "warning", "info");
  old.close();
  const store = openStore({ path: file });
  const found = await store.alerts({});
  expect(found.map(({ id, severity, worstSeverity }) => [id, severity, worstSeverity])).toEqual([
    [3, "info", "warning"],
    [2, "critical", undefined],
    [1, "info", "critical"],
  ]);
  expect(found.at(-1)).toEqual(
    alert({ id: 1, value: Number.POSITIVE_INFINITY, severity: "info", worstSeverity: "critical" }),
  );
  await store.close();
});

test("a reader sees each commit of a writer that goes on beside it", async () => {
  using folder = temporaryFolder();
  const writer = openStore({ path: folder.file() });
  const reader = openStore({ path: folder.file(), readonly: true });
  for (let i = 1; i <= 20; i++) {
    await writer.commit([{ ...everything(), alertChanges: [], keep: [{ name: "n", value: `${i}` }] }]);
    expect((await reader.keep()).get("n")).toBe(`${i}`);
    expect(await all(reader.ticks({ owner: "main/0.0", fromMs: 0 }))).toHaveLength(i);
  }
  await writer.close();
  await reader.close();
});

test("a pipe is opened by nobody: neither waits for who writes into it", () => {
  using folder = temporaryFolder();
  const file = folder.file();
  expect(spawnSync("mkfifo", ["-m", "600", file]).status).toBe(0);
  for (const readonly of [false, true])
    expect(refusal(() => openStore({ path: file, readonly }))).toMatchObject({
      ...{ problem: "notADatabase", message: expect.stringContaining("is not a regular file") },
    });
});

test("no schema may call functions that reach out of it: of the writer, a reader, a copy and what is restored from one", async () => {
  using folder = temporaryFolder();
  const file = folder.file("p.db");
  await written(file);
  for (const readonly of [false, true]) {
    const opened = openDatabase(file, { readonly });
    expect(opened.db.pragma("trusted_schema", { simple: true })).toBe(0);
    opened.close();
  }
  const ends: (readonly [string, unknown])[] = [];
  const close = Database.prototype.close;
  vi.spyOn(Database.prototype, "close").mockImplementation(function (this: Database.Database) {
    ends.push([path.basename(this.name), this.pragma("trusted_schema", { simple: true })]);
    return close.call(this);
  });
  await backupDatabase(file, folder.file("copy.db"));
  await restoreDatabase(file, folder.file("copy.db"), 0);
  const checked = ends.filter(([name]) => name.endsWith(".partial"));
  expect(checked).toEqual([
    ["copy.db.partial", 0],
    ["p.db.restoring.partial", 0],
  ]);
});
