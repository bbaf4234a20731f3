/**
 * The recording: everything that the watch was fed, as it was, for `retention.payloads`. A commit appends a row or a few,
 * each of them some hundred bytes of what differs (recording-format.ts).
 *
 *   rows   fresh ── ── ── ── ──  fresh ── ── ── ──  fresh ── ── …
 *          └ a section: read from its first row on, by a reader that knows nothing
 *
 * A section begins at each start of the daemon, wherever a watch begins, and at the latest every hour. At the hour nothing
 * is written twice at once: what was not seen for a while is carried over from the section before, a few with each commit.
 */
import { setImmediate as breathe } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { Observation } from "../../domain/observation.ts";
import type { Recorded, RecordingQuery } from "../../domain/ports.ts";
import { RecordingReader } from "./recording-reader.ts";
import { RecordingWriter } from "./recording-writer.ts";

/** A section is this long at most. */
const sectionMs = 3_600_000;
/** Several rows fill a page of the database better than one that needs two. */
const rowBytes = 900;
/** An owner seen at least this often comes by itself, and need not be carried into a new section. */
const soonMs = 60_000;
const carriedAtOnce = 32;
/** The last one of these says nothing of how things stand. */
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
  /** Newest time seen in this run. */
  #atMs = Number.NEGATIVE_INFINITY;
  #fresh = false;
  /** The last write is not in the database. */
  #broken = false;
  #carried: Observation[] = [];
  /** Seen within a minute before the section began: carried into it when a minute of it did not bring it again. */
  #recent: Observation[] = [];
  readonly #insert: Database.Statement<[number, number, Buffer]>;

  constructor(db: Database.Database) {
    this.#insert = db.prepare("INSERT INTO recording (at_ms, fresh, body) VALUES (?, ?, ?)");
  }

  /** Within a transaction; after a rollback of it `rolledBack` has to be called. */
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

  /** The last write is not in the database, and is written again: in a new section. */
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
    // A watch that begins knows nothing of what was seen before; after a reload it goes on with all of it.
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

/** Rows read in one go, between which others have their turn. */
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
        // Retention may take the rows that would come next: what follows on them cannot be read, up to a section's begin.
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
    // Not of the same order where the machine's clock was set back between two starts.
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
    // Retention takes whole sections.
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
