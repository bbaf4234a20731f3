/**
 * Daemons in one child process after the other, on the same databases, each process killed with SIGKILL at moments of
 * the test's choosing. Several daemons share a process and are held, each at a moment of its own, until all are there:
 * one kill then ends them all, and loading the program, which costs most, is shared. The next process is loaded while
 * one runs, so that a restart takes no longer than the daemon's own start.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { FromChild, Step, ToChild } from "./daemon-child.ts";

const script = fileURLToPath(new URL("./daemon-child.ts", import.meta.url));

/** A step at its nth occurrence in this life, from 1. */
export interface Moment {
  readonly step: Step;
  readonly occurrence: number;
}

export interface CrashRigOptions {
  /** Paths of configurations, one a daemon. */
  readonly configs: readonly string[];
  /** A folder for compiled code, so that many starts compile once. */
  readonly cache: string;
  /** Told of every step of every daemon, before it goes on. */
  readonly onStep: (daemon: number, step: Step) => void;
}

export class CrashRig {
  readonly #options: CrashRigOptions;
  #next: Life;
  #now: Life | null = null;

  constructor(options: CrashRigOptions) {
    this.#options = options;
    this.#next = this.#load();
  }

  /** Starts the daemons and kills them when each was held at its moment. Resolves when the process is no more. */
  lifeUntil(moments: readonly Moment[], timeoutMs = 180_000): Promise<void> {
    const left = new Map(moments.entries());
    const all = Promise.withResolvers<void>();
    const holds = (daemon: number, step: Step, count: number) => {
      const moment = left.get(daemon);
      if (moment === undefined || step !== moment.step || count !== moment.occurrence) return false;
      left.delete(daemon);
      if (left.size === 0) all.resolve();
      return true;
    };
    const missing = () => `still to come: ${JSON.stringify([...left])}`;
    return this.#live(() => all.promise, holds, missing, timeoutMs);
  }

  /** Starts the daemons and kills them, wherever each of them is, when what `during` began is over. */
  lifeWhile(during: () => Promise<unknown>, timeoutMs = 180_000): Promise<void> {
    return this.#live(
      during,
      () => false,
      () => "what was waited for did not come",
      timeoutMs,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#now?.kill(), this.#next.kill()]);
  }

  async #live(
    end: () => Promise<unknown>,
    holds: (daemon: number, step: Step, count: number) => boolean,
    missing: () => string,
    timeoutMs: number,
  ): Promise<void> {
    const life = this.#next;
    await Promise.race([life.loaded, life.failed]);
    this.#now = life;
    this.#next = this.#load();
    const seen = new Map<string, number>();
    life.onStep = (daemon, step) => {
      const name = `${daemon} ${step}`;
      const count = (seen.get(name) ?? 0) + 1;
      seen.set(name, count);
      if (holds(daemon, step, count)) return false;
      this.#options.onStep(daemon, step);
      return true;
    };
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const counts = [...seen].map(([name, count]) => `${name} ×${count}`).join(", ");
      late.reject(new Error(`${missing()}; seen: ${counts}`));
    }, timeoutMs);
    life.start();
    try {
      await Promise.race([end(), life.failed, late.promise]);
    } catch (error) {
      throw new Error(`${String(error)}\n${life.log()}`);
    } finally {
      clearTimeout(timer);
      await life.kill();
      this.#now = null;
    }
  }

  #load(): Life {
    const { configs, cache } = this.#options;
    return new Life(
      spawn(process.execPath, [script, ...configs], {
        stdio: ["ignore", "ignore", "pipe", "ipc"],
        env: { PATH: process.env.PATH ?? "", TZ: "UTC", NODE_COMPILE_CACHE: cache },
      }),
    );
  }
}

/** One process, from its start to its end. */
class Life {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly loaded: Promise<void>;
  /** Rejects when the process ends without having been killed from here. */
  readonly failed: Promise<never>;
  /** True if the daemon may go on. */
  onStep: (daemon: number, step: Step) => boolean = () => true;
  #stderr = "";
  #killed = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = once(child, "exit");
    child.stderr?.on("data", (bytes: Buffer) => {
      this.#stderr = (this.#stderr + bytes.toString()).slice(-20_000);
    });
    const loaded = Promise.withResolvers<void>();
    this.loaded = loaded.promise;
    this.failed = this.#exited.then(() => {
      if (this.#killed) return new Promise<never>(() => {});
      throw new Error("the daemons' process ended by itself");
    });
    this.failed.catch(() => {});
    child.on("message", (message: FromChild) => {
      if (message.kind === "loaded") loaded.resolve();
      else if (!this.#killed && this.onStep(message.daemon, message.step))
        this.#tell({ kind: "go", n: message.n });
    });
  }

  start(): void {
    this.#tell({ kind: "start" });
  }

  /** The end of what it logged. */
  log(): string {
    return this.#stderr;
  }

  async kill(): Promise<void> {
    this.#killed = true;
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #tell(message: ToChild): void {
    // A child that is just ending takes no more messages.
    this.#child.send(message, () => {});
  }
}
