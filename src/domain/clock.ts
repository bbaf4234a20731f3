/**
 * Time and randomness, injected. No other file of the pure folders may access them.
 *
 * Wall time (`nowMs`) is stored and shown; it can jump. Monotonic time (`elapsedMs`) is for time-outs, intervals and
 * staleness of links; it cannot.
 */

/** A source of time: the system's in production, a controlled one in tests and simulations. */
export interface Clock {
  /** Wall time in ms since the epoch, corrected by the offset measured against the exchange where one is known. */
  nowMs(): number;
  /** Monotonic time in ms from an arbitrary start. */
  elapsedMs(): number;
  /** Resolves after `ms`, or rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; the returned function cancels. Never keeps a process alive by itself. */
  after(ms: number, run: () => void): () => void;
}

/** A number in [0, 1). */
export type Random = () => number;

/** The longest delay that a timer of Node takes, ms (24.8 days); it fires at once for a longer one. */
const maxTimerMs = 2 ** 31 - 1;

/** A timer for any delay; a delay above Node's maximum is split. */
function timerAfter(ms: number, run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const set = (leftMs: number) => {
    timer =
      leftMs > maxTimerMs ? setTimeout(() => set(leftMs - maxTimerMs), maxTimerMs) : setTimeout(run, leftMs);
  };
  set(ms);
  return () => clearTimeout(timer);
}

/** The machine's own clock. */
export function systemClock(): Clock {
  return {
    nowMs: () => Date.now(),
    elapsedMs: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = () => {
          cancel();
          reject(signal?.reason);
        };
        const cancel = timerAfter(ms, () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        });
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
    after: timerAfter,
  };
}

/** A small, fast, seeded generator (mulberry32): the same seed gives the same sequence on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
