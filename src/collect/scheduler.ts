/**
 * Runs collectors: each for one wallet at a time, on its schedule, with a deadline.
 *
 *   wheel ──due──► run ──► done ────────────────► next turn of its beat
 *     ▲                ├─► more ────────────────► soon, older pages only, last lane; gives way to the next turn
 *     │                ├─► failed, past deadline ► backs off; told once (reporter), observed each time
 *     └─ ask (now) ────┘
 *
 * The first turns are handed out one after another, what risk needs first, as fast as the request ceiling lets them. When
 * a source works again after the exchange was unwell, all that back off for the same reasons are tried again soon.
 */
import type { Clock, Random } from "../domain/clock.ts";
import type { FailureReason, Observation, Source } from "../domain/observation.ts";
import type { ScheduleStatus } from "../domain/status.ts";
import { type ExchangeClient, ExchangeError, failureOf, type Lane, lanes } from "../exchange/index.ts";
import { backoffMs } from "./backoff.ts";
import { CronSchedule } from "./calendar.ts";
import type { CollectedWallet, Collector, RunOutcome, WalletRun } from "./collector.ts";
import { type Demand, demandOf, laneOf, requestsOf, sourceOrder } from "./demand.ts";
import type { CollectLog } from "./log.ts";
import { Reporter } from "./reporter.ts";
import { type ScheduleSettings, scheduleMs } from "./settings.ts";
import { nextTurn, Wheel, type WheelEntry } from "./wheel.ts";

/** Above it a wallet is asked at the interval for wallets at risk. */
export const AT_RISK = 0.5;
/** Between two runs that were asked for. */
const BETWEEN_ASKS_MS = 1_000;
const SOON_MS = 1_000;
const SPREAD_MS = 2_000;
const LONGEST_WAIT_MS = 60_000;
/** Accounts come and go, and the ceiling falls after a 429: intervals follow. */
const PLAN_AGAIN_MS = 5_000;
const CATCH_UP_DEADLINE_MS = 60_000;

export interface SchedulerOptions {
  readonly client: ExchangeClient;
  readonly collectors: readonly Collector[];
  readonly wallets: readonly CollectedWallet[];
  readonly settings: ScheduleSettings;
  /** The configured ceiling. */
  readonly requestsPerSecond: number;
  /** What may leave now: less than the ceiling after a 429. */
  readonly ratePerSecond: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: (observation: Observation) => Promise<void>;
  /** Of a wallet's worst account; null while unknown. */
  readonly marginRatio: (wallet: string) => number | null;
  /** Known trader accounts of a wallet. */
  readonly accounts: (wallet: string) => number;
  readonly log: CollectLog;
}

/** A run went on for too long. */
class RunTooLong extends Error {
  override readonly name = "RunTooLong";
}
/** A run was called off: the daemon stops, or something more urgent is due. */
class CalledOff extends Error {
  override readonly name = "CalledOff";
}
/** What was read could not be handed on; nobody's fault at the exchange. */
class NotTaken extends Error {
  override readonly name = "NotTaken";
}

/** Why a run is made: its time has come, somebody needs it now, the last one failed, older pages wait. */
type Mode = "turn" | "asked" | "retry" | "catchUp";

interface Job extends WheelEntry {
  readonly collector: Collector;
  readonly wallet: CollectedWallet | null;
  readonly cron: CronSchedule | null;
  /** Of the beat; monotonic, of a calendar wall. */
  turnMs: number;
  mode: Mode;
  running: {
    readonly mode: Mode;
    readonly startedMs: number;
    readonly abort: (reason: Error) => void;
  } | null;
  /** Run again as soon as this run ends. */
  again: Mode | null;
  /** Something else than a success came last, or nothing yet. */
  gap: boolean;
  lateMs: number;
  lastStartMs: number;
  lastOkMs: number | null;
  lastFailure: ScheduleStatus["lastFailure"];
  failures: number;
  backingOff: boolean;
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
  readonly #atRisk = new Set<string>();
  #effectiveMs = new Map<Source, number>();
  #plannedMs = 0;
  #stopped = true;
  #spreadAgainMs = Number.NEGATIVE_INFINITY;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#wheel = new Wheel(options.clock, (job) => this.#onDue(job));
    this.#reporter = new Reporter(options.clock, options.log);
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
    this.#plan();
    const rank = new Map(sourceOrder.map((source, index) => [source, index]));
    const order = [...this.#jobs].sort(
      (a, b) => rank.get(a.collector.source)! - rank.get(b.collector.source)!,
    );
    const now = this.#clock.elapsedMs();
    let cost = 0;
    for (const job of order) {
      const atMs = now + (cost * 1_000) / this.#options.requestsPerSecond;
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
    for (const job of this.#jobs) job.running?.abort(new CalledOff("stopping"));
    while (this.#under.size > 0) await Promise.all(this.#under);
  }

  /** Runs a collector now, or as soon as the run under way ends; asked twice it still runs once. */
  ask(source: Source, wallet: string | null): void {
    const job = this.#byName.get(jobName(source, wallet));
    if (!job || this.#stopped) return;
    if (job.running) {
      job.again = "asked";
      if (job.running.mode === "catchUp") job.running.abort(new CalledOff("asked"));
      return;
    }
    const now = this.#clock.elapsedMs();
    const atMs = Math.max(now, job.lastStartMs + BETWEEN_ASKS_MS);
    if (job.dueMs <= atMs && job.mode !== "catchUp") return;
    job.mode = "asked";
    this.#wheel.set(job, atMs);
  }

  status(): ScheduleStatus[] {
    return this.#jobs.map((job) => ({
      source: job.collector.source,
      wallet: job.wallet?.name ?? null,
      everyMs: this.#everyMs(job),
      lastOkMs: job.lastOkMs,
      lastFailure: job.lastFailure,
      failuresInRow: job.failures,
    }));
  }

  demand(): Demand {
    return this.#demandAt(this.#options.requestsPerSecond);
  }

  #demandAt(requestsPerSecond: number): Demand {
    const { wallets, settings, accounts } = this.#options;
    return demandOf({
      settings,
      requestsPerSecond,
      nowMs: this.#clock.nowMs(),
      wallets: wallets.map((wallet) => ({
        ...wallet,
        accounts: accounts(wallet.name),
        atRisk: this.#atRisk.has(wallet.name),
      })),
    });
  }

  /** How late the latest poll is against its schedule, ms, and the most failures in a row of any. */
  figures(): { readonly lagMs: number; readonly failedPolls: number } {
    const now = this.#clock.elapsedMs();
    let lagMs = 0;
    let failedPolls = 0;
    for (const job of this.#jobs) {
      failedPolls = Math.max(failedPolls, job.failures);
      if (job.backingOff || job.cron) continue;
      const overdue = job.running ? now - job.running.startedMs - this.#everyMs(job) : now - job.dueMs;
      lagMs = Math.max(lagMs, overdue, now - job.lastStartMs < 10_000 ? job.lateMs : 0);
    }
    return { lagMs: Math.round(lagMs), failedPolls };
  }

  #addJob(collector: Collector, wallet: CollectedWallet | null): void {
    const schedule = this.#options.settings[collector.source];
    const job: Job = {
      collector,
      wallet,
      cron: schedule.kind === "calendar" ? new CronSchedule(schedule.cron, schedule.timezone) : null,
      dueMs: Number.POSITIVE_INFINITY,
      slot: -1,
      turnMs: 0,
      mode: "turn",
      running: null,
      again: null,
      gap: true,
      lateMs: 0,
      lastStartMs: Number.NEGATIVE_INFINITY,
      lastOkMs: null,
      lastFailure: null,
      failures: 0,
      backingOff: false,
    };
    this.#jobs.push(job);
    this.#byName.set(jobName(collector.source, wallet?.name ?? null), job);
  }

  #plan(): void {
    this.#plannedMs = this.#clock.elapsedMs();
    const rate = Math.min(this.#options.requestsPerSecond, this.#options.ratePerSecond());
    this.#effectiveMs = new Map(this.#demandAt(rate).sources.map((one) => [one.source, one.effectiveMs]));
  }

  #everyMs(job: Job): number {
    const schedule = this.#options.settings[job.collector.source];
    const atRiskMs = schedule.kind === "interval" ? schedule.atRiskMs : null;
    if (atRiskMs !== null && job.wallet && this.#atRisk.has(job.wallet.name)) return atRiskMs;
    return this.#effectiveMs.get(job.collector.source) ?? scheduleMs(schedule, this.#clock.nowMs());
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
    const lateMs = Math.max(0, now - job.dueMs);
    if (job.mode === "turn" && !job.cron && lateMs > Math.max(SPREAD_MS, this.#everyMs(job))) {
      // The process stood still, for everybody: not all at once.
      this.#wheel.set(job, now + this.#random() * SPREAD_MS);
      return;
    }
    job.lateMs = lateMs;
    this.#track(this.#run(job, job.mode));
  }

  #track(run: Promise<void>): void {
    this.#under.add(run);
    void run.finally(() => this.#under.delete(run));
  }

  async #run(job: Job, mode: Mode): Promise<void> {
    const startedMs = this.#clock.elapsedMs();
    if (mode !== "catchUp") job.lastStartMs = startedMs;
    const everyMs = this.#everyMs(job);
    const limitMs = mode === "catchUp" ? CATCH_UP_DEADLINE_MS : deadlineMs(job.collector.source, everyMs);
    const controller = new AbortController();
    const guard = { observing: 0, ended: false, late: null as Error | null };
    const abort = (reason: Error) => {
      // What was read already is let be stored.
      if (guard.observing > 0) guard.late = reason;
      else controller.abort(reason);
    };
    job.running = { mode, startedMs, abort };
    if (mode === "catchUp" && !job.cron) {
      job.mode = "turn";
      this.#wheel.set(job, job.turnMs + everyMs);
    }
    const cancel = this.#clock.after(limitMs + 250, () =>
      abort(new RunTooLong(`no answer within ${limitMs / 1_000} s`)),
    );
    const run = this.#runOf(job, mode, controller.signal, startedMs + limitMs, guard, () => {
      if (guard.observing === 0 && guard.late) controller.abort(guard.late);
    });
    let outcome: RunOutcome | null = null;
    let failure: unknown = null;
    const work = job.collector.scope === "exchange" ? job.collector.run(run) : job.collector.run(run);
    const called = new Promise<never>((_, reject) =>
      controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true }),
    );
    try {
      outcome = await Promise.race([work, called]);
    } catch (error) {
      // Whatever surfaced first, a run that was called off ended for that reason.
      failure = controller.signal.aborted ? controller.signal.reason : error;
      work.catch(() => {});
    }
    called.catch(() => {});
    guard.ended = true;
    cancel();
    await this.#after(job, mode, outcome, failure);
  }

  #runOf(
    job: Job,
    mode: Mode,
    signal: AbortSignal,
    endMs: number,
    guard: { observing: number; ended: boolean },
    observed: () => void,
  ): WalletRun {
    const lane = this.#lane(job, mode);
    const wallet = job.wallet?.name;
    return {
      client: this.#options.client,
      // An exchange's collector does not look at it.
      wallet: job.wallet as CollectedWallet,
      catchUp: mode === "catchUp",
      gap: job.gap,
      call: (other) => ({
        ...(wallet === undefined ? {} : { wallet }),
        lane: other === undefined ? lane : (Math.max(lane, other) as Lane),
        signal,
        deadlineMs: Math.max(0, endMs - this.#clock.elapsedMs()),
      }),
      nowMs: () => this.#clock.nowMs(),
      observe: async (observation) => {
        if (guard.ended || signal.aborted) throw new NotTaken("the run is over");
        guard.observing++;
        try {
          await this.#options.observe(observation);
        } catch (cause) {
          throw new NotTaken("what was read could not be stored", { cause });
        } finally {
          guard.observing--;
          observed();
        }
      },
    };
  }

  #lane(job: Job, mode: Mode): Lane {
    if (mode === "catchUp") return lanes.catchUp;
    const lane = laneOf(job.collector.source);
    if (job.wallet && lane <= lanes.inbox && this.#atRisk.has(job.wallet.name)) return lanes.atRisk;
    return mode === "asked" ? lanes.state : lane;
  }

  async #after(job: Job, mode: Mode, outcome: RunOutcome | null, failure: unknown): Promise<void> {
    const called = failure instanceof CalledOff;
    if (outcome === null && !called) await this.#failed(job, mode, failure);
    job.running = null;
    if (this.#stopped) return;
    if (outcome === "done" || outcome === "more") {
      if (mode !== "catchUp") this.#worked(job);
    }
    this.#next(job, mode, outcome, failure);
  }

  #worked(job: Job): void {
    const wasUnwell = job.failures > 0 && unwell(job.lastFailure?.reason);
    job.lastOkMs = this.#clock.nowMs();
    job.failures = 0;
    job.gap = false;
    job.backingOff = false;
    this.#weigh(job);
    this.#reporter.worked(job.collector.source, job.wallet?.name ?? null);
    if (wasUnwell) this.#allAgain();
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

  async #failed(job: Job, mode: Mode, error: unknown): Promise<void> {
    const { source } = job.collector;
    const wallet = job.wallet?.name ?? null;
    const told: { reason: FailureReason; detail: string } =
      error instanceof RunTooLong ? { reason: "timeout", detail: error.message } : failureOf(error);
    const atMs = this.#clock.nowMs();
    job.lastFailure = { atMs, ...told };
    if (mode === "catchUp") return;
    job.failures++;
    job.gap = true;
    job.backingOff = true;
    this.#reporter.failed(source, wallet, told.reason, told.detail);
    // Without a store there is nobody to tell.
    if (error instanceof NotTaken) return;
    try {
      await this.#options.observe({ kind: "failed", source, wallet, symbol: null, atMs, ...told });
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : "unknown";
      this.#options.log.warn({ source, wallet, detail }, "a failed read could not be recorded");
    }
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
      const waitMs = backoffMs(job.collector.source, everyMs, job.failures, retryAfterMs, this.#random);
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

function jobName(source: Source, wallet: string | null): string {
  return `${source}\n${wallet ?? ""}`;
}

/** Failures that have nothing to do with the wallet or the question. */
function unwell(reason: FailureReason | undefined): boolean {
  return (
    reason === "unreachable" || reason === "timeout" || reason === "rate-limited" || reason === "server-error"
  );
}

/** ms; waiting for the ceiling included. */
function deadlineMs(source: Source, everyMs: number): number {
  switch (source) {
    case "traderState":
    case "markets":
    case "exchangeStatus":
      return Math.min(15_000, Math.max(5_000, 3 * everyMs));
    case "notifications":
    case "liquidations":
    case "traderView":
      return 20_000;
    default:
      return 30_000;
  }
}
