/**
 * The tick log: the newest ticks, in the order of arrival, one row each. Values are uncompressed, 8 bytes each: chunks
 * (packing.ts) compress them, when the ticks of one owner are gathered.
 */
import os from "node:os";
import type Database from "better-sqlite3";
import type { Tick } from "../../domain/observation.ts";
import { Names } from "./names.ts";

export interface LogRow {
  readonly seq: number;
  readonly at_ms: number;
  readonly owner_id: number;
  readonly layout_id: number;
  readonly body: Buffer;
}

export class TickLog {
  readonly owners: Names;
  readonly layouts: Names;
  #nextSeq: number;
  readonly #insert: Database.Statement<[number, number, number, number, Buffer]>;
  /** Reused for every tick, as SQLite copies bound values. */
  #values = new Float64Array(64);
  #views: Buffer[] = [];

  constructor(db: Database.Database) {
    // A database moves between machines: its numbers are little-endian, as on every machine that Node still runs on
    // in number; on another one this refuses rather than writes what nobody can read.
    if (os.endianness() !== "LE")
      throw new Error("perpwatch stores float64 little-endian; this machine is not");
    this.owners = new Names(db, "owners");
    this.layouts = new Names(db, "layouts");
    this.#insert = db.prepare("INSERT INTO ticks VALUES (?, ?, ?, ?, ?)");
    // Not SQLite's own row id: the numbers of an emptied log must not restart below those packed.
    const last = db
      .prepare<[], { seq: number }>(
        "SELECT max(packed_to, coalesce((SELECT max(seq) FROM ticks), 0)) AS seq FROM pulse",
      )
      .get();
    this.#nextSeq = (last?.seq ?? 0) + 1;
  }

  /** Returns the number of the newest tick. */
  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  append(tick: Tick): void {
    const { series, values } = tick;
    const count = values.length;
    if (series.length !== count)
      throw new RangeError(`tick of ${tick.owner}: ${series.length} series but ${count} values`);
    const body = this.#view(count);
    const floats = this.#values;
    for (let i = 0; i < count; i++) floats[i] = values[i] as number;
    this.#insert.run(
      this.#nextSeq++,
      tick.atMs,
      this.owners.idOf(tick.owner),
      this.layouts.idOfList(series),
      body,
    );
  }

  /** After a rollback: numbers of owners and layouts may be gone; a gap in the sequence is harmless. */
  rolledBack(): void {
    this.owners.forget();
    this.layouts.forget();
  }

  #view(count: number): Buffer {
    if (count > this.#values.length) {
      this.#values = new Float64Array(count * 2);
      this.#views = [];
    }
    const view = this.#views[count];
    if (view !== undefined) return view;
    const made = Buffer.from(this.#values.buffer, 0, count * 8);
    this.#views[count] = made;
    return made;
  }
}

/** Returns the float64 values of a row of the log. */
export function valuesOf(body: Buffer): number[] {
  const count = body.length >>> 3;
  const values = new Array<number>(count);
  for (let i = 0; i < count; i++) values[i] = body.readDoubleLE(i * 8);
  return values;
}
