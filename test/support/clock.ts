/**
 * A clock that tests move. `advance` runs every timer that falls due, in order, and between two timers waits until
 * everything in this process is idle: sockets and promises are real, only time is not.
 *
 *   const clock = new FakeClock("2026-01-01T00:00:00Z");
 *   await clock.advance(60_000);            // a minute passes, with all that happens in it
 *   await clock.finish(client.markets({})); // time passes until this promise is settled
 *
 * Idle means: no HTTP request of undici is under way in this process (counted by itself), every `busy` hook says no, and
 * this has been so for a few turns of the event loop. A server that holds a request on purpose (a slow answer, a hang) must
 * not stop time: count it through `held`, which is exact. Only where nobody counts, a request that stays unanswered for
 * `heldAfterMs` of real time with the event loop quiet is taken for held: a guess, which a loaded machine can spoil.
 */
import { subscribe } from "node:diagnostics_channel";
import type { Clock } from "../../src/domain/clock.ts";

/** Requests of undici that were sent and not answered in this process; keyed, so that ends are never counted twice. */
const underWay = new Set<object>();
let httpEvents = 0;
/** Those that were found to be held, so that each costs its wait in real time once. */
const found = new WeakSet<object>();
const ends = (message: unknown) => {
  httpEvents++;
  underWay.delete((message as { request: object }).request);
};
subscribe("undici:request:create", (message) => {
  httpEvents++;
  underWay.add((message as { request: object }).request);
});
subscribe("undici:request:headers", () => httpEvents++);
subscribe("undici:request:trailers", ends);
subscribe("undici:request:error", ends);

/** Turns of the event loop without an event, beside `stuckAfterMs`. */
const stuckAfterTurns = 2_500;

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

export interface FakeClockOptions {
  /** True while something is under way that this clock cannot see (a WebSocket frame, a child process, a worker). */
  readonly busy?: () => boolean;
  /** The number of HTTP requests held on purpose; they do not keep time from moving. */
  readonly held?: () => number;
  /** Real time after which an unanswered request counts as held. Default: never where `held` is counted, else 100. */
  readonly heldAfterMs?: number;
  /** Real time without any event of HTTP after which waiting for idleness fails. Default 10 000. */
  readonly stuckAfterMs?: number;
}

export class FakeClock implements Clock {
  readonly #timers: Timer[] = [];
  readonly #busy: (() => boolean)[] = [];
  readonly #held: (() => number)[] = [];
  readonly #heldAfterMs: number | undefined;
  readonly #stuckAfterMs: number;
  #order = 0;
  #elapsedMs = 0;
  #wallMs: number;

  /** @param start wall time at the start: ISO text or ms since the epoch */
  constructor(start: string | number = "2026-01-01T00:00:00Z", options: FakeClockOptions = {}) {
    this.#wallMs = typeof start === "number" ? start : Date.parse(start);
    if (options.busy) this.#busy.push(options.busy);
    if (options.held) this.#held.push(options.held);
    this.#heldAfterMs = options.heldAfterMs;
    this.#stuckAfterMs = options.stuckAfterMs ?? 10_000;
  }

  nowMs(): number {
    return this.#wallMs;
  }

  elapsedMs(): number {
    return this.#elapsedMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  after(ms: number, run: () => void): () => void {
    const timer = { dueMs: this.#elapsedMs + Math.max(0, ms || 0), order: this.#order++, run };
    // Binary insertion, latest first, so that the next timer is popped off the end.
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#timers[middle]!;
      if (other.dueMs > timer.dueMs || (other.dueMs === timer.dueMs && other.order > timer.order))
        low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  }

  /** Adds a hook that says while something is under way that this clock cannot see. The returned function removes it. */
  watch(busy: () => boolean): () => void {
    this.#busy.push(busy);
    return () => void this.#busy.splice(this.#busy.indexOf(busy), 1);
  }

  /** Adds a count of requests that a server holds on purpose. The returned function removes it. */
  allow(held: () => number): () => void {
    this.#held.push(held);
    return () => void this.#held.splice(this.#held.indexOf(held), 1);
  }

  /** The number of waiting timers. */
  get pending(): number {
    return this.#timers.length;
  }

  /** ms until the next timer; undefined when none waits. */
  get nextInMs(): number | undefined {
    const next = this.#timers.at(-1);
    return next && Math.max(0, next.dueMs - this.#elapsedMs);
  }

  /** The wall clock is set to another time (NTP, a person): monotonic time and timers do not notice. */
  setWall(ms: number): void {
    this.#wallMs = ms;
  }

  /** The process stands still for `ms` (SIGSTOP, a debugger) while time passes: what was due meanwhile runs late. */
  standStill(ms: number): void {
    this.#moveTo(this.#elapsedMs + ms);
  }

  /** Lets `ms` pass, and everything in it happen. */
  async advance(ms: number): Promise<void> {
    const target = this.#elapsedMs + ms;
    await this.settle();
    while ((this.#timers.at(-1)?.dueMs ?? Number.POSITIVE_INFINITY) <= target) {
      this.#runNext();
      await this.settle();
    }
    this.#moveTo(target);
    await this.settle();
  }

  /** Moves to the next timer and runs all that are due at that moment. @returns false when no timer waits */
  async advanceToNext(): Promise<boolean> {
    await this.settle();
    const dueMs = this.#timers.at(-1)?.dueMs;
    if (dueMs === undefined) return false;
    while ((this.#timers.at(-1)?.dueMs ?? Number.POSITIVE_INFINITY) <= dueMs) {
      this.#runNext();
      await this.settle();
    }
    return true;
  }

  /** Lets time pass until this promise is settled. Fails when it is still open after `limitMs` (default an hour). */
  async finish<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
    let open = true;
    const done = () => {
      open = false;
    };
    promise.then(done, done);
    await this.until(() => !open, limitMs);
    return promise;
  }

  /** Lets time pass until `met`. Fails after `limitMs` (default an hour), or when nothing can happen any more. */
  async until(met: () => boolean, limitMs = 3_600_000): Promise<void> {
    const limit = this.#elapsedMs + limitMs;
    for (;;) {
      await this.settle();
      if (met()) return;
      const next = this.#timers.at(-1);
      if (!next || next.dueMs > limit) {
        throw new Error(next ? `not met within ${limitMs} ms` : "not met, and no timer waits");
      }
      this.#runNext();
    }
  }

  /** Waits, without moving time, until everything is idle. */
  async settle(): Promise<void> {
    const guessAfterMs = this.#heldAfterMs ?? (this.#held.length > 0 ? Number.POSITIVE_INFINITY : 100);
    let quietSinceMs = performance.now();
    let seen = httpEvents;
    for (let calm = 0, quiet = 0; calm < 5; ) {
      // After many turns a pause, so that whatever we wait for (another process, a worker) gets the processor.
      await (quiet > 2_000 ? new Promise((next) => setTimeout(next, 1)) : new Promise(setImmediate));
      const now = performance.now();
      if (httpEvents !== seen) {
        seen = httpEvents;
        quietSinceMs = now;
        quiet = calm = 0;
        continue;
      }
      quiet++;
      if (this.#busy.some((busy) => busy())) calm = 0;
      else if (this.#open() <= 0) calm++;
      else if (quiet > 200 && now - quietSinceMs > guessAfterMs) for (const one of underWay) found.add(one);
      else calm = 0;
      // Time alone proves nothing: a loaded machine may have given it all to others.
      if (quiet > stuckAfterTurns && now - quietSinceMs > this.#stuckAfterMs) {
        throw new Error(`not idle after ${this.#stuckAfterMs} ms: ${this.#open()} HTTP requests under way`);
      }
    }
  }

  /** Requests under way that nobody is known to hold. */
  #open(): number {
    let open = 0;
    for (const one of underWay) if (!found.has(one)) open++;
    for (const held of this.#held) open -= held();
    return open;
  }

  #runNext(): void {
    const timer = this.#timers.pop();
    if (!timer) return;
    this.#moveTo(timer.dueMs);
    timer.run();
  }

  #moveTo(elapsedMs: number): void {
    const step = Math.max(0, elapsedMs - this.#elapsedMs);
    this.#elapsedMs += step;
    this.#wallMs += step;
  }
}
