/**
 * The recording: the unchanged input of the watch, kept for `retention.payloads`. A commit appends a few rows, each with some
 * hundred bytes of differences (recording-format.ts).
 *
 *   rows   fresh ── ── ── ── ──  fresh ── ── ── ──  fresh ── ── …
 *          └ a section: can be read from its first row on
 *
 * A section begins at each start of the daemon, with each new watch, and at least every hour. At the hour, observations that
 * were not seen for a while are carried over from the previous section in small parts, a few with each commit.
 */
import { setImmediate as breathe } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { Observation } from "../../domain/observation.ts";
import type { Recorded, RecordingQuery } from "../../domain/ports.ts";
import { RecordingReader } from "./recording-reader.ts";
import { RecordingWriter } from "./recording-writer.ts";

/** Maximum length of a section, ms. */
const sectionMs = 3_600_000;
/** Maximum size of a row, bytes: several rows use a page of the database better than one that needs two pages. */
const rowBytes = 900;
/** An owner that is seen again within this time is not carried into a new section, ms. */
const soonMs = 60_000;
const carriedAtOnce = 32;
/** Kinds whose last observation is no state: they are not carried over. */
const momentary: ReadonlySet<Observation["kind"]> = new Set<Observation["kind"]>([
  "time",
  "events",
  "backfill",
  "failed",
  "dropped",
  "acknowledged",
  "inboxAudited",
  "drill",
  "drilled",
  "started",
  "stopped",
  "watching",
]);

export class RecordingLog {
  #writer: RecordingWriter | undefined;
  #beganMs = 0;
  /** The newest time in this run. */
  #atMs = Number.NEGATIVE_INFINITY;
  #fresh = false;
  /** True if the last write is not in the database. */
  #broken = false;
  #carried: Observation[] = [];
  /** Streams seen within a minute before the section began: carried into it if they are not seen within its first minute. */
  #recent: Observation[] = [];
  readonly #insert: Database.Statement<[number, number, Buffer]>;

  constructor(db: Database.Database) {
    this.#insert = db.prepare("INSERT INTO recording (at_ms, fresh, body) VALUES (?, ?, ?)");
  }

  /** Requires a transaction; after its rollback `rolledBack` has to be called. */
  append(observations: readonly Observation[]): void {
    if (observations.length === 0) return;
    for (const observation of observations) {
      const writer = this.#section(observation);
      writer.write(observation);
      if (observation.atMs > this.#atMs) this.#atMs = observation.atMs;
      if (writer.length >= rowBytes) this.#row(writer);
    }
    const writer = this.#writer as RecordingWriter;
    if (this.#recent.length > 0 && this.#atMs - this.#beganMs >= soonMs)
      this.#carried = [...this.#recent.splice(0), ...this.#carried];
    for (const observation of this.#carried.splice(-carriedAtOnce)) {
      writer.write(observation, true);
      if (writer.length >= rowBytes) this.#row(writer);
    }
    if (writer.length > 0) this.#row(writer);
  }

  /** Notes that the last write is not in the database: it is written again, in a new section. */
  rolledBack(): void {
    this.#broken = true;
    this.#writer?.take();
  }

  #section(next: Observation): RecordingWriter {
    const before = this.#writer;
    const begins = next.kind === "watching";
    if (before !== undefined && !this.#broken && !begins && !before.full)
      if (next.atMs - this.#beganMs < sectionMs) return before;
    if (before !== undefined && before.length > 0) this.#row(before);
    // A new watch does not have the earlier observations; after a reload it continues with all of them.
    if ((begins && !next.wentOn) || before === undefined) {
      this.#carried = [];
      this.#recent = [];
    } else
      for (const one of before.last())
        if (!momentary.has(one.kind))
          (next.atMs - one.atMs > soonMs ? this.#carried : this.#recent).push(one);
    this.#writer = new RecordingWriter();
    this.#beganMs = next.atMs;
    this.#fresh = true;
    this.#broken = false;
    return this.#writer;
  }

  #row(writer: RecordingWriter): void {
    this.#insert.run(this.#atMs, this.#fresh ? 1 : 0, writer.take());
    this.#fresh = false;
  }
}

interface Row {
  readonly id: number;
  readonly fresh: number;
  readonly body: Buffer;
}

/** Rows read at once; then the event loop runs. */
const rowsAtOnce = 32;

export class Recordings {
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database.Database) {
    this.#sql = statements(db);
  }

  async *read({ fromMs, toMs = Number.POSITIVE_INFINITY }: RecordingQuery): AsyncGenerator<Observation> {
    const first = (this.#sql.begin.get(fromMs) ?? this.#sql.oldest.get())?.id ?? undefined;
    const last = this.#sql.newest.get()?.id ?? undefined;
    if (first === undefined || last === undefined) return;
    let reader: RecordingReader | undefined;
    let sections = 0;
    let next = first;
    while (next <= last) {
      const rows = this.#sql.rows.all(next, last);
      if (rows.length === 0) return;
      for (const { id, fresh, body } of rows) {
        if (fresh === 1) {
          reader = new RecordingReader();
          sections++;
        }
        // Retention may delete the next rows: the rows after them cannot be read, up to the beginning of a section.
        else if (id !== next) reader = undefined;
        next = id + 1;
        if (reader === undefined) continue;
        for (const { observation, carried } of this.#decoded(reader, id, body)) {
          if (carried && sections > 1) continue;
          if (observation.atMs > toMs) return;
          yield observation;
        }
      }
      await breathe();
    }
  }

  recorded(): Omit<Recorded, "gaps"> | null {
    const span = this.#sql.span.get();
    if (span === undefined || span.from_ms === null || span.to_ms === null) return null;
    // The order differs if the machine's clock was set back between two starts.
    return { fromMs: Math.min(span.from_ms, span.to_ms), toMs: Math.max(span.from_ms, span.to_ms) };
  }

  #decoded(reader: RecordingReader, id: number, body: Buffer) {
    try {
      return [...reader.read(body)];
    } catch (error) {
      throw new Error(`row ${id} of the recording is damaged: ${(error as Error).message}`, { cause: error });
    }
  }
}

function statements(db: Database.Database) {
  return {
    begin: db.prepare<[number], { id: number }>(
      "SELECT id FROM recording WHERE fresh = 1 AND at_ms <= ? ORDER BY id DESC LIMIT 1",
    ),
    // Retention deletes whole sections.
    oldest: db.prepare<[], { id: number | null }>("SELECT min(id) AS id FROM recording"),
    newest: db.prepare<[], { id: number | null }>("SELECT max(id) AS id FROM recording"),
    rows: db.prepare<[number, number], Row>(
      `SELECT id, fresh, body FROM recording WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${rowsAtOnce}`,
    ),
    span: db.prepare<[], { from_ms: number | null; to_ms: number | null }>(
      `SELECT (SELECT at_ms FROM recording ORDER BY id LIMIT 1) AS from_ms,
        (SELECT at_ms FROM recording ORDER BY id DESC LIMIT 1) AS to_ms`,
    ),
  };
}
