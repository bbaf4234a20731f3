/**
 * Numbered migrations: `user_version` of the file counts those that were applied. Each runs in its own transaction; a
 * file that already has a history is copied to the same folder first (`perpwatch.db.before-v2`).
 */
import fs from "node:fs";
import type Database from "better-sqlite3";
import { HistoryError } from "./errors.ts";
import { sql as first } from "./migrations/001-first.ts";
import { sql as recording } from "./migrations/002-recording.ts";
import { sql as rollups } from "./migrations/003-rollups.ts";
import { sql as worstLevels } from "./migrations/004-worst-levels.ts";
import { sql as access } from "./migrations/005-access.ts";

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** In order, without gaps; a released migration is never edited. */
export const migrations: readonly Migration[] = [
  { version: 1, sql: first },
  { version: 2, sql: recording },
  { version: 3, sql: rollups },
  { version: 4, sql: worstLevels },
  { version: 5, sql: access },
];

export function versionOf(db: Database.Database): number {
  return db.pragma("user_version", { simple: true }) as number;
}

/** The version that a program with these migrations writes. */
export function newestOf(list: readonly Migration[]): number {
  return list.at(-1)?.version ?? 0;
}

/**
 * Updates the file to the newest version. A failed migration leaves the file at the version before it.
 * @throws {HistoryError} `newer` when the file was written by a newer program
 */
export function migrate(db: Database.Database, file: string, list: readonly Migration[] = migrations): void {
  const found = versionOf(db);
  const newest = newestOf(list);
  refuseNewer(found, newest, file);
  if (found === newest) return;
  if (found > 0) copyBeside(db, file, newest);
  for (const migration of list) {
    if (migration.version <= found) continue;
    db.exec("BEGIN IMMEDIATE");
    try {
      db.exec(migration.sql);
      db.pragma(`user_version = ${migration.version}`);
      db.exec("COMMIT");
    } catch (error) {
      if (db.inTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }
}

export function refuseNewer(found: number, newest: number, file: string): void {
  if (found <= newest) return;
  throw new HistoryError(
    "newer",
    file,
    `${file}: was written by a newer perpwatch (database version ${found}, this program knows ${newest}); install that version again, or choose another history.path`,
  );
}

/** Copies to a temporary name, and renames the complete copy: a crash leaves no partial copy under the final name. */
function copyBeside(db: Database.Database, file: string, newest: number): void {
  const copy = `${file}.before-v${newest}`;
  const partial = `${copy}.partial`;
  fs.rmSync(partial, { force: true });
  // Created first, so that other users can never read it; SQLite accepts an empty file.
  fs.closeSync(fs.openSync(partial, "wx", 0o600));
  try {
    db.prepare("VACUUM INTO ?").run(partial);
    fs.renameSync(partial, copy);
  } catch (error) {
    fs.rmSync(partial, { force: true });
    throw error;
  }
}
