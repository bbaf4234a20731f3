/**
 * One writer at a time. The lock is a transaction that is held open on a tiny database beside the real one
 * (`perpwatch.db.lock`): the kernel frees it when the process ends, also by SIGKILL, so no stale lock
 * remains. Readers of the real database do not need it.
 *
 * The file must not be opened by any other means in this process: closing a second descriptor would free the lock.
 */
import Database from "better-sqlite3";
import { errorCode, HistoryError } from "./errors.ts";

export interface WriterLock {
  release(): void;
}

/** @throws {HistoryError} `locked`, naming the process that writes, when there is one */
export function takeWriterLock(file: string, pid: number = process.pid): WriterLock {
  const db = new Database(`${file}.lock`, { timeout: 0 });
  try {
    // Nothing in it has to survive a crash, so no journal file is needed.
    db.pragma("journal_mode = MEMORY");
    db.pragma("synchronous = OFF");
    db.exec("BEGIN IMMEDIATE");
    db.exec(
      "CREATE TABLE IF NOT EXISTS holder (id INTEGER PRIMARY KEY CHECK (id = 1), pid INTEGER NOT NULL)",
    );
    db.prepare("INSERT OR REPLACE INTO holder VALUES (1, ?)").run(pid);
    db.exec("COMMIT");
    // A reserved lock excludes writers, and lets a second process read the holder.
    db.exec("BEGIN IMMEDIATE");
  } catch (error) {
    if (!errorCode(error).startsWith("SQLITE_BUSY")) {
      db.close();
      throw error;
    }
    const pid = holderOf(db);
    const holder = pid === null ? "" : ` (process ${pid})`;
    db.close();
    throw new HistoryError(
      "locked",
      file,
      `${file}: another perpwatch${holder} is writing to this database; stop it first, or give this one another history.path`,
      { cause: error },
    );
  }
  return {
    release() {
      if (db.open) db.close();
    },
  };
}

/** Returns the process that writes to a database, or was the last to; null: not known. Not for the process that holds the lock. */
export function writerOf(file: string): number | null {
  let db: Database.Database;
  try {
    db = new Database(`${file}.lock`, { readonly: true, timeout: 0 });
  } catch {
    return null;
  }
  try {
    return holderOf(db);
  } finally {
    db.close();
  }
}

function holderOf(db: Database.Database): number | null {
  try {
    return db.prepare<[], { pid: number }>("SELECT pid FROM holder").get()?.pid ?? null;
  } catch {
    return null; // It is being written this moment; that somebody holds it is what matters.
  }
}
