/**
 * One run of one collector: within its deadline, and without anything of it being taken afterwards, whether the collector
 * listens or not. What was read before the deadline is let be stored, however long that takes. The deadline stands still
 * while a request of the run waits for the request budget: that says nothing about the exchange.
 */
import type { Clock } from "../domain/clock.ts";
import type { Observation } from "../domain/observation.ts";
import type { ExchangeClient, Lane } from "../exchange/index.ts";
import type { CollectedWallet, Collector, RunOutcome, WalletRun } from "./collector.ts";

/** A run went on for too long. */
export class RunTooLong extends Error {
  override readonly name = "RunTooLong";
}
/** A run was called off: the daemon stops, or something more urgent is due. */
export class CalledOff extends Error {
  override readonly name = "CalledOff";
}
/** Readings could not be handed on; nobody's fault at the exchange. */
export class NotTaken extends Error {
  override readonly name = "NotTaken";
}

/** The time that a run may take beyond its requests, so that theirs is the error that is told. */
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
  /** The time by which it should be done, monotonic ms. */
  readonly dueMs: number;
  readonly limitMs: number;
}

/** The end of a run: an outcome, or why there is none. */
export interface RunEnd {
  readonly outcome: RunOutcome | null;
  readonly failure: unknown;
  /** It asked the exchange something: its success proves that the exchange answers. */
  readonly asked: boolean;
}

export function perform(options: RunOptions): {
  readonly abort: (reason: Error) => void;
  /** True while all that it asked for waits for the request budget, at first or for another try. */
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
  /**
   * Ends the hold: what was held back while something was stored holds for all that the run does next: it may be at its end.
   */
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
    // Made when it is needed: an error takes the stack along, which no run should pay for.
    abort(new RunTooLong(`no answer within ${limitMs / 1_000} s`)),
  );
  const wallet = options.wallet?.name;
  const run: WalletRun = {
    client,
    // An exchange's collector does not look at it.
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
        // As long as it takes: each lane has its share, and stopping or a more urgent run ends the wait.
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
      // Whatever surfaced first, a run that was called off ended for that reason.
      return { outcome: null, failure: signal.aborted ? signal.reason : error, asked };
    } finally {
      over = true;
      stopwatch.stop();
    }
  }
  return { abort, waits: () => calls > 0 && waiting === calls, ended: ended() };
}

/** Counts down, except while it is held. */
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

  /** Begins (true) or ends (false) one reason to stand still; several may overlap. */
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
