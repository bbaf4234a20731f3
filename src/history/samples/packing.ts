/**
 * Moves the tick log into chunks, in steps of a few milliseconds, between which commits can happen.
 *
 *   gather   read the log up to its present end, a share of the owners at a time
 *   write    their chunks and roll-ups; they do not count yet
 *   turn     one small commit: the log is packed up to here; from now on the chunks count and the rows do not
 *   clear    delete the rows
 *
 * A crash or a full disk in between leaves chunks that do not count (deleted next time) or rows that no longer count (deleted
 * next time). At any time a tick is read exactly once.
 */
import type Database from "better-sqlite3";
import { encodeChunk } from "./chunk.ts";
import type { Rolling } from "./rolling.ts";
import type { LogRow, TickLog } from "./ticklog.ts";

/** Rows read, or deleted, in one step. */
const rowsPerStep = 1_000;
/** Maximum rows in memory at once: with more in the log, the owners are gathered in several shares. */
const rowsPerShare = 50_000;
/** Maximum ticks in one chunk: all of them are unpacked to read one. */
const ticksPerChunk = 1_024;
const chunkTicksPerStep = 512;
/** The number of figures of a roll-up that take as much work as one tick of a chunk. */
const cellsPerTick = 4;

export interface LogState {
  /** The number of rows that are not in chunks. */
  readonly rows: number;
  readonly oldestMs: number | null;
}

export class Packing {
  readonly #db: Database.Database;
  readonly #log: TickLog;
  readonly #rolling: Rolling;
  readonly #sql: ReturnType<typeof statements>;
  #steps: Generator<void> | undefined;

  constructor(db: Database.Database, log: TickLog, rolling: Rolling) {
    this.#db = db;
    this.#log = log;
    this.#rolling = rolling;
    this.#sql = statements(db);
  }

  get underWay(): boolean {
    return this.#steps !== undefined;
  }

  state(): LogState {
    const packedTo = this.#packedTo();
    const oldest = this.#sql.oldest.get(packedTo);
    return { rows: this.#log.lastSeq - packedTo, oldestMs: oldest?.at_ms ?? null };
  }

  /** Runs one step. @returns true if there is more to do */
  step(): boolean {
    this.#steps ??= this.#run();
    try {
      if (!this.#steps.next().done) return true;
      this.#steps = undefined;
      return false;
    } catch (error) {
      this.#steps = undefined;
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  *#run(): Generator<void> {
    yield* this.#clear();
    const packedTo = this.#packedTo();
    while (this.#sql.dropOrphans.run(packedTo).changes > 0) yield;
    while (this.#rolling.dropOrphans(packedTo)) yield;
    const upto = this.#log.lastSeq;
    if (upto <= packedTo) return;
    const shares = Math.ceil((upto - packedTo) / rowsPerShare);
    for (let share = 0; share < shares; share++) {
      const groups = new Map<string, LogRow[]>();
      for (let after = packedTo; after < upto; after += rowsPerStep) {
        const rows = this.#sql.page.all(after, Math.min(after + rowsPerStep, upto), shares, share);
        for (const row of rows) {
          const name = `${row.owner_id} ${row.layout_id}`;
          const group = groups.get(name);
          if (group) group.push(row);
          else groups.set(name, [row]);
        }
        yield;
      }
      yield* this.#write(groups, upto);
    }
    this.#sql.turn.run(upto);
    yield;
    yield* this.#clear();
  }

  *#write(groups: ReadonlyMap<string, LogRow[]>, upto: number): Generator<void> {
    let sinceYield = 0;
    this.#db.exec("BEGIN IMMEDIATE");
    for (const group of groups.values()) {
      for (const work of this.#pack(group, upto)) {
        sinceYield += work;
        if (sinceYield < chunkTicksPerStep) continue;
        // Never across a yield, as the daemon may commit in between.
        this.#db.exec("COMMIT");
        sinceYield = 0;
        yield;
        this.#db.exec("BEGIN IMMEDIATE");
      }
    }
    this.#db.exec("COMMIT");
    yield;
  }

  /** Writes chunks and roll-ups of one owner and one layout. Yields the work after each, in ticks. */
  *#pack(group: LogRow[], upto: number): Generator<number, void> {
    const { owner_id: ownerId, layout_id: layoutId, body } = group[0] as LogRow;
    const width = body.length >>> 3;
    group.sort((a, b) => a.at_ms - b.at_ms || a.seq - b.seq);
    const minutes = this.#rolling.minutes(width);
    for (let from = 0; from < group.length; from += ticksPerChunk) {
      const rows = group.slice(from, from + ticksPerChunk);
      this.#chunk(rows, upto);
      for (const row of rows) minutes.addTick(row.at_ms, (index) => row.body.readDoubleLE(index * 8));
      yield rows.length + 32;
    }
    for (const cells of this.#rolling.store({ ownerId, layoutId, width, upto }, minutes))
      yield cells / cellsPerTick;
  }

  #chunk(rows: readonly LogRow[], upto: number): void {
    const first = rows[0] as LogRow;
    const last = rows.at(-1) as LogRow;
    const ticks = rows.map(({ seq, at_ms, body }) => ({ seq, atMs: at_ms, body }));
    const body = encodeChunk(ticks, first.body.length >>> 3);
    this.#sql.addChunk.run(first.owner_id, first.layout_id, first.at_ms, last.at_ms, rows.length, upto, body);
  }

  *#clear(): Generator<void> {
    const packedTo = this.#packedTo();
    for (;;) {
      const first = this.#sql.firstSeq.get()?.seq ?? null;
      if (first === null || first > packedTo) return;
      this.#sql.dropRows.run(Math.min(first + rowsPerStep, packedTo));
      yield;
    }
  }

  #packedTo(): number {
    return this.#sql.packedTo.get()?.packed_to ?? 0;
  }
}

function statements(db: Database.Database) {
  return {
    packedTo: db.prepare<[], { packed_to: number }>("SELECT packed_to FROM pulse"),
    oldest: db.prepare<[number], { at_ms: number }>(
      "SELECT at_ms FROM ticks WHERE seq > ? ORDER BY seq LIMIT 1",
    ),
    firstSeq: db.prepare<[], { seq: number | null }>("SELECT min(seq) AS seq FROM ticks"),
    page: db.prepare<[number, number, number, number], LogRow>(
      "SELECT * FROM ticks WHERE seq > ? AND seq <= ? AND owner_id % CAST(? AS INTEGER) = CAST(? AS INTEGER) ORDER BY seq",
    ),
    addChunk: db.prepare<[number, number, number, number, number, number, Buffer]>(
      `INSERT INTO chunks (owner_id, layout_id, from_ms, to_ms, count, upto, body) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
    turn: db.prepare<[number]>("UPDATE pulse SET packed_to = ?"),
    dropRows: db.prepare<[number]>("DELETE FROM ticks WHERE seq <= ?"),
    dropOrphans: db.prepare<[number]>(
      "DELETE FROM chunks WHERE id IN (SELECT id FROM chunks WHERE upto > ? LIMIT 200)",
    ),
  };
}
