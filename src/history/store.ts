/**
 * The store on SQLite: one file, one writer, any number of readers.
 *
 *   commit ──► writer.ts, ticklog.ts ──► one transaction
 *   ask    ──► reader.ts, samples.ts, rollups.ts
 *   keep   ──► maintenance.ts, packing.ts, rolling.ts (called by the daemon's calendar)
 */
import fs from "node:fs";
import { setImmediate as breathe } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { AccessEntry } from "../domain/access.ts";
import { type Clock, systemClock } from "../domain/clock.ts";
import type { Observation, Tick } from "../domain/observation.ts";
import type {
  AccessStore,
  Recorded,
  RecordingQuery,
  SessionStore,
  Store,
  TickQuery,
} from "../domain/ports.ts";
import type { Changes, FactChange, FailedRead, KeptPayload } from "../domain/stored/changes.ts";
import { isEmpty } from "../domain/stored/changes.ts";
import type { Compacted, RollUp, RollUpBlock, RollUpQuery } from "../domain/stored/history.ts";
import { AccessTable } from "./access.ts";
import { durably, type OpenDatabase, openDatabase } from "./database.ts";
import { HistoryError, openFailure, writeFailure } from "./errors.ts";
import { defaultRetention, type Maintained, Maintenance, type Retention } from "./maintenance.ts";
import { Reader, type Span } from "./reader.ts";
import { RecordingLog, Recordings } from "./recording/recording.ts";
import { Packing } from "./samples/packing.ts";
import { Rolling } from "./samples/rolling.ts";
import { RollUps } from "./samples/rollups.ts";
import { Samples } from "./samples/samples.ts";
import { Tail } from "./samples/tail.ts";
import { TickLog } from "./samples/ticklog.ts";
import { mustBeDurable, Writer } from "./writer.ts";

export interface StoreOptions {
  /** The database file. Its folder is made when it is missing (mode 0700); the file is made with mode 0600. */
  readonly path: string;
  /** Read beside a running daemon, or without one. Nothing is created, and writing is refused. */
  readonly readonly?: boolean;
  readonly clock?: Clock;
  /** Retention times; those left out have the default. */
  readonly retention?: Partial<Retention>;
}

/** The store, with further methods for a local file. */
export interface History extends Store, SessionStore, AccessStore {
  /** Returns every owner that has ticks, by name. */
  tickOwners(): Promise<readonly string[]>;
  /** Returns every change of facts, oldest first. */
  factHistory(query: Span & { readonly owner?: string }): Promise<readonly FactChange[]>;
  failedReads(span: Span): Promise<readonly FailedRead[]>;
  payloads(span: Span): Promise<readonly KeptPayload[]>;
  /**
   * Packs ticks, deletes expired rows, and returns free space. In steps of some ms, between which the event loop runs.
   * @param nowMs wall time  @param budgetMs stops after the step that exceeds it; call again when not `finished`
   * @throws {CommitFailed} as `commit` does: nothing is lost, call again later
   */
  maintain(nowMs: number, budgetMs: number): Promise<Maintained>;
  /** Returns every stored series, by owner. Reads the whole database: not for the daemon. */
  series(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Returns free space to the disk, in steps of some ms, between which the event loop runs. @throws {CommitFailed} */
  compact(budgetMs: number): Promise<Compacted>;
  /** Size of the write-ahead file. It grows while a reader holds a snapshot, and shrinks with `maintain`. */
  walBytes(): Promise<number>;
  /** Checks the whole file for damage: slow. @returns the problems found; empty: none */
  verify(): Promise<readonly string[]>;
}

/**
 * Rows of the log above which it is packed before ticks are read, as the reading of each owner scans all of them. Fewer rows
 * are scanned in some ms, and would make chunks that are too short.
 */
const tailRowsRead = 50_000;

/**
 * Opens the database, creates it if there is none, and updates it to this program's version.
 * @throws {HistoryError} if it cannot be used; all files are unchanged then
 */
export function openStore(options: StoreOptions): History {
  return storeOn(openDatabase(options.path, { readonly: options.readonly ?? false }), options);
}

/** The store on a database that is open already; for tests that set limits on it first. */
export function storeOn(
  opened: OpenDatabase,
  options: Omit<StoreOptions, "path" | "readonly"> = {},
): History {
  try {
    return new SqliteStore(opened, options);
  } catch (error) {
    opened.close();
    throw openFailure(error, opened.file);
  }
}

interface WritingParts {
  readonly writer: Writer;
  readonly log: TickLog;
  readonly recording: RecordingLog;
  readonly packing: Packing;
  readonly maintenance: Maintenance;
  readonly saveSession: Database.Statement<[string, Uint8Array]>;
  readonly removeSession: Database.Statement<[string]>;
}

class SqliteStore implements History {
  readonly #opened: OpenDatabase;
  readonly #db: Database.Database;
  readonly #clock: Clock;
  /** The newest time of an observation, ms; null: none. */
  #aliveMs: number | null = null;
  readonly #reader: Reader;
  readonly #samples: Samples;
  readonly #recordings: Recordings;
  readonly #rollUps: RollUps;
  readonly #access: AccessTable;
  readonly #parts: WritingParts | undefined;

  constructor(opened: OpenDatabase, options: Omit<StoreOptions, "path" | "readonly">) {
    this.#opened = opened;
    this.#db = opened.db;
    this.#clock = options.clock ?? systemClock();
    this.#reader = new Reader(opened.db);
    const tail = new Tail(opened.db);
    this.#samples = new Samples(opened.db, tail);
    this.#rollUps = new RollUps(opened.db, tail);
    this.#recordings = new Recordings(opened.db);
    this.#access = new AccessTable(opened.db);
    if (opened.readonly) return;
    const log = new TickLog(opened.db);
    const recording = new RecordingLog(opened.db);
    const rolling = new Rolling(opened.db);
    const packing = new Packing(opened.db, log, rolling);
    const retention = { ...defaultRetention, ...options.retention };
    this.#parts = {
      log,
      recording,
      packing,
      writer: new Writer(opened.db, log, recording),
      maintenance: new Maintenance(opened.db, opened.file, packing, rolling, retention),
      saveSession: opened.db.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?)"),
      removeSession: opened.db.prepare("DELETE FROM sessions WHERE wallet = ?"),
    };
  }

  async commit(batch: readonly Changes[]): Promise<void> {
    const { writer, log, recording } = this.#writing();
    if (batch.every(isEmpty)) return;
    // Observations have the corrected time, by which the next start counts; this machine's clock may be off.
    for (const { observations } of batch)
      for (const { atMs } of observations) this.#aliveMs = Math.max(this.#aliveMs ?? atMs, atMs);
    const aliveMs = this.#aliveMs;
    const write = () => {
      for (const changes of batch) writer.write(changes);
      writer.alive(aliveMs ?? this.#clock.nowMs());
    };
    try {
      this.#transaction(write, batch.some(mustBeDurable));
    } catch (error) {
      log.rolledBack();
      recording.rolledBack();
      throw writeFailure(error, this.#opened.file);
    }
  }

  async *ticks(query: TickQuery): AsyncIterable<Tick> {
    this.#reading();
    await this.#packTail();
    this.#reading();
    yield* this.#samples.ticks(query);
  }

  async *rollups(query: RollUpQuery): AsyncIterable<RollUp> {
    this.#reading();
    await this.#packTail();
    this.#reading();
    yield* this.#rollUps.rollups(query);
  }

  async *rollupBlocks(query: RollUpQuery): AsyncIterable<RollUpBlock> {
    this.#reading();
    await this.#packTail();
    this.#reading();
    yield* this.#rollUps.blocks(query);
  }

  async *recording(query: RecordingQuery): AsyncIterable<Observation> {
    this.#reading();
    yield* this.#recordings.read(query);
  }

  async recorded(): Promise<Recorded | null> {
    const reader = this.#reading();
    const span = this.#recordings.recorded();
    if (span === null) return null;
    const gaps = reader.milestones("recordingGap").map(({ value }) => {
      const { fromMs, toMs } = JSON.parse(value) as Recorded["gaps"][number];
      return { fromMs, toMs };
    });
    return { ...span, gaps: gaps.filter((gap) => gap.toMs >= span.fromMs) };
  }

  async tickOwners(): Promise<readonly string[]> {
    this.#reading();
    return this.#samples.owners();
  }

  async load(wallet: string): Promise<Uint8Array | null> {
    return this.#reading().session(wallet);
  }

  async save(wallet: string, sealed: Uint8Array): Promise<void> {
    const { saveSession } = this.#writing();
    this.#durably(() => saveSession.run(wallet, sealed));
  }

  async remove(wallet: string): Promise<void> {
    const { removeSession } = this.#writing();
    this.#durably(() => removeSession.run(wallet));
  }

  async accessEntries(): Promise<readonly (AccessEntry | null)[]> {
    this.#reading();
    return this.#access.entries();
  }

  async saveAccess(entry: AccessEntry): Promise<void> {
    this.#writing();
    this.#durably(() => this.#access.save(entry));
  }

  async removeAccess(hash: string): Promise<void> {
    this.#writing();
    this.#durably(() => this.#access.remove(hash));
  }

  async maintain(nowMs: number, budgetMs: number): Promise<Maintained> {
    const { maintenance } = this.#writing();
    try {
      return await maintenance.run(nowMs, budgetMs, this.#clock, () => this.#db.open);
    } catch (error) {
      throw writeFailure(error, this.#opened.file);
    }
  }

  async series(): Promise<ReadonlyMap<string, readonly string[]>> {
    this.#reading();
    return this.#samples.series();
  }

  async compact(budgetMs: number): Promise<Compacted> {
    const { maintenance } = this.#writing();
    try {
      return await maintenance.compact(budgetMs, this.#clock, () => this.#db.open);
    } catch (error) {
      throw writeFailure(error, this.#opened.file);
    }
  }

  async verify(): Promise<readonly string[]> {
    this.#reading();
    const rows = this.#db.pragma("integrity_check(20)") as { integrity_check: string }[];
    return rows.map((row) => row.integrity_check).filter((line) => line !== "ok");
  }

  async sizeBytes(): Promise<number> {
    let total = 0;
    for (const ending of ["", "-wal"])
      total += fs.statSync(this.#opened.file + ending, { throwIfNoEntry: false })?.size ?? 0;
    return total;
  }

  async walBytes(): Promise<number> {
    return fs.statSync(`${this.#opened.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  async close(): Promise<void> {
    this.#opened.close();
  }

  knownEvents: Store["knownEvents"] = async (keys) => this.#reading().knownEvents(keys);
  events: Store["events"] = async (query) => this.#reading().events(query);
  eventByKey: Store["eventByKey"] = async (kind, key) => this.#reading().eventByKey(kind, key);
  facts: Store["facts"] = async (owner) => this.#reading().facts(owner);
  factHistory: History["factHistory"] = async (query) => this.#reading().factHistory(query);
  failedReads: History["failedReads"] = async (span) => this.#reading().failedReads(span);
  payloads: History["payloads"] = async (span) => this.#reading().payloads(span);
  milestones: Store["milestones"] = async (kind) => this.#reading().milestones(kind);
  ruleStates: Store["ruleStates"] = async () => this.#reading().ruleStates();
  alerts: Store["alerts"] = async (query) => this.#reading().alerts(query);
  alertChanges: Store["alertChanges"] = async (query) => this.#reading().alertChanges(query);
  deliveryItems: Store["deliveryItems"] = async (query) => this.#reading().deliveryItems(query);
  messages: Store["messages"] = async (query) => this.#reading().messages(query);
  acknowledgements: Store["acknowledgements"] = async (query) => this.#reading().acknowledgements(query);
  cursors: Store["cursors"] = async () => this.#reading().cursors();
  keep: Store["keep"] = async () => this.#reading().keep();
  lastIds: Store["lastIds"] = async () => this.#reading().lastIds();
  lastAliveMs: Store["lastAliveMs"] = async () => this.#reading().lastAliveMs();

  #reading(): Reader {
    if (!this.#db.open)
      throw new HistoryError("closed", this.#opened.file, `${this.#opened.file}: is closed already`);
    return this.#reader;
  }

  #writing(): WritingParts {
    this.#reading();
    if (this.#parts === undefined)
      throw new HistoryError(
        "readonly",
        this.#opened.file,
        `${this.#opened.file}: was opened for reading only`,
      );
    return this.#parts;
  }

  /** Runs `write` in a transaction. */
  #transaction(write: () => void, durable: boolean): void {
    const run = () => {
      this.#db.exec("BEGIN IMMEDIATE");
      try {
        write();
        this.#db.exec("COMMIT");
      } finally {
        // SQLite may have rolled back already (a full disk).
        if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      }
    };
    if (durable) durably(this.#db, run);
    else run();
  }

  #durably(write: () => void): void {
    try {
      this.#transaction(write, true);
    } catch (error) {
      throw writeFailure(error, this.#opened.file);
    }
  }

  /** Packs the tail. If the disk is full, the log is read unpacked. */
  async #packTail(): Promise<void> {
    const packing = this.#parts?.packing;
    if (packing === undefined || packing.state().rows <= tailRowsRead) return;
    try {
      while (this.#db.open && packing.step()) await breathe();
    } catch (error) {
      const failure = writeFailure(error, this.#opened.file);
      if (failure instanceof Error && failure.name === "CommitFailed") return;
      throw failure;
    }
  }
}
