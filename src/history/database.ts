/**
 * Opens the database file, as its one writer or as one of many readers.
 *
 *   writer: folder ─► owner and mode ─► lock ─► is it ours, intact, not newer? ─► settings ─► migrations
 *   reader:           owner and mode ─►         is it ours, intact, this version?
 *
 * A file is not changed before it is known to be ours; a refused file is left unchanged.
 *
 * Durability: a killed process loses no commit, as the operating system has it. A power cut may
 * lose the last commits with `synchronous = NORMAL` (since the last checkpoint at most; always the newest, never some in
 * the middle, never the file's integrity). So a commit that carries pending deliveries, messages, acknowledgements or a session
 * is synced to the disk before it returns, together with all commits before it: see `durably`.
 */
import fs from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { applicationId } from "./application.ts";
import { errorCode, HistoryError, openFailure } from "./errors.ts";
import { makeFolder } from "./folder.ts";
import { takeWriterLock } from "./lock.ts";
import { type Migration, migrate, migrations, newestOf, refuseNewer, versionOf } from "./migrations.ts";
import { refuseActive, refuseShared } from "./trust.ts";

export interface OpenDatabase {
  readonly db: Database.Database;
  readonly file: string;
  readonly readonly: boolean;
  close(): void;
}

/** Maximum wait of a statement for a lock, ms. It blocks the event loop, so it is short: the caller retries. */
const busyMs = 250;
/** Page cache of the driver. */
const cacheKiB = 4_096;

/** @throws {HistoryError} */
export function openDatabase(
  configuredPath: string,
  options: { readonly readonly?: boolean; readonly migrations?: readonly Migration[] } = {},
): OpenDatabase {
  const file = path.resolve(configuredPath);
  try {
    if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory())
      throw new HistoryError("directory", file, `${file}: is a directory; name a file in it as history.path`);
    return options.readonly === true
      ? openReader(file, options.migrations ?? migrations)
      : openWriter(file, options.migrations ?? migrations);
  } catch (error) {
    throw openFailure(error, file);
  }
}

function openWriter(file: string, list: readonly Migration[]): OpenDatabase {
  makeFolder(path.dirname(file));
  refuseShared(file, "change");
  createPrivately(`${file}.lock`);
  const lock = (() => {
    try {
      return takeWriterLock(file);
    } catch (error) {
      throw openFailure(error, `${file}.lock`);
    }
  })();
  let db: Database.Database | undefined;
  try {
    createPrivately(file);
    db = new Database(file, { timeout: busyMs });
    // The schema of a file may not call functions with effects outside of it.
    db.pragma("trusted_schema = OFF");
    const empty = inspect(db, file);
    refuseNewer(versionOf(db), newestOf(list), file);
    refuseShared(file, "changeAndRead");
    refuseActive(db, file);
    if (empty) chooseAutoVacuum(db);
    // The -wal and -shm files take their mode from the database file.
    db.pragma("journal_mode = WAL");
    db.pragma("synchronous = NORMAL");
    db.pragma("journal_size_limit = 67108864");
    db.pragma("temp_store = MEMORY");
    // The system caches the file's pages, too; the driver's default of 16 MB would permanently duplicate them.
    db.pragma(`cache_size = -${cacheKiB}`);
    migrate(db, file, list);
    touchTables(db);
  } catch (error) {
    db?.close();
    lock.release();
    throw error;
  }
  const opened = db;
  return {
    db: opened,
    file,
    readonly: false,
    close() {
      try {
        if (opened.open) opened.close();
      } finally {
        lock.release();
      }
    },
  };
}

function openReader(file: string, list: readonly Migration[]): OpenDatabase {
  if (!fs.existsSync(file))
    throw new HistoryError("missing", file, `${file}: there is no history yet; \`perpwatch start\` makes it`);
  refuseShared(file, "read");
  const db = connectReader(file);
  try {
    db.pragma("trusted_schema = OFF");
    const empty = inspect(db, file);
    refuseActive(db, file);
    const newest = newestOf(list);
    const found = versionOf(db);
    refuseNewer(found, newest, file);
    if (empty) throw new HistoryError("missing", file, `${file}: is empty; \`perpwatch start\` fills it`);
    if (found < newest)
      throw new HistoryError(
        "older",
        file,
        `${file}: was written by an older perpwatch (database version ${found}, this program reads ${newest}); \`perpwatch start\` brings it up to date`,
      );
    touchTables(db);
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    db,
    file,
    readonly: true,
    close() {
      if (db.open) db.close();
    },
  };
}

/** A reader in WAL mode keeps small files beside the database, unless a writer has made them already. */
function connectReader(file: string): Database.Database {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true, timeout: busyMs });
    versionOf(db);
    return db;
  } catch (error) {
    db?.close();
    if (!/^SQLITE_(CANTOPEN|READONLY)/.test(errorCode(error)) || mayWriteBeside(file)) throw error;
    throw new HistoryError(
      "readonly",
      file,
      `${file}: even reading needs to write small files into its folder, which cannot be written; copy the database to another folder and read it there`,
      { cause: error },
    );
  }
}

function mayWriteBeside(file: string): boolean {
  try {
    fs.accessSync(path.dirname(file), fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Creates an empty file that only its user may read, if there is none. */
function createPrivately(file: string): void {
  try {
    fs.closeSync(fs.openSync(file, "wx", 0o600));
  } catch (error) {
    // Never opened and closed when it exists: that would free locks that this process holds on it.
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** @returns true if the file is empty  @throws {HistoryError} if it has content that is not ours */
function inspect(db: Database.Database, file: string): boolean {
  const id = db.pragma("application_id", { simple: true }) as number;
  const tables = db.prepare<[], { n: number }>("SELECT count(*) AS n FROM sqlite_schema").get()?.n ?? 0;
  if (id === applicationId) return false;
  if (id === 0 && tables === 0 && versionOf(db) === 0) return true;
  throw new HistoryError(
    "foreign",
    file,
    `${file}: is another program's database; it was not touched. Choose another history.path`,
  );
}

/** Required before the first table; after a crash in between, the first page may lack it. */
function chooseAutoVacuum(db: Database.Database): void {
  db.pragma("auto_vacuum = INCREMENTAL");
  if (db.pragma("page_count", { simple: true }) !== 0 && db.pragma("auto_vacuum", { simple: true }) !== 2)
    db.exec("VACUUM");
}

/** Reads the first page of every table: cheap, and detects a truncated file at the start. */
function touchTables(db: Database.Database): void {
  const names = db.prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  for (const { name } of names) db.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get();
}

/** Runs `write` so that what it commits, and every commit before it, survives a power cut. */
export function durably<T>(db: Database.Database, write: () => T): T {
  db.pragma("synchronous = FULL");
  try {
    return write();
  } finally {
    db.pragma("synchronous = NORMAL");
  }
}
