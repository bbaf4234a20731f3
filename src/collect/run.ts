/**
 * One run of one collector: within its deadline, and without anything of it being taken afterwards, whether the collector
 * listens or not. What was read before the deadline is let be stored, however long that takes.
 */
import type { Clock } from "../domain/clock.ts";
import type { Observation } from "../domain/observation.ts";
import { type ExchangeClient, type Lane, lanes } from "../exchange/index.ts";
import type { CollectedWallet, Collector, RunOutcome, WalletRun } from "./collector.ts";

/** A run went on for too long. */
export class RunTooLong extends Error {
  override readonly name = "RunTooLong";
}
/** A run was called off: the daemon stops, or something more urgent is due. */
export class CalledOff extends Error {
  override readonly name = "CalledOff";
}
/** What was read could not be handed on; nobody's fault at the exchange. */
export class NotTaken extends Error {
  override readonly name = "NotTaken";
}

/** How much longer than its requests a run may take, so that theirs is the error that is told. */
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
  readonly limitMs: number;
}

/** How it ended: an outcome, or why there is none. */
export interface RunEnd {
  readonly outcome: RunOutcome | null;
  readonly failure: unknown;
  /** It asked the exchange something: its success proves that the exchange answers. */
  readonly asked: boolean;
}

export function perform(options: RunOptions): {
  readonly abort: (reason: Error) => void;
  readonly ended: Promise<RunEnd>;
} {
  const { collector, clock, limitMs, lane, client, catchUp, gap } = options;
  const endMs = clock.elapsedMs() + limitMs;
  const controller = new AbortController();
  const { signal } = controller;
  let observing = 0;
  let asked = false;
  let over = false;
  let held: Error | null = null;

  const abort = (reason: Error) => {
    if (observing > 0) held = reason;
    else controller.abort(reason);
  };
  /** What was held back while something was stored holds for all that the run does next: it may be at its end. */
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
      return {
        ...(wallet === undefined ? {} : { wallet }),
        // Never before its own lane.
        lane: Math.max(lane, other ?? lanes.atRisk) as Lane,
        signal,
        deadlineMs: Math.max(0, endMs - clock.elapsedMs()),
      };
    },
    nowMs: () => clock.nowMs(),
    observe,
  };

  async function ended(): Promise<RunEnd> {
    // Made when it is needed: an error takes the stack along, which no run should pay for.
    const cancel = clock.after(limitMs + GRACE_MS, () =>
      abort(new RunTooLong(`no answer within ${limitMs / 1_000} s`)),
    );
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
      cancel();
    }
  }
  return { abort, ended: ended() };
}
