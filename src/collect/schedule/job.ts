/** The scheduler's state of one collector for one wallet. */
import type { FailureReason } from "../../domain/observation.ts";
import type { Source } from "../../domain/sources.ts";
import type { ScheduleStatus } from "../../domain/status.ts";
import type { Lane } from "../../exchange/index.ts";
import type { CollectedWallet, Collector } from "../collector.ts";
import type { Schedule } from "../settings.ts";
import { CronSchedule } from "./calendar.ts";
import type { WheelEntry } from "./wheel.ts";

/** The reason for a run: it is due, it was requested, the last one failed, older pages wait. */
export type Mode = "turn" | "asked" | "retry" | "catchUp";

export interface Job extends WheelEntry {
  readonly collector: Collector;
  readonly wallet: CollectedWallet | null;
  readonly cron: CronSchedule | null;
  /** The time of its regular turn; monotonic, wall time for a calendar. */
  turnMs: number;
  mode: Mode;
  running: {
    readonly mode: Mode;
    readonly startedMs: number;
    readonly abort: (reason: Error) => void;
    readonly lane: Lane;
    /** True if it looks for missed data. */
    readonly gap: boolean;
    /** See `perform`. */
    readonly waits: () => boolean;
  } | null;
  /** Set while it is due and waits for others of its lane to end: its lane and mode. */
  ready: { readonly lane: Lane; readonly mode: Mode } | null;
  /** The mode of a further run right after this one; null: none. */
  again: Mode | null;
  /** True if the last run was no success, or there was none. */
  gap: boolean;
  /** True if the next run has to look for missed data, independent of the previous result. */
  gapAsked: boolean;
  lateMs: number;
  lastStartMs: number;
  lastOkMs: number | null;
  lastFailure: ScheduleStatus["lastFailure"];
  failures: number;
  /** The number of them that failed without a session. */
  signedOutFailures: number;
  /** Failures in a row, reset when the exchange answers again: the wait grows with them. */
  retries: number;
  /** The last failure of runs for older pages, which fail separately. */
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

/** Returns true for failures that do not depend on the wallet or the request. */
export function unwell(reason: FailureReason | undefined): boolean {
  return (
    reason === "unreachable" || reason === "timeout" || reason === "rate-limited" || reason === "server-error"
  );
}

/** Returns the limit of a run, ms, without its wait for the request budget. */
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
