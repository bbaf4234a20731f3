/**
 * The single queue into the watch. Observations are processed in order of arrival. The resulting changes are committed,
 * several to a transaction; messages, requests and log lines follow only after the commit.
 *
 *   observe ──► queue ──► (events already stored are removed) ──► watch ──► commit ──► committed: deliver, ask, log
 *                                                                           └── fails ──► held, tried again
 *                                                                                    └── 5 s ──► degraded: `stuck`
 *
 * While commits fail, the watch continues, because critical messages must leave even then. Its changes are held in
 * order. Above a limit, held samples are dropped, but never events, alerts or pending deliveries.
 *
 * Observations are recorded in the same transaction as their changes (recording-buffer.ts). When the disk is full, the
 * recording is dropped first.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../domain/clock.ts";
import { eventName } from "../domain/event.ts";
import type { Observation } from "../domain/observation.ts";
import { CommitFailed, type Ingest, type Store } from "../domain/ports.ts";
import { type Changes, changes as changesOf, isEmpty } from "../domain/stored/changes.ts";
import type { Ask } from "../domain/stored/changes-builder.ts";
import type { Note } from "../engine/moment.ts";
import type { Watch } from "../engine/watch.ts";
import { RecordingBuffer } from "./recording-buffer.ts";

/** Maximum observations in one transaction. */
const maxBatch = 64;
/** Observations are processed for this time before the event loop gets a turn, ms. */
const maxTurnMs = 25;
const degradedAfterMs = 5_000;
const retryMs = [250, 500, 1_000, 2_000, 5_000];
/** Held changes beyond this number lose their samples. */
const maxHeldWithSamples = 5_000;
const tickEveryMs = 1_000;

export interface IngestOptions {
  readonly watch: Watch;
  readonly store: Pick<Store, "commit" | "knownEvents">;
  readonly clock: Clock;
  /** Called for changes in history: their deliveries can be sent. */
  readonly onCommitted: (changes: Changes) => void;
  /**
   * Called once for changes that could not be committed for too long: critical deliveries in them have to leave all the
   * same.
   */
  readonly onStuck: (changes: Changes) => void;
  readonly onAsk: (ask: Ask) => void;
  readonly onNote: (note: Note) => void;
  readonly onDegraded: (degraded: boolean, why: string) => void;
  /** Called on an error that waiting does not repair: the daemon has to end. */
  readonly onBroken: (error: unknown) => void;
  /** Called at each step, for tests that stop the process there. */
  readonly probe?: (step: "observed" | "judged" | "committed") => void | Promise<void>;
}

interface Queued {
  readonly observation: Observation;
  readonly done: () => void;
}

interface Held {
  changes: Changes;
  stuck: boolean;
}

export class IngestLoop implements Ingest {
  readonly #options: IngestOptions;
  #watch: Watch;
  readonly #queue: Queued[] = [];
  #held: Held[] = [];
  readonly #recording = new RecordingBuffer();
  /** Keys of events that were processed and are not yet in history. */
  readonly #inFlight = new Set<string>();
  #working: Promise<void> | null = null;
  #failingSinceMs: number | null = null;
  #failures = 0;
  #failure = "";
  #degraded = false;
  #samplesLost = 0;
  #unrecorded = 0;
  #cancelTimer: (() => void) | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #cancelRetry: (() => void) | null = null;
  #stopped = false;
  #paused = false;

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#watch = options.watch;
    this.#recordStart();
  }

  start(): void {
    this.#schedule();
  }

  get watch(): Watch {
    return this.#watch;
  }

  get degraded(): boolean {
    return this.#degraded;
  }

  get takesCommits(): boolean {
    return this.#failingSinceMs === null;
  }

  get heldCommits(): number {
    return this.#held.length;
  }

  /**
   * Replaces the watch from the next observation on. Observations that arrive while `build` reads history wait in the
   * queue, so that the old watch processes nothing more.
   */
  async replace(build: (before: Watch) => Promise<Watch>): Promise<void> {
    this.#paused = true;
    try {
      await this.settled();
      // Held changes are not in history yet, so the next watch could not read them.
      if (this.#held.length > 0) throw new Error("history does not take commits now; try again when it does");
      this.#watch = await build(this.#watch);
      this.#recordStart();
    } catch (error) {
      // The old watch has handed its state over to a watch that was not created.
      if (this.#watch.replaced) this.#options.onBroken(error);
      throw error;
    } finally {
      this.#paused = false;
      if (this.#queue.length > 0) this.#wake();
      else this.#schedule();
    }
  }

  observe(observation: Observation): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((done) => {
      this.#queue.push({ observation, done });
      this.#wake();
    });
  }

  /** Resolves when nothing is queued or being written. */
  async settled(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** Accepts no more observations, processes the queue, and tries once more to commit the held changes. */
  async stop(): Promise<void> {
    await this.settled();
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#cancelRetry?.();
    if (this.#held.length > 0 || !this.#recording.empty) await this.#commit();
  }

  #recordStart(): void {
    this.#recording.record({ kind: "watching", ...this.#watch.beginning });
  }

  #wake(): void {
    if (this.#paused) return;
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
      if (this.#queue.length > 0) this.#wake();
    });
  }

  async #work(): Promise<void> {
    // Waits for one turn of the event loop, so that observations that arrive together are committed together.
    await turn();
    let batch: Queued[] = [];
    try {
      while (this.#queue.length > 0 && !this.#paused) {
        batch = this.#queue.splice(0, maxBatch);
        await this.#options.probe?.("observed");
        let sinceMs = this.#options.clock.elapsedMs();
        for (const { observation } of batch) {
          // Only events have to be looked up first. An unneeded await costs as much as an observation.
          this.#judge(observation.kind === "events" ? await this.#removeKnown(observation) : observation);
          // The first answer about an account feeds its windows from history. Many of these must not block the event
          // loop.
          if (this.#options.clock.elapsedMs() - sinceMs < maxTurnMs) continue;
          await turn();
          sinceMs = this.#options.clock.elapsedMs();
        }
        await this.#options.probe?.("judged");
        if (this.#failingSinceMs === null) await this.#commit();
        else this.#whileFailing();
        for (const { done } of batch.splice(0)) done();
      }
      this.#schedule();
    } catch (error) {
      this.#stopped = true;
      for (const { done } of [...batch, ...this.#queue.splice(0)]) done();
      this.#options.onBroken(error);
    }
  }

  #judge(observation: Observation): void {
    this.#recording.record(observation);
    const { changes, asks, notes } = this.#watch.observe(observation);
    for (const event of changes.events) this.#inFlight.add(eventName(event.kind, event.key));
    if (!isEmpty(changes)) this.#held.push({ changes, stuck: false });
    for (const ask of asks) this.#options.onAsk(ask);
    for (const note of notes) this.#options.onNote(note);
  }

  async #removeKnown(seen: Observation & { readonly kind: "events" }): Promise<Observation> {
    if (seen.events.length === 0) return seen;
    const known = await this.#options.store.knownEvents(seen.events);
    const taken = new Set<string>();
    const events = seen.events.filter((event) => {
      const key = eventName(event.kind, event.key);
      if (known.has(key) || this.#inFlight.has(key) || taken.has(key)) return false;
      taken.add(key);
      return true;
    });
    return events.length === seen.events.length ? seen : { ...seen, events };
  }

  async #commit(): Promise<void> {
    const held = this.#held;
    // An observation of time alone can wait for the next one.
    if (held.length > 0 || this.#recording.urgent || this.#stopped) {
      const recorded = this.#recording.changes();
      const batch = held.map((one) => one.changes);
      if (recorded !== null) batch.push(recorded);
      try {
        await this.#options.store.commit(batch);
      } catch (error) {
        if (!(error instanceof CommitFailed)) throw error;
        this.#commitFailed(error);
        return;
      }
      this.#held = [];
      this.#unrecorded += this.#recording.written();
      this.#inFlight.clear();
    }
    this.#recovered();
    if (held.length === 0) return;
    await this.#options.probe?.("committed");
    for (const { changes } of held) this.#options.onCommitted(changes);
  }

  #commitFailed(error: CommitFailed): void {
    const { clock } = this.#options;
    this.#failingSinceMs ??= clock.elapsedMs();
    const waitMs = retryMs[Math.min(this.#failures, retryMs.length - 1)]!;
    // On a full disk, pending deliveries have to fit before anything else.
    if (error.reason === "full") this.#recording.drop();
    this.#failures++;
    this.#failure = error.message;
    this.#whileFailing();
    if (this.#stopped) return;
    this.#cancelRetry?.();
    this.#cancelRetry = clock.after(waitMs, () => {
      this.#working ??= this.#commit()
        .catch((cause: unknown) => this.#options.onBroken(cause))
        .finally(() => {
          this.#working = null;
          if (this.#queue.length > 0) this.#wake();
        });
    });
  }

  #whileFailing(): void {
    const { clock } = this.#options;
    const failingMs = clock.elapsedMs() - (this.#failingSinceMs ?? clock.elapsedMs());
    if (failingMs >= degradedAfterMs) {
      if (!this.#degraded) {
        this.#degraded = true;
        this.#options.onDegraded(true, this.#failure);
      }
      for (const one of this.#held) {
        if (one.stuck) continue;
        one.stuck = true;
        this.#options.onStuck(one.changes);
      }
    }
    for (let i = 0; i < this.#held.length - maxHeldWithSamples; i++) {
      const one = this.#held[i]!;
      if (one.changes.ticks.length === 0) continue;
      this.#samplesLost += one.changes.ticks.length;
      one.changes = changesOf({ ...one.changes, ticks: [] });
    }
    // Changes that held samples only are empty now.
    if (this.#held.length > maxHeldWithSamples)
      this.#held = this.#held.filter((one) => !isEmpty(one.changes));
  }

  #recovered(): void {
    if (this.#failingSinceMs === null) return;
    this.#failingSinceMs = null;
    this.#failures = 0;
    this.#cancelRetry?.();
    this.#cancelRetry = null;
    if (this.#degraded) {
      this.#degraded = false;
      const lost: string[] = [];
      if (this.#samplesLost > 0) lost.push(`${this.#samplesLost} samples were dropped`);
      if (this.#unrecorded > 0) lost.push(`${this.#unrecorded} observations are missing in the recording`);
      this.#options.onDegraded(false, lost.length === 0 ? "nothing was lost" : lost.join(", "));
    }
    this.#samplesLost = 0;
    this.#unrecorded = 0;
  }

  /** Ensures that time is observed at the next deadline, and at least once a second. */
  #schedule(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const nowMs = clock.nowMs();
    const tickMs = nowMs + tickEveryMs;
    const dueMs = Math.min(this.#watch.nextDeadlineMs(tickMs) ?? tickMs, tickMs);
    if (this.#cancelTimer && this.#timerAtMs <= dueMs && this.#timerAtMs > nowMs) return;
    this.#cancelTimer?.();
    this.#timerAtMs = dueMs;
    this.#cancelTimer = clock.after(Math.max(1, dueMs - nowMs), () => {
      this.#cancelTimer = null;
      void this.observe({ kind: "time", atMs: clock.nowMs() });
    });
  }
}
