/**
 * Copies of the whole database, made while a daemon writes to it, and restored in its place. A copy gets its name only
 * when it is complete, checked and synced to disk.
 */
import fs from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { applicationId } from "./application.ts";
import { openDatabase } from "./database.ts";
import { errorCode, HistoryError, openFailure } from "./errors.ts";
import { makeFolder } from "./folder.ts";
import { takeWriterLock } from "./lock.ts";
import { migrations, newestOf, refuseNewer, versionOf } from "./migrations.ts";
import { refuseActive, refuseOtherSchema, refuseShared, refuseSpecial } from "./trust.ts";

/** Pages copied between two reports of progress. */
const pagesAtOnce = 2_048;

export interface CopyOptions {
  /** Replaces an existing file. */
  readonly force?: boolean;
  /** Called at intervals. @param done copied share, 0–1 */
  readonly onProgress?: (done: number) => void;
}

export interface Copied {
  readonly file: string;
  readonly bytes: number;
}

/**
 * Copies the database as of one point in time, while others may write.
 * @throws {HistoryError} no file has the new name then
 */
export async function backupDatabase(file: string, to: string, options: CopyOptions = {}): Promise<Copied> {
  const target = path.resolve(to);
  if (target === path.resolve(file))
    throw new HistoryError("directory", target, `${target}: is the database itself; choose another name`);
  if (options.force !== true && fs.existsSync(target))
    throw new HistoryError(
      "directory",
      target,
      `${target}: is there already; choose another name, or --force`,
    );
  const { db, close } = openDatabase(file, { readonly: true });
  try {
    await copyTo(db, target, options.onProgress);
  } finally {
    close();
  }
  return { file: target, bytes: fs.statSync(target).size };
}

export interface Restored {
  readonly file: string;
  /** The place of the former database; null: there was none. */
  readonly aside: string | null;
}

/**
 * Replaces the database by a copy. The former database is kept beside it.
 * @param atMs wall time, for the name of the former database
 * @throws {HistoryError} if a daemon runs, or the copy is not an intact history of this program; nothing was changed then
 */
export async function restoreDatabase(
  file: string,
  from: string,
  atMs: number,
  onProgress?: CopyOptions["onProgress"],
): Promise<Restored> {
  const source = path.resolve(from);
  const target = path.resolve(file);
  if (source === target) throw new HistoryError("directory", source, `${source}: is the database itself`);
  makeFolder(path.dirname(target));
  refuseShared(target, "changeAndRead");
  if (!fs.existsSync(`${target}.lock`)) fs.closeSync(fs.openSync(`${target}.lock`, "a", 0o600));
  const lock = takeWriterLock(target);
  try {
    const partial = `${target}.restoring`;
    const db = openForeign(source);
    try {
      await copyTo(db, partial, onProgress);
    } finally {
      db.close();
    }
    forgetLogins(partial);
    const aside = putAside(target, atMs);
    fs.renameSync(partial, target);
    syncFolder(target);
    return { file: target, aside };
  } finally {
    lock.release();
  }
}

/** Deletes tokens and sessions of the page: those in a backup may be revoked since, or made by the file's author. */
function forgetLogins(file: string): void {
  const db = new Database(file, { fileMustExist: true });
  try {
    const has = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'access'").get();
    if (has !== undefined) db.exec("DELETE FROM access");
  } finally {
    db.close();
  }
  sync(file);
}

/** Opens an untrusted file. @throws {HistoryError} unless it is a history of this version or an older one */
function openForeign(file: string): Database.Database {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) throw new HistoryError("missing", file, `${file}: there is no such file`);
  refuseSpecial(file, stat);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    refuseForeign(db, file);
    return db;
  } catch (error) {
    db?.close();
    throw openFailure(error, file);
  }
}

function refuseForeign(db: Database.Database, file: string): void {
  if (db.pragma("application_id", { simple: true }) !== applicationId || versionOf(db) < 1)
    throw new HistoryError("foreign", file, `${file}: is not a history of perpwatch; nothing was changed`);
  refuseNewer(versionOf(db), newestOf(migrations), file);
}

/** Copies to a file beside the target, checks the copy, and renames it. */
async function copyTo(
  db: Database.Database,
  target: string,
  onProgress: CopyOptions["onProgress"] = () => {},
): Promise<void> {
  const partial = `${target}.partial`;
  fs.rmSync(partial, { force: true });
  try {
    fs.closeSync(fs.openSync(partial, "wx", 0o600));
    // A snapshot: without it, each commit of the daemon would restart the copying.
    db.exec("BEGIN");
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    await db.backup(partial, {
      progress({ totalPages, remainingPages }) {
        onProgress(totalPages === 0 ? 0 : 1 - remainingPages / totalPages);
        return pagesAtOnce;
      },
    });
    check(partial, target);
    sync(partial);
    fs.renameSync(partial, target);
    syncFolder(target);
  } catch (error) {
    for (const ending of ["", "-wal", "-shm", "-journal"]) fs.rmSync(partial + ending, { force: true });
    throw openFailure(error, target);
  } finally {
    if (db.inTransaction) db.exec("ROLLBACK");
  }
}

/** @throws {HistoryError} unless the copy is an intact history */
function check(partial: string, target: string): void {
  const copy = new Database(partial, { fileMustExist: true });
  try {
    // A single file, without a write-ahead file.
    copy.pragma("trusted_schema = OFF");
    copy.pragma("journal_mode = DELETE");
    refuseForeign(copy, target);
    refuseActive(copy, target);
    refuseOtherSchema(copy, target, migrations);
    const rows = copy.pragma("integrity_check(3)") as { integrity_check: string }[];
    const wrong = rows.map((row) => row.integrity_check).filter((line) => line !== "ok");
    if (wrong.length > 0)
      throw new HistoryError(
        "corrupt",
        target,
        `${target}: the copy is damaged, and was removed: ${wrong.join("; ")}`,
      );
  } finally {
    copy.close();
  }
}

/** Renames the existing database, after its write-ahead file was written into it. */
function putAside(file: string, atMs: number): string | null {
  if (!fs.existsSync(file)) return null;
  try {
    const old = new Database(file, { fileMustExist: true, timeout: 250 });
    // Closing the last connection writes the write-ahead file into the database and deletes it.
    old.pragma("wal_checkpoint(TRUNCATE)");
    old.close();
  } catch {
    // A damaged one is kept unchanged, together with its write-ahead file.
  }
  const stamp = new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, "");
  let aside = `${file}.before-restore-${stamp}`;
  for (let i = 2; fs.existsSync(aside); i++) aside = `${file}.before-restore-${stamp}-${i}`;
  // The new database must not be opened with the old write-ahead file.
  if (fs.existsSync(`${file}-wal`)) fs.renameSync(`${file}-wal`, `${aside}-wal`);
  fs.rmSync(`${file}-shm`, { force: true });
  try {
    fs.linkSync(file, aside);
  } catch (error) {
    // A file system without links: for a short time no file has the name.
    if (!/^(EPERM|ENOTSUP|EOPNOTSUPP|EMLINK|ENOSYS)$/.test(errorCode(error))) throw error;
    fs.renameSync(file, aside);
  }
  return aside;
}

function sync(file: string): void {
  const handle = fs.openSync(file, "r+");
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

/** Syncs the folder, so that the name survives a power cut, too. */
function syncFolder(file: string): void {
  try {
    const handle = fs.openSync(path.dirname(file), "r");
    fs.fsyncSync(handle);
    fs.closeSync(handle);
  } catch {
    // Not every system can sync a folder.
  }
}
