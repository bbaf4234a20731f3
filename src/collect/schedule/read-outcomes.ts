/** Records the outcome of a run in its job, reports failures once, and observes each failure. */
import type { Clock } from "../../domain/clock.ts";
import type { Observation } from "../../domain/observation.ts";
import { failureOf, type RequestBudget, rateLimitCause } from "../../exchange/index.ts";
import type { CollectLog } from "../log.ts";
import { Reporter } from "../reporter.ts";
import { type Job, type Mode, unwell } from "./job.ts";
import type { ReadFailure } from "./limit-waits.ts";
import { NotTaken, RunTooLong } from "./run.ts";

export interface ReadOutcomesOptions {
  readonly clock: Clock;
  readonly log: CollectLog;
  readonly observe: (observation: Observation) => Promise<void>;
  readonly budget?: Pick<RequestBudget, "limit">;
}

export class ReadOutcomes {
  readonly #options: ReadOutcomesOptions;
  readonly reporter: Reporter;

  constructor(options: ReadOutcomesOptions) {
    this.#options = options;
    this.reporter = new Reporter(options.clock, options.log);
  }

  /** @param whole true if all of the source was read: a reported problem is over */
  worked(job: Job, whole: boolean): void {
    job.lastOkMs = this.#options.clock.nowMs();
    job.failures = job.signedOutFailures = 0;
    job.retries = 0;
    job.gap = false;
    job.backingOff = false;
    if (whole) this.reporter.worked({ source: job.collector.source, wallet: job.wallet?.name ?? null });
  }

  caughtUp(job: Job): void {
    job.catchUpFailure = null;
    this.reporter.worked({ source: job.collector.source, wallet: job.wallet?.name ?? null, older: true });
  }

  async failed(job: Job, mode: Mode, error: unknown): Promise<void> {
    const { source } = job.collector;
    const wallet = job.wallet?.name ?? null;
    const atMs = this.#options.clock.nowMs();
    const failure = this.#failureOf(error, atMs);
    const askedMs = job.running?.startedMs ?? this.#options.clock.elapsedMs();
    const taken = !(error instanceof NotTaken);
    if (mode === "catchUp") {
      job.catchUpFailure = { atMs, ...failure, times: (job.catchUpFailure?.times ?? 0) + 1 };
      if (taken)
        this.reporter.failed({ source, wallet, older: true }, failure.reason, failure.detail, askedMs);
      return;
    }
    const answersAgain = unwell(job.lastFailure?.reason) && !unwell(failure.reason);
    job.retries = answersAgain ? 1 : job.retries + 1;
    job.lastFailure = { atMs, ...failure };
    job.failures++;
    if (failure.reason === "signed-out") job.signedOutFailures++;
    job.gap = true;
    job.backingOff = true;
    // Without a store the failure cannot be observed; the store has logged the reason.
    if (!taken) return;
    this.reporter.failed({ source, wallet }, failure.reason, failure.detail, askedMs);
    await this.observe(job, atMs, failure);
  }

  /** Records a read that failed. */
  async observe(job: Job, atMs: number, failure: ReadFailure): Promise<void> {
    const { source } = job.collector;
    const wallet = job.wallet?.name ?? null;
    try {
      await this.#options.observe({ kind: "failed", source, wallet, symbol: null, atMs, ...failure });
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : "unknown";
      this.#options.log.warn({ source, wallet, detail }, "a failed read could not be recorded");
    }
  }

  #failureOf(error: unknown, atMs: number): ReadFailure {
    const failure =
      error instanceof RunTooLong ? { reason: "timeout" as const, detail: error.message } : failureOf(error);
    const cause =
      failure.reason === "rate-limited" ? rateLimitCause(this.#options.budget?.limit, atMs) : null;
    return cause === null ? failure : { ...failure, cause };
  }
}
