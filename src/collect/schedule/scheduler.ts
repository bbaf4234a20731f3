/**
 * Runs collectors: each for one wallet at a time, on its schedule, with a deadline.
 *
 *   wheel ──due──► ready ──► run ──► done ────────────────► next turn of its beat
 *     ▲           (ready.ts)     ├─► more ────────────────► soon, older pages only, last lane; gives way to the next turn
 *     │                          ├─► failed, past deadline ► backs off; reported once (reporter), observed each time
 *     └─ ask (now) ──────────────┘
 *
 * The first turns are started one after another, risk sources first, as fast as the request ceiling allows. When a
 * source works again after a failure of the exchange, all that back off for the same reason are retried soon; at the
 * end of a rate limit those that it rejected are retried at once.
 */
import type { Clock, Random } from "../../domain/clock.ts";
import type { Observation } from "../../domain/observation.ts";
import { type Source, sourceOrder } from "../../domain/sources.ts";
import type { ExchangeOutage, ScheduleStatus } from "../../domain/status.ts";
import { type ExchangeClient, ExchangeError, type Lane, type RequestBudget } from "../../exchange/index.ts";
import type { CollectedWallet, Collector, RunOutcome } from "../collector.ts";
import type { CollectLog } from "../log.ts";
import { backoffMs } from "./backoff.ts";
import { type Demand, requestsOf } from "./demand.ts";
import { type ScheduleFigures, scheduleFigures } from "./figures.ts";
import { Intervals, type IntervalsOptions } from "./intervals.ts";
import { createJob, deadlineMs, type Job, jobName, type Mode, unwell } from "./job.ts";
import { LimitWaits } from "./limit-waits.ts";
import { ReadOutcomes } from "./read-outcomes.ts";
import { ReadyJobs } from "./ready.ts";
import { CalledOff, perform, type RunEnd } from "./run.ts";
import { nextTurn, Wheel } from "./wheel.ts";

/** Maximum turns that yield at a time: the others keep their places, so that both lanes are served. */
const maxGivingWay = 4;
/** Minimum interval between two requested runs. */
const betweenAsksMs = 1_000;
const soonAfterMs = 1_000;
const spreadMs = 2_000;
/** Difference between wall time and timers that counts as a jump, ms: the machine slept, or its clock was set. */
const jumpMs = 2_000;
const maxWaitMs = 60_000;
const maxCatchUpMs = 60_000;

export interface SchedulerOptions extends IntervalsOptions {
  readonly client: ExchangeClient;
  readonly collectors: readonly Collector[];
  /** Limits that the exchange enforces with 429. Absent: none. */
  readonly budget?: Pick<RequestBudget, "limit" | "onLimit">;
  readonly random: Random;
  readonly observe: (observation: Observation) => Promise<void>;
  readonly log: CollectLog;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #wheel: Wheel<Job>;
  readonly #jobs: Job[] = [];
  readonly #byName = new Map<string, Job>();
  readonly #intervals: Intervals;
  readonly #outcomes: ReadOutcomes;
  readonly #under = new Set<Promise<void>>();
  readonly #ready = new ReadyJobs((job, mode, lane) => this.#track(this.#run(job, mode, lane)));
  readonly #waits: LimitWaits;
  /** Jobs whose turn was cancelled for a requested read, until that was done. */
  readonly #gaveWay = new Set<Job>();
  #stopped = true;
  #spreadAgainMs = Number.NEGATIVE_INFINITY;
  /** Wall time less monotonic time at the last turn, ms. */
  #aheadMs = Number.POSITIVE_INFINITY;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#wheel = new Wheel(options.clock, (job) => this.#onDue(job));
    this.#intervals = new Intervals(options);
    this.#outcomes = new ReadOutcomes(options);
    this.#waits = new LimitWaits({
      clock: options.clock,
      limit: () => options.budget?.limit ?? null,
      jobs: this.#jobs,
      everyMs: (job) => this.#intervals.everyMs(job),
      report: (job, atMs, failure) => {
        job.lastFailure = { atMs, ...failure };
        void this.#track(this.#outcomes.observe(job, atMs, failure));
      },
    });
    for (const collector of options.collectors) {
      if (collector.scope === "exchange") this.#addJob(collector, null);
      else {
        for (const wallet of options.wallets)
          if (!(collector.needsSession && wallet.watchOnly)) this.#addJob(collector, wallet);
      }
    }
  }

  start(): void {
    this.#stopped = false;
    this.#options.budget?.onLimit((limited) => (limited ? this.#limitBegan() : this.#limitEnded()));
    this.#intervals.plan();
    const rank = new Map(sourceOrder.map((source, index) => [source, index]));
    const order = [...this.#jobs].sort(
      (a, b) => rank.get(a.collector.source)! - rank.get(b.collector.source)!,
    );
    const now = this.#clock.elapsedMs();
    let cost = 0;
    for (const job of order) {
      const atMs = now + (cost * 1_000) / this.#options.ratePerSecond();
      cost += requestsOf(job.collector.source, {
        wallets: job.wallet ? [{ ...job.wallet, accounts: this.#options.accounts(job.wallet.name) }] : [],
      });
      // A calendar source is read now as well, and then on its days.
      job.turnMs = atMs + (job.cron ? 0 : (this.#random() - 1) * this.#intervals.everyMs(job));
      this.#wheel.set(job, atMs);
    }
  }

  /** Cancels running reads and waits until finished ones are stored. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wheel.stop();
    this.#ready.stop();
    this.#waits.stop();
    this.#outcomes.reporter.stop();
    for (const job of this.#jobs) job.running?.abort(new CalledOff("stopping"));
    while (this.#under.size > 0) await Promise.all(this.#under);
  }

  /** Runs a collector now, or as soon as the current run ends; two requests cause one run. */
  ask(source: Source, wallet: string | null, gap = false): void {
    const job = this.#byName.get(jobName(source, wallet));
    if (!job || this.#stopped) return;
    job.gapAsked ||= gap;
    if (job.running) {
      job.again = "asked";
      const { mode, lane, waits, abort } = job.running;
      // A turn may wait long for its place if requests are scarce.
      const isSooner =
        waits() && this.#intervals.lane(job, "asked") < lane && this.#gaveWay.size < maxGivingWay;
      if (isSooner) this.#gaveWay.add(job);
      if (mode === "catchUp" || isSooner) abort(new CalledOff("asked"));
      return;
    }
    if (job.ready) {
      // It is due; a requested read may go before other due ones.
      this.#wheel.cancel(job);
      this.#ready.put(job, "asked", this.#intervals.lane(job, "asked"));
      return;
    }
    const now = this.#clock.elapsedMs();
    const atMs = Math.max(now, job.lastStartMs + betweenAsksMs);
    // A job that is due only for a check of the calendar would not run.
    const looks = job.cron !== null && job.mode === "turn";
    if (job.dueMs <= atMs && job.mode !== "catchUp" && !looks) return;
    job.mode = "asked";
    this.#wheel.set(job, atMs);
  }

  /** Returns the schedules, without those that are not needed. */
  status(): ScheduleStatus[] {
    return this.#jobs.flatMap((job) => {
      const { collector } = job;
      const wallet = job.wallet?.name ?? null;
      if (collector.isNeeded?.(wallet) === false) return [];
      return {
        source: collector.source,
        wallet,
        everyMs: this.#intervals.everyMs(job),
        lastOkMs: job.lastOkMs,
        lastFailure: job.lastFailure,
        failuresInRow: job.failures,
        catchUpFailure: job.catchUpFailure,
      };
    });
  }

  /** The outage while nothing can be read at all; else null. */
  get outage(): ExchangeOutage | null {
    return this.#outcomes.reporter.outage;
  }

  demand(): Demand {
    return this.#intervals.demand();
  }

  figures(isSignInReported = false): ScheduleFigures {
    return scheduleFigures(this.#jobs, {
      isSignInReported,
      nowMs: this.#clock.elapsedMs(),
      outage: this.outage,
      everyMs: (job) => this.#intervals.everyMs(job),
    });
  }

  #addJob(collector: Collector, wallet: CollectedWallet | null): void {
    const schedule = this.#options.settings[collector.source];
    const job = createJob(collector, wallet, schedule);
    this.#jobs.push(job);
    this.#byName.set(jobName(collector.source, wallet?.name ?? null), job);
  }

  #onDue(job: Job): void {
    if (this.#stopped) return;
    const now = this.#clock.elapsedMs();
    this.#noteJump(now);
    this.#intervals.follow(now);
    if (job.cron && job.mode === "turn" && job.lastStartMs !== Number.NEGATIVE_INFINITY) {
      // The wall clock may have been set since: calendars are checked again, and skipped times run now.
      if (this.#clock.nowMs() < job.turnMs) {
        this.#waitForCalendar(job);
        return;
      }
    }
    if (job.running) {
      // Only older pages are being read: they yield.
      job.again ??= "turn";
      job.running.abort(new CalledOff("the next turn is due"));
      return;
    }
    if (job.ready) {
      // Older pages wait for a free place: the regular run is first.
      this.#ready.put(job, "turn", this.#intervals.lane(job, "turn"));
      return;
    }
    const lateMs = Math.max(0, now - job.dueMs);
    if (job.mode === "turn" && !job.cron && lateMs > Math.max(spreadMs, this.#intervals.everyMs(job))) {
      // The process was suspended, which delayed all jobs: they are spread.
      this.#wheel.set(job, now + this.#random() * spreadMs);
      return;
    }
    job.lateMs = lateMs;
    this.#ready.put(job, job.mode, this.#intervals.lane(job, job.mode));
    // Its next turn is due while its older pages wait for a place.
    if (job.mode === "catchUp" && job.ready && !job.cron) {
      job.mode = "turn";
      this.#wheel.set(job, job.turnMs + this.#intervals.everyMs(job));
    }
  }

  /** Timers do not run while the machine sleeps: jobs overdue by the wall clock run soon, not an interval later. */
  #noteJump(now: number): void {
    const nowMs = this.#clock.nowMs();
    const jumpedMs = nowMs - now - this.#aheadMs;
    this.#aheadMs = nowMs - now;
    if (jumpedMs <= jumpMs) return;
    for (const job of this.#jobs) {
      if (job.mode !== "turn" || job.running || job.ready) continue;
      const isOverdue = job.cron
        ? nowMs >= job.turnMs
        : job.lastOkMs !== null && nowMs - job.lastOkMs > this.#intervals.everyMs(job);
      const soonMs = now + this.#random() * spreadMs;
      if (isOverdue && soonMs < job.dueMs) this.#wheel.set(job, soonMs);
    }
  }

  #track(run: Promise<void>): Promise<void> {
    this.#under.add(run);
    return run.finally(() => this.#under.delete(run));
  }

  async #run(job: Job, mode: Mode, lane: Lane): Promise<void> {
    const startedMs = this.#clock.elapsedMs();
    const everyMs = this.#intervals.everyMs(job);
    const catchUp = mode === "catchUp";
    if (!catchUp) job.lastStartMs = startedMs;
    const { clock, client, observe } = this.#options;
    const gap = job.gap || job.gapAsked;
    const { abort, waits, ended } = perform({
      collector: job.collector,
      wallet: job.wallet,
      client,
      clock,
      observe,
      catchUp,
      asked: mode === "asked",
      gap,
      lane,
      dueMs:
        mode === "turn" || mode === "retry" ? this.#secondIntervalMs(job, startedMs, everyMs) : startedMs,
      limitMs: catchUp ? maxCatchUpMs : deadlineMs(job.collector.source, everyMs),
    });
    job.running = { mode, startedMs, abort, lane, waits, gap: gap && !catchUp };
    if (!catchUp) job.gapAsked = false;
    if (catchUp && !job.cron) {
      // Its next turn comes anyway, and ends this.
      job.mode = "turn";
      this.#wheel.set(job, job.turnMs + everyMs);
    }
    await this.#after(job, mode, await ended);
  }

  /**
   * Returns the end of the second interval since its last reading, monotonic ms: after a rate limit the most overdue
   * are read first.
   */
  #secondIntervalMs({ lastOkMs }: Job, nowMs: number, everyMs: number): number {
    return lastOkMs === null ? nowMs : nowMs - (this.#clock.nowMs() - lastOkMs) + 2 * everyMs;
  }

  async #after(job: Job, mode: Mode, { outcome, failure, asked }: RunEnd): Promise<void> {
    const called = failure instanceof CalledOff;
    if (mode === "asked" && !called) this.#gaveWay.delete(job);
    // The gap that this run was to close is still open.
    if (called && job.running?.gap) job.gapAsked = true;
    if (outcome === null && !called) await this.#outcomes.failed(job, mode, failure);
    job.running = null;
    if (this.#stopped) return;
    if (outcome === "done" || outcome === "more" || outcome === "partial") {
      if (mode === "catchUp") this.#outcomes.caughtUp(job);
      else {
        const wasUnwell = job.failures > 0 && unwell(job.lastFailure?.reason);
        this.#outcomes.worked(job, outcome !== "partial");
        this.#intervals.weigh(job);
        if (wasUnwell) this.#allAgain();
      }
      // No older rows are missing any more.
      if (outcome === "done" && job.catchUpFailure) this.#outcomes.caughtUp(job);
      if (asked) this.#outcomes.reporter.answered();
    }
    this.#next(job, mode, outcome, failure);
  }

  /** The exchange is back: jobs that back off because of it are retried. */
  #allAgain(): void {
    const now = this.#clock.elapsedMs();
    if (now - this.#spreadAgainMs < spreadMs) return;
    this.#spreadAgainMs = now;
    for (const job of this.#jobs) {
      if (!job.backingOff || job.running || !unwell(job.lastFailure?.reason)) continue;
      const soonMs = now + this.#random() * spreadMs;
      if (soonMs < job.dueMs) this.#wheel.set(job, soonMs);
    }
  }

  #limitBegan(): void {
    if (!this.#stopped) this.#waits.start();
  }

  /** The exchange takes requests again: jobs that back off because of a 429 are due now. */
  #limitEnded(): void {
    this.#waits.stop();
    if (this.#stopped) return;
    this.#intervals.plan();
    const now = this.#clock.elapsedMs();
    for (const job of this.#jobs) {
      if (job.backingOff && !job.running && !job.ready && job.lastFailure?.reason === "rate-limited")
        this.#wheel.set(job, Math.min(job.dueMs, now));
    }
  }

  #next(job: Job, mode: Mode, outcome: RunOutcome | null, failure: unknown): void {
    const now = this.#clock.elapsedMs();
    const everyMs = this.#intervals.everyMs(job);
    if (job.cron) {
      if (mode !== "catchUp") job.turnMs = job.cron.next(this.#clock.nowMs()) ?? Number.POSITIVE_INFINITY;
    } else if (job.turnMs + everyMs <= now) job.turnMs = nextTurn(job.turnMs, everyMs, now) - everyMs;
    const { again } = job;
    job.again = null;
    if (again && (outcome !== null || failure instanceof CalledOff)) {
      job.mode = again;
      this.#wheel.set(job, Math.max(now, job.lastStartMs + Math.min(betweenAsksMs, everyMs)));
      return;
    }
    if (failure !== null && !(failure instanceof CalledOff) && mode !== "catchUp") {
      const retryAfterMs = failure instanceof ExchangeError ? failure.retryAfterMs : null;
      const waitMs = backoffMs(job.collector.source, everyMs, job.retries, retryAfterMs, this.#random);
      job.mode = "retry";
      this.#wheel.set(job, now + waitMs);
      return;
    }
    if (outcome === "later") {
      job.mode = "retry";
      this.#wheel.set(job, now + soonAfterMs);
      return;
    }
    const turnMs = job.cron ? now + Math.max(0, job.turnMs - this.#clock.nowMs()) : job.turnMs + everyMs;
    const soonMs = now + soonAfterMs * (0.5 + this.#random());
    if (outcome === "more" && soonMs < turnMs) {
      job.mode = "catchUp";
      this.#wheel.set(job, soonMs);
      return;
    }
    job.mode = "turn";
    if (job.cron) this.#waitForCalendar(job);
    else this.#wheel.set(job, turnMs);
  }

  /** In steps of a minute, since the wall clock may be set. */
  #waitForCalendar(job: Job): void {
    job.mode = "turn";
    const waitMs = Math.max(0, job.turnMs - this.#clock.nowMs());
    this.#wheel.set(job, this.#clock.elapsedMs() + Math.min(waitMs, maxWaitMs));
  }
}
