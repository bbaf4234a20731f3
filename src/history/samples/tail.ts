/**
 * Assigns the rows of the tick log to owners. The log has no index by owner, as that would slow every commit; it is scanned
 * once here, and later only its new rows.
 */
import type Database from "better-sqlite3";
import type { LogRow } from "./ticklog.ts";

interface Place {
  readonly seq: number;
  readonly atMs: number;
}

type Row = { readonly seq: number; readonly at_ms: number; readonly owner_id: number };

export class Tail {
  readonly #sql: ReturnType<typeof statements>;
  #owners = new Map<number, Place[]>();
  #after = 0;
  #upto = 0;

  constructor(db: Database.Database) {
    this.#sql = statements(db);
  }

  /**
   * Returns the rows of one owner that are not in chunks, in the order of commits. Requires the transaction that reads the
   * chunks.
   * @param packedTo number of the last packed row
   */
  rows(packedTo: number, ownerId: number, fromMs: number, toMs: number): LogRow[] {
    const rows: LogRow[] = [];
    for (const { seq, atMs } of this.#places(packedTo, ownerId)) {
      if (atMs < fromMs || atMs > toMs) continue;
      const row = this.#sql.row.get(seq);
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  /** Returns the time of the oldest tick of an owner at or after `fromMs` that is not in chunks; ∞: there is none. */
  firstMs(packedTo: number, ownerId: number, fromMs: number): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { atMs } of this.#places(packedTo, ownerId)) if (atMs >= fromMs && atMs < first) first = atMs;
    return first;
  }

  /** Returns the owners with rows that are not in chunks. */
  owners(packedTo: number): Iterable<number> {
    this.#follow(packedTo);
    return this.#owners.keys();
  }

  #places(packedTo: number, ownerId: number): readonly Place[] {
    this.#follow(packedTo);
    return this.#owners.get(ownerId) ?? [];
  }

  #follow(packedTo: number): void {
    if (packedTo !== this.#after) {
      this.#owners = new Map();
      this.#after = this.#upto = packedTo;
    }
    for (const { seq, at_ms, owner_id } of this.#sql.since.iterate(this.#upto)) {
      const place = { seq, atMs: at_ms };
      const list = this.#owners.get(owner_id);
      if (list) list.push(place);
      else this.#owners.set(owner_id, [place]);
      this.#upto = seq;
    }
  }
}

function statements(db: Database.Database) {
  return {
    since: db.prepare<[number], Row>("SELECT seq, at_ms, owner_id FROM ticks WHERE seq > ? ORDER BY seq"),
    row: db.prepare<[number], LogRow>("SELECT * FROM ticks WHERE seq = ?"),
  };
}
