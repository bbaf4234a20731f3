/**
 * One run of one collector, limited by its deadline: its later results are discarded, even if the collector ignores the
 * signal. Data read before the deadline is stored, however long that takes. The deadline is paused while a request of
 * the run waits for the request budget: that is no failure of the exchange.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Observation } from "../../domain/observation.ts";
import type { ExchangeClient, Lane } from "../../exchange/index.ts";
import type { CollectedWallet, Collector, RunOutcome, WalletRun } from "../collector.ts";

/** The run exceeded its limit. */
export class RunTooLong extends Error {
  override readonly name = "RunTooLong";
}
/** The run was cancelled: the daemon stops, or something more urgent is due. */
export class CalledOff extends Error {
  override readonly name = "CalledOff";
}
/** The data could not be stored; not an error of the exchange. */
export class NotTaken extends Error {
  override readonly name = "NotTaken";
}

/** Time that a run may take beyond its requests, so that the request's error is reported. */
const GRACE_MS = 250;

export interface RunOptions {
  readonly collector: Collector;
  readonly wallet: CollectedWallet | null;
  readonly client: ExchangeClient;
  readonly clock: Clock;
  readonly observe: (observation: Observation) => Promise<void>;
  readonly catchUp: boolean;
  readonly asked: boolean;
  readonly gap: boolean;
  readonly lane: Lane;
  /** The time by which it should end, monotonic ms. */
  readonly dueMs: number;
  readonly limitMs: number;
}

/** The end of a run: an outcome, or the error. */
export interface RunEnd {
  readonly outcome: RunOutcome | null;
  readonly failure: unknown;
  /** True if it made a request: its success then proves that the exchange answers. */
  readonly asked: boolean;
}

export function perform(options: RunOptions): {
  readonly abort: (reason: Error) => void;
  /** Returns true while all of its requests wait for the request budget, for the first or another try. */
  readonly waits: () => boolean;
  readonly ended: Promise<RunEnd>;
} {
  const { collector, clock, limitMs, lane, dueMs, client, catchUp, gap } = options;
  const controller = new AbortController();
  const { signal } = controller;
  let observing = 0;
  let asked = false;
  let calls = 0;
  let waiting = 0;
  let over = false;
  let held: Error | null = null;

  const abort = (reason: Error) => {
    if (observing > 0) held = reason;
    else controller.abort(reason);
  };
  /** Resumes after storing: the pause of the deadline ends before the next step of the run. */
  const goOn = () => {
    if (observing === 0 && held) controller.abort(held);
  };
  async function observe(observation: Observation): Promise<void> {
    goOn();
    if (over || signal.aborted) throw new NotTaken("the run is over");
    observing++;
    try {
      await options.observe(observation);
    } catch (cause) {
      throw new NotTaken("what was read could not be stored", { cause });
    } finally {
      observing--;
      if (held instanceof CalledOff) goOn();
    }
  }

  const stopwatch = new Stopwatch(clock, limitMs + GRACE_MS, () =>
    // Created when needed: an error captures the stack, which is costly.
    abort(new RunTooLong(`no answer within ${limitMs / 1_000} s`)),
  );
  const wallet = options.wallet?.name;
  const run: WalletRun = {
    client,
    // A collector of the exchange does not use it.
    wallet: options.wallet as CollectedWallet,
    catchUp,
    asked: options.asked,
    gap,
    call: (other) => {
      goOn();
      asked = true;
      calls++;
      return {
        ...(wallet === undefined ? {} : { wallet }),
        // Never before its own lane.
        lane: Math.max(lane, other ?? lane) as Lane,
        dueMs,
        signal,
        deadlineMs: Math.max(0, stopwatch.leftMs - GRACE_MS),
        // Unlimited: each lane has its share, and stopping or a more urgent run ends the wait.
        waitMs: Number.POSITIVE_INFINITY,
        onWait: (begins) => {
          waiting += begins ? 1 : -1;
          stopwatch.hold(begins);
        },
      };
    },
    nowMs: () => clock.nowMs(),
    observe,
  };

  async function ended(): Promise<RunEnd> {
    const called = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
    );
    called.catch(() => {});
    const work = collector.run(run);
    work.catch(() => {});
    try {
      const outcome = await Promise.race([work, called]);
      return { outcome, failure: null, asked };
    } catch (error) {
      // A cancelled run reports the cancellation, also if another error was first.
      return { outcome: null, failure: signal.aborted ? signal.reason : error, asked };
    } finally {
      over = true;
      stopwatch.stop();
    }
  }
  return { abort, waits: () => calls > 0 && waiting === calls, ended: ended() };
}

/** Counts down, except while it is paused. */
class Stopwatch {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  #leftMs: number;
  #fromMs: number;
  #holds = 0;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, limitMs: number, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.#leftMs = limitMs;
    this.#fromMs = clock.elapsedMs();
    this.#cancel = clock.after(limitMs, onEnd);
  }

  get leftMs(): number {
    return this.#leftMs - (this.#holds > 0 ? 0 : this.#clock.elapsedMs() - this.#fromMs);
  }

  /** Starts (true) or ends (false) one reason to pause; several may overlap. */
  hold(begins: boolean): void {
    if (begins && this.#holds++ === 0) {
      this.#leftMs -= this.#clock.elapsedMs() - this.#fromMs;
      this.#cancel?.();
    } else if (!begins && --this.#holds === 0) {
      this.#fromMs = this.#clock.elapsedMs();
      if (this.#cancel) this.#cancel = this.#clock.after(Math.max(0, this.#leftMs), this.#onEnd);
    }
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
