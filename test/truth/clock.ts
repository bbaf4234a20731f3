/**
 * Time of a simulation. It stands still while anything is under way in this process and then goes to the next timer:
 *
 *   run the timer ─► turns of the event loop, until no work is counted, no immediate waits and a few turns brought nothing
 *                 ─► the next timer
 *
 * So what the code does takes no time, and equal runs set equal timers in an equal order. Two timers of one moment run in the
 * order in which they were set; whoever answers from outside draws moments that no other timer shares (fractions of a ms).
 *
 * Each process that is simulated has a clock of its own, whose timers die with it and whose wall time may be wrong.
 */
import type { Clock } from "../../src/domain/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  /** Null: it was cancelled. */
  run: (() => void) | null;
}

/** Turns of the event loop in which nothing happened. */
const idleTurns = 3;
/** Real time after which work that does not end is a mistake of the simulation. */
const stuckAfterMs = 30_000;
/** Between two things that reached a process while it stood still: no two timers may share a moment. */
const apartMs = 0.001;

export class VirtualTime {
  /** A binary heap, the next one first. */
  readonly #timers: Timer[] = [];
  readonly #startMs: number;
  #elapsedMs = 0;
  #order = 0;
  #pending = 0;
  /** Timers that ran. */
  fired = 0;

  /** @param startMs wall time at its beginning */
  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** True wall time, ms. */
  get nowMs(): number {
    return this.#startMs + this.#elapsedMs;
  }

  /** A clock of one process. @param aheadMs its wall time less the true one */
  clock(aheadMs = 0): ProcessClock {
    return new ProcessClock(this, aheadMs);
  }

  /** Time stands still until this work, which is done by threads or other processes, has ended. */
  async pending<T>(work: Promise<T>): Promise<T> {
    this.#pending++;
    try {
      return await work;
    } finally {
      this.#pending--;
    }
  }

  after(ms: number, run: () => void): () => void {
    return this.at(this.#elapsedMs + Math.max(0, ms || 0), run);
  }

  /** @param elapsedMs after the beginning */
  at(elapsedMs: number, run: () => void): () => void {
    const timer: Timer = { dueMs: elapsedMs, order: this.#order++, run };
    this.#push(timer);
    return () => {
      timer.run = null;
    };
  }

  /** Lets time pass up to a moment after the beginning, ms, and all in it happen. */
  async runTo(elapsedMs: number): Promise<void> {
    await this.#settle();
    for (;;) {
      const next = this.#timers[0];
      if (next === undefined || next.dueMs > elapsedMs) break;
      this.#pop();
      if (next.run === null) continue;
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.fired++;
      next.run();
      await this.#settle();
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, elapsedMs);
  }

  /** Lets time pass until a promise is settled, and no more than so much. @returns true if it is settled */
  async runUntil(promise: Promise<unknown>, mostMs: number): Promise<boolean> {
    let open = true;
    const done = () => {
      open = false;
    };
    promise.then(done, done);
    const endMs = this.#elapsedMs + mostMs;
    await this.#settle();
    while (open && this.#timers[0] && this.#timers[0].dueMs <= endMs)
      await this.runTo(Math.max(this.#elapsedMs, this.#timers[0].dueMs));
    return !open;
  }

  async #settle(): Promise<void> {
    let sinceMs = 0;
    for (let calm = 0, turns = 0; calm < idleTurns; turns++) {
      await new Promise(setImmediate);
      const busy = this.#pending > 0 || process.getActiveResourcesInfo().includes("Immediate");
      calm = busy ? 0 : calm + 1;
      if (turns % 1_000 !== 999) continue;
      sinceMs ||= performance.now();
      if (performance.now() - sinceMs > stuckAfterMs)
        throw new Error(`work that does not end at ${new Date(this.nowMs).toISOString()}: ${this.#pending}`);
    }
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(timer, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#timers;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

const before = (a: Timer, b: Timer): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);

/** The clock of one process. */
export class ProcessClock implements Clock {
  readonly #time: VirtualTime;
  #aheadMs: number;
  #dead = false;
  /** The end of the newest stall, ms after the beginning. */
  #stalledUntilMs = 0;
  #stalledFromMs = 0;
  /** Things that reached it during a stall. */
  #held = 0;

  constructor(time: VirtualTime, aheadMs: number) {
    this.#time = time;
    this.#aheadMs = aheadMs;
  }

  /** The process is gone: none of its timers runs any more. */
  kill(): void {
    this.#dead = true;
  }

  /** Its wall time is set. @param aheadMs less the true one */
  set(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }

  /**
   * The process stands still for so long, while the world goes on. At the end its timers run, in their order, and then what reached
   * it meanwhile, as in a turn of Node's event loop.
   */
  stall(ms: number): void {
    if (this.stalledForMs === 0) this.#stalledFromMs = this.#time.elapsedMs;
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#time.elapsedMs + ms);
  }

  /** Time for which it ran since a moment, its newest stall left out, ms. @param sinceMs after the beginning */
  ranFor(sinceMs: number): number {
    const endMs = Math.min(this.#stalledUntilMs, this.#time.elapsedMs);
    return this.#time.elapsedMs - sinceMs - Math.max(0, endMs - Math.max(this.#stalledFromMs, sinceMs));
  }

  /** ms until it runs again; 0: it runs. */
  get stalledForMs(): number {
    return Math.max(0, this.#stalledUntilMs - this.#time.elapsedMs);
  }

  nowMs(): number {
    return this.#time.nowMs + this.#aheadMs;
  }

  elapsedMs(): number {
    return this.#time.elapsedMs;
  }

  /** As Node's timers: whole ms, and one at least. */
  after(ms: number, run: () => void): () => void {
    return this.#at(this.#time.elapsedMs + Math.max(1, Math.trunc(ms)), run, () => 0);
  }

  /** Something from outside reaches the process, to the fraction of a ms. */
  arrive(ms: number, run: () => void): () => void {
    return this.#at(this.#time.elapsedMs + Math.max(0, ms || 0), run, () => ++this.#held * apartMs);
  }

  /** @param behindMs for how long it has to wait for others at the end of a stall */
  #at(elapsedMs: number, run: () => void, behindMs: () => number): () => void {
    let cancel = this.#time.at(elapsedMs, () => {
      if (this.#dead) return;
      if (this.stalledForMs === 0) run();
      else cancel = this.#at(this.#stalledUntilMs + behindMs(), run, behindMs);
    });
    return () => cancel();
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
}
