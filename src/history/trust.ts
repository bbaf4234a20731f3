/** Refuses a database that others can use, and one whose schema does more than hold our rows. */
import fs from "node:fs";
import Database from "better-sqlite3";
import { HistoryError } from "./errors.ts";
import { type Migration, versionOf } from "./migrations.ts";

/** Rights of everybody, and of the group. */
const ofOthers = 0o007;
const ofGroup = 0o070;

/**
 * A group of the same number as the user is taken as the user's own.
 * @throws {HistoryError} when others may read or write the file, or it belongs to somebody else; it is not touched
 */
export function refuseShared(file: string): void {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  const user = process.getuid?.();
  if (stat === undefined || user === undefined || !stat.isFile()) return;
  if (stat.uid !== user && user !== 0)
    throw new HistoryError(
      "permission",
      file,
      `${file}: belongs to another user (${stat.uid}); it was not touched`,
    );
  const shared = stat.mode & (stat.gid === stat.uid ? ofOthers : ofOthers | ofGroup);
  if (shared === 0) return;
  const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
  throw new HistoryError(
    "permission",
    file,
    `${file}: others than its owner can use it (mode ${mode}), so that nobody knows what they changed; it was not touched. If it is yours: chmod 600 ${file}`,
  );
}

/** @throws {HistoryError} when the file has triggers or views, which would run with what is written */
export function refuseActive(db: Database.Database, file: string): void {
  const [active] = db
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')")
    .all();
  if (active === undefined) return;
  throw new HistoryError(
    "foreign",
    file,
    `${file}: holds ${JSON.stringify(active.name)}, which runs on its own and is not perpwatch's; it was not touched`,
  );
}

/** @throws {HistoryError} unless tables and indices are exactly those of the file's version */
export function refuseOtherSchema(db: Database.Database, file: string, list: readonly Migration[]): void {
  const version = versionOf(db);
  const own = new Database(":memory:");
  try {
    for (const migration of list) if (migration.version <= version) own.exec(migration.sql);
    const [expected, found] = [schemaOf(own), schemaOf(db)];
    const other =
      [...found].find((one) => !expected.has(one)) ?? [...expected].find((one) => !found.has(one));
    if (other === undefined) return;
    const [name] = JSON.parse(other) as [string];
    throw new HistoryError(
      "foreign",
      file,
      `${file}: ${JSON.stringify(name)} is not as perpwatch makes it; nothing was changed`,
    );
  } finally {
    own.close();
  }
}

/** Names, kinds and texts; without what SQLite keeps for itself. */
function schemaOf(db: Database.Database): ReadonlySet<string> {
  const rows = db
    .prepare<[], { name: string; type: string; sql: string | null }>(
      "SELECT name, type, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .all();
  return new Set(rows.map(({ name, type, sql }) => JSON.stringify([name, type, sql])));
}
