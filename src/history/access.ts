/** The table of sessions and tokens. */
import type Database from "better-sqlite3";
import { z } from "zod";
import type { AccessEntry } from "../domain/access.ts";

const row = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  kind: z.enum(["session", "token"]),
  name: z.string(),
  rights: z.enum(["read", "act"]),
  createdMs: z.number(),
  expiresMs: z.number().nullable(),
  usedMs: z.number().nullable(),
});

export class AccessTable {
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** Rows that are not as perpwatch writes them are left out: they open nothing. */
  entries(): readonly AccessEntry[] {
    const rows = this.#db
      .prepare(
        `SELECT hash, kind, name, rights, created_ms AS createdMs, expires_ms AS expiresMs, used_ms AS usedMs
         FROM access ORDER BY created_ms, hash`,
      )
      .all();
    return rows.flatMap((one) => {
      const read = row.safeParse(one);
      return read.success ? [read.data] : [];
    });
  }

  save({ hash, kind, name, rights, createdMs, expiresMs, usedMs }: AccessEntry): void {
    this.#db
      .prepare("INSERT OR REPLACE INTO access VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(hash, kind, name, rights, createdMs, expiresMs, usedMs);
  }

  remove(hash: string): void {
    this.#db.prepare("DELETE FROM access WHERE hash = ?").run(hash);
  }
}
