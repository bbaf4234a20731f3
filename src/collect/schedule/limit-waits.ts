/**
 * Schedules that wait for the end of a rate limit. Their requests are not sent, so nothing fails; after the maximum
 * time of a run, the wait is reported like a failed read, with the limit as its cause.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Observation } from "../../domain/observation.ts";
import { type RateLimit, rateLimitCause } from "../../exchange/index.ts";
import { deadlineMs, type Job } from "./job.ts";

const LOOK_EVERY_MS = 1_000;
/** Interval of reports about one schedule. */
const REPORT_EVERY_MS = 30_000;

export type ReadFailure = Pick<Observation & { readonly kind: "failed" }, "reason" | "detail" | "cause">;

export class LimitWaits {
  readonly #clock: Clock;
  readonly #limit: () => RateLimit | null;
  readonly #jobs: readonly Job[];
  readonly #everyMs: (job: Job) => number;
  readonly #report: (job: Job, atMs: number, failure: ReadFailure) => void;
  /** The time at which each was last reported, monotonic ms. */
  readonly #reportedMs = new Map<Job, number>();
  #cancel: (() => void) | null = null;

  constructor(options: {
    readonly clock: Clock;
    readonly limit: () => RateLimit | null;
    readonly jobs: readonly Job[];
    readonly everyMs: (job: Job) => number;
    readonly report: (job: Job, atMs: number, failure: ReadFailure) => void;
  }) {
    this.#clock = options.clock;
    this.#limit = options.limit;
    this.#jobs = options.jobs;
    this.#everyMs = options.everyMs;
    this.#report = options.report;
  }

  /** A limit starts. */
  start(): void {
    this.#cancel?.();
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => {
      const limit = this.#limit();
      if (limit) for (const job of this.#jobs) this.#look(job, limit);
      this.start();
    });
  }

  /** The limit ended, or reading stops. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#reportedMs.clear();
  }

  #look(job: Job, limit: RateLimit): void {
    const now = this.#clock.elapsedMs();
    if ((job.running ?? job.ready)?.mode === "catchUp") return;
    const sinceMs = job.running?.startedMs ?? (job.ready ? job.dueMs : now);
    if (now - sinceMs < deadlineMs(job.collector.source, this.#everyMs(job))) return;
    if (now - (this.#reportedMs.get(job) ?? Number.NEGATIVE_INFINITY) < REPORT_EVERY_MS) return;
    this.#reportedMs.set(job, now);
    const atMs = this.#clock.nowMs();
    const cause = rateLimitCause(limit, atMs);
    if (cause)
      this.#report(job, atMs, { reason: "rate-limited", detail: "the exchange limits requests", cause });
  }
}
