/** The scheduler's state of one collector for one wallet. */
import type { FailureReason } from "../domain/observation.ts";
import type { Source } from "../domain/sources.ts";
import type { ScheduleStatus } from "../domain/status.ts";
import type { Lane } from "../exchange/index.ts";
import { CronSchedule } from "./calendar.ts";
import type { CollectedWallet, Collector } from "./collector.ts";
import type { Schedule } from "./settings.ts";
import type { WheelEntry } from "./wheel.ts";

/** The reason for a run: its time has come, somebody needs it now, the last one failed, older pages wait. */
export type Mode = "turn" | "asked" | "retry" | "catchUp";

export interface Job extends WheelEntry {
  readonly collector: Collector;
  readonly wallet: CollectedWallet | null;
  readonly cron: CronSchedule | null;
  /** The time of the beat; monotonic, of a calendar wall. */
  turnMs: number;
  mode: Mode;
  running: {
    readonly mode: Mode;
    readonly startedMs: number;
    readonly abort: (reason: Error) => void;
    readonly lane: Lane;
    /** It looks for what was missed. */
    readonly gap: boolean;
    /** As of `perform`. */
    readonly waits: () => boolean;
  } | null;
  /** It is due and waits for others of its lane to end: the lane and what it will run as. */
  ready: { readonly lane: Lane; readonly mode: Mode } | null;
  /** Run again as soon as this run ends. */
  again: Mode | null;
  /** Something else than a success came last, or nothing yet. */
  gap: boolean;
  /** The next run is to look for what was missed, whatever the last one brought. */
  gapAsked: boolean;
  lateMs: number;
  lastStartMs: number;
  lastOkMs: number | null;
  lastFailure: ScheduleStatus["lastFailure"];
  failures: number;
  /** Those of them that were for want of a session. */
  signedOutFailures: number;
  /** Failures in a row, counted anew where the exchange answers again: the wait grows with them. */
  retries: number;
  /** The last failure of runs that read older pages, which fail by themselves. */
  catchUpFailure: ScheduleStatus["catchUpFailure"];
  backingOff: boolean;
}

export function createJob(collector: Collector, wallet: CollectedWallet | null, schedule: Schedule): Job {
  return {
    collector,
    wallet,
    cron: schedule.kind === "calendar" ? new CronSchedule(schedule.cron, schedule.timezone) : null,
    dueMs: Number.POSITIVE_INFINITY,
    slot: -1,
    turnMs: 0,
    mode: "turn",
    running: null,
    ready: null,
    again: null,
    gap: true,
    gapAsked: false,
    lateMs: 0,
    lastStartMs: Number.NEGATIVE_INFINITY,
    lastOkMs: null,
    lastFailure: null,
    failures: 0,
    signedOutFailures: 0,
    retries: 0,
    catchUpFailure: null,
    backingOff: false,
  };
}

export function jobName(source: Source, wallet: string | null): string {
  return `${source}\n${wallet ?? ""}`;
}

/** Failures that have nothing to do with the wallet or the question. */
export function unwell(reason: FailureReason | undefined): boolean {
  return (
    reason === "unreachable" || reason === "timeout" || reason === "rate-limited" || reason === "server-error"
  );
}

/** Limit of a run, ms, without the time that it waits for the request budget. */
export function deadlineMs(source: Source, everyMs: number): number {
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
