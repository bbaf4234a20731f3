/**
 * Periodic maintenance of the database, in small steps within a budget: packs ticks into chunks and roll-ups, deletes expired
 * rows, returns free pages to the disk, and empties the write-ahead file.
 */
import fs from "node:fs";
import { setImmediate as breathe } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { Clock } from "../domain/clock.ts";
import { type Compacted, resolutionMs } from "../domain/stored/history.ts";
import type { Packing } from "./samples/packing.ts";
import type { Rolling } from "./samples/rolling.ts";

/** Retention times, ms; null: unlimited. */
export interface Retention {
  readonly samplesMs: number | null;
  /** Retention of roll-ups of a minute, and of an hour. */
  readonly minutesMs: number | null;
  readonly hoursMs: number | null;
  readonly payloadsMs: number | null;
  readonly failedReadsMs: number | null;
  readonly eventsMs: number | null;
}

const dayMs = 86_400_000;
export const defaultRetention: Retention = {
  samplesMs: 35 * dayMs,
  minutesMs: 365 * dayMs,
  hoursMs: 5 * 365 * dayMs,
  payloadsMs: 3 * dayMs,
  failedReadsMs: 35 * dayMs,
  eventsMs: null,
};

export interface Maintained {
  /** False if the budget ran out first: call again. */
  readonly finished: boolean;
  readonly deletedRows: number;
}

/** The number of rows, and the age of the oldest row, from which the tick log is packed. */
const packRows = 200_000;
const packAgeMs = 3_600_000;
const deletionsPerStep = 200;
const bytesDeletedPerStep = 1_048_576;
const freePagesPerStep = 256;
/** Free pages that are kept, as they are soon used again; also a twentieth of the file. */
const freePagesKept = 256;
const walBytesKept = 1_048_576;

export class Maintenance {
  readonly #db: Database.Database;
  readonly #file: string;
  readonly #packing: Packing;
  readonly #rolling: Rolling;
  readonly #deletions: readonly { readonly run: (nowMs: number) => number }[];

  #round: Generator<number, void> | undefined;

  constructor(db: Database.Database, file: string, packing: Packing, rolling: Rolling, retention: Retention) {
    this.#db = db;
    this.#file = file;
    this.#packing = packing;
    this.#rolling = rolling;
    const deletion = (table: string, column: string, keepMs: number | null, size = "0", also = "1") => {
      const sql = db.prepare<[number], { id: number; bytes: number }>(
        `SELECT id, ${size} AS bytes FROM ${table} WHERE ${also} AND ${column} < ? ORDER BY ${column} LIMIT ${deletionsPerStep}`,
      );
      const drop = db.prepare<[string]>(`DELETE FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`);
      return {
        run(nowMs: number) {
          const ids: number[] = [];
          let bytes = 0;
          if (keepMs === null) return 0;
          for (const row of sql.iterate(nowMs - keepMs)) {
            ids.push(row.id);
            bytes += row.bytes;
            if (bytes >= bytesDeletedPerStep) break;
          }
          return ids.length === 0 ? 0 : drop.run(JSON.stringify(ids)).changes;
        },
      };
    };
    const rollups = (bucketMs: number, keepMs: number | null) =>
      deletion("rollups", "to_ms", keepMs, "length(body)", `bucket_ms = ${bucketMs}`);
    this.#deletions = [
      deletion("chunks", "to_ms", retention.samplesMs, "length(body)"),
      rollups(resolutionMs.minute, retention.minutesMs),
      rollups(resolutionMs.hour, retention.hoursMs),
      deletion("payloads", "at_ms", retention.payloadsMs, "length(body)"),
      deletion("failed_reads", "at_ms", retention.failedReadsMs),
      deletion("events", "happened_ms", retention.eventsMs),
      recordingDeletion(db, retention.payloadsMs),
    ];
  }

  /** @param open returns true while the database is open: it may be closed between two steps */
  async run(nowMs: number, budgetMs: number, clock: Clock, open: () => boolean): Promise<Maintained> {
    const endMs = clock.elapsedMs() + budgetMs;
    let deletedRows = 0;
    // A round that ran out of budget is continued, so that its last parts run, too.
    this.#round ??= this.#steps(nowMs);
    for (;;) {
      const { done, value } = this.#step(this.#round);
      if (done) return { finished: true, deletedRows };
      deletedRows += value;
      if (clock.elapsedMs() >= endMs) return { finished: false, deletedRows };
      await breathe();
      // Another call may have ended the round meanwhile.
      if (!open() || this.#round === undefined) return { finished: false, deletedRows };
    }
  }

  #step(round: Generator<number, void>): IteratorResult<number, void> {
    try {
      const result = round.next();
      if (result.done) this.#round = undefined;
      return result;
    } catch (error) {
      this.#round = undefined;
      throw error;
    }
  }

  /** Yields the number of deleted rows after each step. */
  *#steps(nowMs: number): Generator<number, void> {
    const { rows, oldestMs } = this.#packing.state();
    if (this.#packing.underWay || rows >= packRows || (oldestMs !== null && nowMs - oldestMs >= packAgeMs))
      while (this.#packing.step()) yield 0;
    // Before their ticks are deleted.
    while (this.#rolling.catchUp()) yield 0;
    while (this.#rolling.merge(nowMs)) yield 0;
    for (const deletion of this.#deletions) {
      for (;;) {
        const deleted = deletion.run(nowMs);
        if (deleted === 0) break;
        yield deleted;
      }
    }
    while (this.#pages("freelist_count") > Math.max(freePagesKept, this.#pages("page_count") / 20)) {
      this.#db.exec(`PRAGMA incremental_vacuum(${freePagesPerStep})`);
      yield 0;
    }
    this.#emptyWal();
  }

  /**
   * Returns all free pages to the disk, in steps.
   * @param open returns true while the database is open: it may be closed between two steps
   */
  async compact(budgetMs: number, clock: Clock, open: () => boolean): Promise<Compacted> {
    const pageBytes = this.#db.pragma("page_size", { simple: true }) as number;
    const before = this.#pages("freelist_count");
    const endMs = clock.elapsedMs() + budgetMs;
    let left = before;
    while (left > 0 && clock.elapsedMs() < endMs) {
      this.#db.exec(`PRAGMA incremental_vacuum(${freePagesPerStep})`);
      await breathe();
      if (!open())
        return { finished: false, freedBytes: (before - left) * pageBytes, leftBytes: left * pageBytes };
      left = this.#pages("freelist_count");
    }
    if (left === 0) this.#emptyWal();
    return {
      finished: left === 0,
      freedBytes: Math.max(0, before - left) * pageBytes,
      leftBytes: left * pageBytes,
    };
  }

  #pages(name: "freelist_count" | "page_count"): number {
    return this.#db.pragma(name, { simple: true }) as number;
  }

  /** Empties the write-ahead file. An active reader prevents that: it is tried again next time, without waiting. */
  #emptyWal(): void {
    const wal = fs.statSync(`${this.#file}-wal`, { throwIfNoEntry: false });
    if (wal === undefined || wal.size < walBytesKept) return;
    const patience = this.#db.pragma("busy_timeout", { simple: true }) as number;
    this.#db.pragma("busy_timeout = 0");
    try {
      this.#db.pragma("wal_checkpoint(TRUNCATE)");
    } finally {
      this.#db.pragma(`busy_timeout = ${patience}`);
    }
  }
}

/** Deletes whole sections of the recording: those before the newest section that began by that time. */
function recordingDeletion(db: Database.Database, keepMs: number | null) {
  const sql = db.prepare<[number]>(`DELETE FROM recording WHERE id IN (SELECT id FROM recording
    WHERE id < (SELECT max(id) FROM recording WHERE fresh = 1 AND at_ms < ?) ORDER BY id LIMIT ${deletionsPerStep})`);
  return { run: (nowMs: number) => (keepMs === null ? 0 : sql.run(nowMs - keepMs).changes) };
}
