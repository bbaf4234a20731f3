/**
 * Runs collectors: each for one wallet at a time, on its schedule, with a deadline.
 *
 *   wheel ──due──► ready ──► run ──► done ────────────────► next turn of its beat
 *     ▲           (ready.ts)     ├─► more ────────────────► soon, older pages only, last lane; gives way to the next turn
 *     │                          ├─► failed, past deadline ► backs off; reported once (reporter), observed each time
 *     └─ ask (now) ──────────────┘
 *
 * The first turns are handed out one after another, what risk needs first, as fast as the request ceiling lets them. When a
 * source works again after the exchange was unwell, all that back off for the same reasons are tried again soon; at the end
 * of a rate limit those that it turned away are tried at once.
 */
import type { Clock, Random } from "../domain/clock.ts";
import type { Observation } from "../domain/observation.ts";
import { type Source, sourceOrder } from "../domain/sources.ts";
import type { ExchangeOutage, ScheduleStatus } from "../domain/status.ts";
import {
  type ExchangeClient,
  ExchangeError,
  failureOf,
  type Lane,
  lanes,
  type RequestBudget,
  rateLimitCause,
} from "../exchange/index.ts";
import { backoffMs } from "./backoff.ts";
import type { CollectedWallet, Collector, RunOutcome } from "./collector.ts";
import { type Demand, type DemandInput, demandOf, laneOf, requestsOf } from "./demand.ts";
import { createJob, deadlineMs, type Job, jobName, type Mode, unwell } from "./job.ts";
import { LimitWaits, type ReadFailure } from "./limit-waits.ts";
import type { CollectLog } from "./log.ts";
import { ReadyJobs } from "./ready.ts";
import { Reporter } from "./reporter.ts";
import { CalledOff, NotTaken, perform, type RunEnd, RunTooLong } from "./run.ts";
import { type ScheduleFigures, scheduleFigures } from "./schedule-figures.ts";
import { type ScheduleSettings, scheduleMs } from "./settings.ts";
import { nextTurn, Wheel } from "./wheel.ts";

/** Above it a wallet is asked at the interval for wallets at risk. */
export const AT_RISK = 0.5;
/** Sources that are as urgent as positions when they are asked for; others must not slow the reading of positions. */
const urgent: ReadonlySet<Source> = new Set([
  "markets",
  "marketConfig",
  "traderState",
  "exchangeStatus",
  "notifications",
  "liquidations",
]);
/** Turns that give way at a time: the others keep their places, so that both lanes serve what is asked for. */
const MOST_GIVING_WAY = 4;
/** Between two runs that were asked for. */
const BETWEEN_ASKS_MS = 1_000;
const SOON_MS = 1_000;
const SPREAD_MS = 2_000;
/** Time that passes by so much more than timers ran, ms: the machine slept, or its clock was put right. */
const JUMP_MS = 2_000;
const LONGEST_WAIT_MS = 60_000;
/** Accounts come and go, and the ceiling falls after a 429: intervals follow. */
const PLAN_AGAIN_MS = 5_000;
const CATCH_UP_DEADLINE_MS = 60_000;

export interface SchedulerOptions {
  readonly client: ExchangeClient;
  readonly collectors: readonly Collector[];
  readonly wallets: readonly CollectedWallet[];
  readonly settings: ScheduleSettings;
  /** The ceiling that `demand` is measured against. */
  readonly requestsPerSecond: number;
  /** Requests a second that are sent at most now: less than the ceiling after a 429. */
  readonly ratePerSecond: () => number;
  /** Limits that the exchange enforces with 429. Absent: none. */
  readonly budget?: Pick<RequestBudget, "limit" | "onLimit">;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: (observation: Observation) => Promise<void>;
  /** The margin ratio of a wallet's worst account; null while unknown. */
  readonly marginRatio: (wallet: string) => number | null;
  /** Known trader accounts of a wallet. */
  readonly accounts: (wallet: string) => number;
  /** The number of markets for each source that is read market by market. */
  readonly marketReads?: () => NonNullable<DemandInput["marketReads"]>;
  /** True if portfolio values are asked for in every turn. */
  readonly equityCheck?: () => boolean;
  /** True if a wallet's notifications are streamed now. */
  readonly streaming?: (wallet: string) => boolean;
  readonly log: CollectLog;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #wheel: Wheel<Job>;
  readonly #jobs: Job[] = [];
  readonly #byName = new Map<string, Job>();
  readonly #reporter: Reporter;
  readonly #under = new Set<Promise<void>>();
  readonly #ready = new ReadyJobs((job, mode, lane) => this.#track(this.#run(job, mode, lane)));
  readonly #waits: LimitWaits;
  readonly #atRisk = new Set<string>();
  /** Those whose turn was called off for what is asked for, until that was read. */
  readonly #gaveWay = new Set<Job>();
  #effectiveMs = new Map<Source, number>();
  #atRiskMs: number | null = null;
  #plannedMs = 0;
  #stopped = true;
  #spreadAgainMs = Number.NEGATIVE_INFINITY;
  /** Wall time less monotonic time at the last turn, ms. */
  #aheadMs = Number.POSITIVE_INFINITY;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#wheel = new Wheel(options.clock, (job) => this.#onDue(job));
    this.#reporter = new Reporter(options.clock, options.log);
    this.#waits = new LimitWaits({
      clock: options.clock,
      limit: () => options.budget?.limit ?? null,
      jobs: this.#jobs,
      everyMs: (job) => this.#everyMs(job),
      report: (job, atMs, failure) => {
        job.lastFailure = { atMs, ...failure };
        void this.#track(this.#observeFailure(job, atMs, failure));
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
    this.#plan();
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
      // What belongs to the calendar is asked now as well, and on its days from then on.
      job.turnMs = atMs + (job.cron ? 0 : (this.#random() - 1) * this.#everyMs(job));
      this.#wheel.set(job, atMs);
    }
  }

  /** Calls off what is under way and waits for what was read to be stored. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wheel.stop();
    this.#ready.stop();
    this.#waits.stop();
    this.#reporter.stop();
    for (const job of this.#jobs) job.running?.abort(new CalledOff("stopping"));
    while (this.#under.size > 0) await Promise.all(this.#under);
  }

  /** Runs a collector now, or as soon as the run under way ends; asked twice it still runs once. */
  ask(source: Source, wallet: string | null, gap = false): void {
    const job = this.#byName.get(jobName(source, wallet));
    if (!job || this.#stopped) return;
    job.gapAsked ||= gap;
    if (job.running) {
      job.again = "asked";
      const { mode, lane, waits, abort } = job.running;
      // A turn may wait long for its place where requests are scarce.
      const isSooner = waits() && this.#lane(job, "asked") < lane && this.#gaveWay.size < MOST_GIVING_WAY;
      if (isSooner) this.#gaveWay.add(job);
      if (mode === "catchUp" || isSooner) abort(new CalledOff("asked"));
      return;
    }
    if (job.ready) {
      // It is due; what is asked for may go before others that are.
      this.#wheel.cancel(job);
      this.#ready.put(job, "asked", this.#lane(job, "asked"));
      return;
    }
    const now = this.#clock.elapsedMs();
    const atMs = Math.max(now, job.lastStartMs + BETWEEN_ASKS_MS);
    // What is due for a look at the calendar alone would not run.
    const looks = job.cron !== null && job.mode === "turn";
    if (job.dueMs <= atMs && job.mode !== "catchUp" && !looks) return;
    job.mode = "asked";
    this.#wheel.set(job, atMs);
  }

  /** Without the schedules of what nobody needs. */
  status(): ScheduleStatus[] {
    return this.#jobs.flatMap((job) => {
      const { collector } = job;
      const wallet = job.wallet?.name ?? null;
      if (collector.isNeeded?.(wallet) === false) return [];
      return {
        source: collector.source,
        wallet,
        everyMs: this.#everyMs(job),
        lastOkMs: job.lastOkMs,
        lastFailure: job.lastFailure,
        failuresInRow: job.failures,
        catchUpFailure: job.catchUpFailure,
      };
    });
  }

  /** Nothing can be read at all; null while anything can. */
  get outage(): ExchangeOutage | null {
    return this.#reporter.outage;
  }

  demand(): Demand {
    return this.#demandAt(this.#options.requestsPerSecond);
  }

  #demandAt(requestsPerSecond: number): Demand {
    const { wallets, settings, accounts, marketReads } = this.#options;
    return demandOf({
      settings,
      requestsPerSecond,
      nowMs: this.#clock.nowMs(),
      ...(marketReads ? { marketReads: marketReads() } : {}),
      equityCheck: this.#options.equityCheck?.() ?? false,
      wallets: wallets.map((wallet) => ({
        ...wallet,
        accounts: accounts(wallet.name),
        atRisk: this.#atRisk.has(wallet.name),
      })),
    });
  }

  figures(isSignInTold = false): ScheduleFigures {
    return scheduleFigures(this.#jobs, {
      isSignInTold,
      nowMs: this.#clock.elapsedMs(),
      outage: this.outage,
      everyMs: (job) => this.#everyMs(job),
    });
  }

  #addJob(collector: Collector, wallet: CollectedWallet | null): void {
    const schedule = this.#options.settings[collector.source];
    const job = createJob(collector, wallet, schedule);
    this.#jobs.push(job);
    this.#byName.set(jobName(collector.source, wallet?.name ?? null), job);
  }

  #plan(): void {
    this.#plannedMs = this.#clock.elapsedMs();
    const demand = this.#demandAt(this.#options.ratePerSecond());
    this.#effectiveMs = new Map(demand.sources.map((one) => [one.source, one.effectiveMs]));
    this.#atRiskMs = demand.atRiskMs;
  }

  #everyMs(job: Job): number {
    const schedule = this.#options.settings[job.collector.source];
    const atRiskMs = schedule.kind === "interval" && schedule.atRiskMs !== null ? this.#atRiskMs : null;
    if (atRiskMs !== null && job.wallet && this.#atRisk.has(job.wallet.name)) return atRiskMs;
    const usualMs = this.#effectiveMs.get(job.collector.source) ?? scheduleMs(schedule, this.#clock.nowMs());
    const streamingMs = schedule.kind === "interval" ? schedule.whenStreamingMs : undefined;
    if (streamingMs === undefined || !job.wallet || !this.#options.streaming?.(job.wallet.name))
      return usualMs;
    return Math.max(usualMs, streamingMs);
  }

  /** Its newest state was read: is it at risk? */
  #weigh(job: Job): void {
    const wallet = job.wallet?.name;
    if (wallet === undefined || job.collector.source !== "traderState") return;
    if ((this.#options.marginRatio(wallet) ?? 0) > AT_RISK) this.#atRisk.add(wallet);
    else this.#atRisk.delete(wallet);
  }

  #onDue(job: Job): void {
    if (this.#stopped) return;
    const now = this.#clock.elapsedMs();
    this.#noteJump(now);
    if (now - this.#plannedMs > PLAN_AGAIN_MS) this.#plan();
    if (job.cron && job.mode === "turn" && job.lastStartMs !== Number.NEGATIVE_INFINITY) {
      // The wall clock may have been set since: calendars are looked at again, and what was jumped over runs now.
      if (this.#clock.nowMs() < job.turnMs) {
        this.#waitForCalendar(job);
        return;
      }
    }
    if (job.running) {
      // Only older pages are being read: they wait.
      job.again ??= "turn";
      job.running.abort(new CalledOff("the next turn is due"));
      return;
    }
    if (job.ready) {
      // Older pages wait for a place: the turn goes first.
      this.#ready.put(job, "turn", this.#lane(job, "turn"));
      return;
    }
    const lateMs = Math.max(0, now - job.dueMs);
    if (job.mode === "turn" && !job.cron && lateMs > Math.max(SPREAD_MS, this.#everyMs(job))) {
      // The process stood still, for everybody: not all at once.
      this.#wheel.set(job, now + this.#random() * SPREAD_MS);
      return;
    }
    job.lateMs = lateMs;
    this.#ready.put(job, job.mode, this.#lane(job, job.mode));
    // Its next turn comes while its older pages wait for a place.
    if (job.mode === "catchUp" && job.ready && !job.cron) {
      job.mode = "turn";
      this.#wheel.set(job, job.turnMs + this.#everyMs(job));
    }
  }

  /** Timers do not run while the machine sleeps: what is overdue by the wall clock is read soon, not an interval later. */
  #noteJump(now: number): void {
    const nowMs = this.#clock.nowMs();
    const jumpedMs = nowMs - now - this.#aheadMs;
    this.#aheadMs = nowMs - now;
    if (jumpedMs <= JUMP_MS) return;
    for (const job of this.#jobs) {
      if (job.mode !== "turn" || job.running || job.ready) continue;
      const isOverdue = job.cron
        ? nowMs >= job.turnMs
        : job.lastOkMs !== null && nowMs - job.lastOkMs > this.#everyMs(job);
      const soonMs = now + this.#random() * SPREAD_MS;
      if (isOverdue && soonMs < job.dueMs) this.#wheel.set(job, soonMs);
    }
  }

  #track(run: Promise<void>): Promise<void> {
    this.#under.add(run);
    return run.finally(() => this.#under.delete(run));
  }

  async #run(job: Job, mode: Mode, lane: Lane): Promise<void> {
    const startedMs = this.#clock.elapsedMs();
    const everyMs = this.#everyMs(job);
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
      limitMs: catchUp ? CATCH_UP_DEADLINE_MS : deadlineMs(job.collector.source, everyMs),
    });
    job.running = { mode, startedMs, abort, lane, waits, gap: gap && !catchUp };
    if (!catchUp) job.gapAsked = false;
    if (catchUp && !job.cron) {
      // Its next turn comes all the same, and ends this.
      job.mode = "turn";
      this.#wheel.set(job, job.turnMs + everyMs);
    }
    await this.#after(job, mode, await ended);
  }

  /** The end of the second interval since its last reading, monotonic ms: after a rate limit the most overdue are read first. */
  #secondIntervalMs({ lastOkMs }: Job, nowMs: number, everyMs: number): number {
    return lastOkMs === null ? nowMs : nowMs - (this.#clock.nowMs() - lastOkMs) + 2 * everyMs;
  }

  #lane(job: Job, mode: Mode): Lane {
    if (mode === "catchUp") return lanes.catchUp;
    const lane = laneOf(job.collector.source);
    if (job.wallet && lane <= lanes.inbox && this.#atRisk.has(job.wallet.name)) return lanes.atRisk;
    if (mode !== "asked") return lane;
    return urgent.has(job.collector.source) ? (Math.min(lane, lanes.state) as Lane) : lanes.asked;
  }

  async #after(job: Job, mode: Mode, { outcome, failure, asked }: RunEnd): Promise<void> {
    const called = failure instanceof CalledOff;
    if (mode === "asked" && !called) this.#gaveWay.delete(job);
    // A gap that this run was to close is still open.
    if (called && job.running?.gap) job.gapAsked = true;
    if (outcome === null && !called) await this.#failed(job, mode, failure);
    job.running = null;
    if (this.#stopped) return;
    if (outcome === "done" || outcome === "more" || outcome === "partial") {
      if (mode === "catchUp") this.#caughtUp(job);
      else this.#worked(job, outcome !== "partial");
      // Nothing older is missing any more.
      if (outcome === "done" && job.catchUpFailure) this.#caughtUp(job);
      if (asked) this.#reporter.answered();
    }
    this.#next(job, mode, outcome, failure);
  }

  /** @param whole all of the source was read: a trouble that was reported is over */
  #worked(job: Job, whole: boolean): void {
    const wasUnwell = job.failures > 0 && unwell(job.lastFailure?.reason);
    job.lastOkMs = this.#clock.nowMs();
    job.failures = job.signedOutFailures = 0;
    job.retries = 0;
    job.gap = false;
    job.backingOff = false;
    this.#weigh(job);
    if (whole) this.#reporter.worked({ source: job.collector.source, wallet: job.wallet?.name ?? null });
    if (wasUnwell) this.#allAgain();
  }

  #caughtUp(job: Job): void {
    job.catchUpFailure = null;
    this.#reporter.worked({ source: job.collector.source, wallet: job.wallet?.name ?? null, older: true });
  }

  /** The exchange is back: those who stay away for its sake need not wait for their time. */
  #allAgain(): void {
    const now = this.#clock.elapsedMs();
    if (now - this.#spreadAgainMs < SPREAD_MS) return;
    this.#spreadAgainMs = now;
    for (const job of this.#jobs) {
      if (!job.backingOff || job.running || !unwell(job.lastFailure?.reason)) continue;
      const soonMs = now + this.#random() * SPREAD_MS;
      if (soonMs < job.dueMs) this.#wheel.set(job, soonMs);
    }
  }

  #limitBegan(): void {
    if (!this.#stopped) this.#waits.start();
  }

  /** The exchange takes requests again: those that a 429 made back off are due now. */
  #limitEnded(): void {
    this.#waits.stop();
    if (this.#stopped) return;
    this.#plan();
    const now = this.#clock.elapsedMs();
    for (const job of this.#jobs) {
      if (job.backingOff && !job.running && !job.ready && job.lastFailure?.reason === "rate-limited")
        this.#wheel.set(job, Math.min(job.dueMs, now));
    }
  }

  async #failed(job: Job, mode: Mode, error: unknown): Promise<void> {
    const { source } = job.collector;
    const wallet = job.wallet?.name ?? null;
    const atMs = this.#clock.nowMs();
    const told = this.#failureOf(error, atMs);
    const askedMs = job.running?.startedMs ?? this.#clock.elapsedMs();
    const taken = !(error instanceof NotTaken);
    if (mode === "catchUp") {
      job.catchUpFailure = { atMs, ...told, times: (job.catchUpFailure?.times ?? 0) + 1 };
      if (taken) this.#reporter.failed({ source, wallet, older: true }, told.reason, told.detail, askedMs);
      return;
    }
    const answersAgain = unwell(job.lastFailure?.reason) && !unwell(told.reason);
    job.retries = answersAgain ? 1 : job.retries + 1;
    job.lastFailure = { atMs, ...told };
    job.failures++;
    if (told.reason === "signed-out") job.signedOutFailures++;
    job.gap = true;
    job.backingOff = true;
    // Without a store there is nobody to tell, and whoever stores has said why already.
    if (!taken) return;
    this.#reporter.failed({ source, wallet }, told.reason, told.detail, askedMs);
    await this.#observeFailure(job, atMs, told);
  }

  async #observeFailure(job: Job, atMs: number, failure: ReadFailure): Promise<void> {
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

  #next(job: Job, mode: Mode, outcome: RunOutcome | null, failure: unknown): void {
    const now = this.#clock.elapsedMs();
    const everyMs = this.#everyMs(job);
    if (job.cron) {
      if (mode !== "catchUp") job.turnMs = job.cron.next(this.#clock.nowMs()) ?? Number.POSITIVE_INFINITY;
    } else if (job.turnMs + everyMs <= now) job.turnMs = nextTurn(job.turnMs, everyMs, now) - everyMs;
    const { again } = job;
    job.again = null;
    if (again && (outcome !== null || failure instanceof CalledOff)) {
      job.mode = again;
      this.#wheel.set(job, Math.max(now, job.lastStartMs + Math.min(BETWEEN_ASKS_MS, everyMs)));
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
      this.#wheel.set(job, now + SOON_MS);
      return;
    }
    const turnMs = job.cron ? now + Math.max(0, job.turnMs - this.#clock.nowMs()) : job.turnMs + everyMs;
    const soonMs = now + SOON_MS * (0.5 + this.#random());
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
    this.#wheel.set(job, this.#clock.elapsedMs() + Math.min(waitMs, LONGEST_WAIT_MS));
  }
}
