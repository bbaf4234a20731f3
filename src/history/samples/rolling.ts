/**
 * Makes roll-ups when ticks are packed, and of chunks from before roll-ups existed, and merges those of a block of time when
 * it is over. Each step is one transaction of some ms; each sample enters exactly once:
 *
 *   new samples     together with their chunks, which count or do not count with them (packing.ts)
 *   old chunks      one by one, in the transaction that notes how far it has come
 *   merging         what is merged is replaced in one transaction
 */
import type Database from "better-sqlite3";
import { type Resolution, resolutionMs } from "../../domain/stored/history.ts";
import { decodeChunk } from "./chunk.ts";
import { encodeRollUps, RollUpTable, StoredRollUps } from "./rollup-table.ts";
import { blockMs } from "./rollups.ts";

/** Maximum figures in one stored roll-up, buckets × series: they are packed and unpacked at once. */
const cellsAtOnce = 4_096;
/** Time for late samples before a block is merged, ms; roll-ups of later ones remain separate. */
const mergeAfterMs = 3_600_000;
const resolutions: readonly Resolution[] = ["minute", "hour"];

/** Ticks of one owner and one layout, oldest first. */
export interface TickSource {
  readonly ownerId: number;
  readonly layoutId: number;
  readonly width: number;
  /** The end of the log: the roll-ups count once the log is packed up to here. */
  readonly upto: number;
}

interface LooseRow {
  readonly owner_id: number;
  readonly layout_id: number;
  readonly from_ms: number;
}

interface MergeRow {
  readonly id: number;
  readonly count: number;
  readonly upto: number;
  readonly body: Buffer;
}

export class Rolling {
  readonly #db: Database.Database;
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#sql = statements(db);
  }

  /** Returns a table for the minutes of ticks. */
  minutes(width: number): RollUpTable {
    return new RollUpTable(width, resolutionMs.minute);
  }

  /** Stores a table of minutes, and its hours. Requires a transaction. Yields the number of figures after each row. */
  *store(source: TickSource, minutes: RollUpTable): Generator<number, void> {
    if (source.width === 0) return;
    const hours = new RollUpTable(source.width, resolutionMs.hour);
    for (let bucket = 0; bucket < minutes.length; bucket++) hours.addBucket(minutes, bucket);
    for (const [resolution, table] of [
      ["minute", minutes],
      ["hour", hours],
    ] as const) {
      for (const part of inBlocks(table, resolution)) {
        this.#insert(source, part, 1);
        yield part.length * part.width;
      }
    }
  }

  /** Deletes some remains of an aborted packing. @returns true if there are more */
  dropOrphans(packedTo: number): boolean {
    return this.#sql.dropOrphans.run(packedTo).changes > 0;
  }

  /** Rolls up the next chunk from before roll-ups existed. @returns true if there may be more */
  catchUp(): boolean {
    const { rolled_from, rolled_to, packed_to } = this.#sql.pulse.get()!;
    if (rolled_from >= rolled_to) return false;
    const row = this.#sql.nextChunk.get(rolled_from, rolled_to, packed_to);
    this.#transaction(() => {
      if (row !== undefined) {
        const width = (JSON.parse(this.#sql.layout.get(row.layout_id)!.series) as unknown[]).length;
        const chunk = decodeChunk(row.body, row.count, width);
        const minutes = this.minutes(width);
        for (let i = 0; i < chunk.count; i++) {
          const values = chunk.valuesAt(i);
          minutes.addTick(chunk.atMsAt(i), (index) => values[index]!);
        }
        const source = { ownerId: row.owner_id, layoutId: row.layout_id, width, upto: row.upto };
        for (const _ of this.store(source, minutes));
      }
      this.#sql.rolledFrom.run(row?.id ?? rolled_to);
    });
    return row !== undefined;
  }

  /** Merges some roll-ups of a block that is over. @returns true if there may be more */
  merge(nowMs: number): boolean {
    for (const resolution of resolutions) {
      const overMs = Math.floor((nowMs - mergeAfterMs) / blockMs[resolution]) * blockMs[resolution];
      const loose = this.#sql.loose.get(resolutionMs[resolution], overMs);
      if (loose === undefined) continue;
      this.#transaction(() => this.#mergeBlock(loose, resolution));
      return true;
    }
    return false;
  }

  #mergeBlock(loose: LooseRow, resolution: Resolution): void {
    const { owner_id: ownerId, layout_id: layoutId } = loose;
    const bucketMs = resolutionMs[resolution];
    const width = (JSON.parse(this.#sql.layout.get(layoutId)!.series) as unknown[]).length;
    const fromMs = Math.floor(loose.from_ms / blockMs[resolution]) * blockMs[resolution];
    const packedTo = this.#sql.pulse.get()!.packed_to;
    const rows: MergeRow[] = [];
    let cells = 0;
    const endMs = fromMs + blockMs[resolution];
    for (const row of this.#sql.block.iterate(ownerId, bucketMs, fromMs, endMs, layoutId, packedTo)) {
      if (rows.length > 0 && cells + row.count * width > cellsAtOnce) break;
      rows.push(row);
      cells += row.count * width;
    }
    const [first] = rows;
    if (first === undefined) return;
    if (rows.length === 1) {
      this.#sql.tighten.run(first.id);
      return;
    }
    const upto = Math.max(...rows.map((row) => row.upto));
    const merged = mergeTables(
      rows.sort((a, b) => a.upto - b.upto || a.id - b.id),
      width,
      bucketMs,
    );
    for (const { id } of rows) this.#sql.drop.run(id);
    this.#insert({ ownerId, layoutId, width, upto }, merged, 0);
  }

  #insert({ ownerId, layoutId, upto }: TickSource, table: RollUpTable, loose: 0 | 1): void {
    const body = encodeRollUps(table);
    const [fromMs, toMs] = [table.times[0]!, table.times.at(-1)!];
    this.#sql.add.run(ownerId, layoutId, table.bucketMs, fromMs, toMs, table.length, upto, loose, body);
  }

  #transaction(write: () => void): void {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      write();
      this.#db.exec("COMMIT");
    } finally {
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
    }
  }
}

/** Splits a table into parts that lie in one block each and are not too large. */
function* inBlocks(table: RollUpTable, resolution: Resolution): Iterable<RollUpTable> {
  const most = Math.max(1, Math.floor(cellsAtOnce / table.width));
  const blockOf = (bucket: number) => Math.floor(table.times[bucket]! / blockMs[resolution]);
  for (let from = 0; from < table.length; ) {
    let to = from + 1;
    while (to < table.length && to - from < most && blockOf(to) === blockOf(from)) to++;
    yield from === 0 && to === table.length ? table : table.slice(from, to);
    from = to;
  }
}

/** @param rows in the order of commits */
function mergeTables(rows: readonly MergeRow[], width: number, bucketMs: number): RollUpTable {
  const tables = rows.map((row) => unpacked(row, width, bucketMs));
  const merged = new RollUpTable(width, bucketMs);
  const next = tables.map(() => 0);
  for (;;) {
    let time = Number.POSITIVE_INFINITY;
    for (const [i, table] of tables.entries()) time = Math.min(time, table.times[next[i]!] ?? time);
    if (time === Number.POSITIVE_INFINITY) return merged;
    for (const [i, table] of tables.entries())
      if (table.times[next[i]!] === time) merged.addBucket(table, next[i]!++);
  }
}

function unpacked(row: MergeRow, width: number, bucketMs: number): RollUpTable {
  const stored = new StoredRollUps(row.body, row.count, width, bucketMs);
  return RollUpTable.of(stored, width, bucketMs);
}

function statements(db: Database.Database) {
  return {
    pulse: db.prepare<[], { packed_to: number; rolled_from: number; rolled_to: number }>(
      "SELECT packed_to, rolled_from, rolled_to FROM pulse",
    ),
    layout: db.prepare<[number], { series: string }>("SELECT series FROM layouts WHERE id = ?"),
    add: db.prepare<[number, number, number, number, number, number, number, number, Buffer]>(
      `INSERT INTO rollups (owner_id, layout_id, bucket_ms, from_ms, to_ms, count, upto, loose, body)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    dropOrphans: db.prepare<[number]>(
      "DELETE FROM rollups WHERE id IN (SELECT id FROM rollups WHERE upto > ? LIMIT 200)",
    ),
    nextChunk: db.prepare<
      [number, number, number],
      { id: number; owner_id: number; layout_id: number; count: number; upto: number; body: Buffer }
    >(
      "SELECT id, owner_id, layout_id, count, upto, body FROM chunks WHERE id > ? AND id <= ? AND upto <= ? ORDER BY id LIMIT 1",
    ),
    rolledFrom: db.prepare<[number]>("UPDATE pulse SET rolled_from = ?"),
    loose: db.prepare<[number, number], LooseRow>(
      `SELECT owner_id, layout_id, from_ms FROM rollups
        WHERE loose = 1 AND bucket_ms = ? AND to_ms < ? AND upto <= (SELECT packed_to FROM pulse) ORDER BY to_ms LIMIT 1`,
    ),
    block: db.prepare<[number, number, number, number, number, number], MergeRow>(
      `SELECT id, count, upto, body FROM rollups
        WHERE owner_id = ? AND bucket_ms = ? AND to_ms >= ? AND to_ms < ? AND layout_id = ? AND upto <= ?
        ORDER BY loose DESC, to_ms`,
    ),
    tighten: db.prepare<[number]>("UPDATE rollups SET loose = 0 WHERE id = ?"),
    drop: db.prepare<[number]>("DELETE FROM rollups WHERE id = ?"),
  };
}
