/**
 * The machine on which the daemon runs, one life after the other: what is left of one is the database as it was committed, and
 * what was on its way to the exchange and the channels.
 *
 * A killed daemon keeps its objects in this process, hence everything through which it could act is taken from it: its clock
 * stands, nothing arrives, its store answers no more. The next life works on a copy of database and write-ahead file.
 */
import fs from "node:fs";
import path from "node:path";
import { pino } from "pino";
import { type Daemon, startDaemon } from "../../src/daemon/app.ts";
import type { DaemonSettings } from "../../src/daemon/settings.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { DaemonStatus } from "../../src/domain/status.ts";
import { type History, HistoryError, openStore, type StoreOptions } from "../../src/history/index.ts";
import { toWire } from "../../src/web/index.ts";
import { channelsOf, type FarSides } from "./channels.ts";
import type { ProcessClock, VirtualTime } from "./clock.ts";
import { Disk } from "./disk.ts";
import type { Step } from "./faults.ts";
import { Line, type Venue } from "./line.ts";
import type { EventLog } from "./log.ts";
import type { StreamsOf, Weather } from "./weather.ts";

export interface MachineParts {
  readonly seed: number;
  readonly time: VirtualTime;
  readonly venue: Venue;
  readonly weather: Weather;
  readonly log: EventLog;
  /** The folder of the databases. */
  readonly folder: string;
  readonly aheadMs: number;
  /** @param version another one is a changed configuration */
  readonly settings: (version: number) => DaemonSettings;
}

type Batch = Parameters<History["commit"]>[0];

interface Life {
  readonly number: number;
  readonly file: string;
  readonly clock: ProcessClock;
  readonly line: Line;
  readonly disk: Disk;
  readonly abort: AbortController;
  daemon: Daemon | null;
  store: History | null;
  /** Killed: it does nothing any more. */
  dead: boolean;
  /** It stops, and takes no orders. */
  stopping: boolean;
}

/** A daemon that could not be started is started again after this time, ms. */
const startAgainMs = 5_000;

export class Machine {
  readonly #parts: MachineParts;
  readonly #farSides: FarSides = new Map();
  #life: Life | null = null;
  #lives = 0;
  #aheadMs: number;
  #version = 0;
  /** The database that the life before left. */
  #file: string | null = null;
  #killAt: { readonly step: Step; readonly then: () => void } | null = null;
  /** Things that a daemon must never do, and did. */
  readonly faults: string[] = [];

  constructor(parts: MachineParts) {
    this.#parts = parts;
    this.#aheadMs = parts.aheadMs;
  }

  get running(): boolean {
    const life = this.#life;
    return life !== null && life.daemon !== null && !life.stopping;
  }

  /** True from its start to its end. */
  get alive(): boolean {
    return this.#life !== null;
  }

  /** The database, when nothing runs. */
  get file(): string | null {
    return this.#file;
  }

  /** Begins a life; resolves when it watches, was stopped or could not start. */
  async start(): Promise<void> {
    const { seed, time, venue, weather, log, settings } = this.#parts;
    const number = ++this.#lives;
    const clock = time.clock(this.#aheadMs);
    const line = new Line({
      venue,
      life: number,
      clock,
      weather,
      log,
      random: seededRandom(seed * 1_000 + number),
    });
    const file = path.join(this.#folderOf(number), "perpwatch.db");
    const abort = new AbortController();
    const disk = new Disk({ weather, clock, random: seededRandom(seed * 15_485_863 + number) });
    const life: Life = {
      number,
      file,
      clock,
      line,
      disk,
      abort,
      daemon: null,
      store: null,
      dead: false,
      stopping: false,
    };
    this.#life = life;
    log.add({ kind: "life", life: number, text: "starts" });
    try {
      const daemon = await startDaemon(settings(this.#version), {
        log: this.#logger(number),
        clock,
        random: seededRandom(seed * 7_919 + number),
        signal: abort.signal,
        probe: (step) => this.#step(life, step),
        outside: {
          dispatcher: line.dispatcher,
          openSocket: line.openSocket,
          openStore: (options) => this.#openStore(life, options),
          createChannel: channelsOf({
            ...{ life: number, clock, weather, log, farSides: this.#farSides },
            random: seededRandom(seed * 104_729 + number),
          }),
          createDashboard: () => ({
            start: async () => ({ url: null }),
            link: () => null,
            reload: () => {},
            stop: async () => {},
          }),
          host: "truth",
          newId: () => `drill-${number}`,
        },
      });
      life.daemon = daemon;
      log.add({ kind: "life", life: number, text: "watches" });
      daemon.broken.catch((error: unknown) => {
        if (!life.dead) this.#fault("the daemon broke", error);
      });
    } catch (error) {
      if (life.dead || abort.signal.aborted) return;
      if (!(error instanceof HistoryError && error.problem === "full"))
        return this.#fault("the daemon did not start", error);
      log.add({ kind: "life", life: number, text: `cannot start: ${error.message}` });
      this.#end(life);
      time.after(startAgainMs + disk.spread(), () => void this.start());
    }
  }

  /** As SIGTERM does. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (!life || life.stopping || life.dead) return;
    life.stopping = true;
    this.#parts.log.add({ kind: "life", life: life.number, text: "is told to stop" });
    life.abort.abort(new Error("told to stop"));
    try {
      await life.daemon?.stop();
    } catch (error) {
      if (!life.dead) this.#fault("the daemon did not stop", error);
    }
    if (life.dead) return;
    this.#parts.log.add({ kind: "life", life: life.number, text: "has stopped" });
    this.#end(life);
  }

  /** As SIGKILL does. */
  kill(): void {
    const life = this.#life;
    if (!life || life.dead) return;
    this.#parts.log.add({ kind: "life", life: life.number, text: "is killed" });
    this.#end(life);
  }

  /** Kills it at the next time that it takes a step. @param then called when that has happened */
  killAt(step: Step, then: () => void): void {
    this.#killAt = { step, then };
  }

  /** Takes `killAt` back. */
  spare(): void {
    this.#killAt = null;
  }

  /** As SIGHUP does. @param changed with another configuration */
  async reload(changed: boolean): Promise<void> {
    const life = this.#life;
    if (!life?.daemon || life.stopping || life.dead) return;
    this.status();
    if (changed) this.#version++;
    this.#parts.log.add({
      kind: "life",
      life: life.number,
      text: `is reloaded${changed ? ", changed" : ""}`,
    });
    try {
      await life.daemon.reload(this.#parts.settings(this.#version));
      if (!life.dead && !life.stopping) this.status();
    } catch (error) {
      if (life.dead || life.stopping) return;
      const { message } = error as Error;
      // A disk that takes nothing is a reason to refuse, and nothing else here is.
      if (!life.disk.holds || !message.startsWith("history does not take commits now"))
        return this.#fault("the reload failed", error);
      // Whoever changed it puts it back.
      if (changed) this.#version--;
      this.#parts.log.add({ kind: "life", life: life.number, text: `is not reloaded: ${message}` });
    }
  }

  setClock(aheadMs: number): void {
    this.#aheadMs = aheadMs;
    this.#life?.clock.set(aheadMs);
  }

  breakStreams(of: StreamsOf): void {
    this.#life?.line.breakStreams(of);
  }

  /** Its process stands still for so long. */
  stall(ms: number): void {
    const life = this.#life;
    if (!life) return;
    this.#parts.log.add({ kind: "stalled", life: life.number, ms });
    life.clock.stall(ms);
  }

  /** ms until it can be told something again. */
  get stalledForMs(): number {
    return this.#life?.clock.stalledForMs ?? 0;
  }

  /** As `perpwatch status` and the page read it; null while nothing runs, or nothing answers. */
  status(): DaemonStatus | null {
    const daemon = this.running && this.stalledForMs === 0 ? this.#life!.daemon : null;
    if (!daemon) return null;
    try {
      const status = daemon.status();
      JSON.stringify(toWire(status));
      const { atMs: nowMs, wallets, unjudged, blind } = status.watch;
      const firing = status.watch.firing.map(({ id, rule, subject }) => ({ id, rule, subject }));
      this.#parts.log.add({
        kind: "shown",
        life: this.#life!.number,
        nowMs,
        wallets,
        unjudged,
        blind,
        firing,
      });
      return status;
    } catch (error) {
      this.#fault("its status cannot be read", error);
      return null;
    }
  }

  #end(life: Life): void {
    life.dead = true;
    life.clock.kill();
    life.line.cut();
    if (this.#life === life) this.#life = null;
    // Copied as it is now: who closes it tidies up.
    const next = path.join(this.#folderOf(life.number + 1), "perpwatch.db");
    for (const ending of ["", "-wal"])
      if (fs.existsSync(life.file + ending)) fs.copyFileSync(life.file + ending, next + ending);
    this.#file = next;
    if (life.store) void life.store.close();
  }

  #folderOf(life: number): string {
    const folder = path.join(this.#parts.folder, String(life));
    fs.mkdirSync(folder, { recursive: true });
    return folder;
  }

  #openStore(life: Life, options: StoreOptions): History {
    life.disk.open();
    const store = openStore({ ...options, path: life.file });
    life.store = store;
    const never = () => new Promise<never>(() => {});
    return new Proxy(store, {
      get: (_, name) => {
        const value = Reflect.get(store, name) as unknown;
        if (typeof value !== "function") return value;
        const method = value.bind(store) as (...given: unknown[]) => unknown;
        if (name === "commit")
          return (batch: Batch) => (life.dead ? never() : this.#commit(life, store, batch));
        return (...given: unknown[]) => {
          if (life.dead) return never();
          const refusal = life.disk.refusal(name, given);
          return refusal === null ? method(...given) : Promise.reject(refusal);
        };
      },
    });
  }

  async #commit(life: Life, store: History, batch: Batch): Promise<void> {
    const { log } = this.#parts;
    const refusal = life.disk.refusal("commit", [batch]);
    if (refusal !== null) {
      log.add({ kind: "refused", life: life.number, changes: batch });
      throw refusal;
    }
    const bytesBefore = sizeOf(life.file);
    await store.commit(batch);
    for (const changes of batch) log.add({ kind: "committed", life: life.number, changes, bytesBefore });
  }

  #step(life: Life, step: Step): void | Promise<void> {
    const wanted = this.#killAt;
    if (wanted?.step !== step || life.dead) return;
    this.#killAt = null;
    this.kill();
    wanted.then();
    return new Promise(() => {});
  }

  #logger(life: number) {
    const { log } = this.#parts;
    const write = (line: string): void => {
      const { level, msg, ...rest } = JSON.parse(line) as { level: number; msg: string };
      log.add({ kind: "said", life, level, text: `${msg} ${JSON.stringify(rest)}` });
    };
    return pino({ level: "info", base: null, timestamp: false }, { write });
  }

  #fault(text: string, error: unknown): void {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.faults.push(`${text}: ${detail}`);
    this.#parts.log.add({ kind: "life", life: this.#lives, text: `${text}: ${detail}` });
  }
}

/** Bytes of a database with its write-ahead file. */
const sizeOf = (file: string): number =>
  ["", "-wal"].reduce(
    (sum, ending) => sum + (fs.statSync(file + ending, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
