/**
 * The one queue into the watch. Observations are judged in the order in which they came; what they led to is committed,
 * several to a transaction, and only then is anything done that follows from it.
 *
 *   observe ──► queue ──► (events already stored are taken out) ──► watch ──► commit ──► committed: deliver, ask, log
 *                                                                       └── fails ──► held, tried again
 *                                                                                └── 5 s ──► degraded: `stuck`
 *
 * While commits fail the watch goes on judging, since critical messages have to leave even then. What it decides is held
 * in order; when too much is held, samples are let go of, never events, alerts or what is owed.
 *
 * What the watch is fed is recorded, in the same transaction as what it led to (tape.ts): first to go where room is short.
 */
import { setImmediate as turn } from "node:timers/promises";
import { type Changes, changes as changesOf, isEmpty } from "../domain/changes.ts";
import type { Ask } from "../domain/changes-builder.ts";
import type { Clock } from "../domain/clock.ts";
import { eventName } from "../domain/event.ts";
import type { Observation } from "../domain/observation.ts";
import { CommitFailed, type Ingest, type Store } from "../domain/ports.ts";
import type { Note } from "../engine/moment.ts";
import type { Watch } from "../engine/watch.ts";
import { Tape } from "./tape.ts";

/** Most observations in one transaction. */
const batchSize = 64;
/** The time for which observations are judged before others get their turn, ms. */
const judgedAtOnceMs = 25;
const degradedAfterMs = 5_000;
const retryMs = [250, 500, 1_000, 2_000, 5_000];
/** Held Changes beyond this number lose their samples. */
const heldWithSamples = 5_000;
const tickEveryMs = 1_000;

export interface IngestOptions {
  readonly watch: Watch;
  readonly store: Pick<Store, "commit" | "knownEvents">;
  readonly clock: Clock;
  /** In history now: what is owed can be sent. */
  readonly onCommitted: (changes: Changes) => void;
  /** Not in history for too long: what is critical in it has to leave all the same. Called once for each. */
  readonly onStuck: (changes: Changes) => void;
  readonly onAsk: (ask: Ask) => void;
  readonly onNote: (note: Note) => void;
  readonly onDegraded: (degraded: boolean, why: string) => void;
  /** Something broke that cannot be waited out: the daemon has to end. */
  readonly onBroken: (error: unknown) => void;
  /** Told of steps, for tests that stop the process at one. */
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
  readonly #tape = new Tape();
  /** Keys of events that are judged and not yet in history. */
  readonly #inFlight = new Set<string>();
  #working: Promise<void> | null = null;
  #failingSinceMs: number | null = null;
  #failures = 0;
  #why = "";
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
    this.#begin();
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
   * Judges by another watch from the next observation on. What arrives while `build` reads history waits in the queue, so
   * that nothing is judged by a watch that is on its way out.
   */
  async replace(build: (before: Watch) => Promise<Watch>): Promise<void> {
    this.#paused = true;
    try {
      await this.settled();
      // What is held is not in history yet, and the next watch could not know it.
      if (this.#held.length > 0) throw new Error("history does not take commits now; try again when it does");
      this.#watch = await build(this.#watch);
      this.#begin();
    } catch (error) {
      // What it knew went over to a watch that never came to be.
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

  /** Takes nothing more in, finishes what is queued, and tries once more to write what is held. */
  async stop(): Promise<void> {
    await this.settled();
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#cancelRetry?.();
    if (this.#held.length > 0 || !this.#tape.empty) await this.#commit();
  }

  #begin(): void {
    this.#tape.record({ kind: "watching", ...this.#watch.beginning });
  }

  #wake(): void {
    if (this.#paused) return;
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
      if (this.#queue.length > 0) this.#wake();
    });
  }

  async #work(): Promise<void> {
    // A turn of the loop later, so that what arrives together is written together: the busier, the larger the commits.
    await turn();
    let batch: Queued[] = [];
    try {
      while (this.#queue.length > 0 && !this.#paused) {
        batch = this.#queue.splice(0, batchSize);
        await this.#options.probe?.("observed");
        let sinceMs = this.#options.clock.elapsedMs();
        for (const { observation } of batch) {
          // Only events have to be looked up first: waiting for nothing costs as much as judging.
          this.#judge(observation.kind === "events" ? await this.#withoutKnown(observation) : observation);
          // The first sight of an account feeds its windows the past: many of these must not hold everything else up.
          if (this.#options.clock.elapsedMs() - sinceMs < judgedAtOnceMs) continue;
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
    this.#tape.record(observation);
    const { changes, asks, notes } = this.#watch.observe(observation);
    for (const event of changes.events) this.#inFlight.add(eventName(event.kind, event.key));
    if (!isEmpty(changes)) this.#held.push({ changes, stuck: false });
    for (const ask of asks) this.#options.onAsk(ask);
    for (const note of notes) this.#options.onNote(note);
  }

  async #withoutKnown(seen: Observation & { readonly kind: "events" }): Promise<Observation> {
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
    // That only time passed can wait for the next thing that happens.
    if (held.length > 0 || this.#tape.urgent || this.#stopped) {
      const recorded = this.#tape.changes();
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
      this.#unrecorded += this.#tape.written();
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
    // Where there is no room, what is owed has to fit before anything else.
    if (error.reason === "full") this.#tape.letGo();
    this.#failures++;
    this.#why = error.message;
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
        this.#options.onDegraded(true, this.#why);
      }
      for (const one of this.#held) {
        if (one.stuck) continue;
        one.stuck = true;
        this.#options.onStuck(one.changes);
      }
    }
    for (let i = 0; i < this.#held.length - heldWithSamples; i++) {
      const one = this.#held[i]!;
      if (one.changes.ticks.length === 0) continue;
      this.#samplesLost += one.changes.ticks.length;
      one.changes = changesOf({ ...one.changes, ticks: [] });
    }
    // What held samples only is empty now.
    if (this.#held.length > heldWithSamples) this.#held = this.#held.filter((one) => !isEmpty(one.changes));
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
      if (this.#samplesLost > 0) lost.push(`${this.#samplesLost} samples were let go of`);
      if (this.#unrecorded > 0) lost.push(`${this.#unrecorded} observations are missing in the recording`);
      this.#options.onDegraded(false, lost.length === 0 ? "nothing was lost" : lost.join(", "));
    }
    this.#samplesLost = 0;
    this.#unrecorded = 0;
  }

  /** Sees to it that time is observed at the next deadline, and at least once a second. */
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
