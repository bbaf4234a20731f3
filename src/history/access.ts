/** The table of sessions and tokens. */
import type Database from "better-sqlite3";
import { z } from "zod";
import { type AccessEntry, tokenNameForm } from "../domain/access.ts";

const common = {
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  createdMs: z.number(),
  usedMs: z.number().nullable(),
};
const row = z.discriminatedUnion("kind", [
  z.object({
    ...common,
    kind: z.literal("session"),
    name: z.enum(["link", "password"]),
    rights: z.literal("read"),
    expiresMs: z.number(),
  }),
  z.object({
    ...common,
    kind: z.literal("token"),
    name: z.string().regex(tokenNameForm),
    rights: z.enum(["read", "act"]),
    expiresMs: z.number().nullable(),
  }),
]);

export class AccessTable {
  readonly #db: Database.Database;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** Returns null for each row that does not have the stored form. */
  entries(): readonly (AccessEntry | null)[] {
    const rows = this.#db
      .prepare(
        `SELECT hash, kind, name, rights, created_ms AS createdMs, expires_ms AS expiresMs, used_ms AS usedMs
         FROM access ORDER BY created_ms, hash`,
      )
      .all();
    return rows.map((one) => row.safeParse(one).data ?? null);
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
