/** Refuses a database to which other users have access, and one with a schema other than ours. */
import fs from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { distrust, distrustedWay, isRoot, shellWord } from "../files/index.ts";
import { HistoryError } from "./errors.ts";
import { type Migration, versionOf } from "./migrations.ts";

/** The files of a database, without its lock. */
const endings = ["", "-wal", "-shm", "-journal"];

/** `change`: not yet known to be a database of ours. `read`: only read; root may also read for another user. */
export type AgainstOthers = "change" | "changeAndRead" | "read";

/**
 * Checks the existing files of a database and its folder: others must not be able to change them, nor to read a database of
 * ours.
 * @throws {HistoryError} permission; nothing was touched
 */
export function refuseShared(file: string, against: AgainstOthers): void {
  const isForOther = against === "read" && isRoot();
  const ownerOf = (stat: fs.Stats | undefined) =>
    isForOther && stat !== undefined ? { owner: stat.uid } : {};
  for (const one of [...endings.map((ending) => file + ending), `${file}.lock`]) {
    const stat = fs.statSync(one, { throwIfNoEntry: false });
    if (stat === undefined && fs.lstatSync(one, { throwIfNoEntry: false }) !== undefined)
      throw new HistoryError(
        "permission",
        file,
        `${one} is a link to what does not exist. Fix: rm ${shellWord(one)}, or bring back the file that it leads to`,
      );
    if (stat === undefined) continue;
    refuseSpecial(one, stat);
    const wrong = distrust(one, stat, {
      secret: against === "changeAndRead",
      privately: true,
      ...ownerOf(stat),
    });
    if (wrong !== null) throw new HistoryError("permission", file, `${one} ${wrong}`);
  }
  const folder = fs.statSync(path.dirname(file), { throwIfNoEntry: false });
  const wrong = distrustedWay(file, ownerOf(folder));
  if (wrong !== null) throw new HistoryError("permission", file, `${file} ${wrong}`);
}

/** @throws {HistoryError} for a pipe, device or socket: opening one may block, and reading it does not end */
export function refuseSpecial(file: string, stat: fs.Stats): void {
  if (stat.isFile() || stat.isDirectory()) return;
  throw new HistoryError(
    "notADatabase",
    file,
    `${file}: is not a regular file, so there is no history in it`,
  );
}

/** @throws {HistoryError} if the file has triggers or views, which would run with writes */
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

/** Returns names, kinds and texts, without SQLite's own entries. */
function schemaOf(db: Database.Database): ReadonlySet<string> {
  const rows = db
    .prepare<[], { name: string; type: string; sql: string | null }>(
      "SELECT name, type, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .all();
  return new Set(rows.map(({ name, type, sql }) => JSON.stringify([name, type, sql])));
}
