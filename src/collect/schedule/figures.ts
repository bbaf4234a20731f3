/** Figures over all schedules, for the daemon's own status. */

import type { ExchangeOutage } from "../../domain/status.ts";
import { sourceWords } from "../../domain/text/source-words.ts";
import { withoutEndpoint } from "../reporter.ts";
import type { Job } from "./job.ts";

const MAX_LISTED = 2;
/** Time for which a late run counts, ms. */
const RECENT_MS = 10_000;

export interface ScheduleFigures {
  /** Lateness of the latest schedule, ms. */
  readonly lagMs: number;
  /**
   * The maximum failures in a row of any schedule; without those that lack a session while an alert reports why
   * sign-ins fail.
   */
  readonly failedPolls: number;
  /** `everything (connect ECONNREFUSED …)`, or the longest failing: `notifications of main (HTTP 503) and 4 more`. */
  readonly failingReads: string;
}

export interface ScheduleFiguresOptions {
  /** Monotonic, ms. */
  readonly nowMs: number;
  readonly outage: ExchangeOutage | null;
  readonly everyMs: (job: Job) => number;
  /** True if an alert reports why sign-ins fail. */
  readonly isSignInReported: boolean;
}

export function scheduleFigures(
  jobs: readonly Job[],
  { nowMs, outage, everyMs, isSignInReported }: ScheduleFiguresOptions,
): ScheduleFigures {
  const countOf = ({ failures, signedOutFailures }: Job) =>
    failures - (isSignInReported ? signedOutFailures : 0);
  const failing = jobs.filter(
    (job) => countOf(job) > 0 && !(isSignInReported && job.lastFailure?.reason === "signed-out"),
  );
  let lagMs = 0;
  for (const job of jobs) {
    if (job.backingOff || job.cron) continue;
    const overdueMs = job.running ? nowMs - job.running.startedMs - everyMs(job) : nowMs - job.dueMs;
    lagMs = Math.max(lagMs, overdueMs, nowMs - job.lastStartMs < RECENT_MS ? job.lateMs : 0);
  }
  failing.sort((a, b) => countOf(b) - countOf(a));
  const failedPolls = failing[0] === undefined ? 0 : countOf(failing[0]);
  return { lagMs: Math.round(lagMs), failedPolls, failingReads: failingReads(failing, outage) };
}

/** @param failing the longest first */
function failingReads(failing: readonly Job[], outage: ExchangeOutage | null): string {
  if (outage) return `everything (${outage.detail})`;
  const names = failing.slice(0, MAX_LISTED).map(({ collector, wallet, lastFailure }) => {
    const words = sourceWords[collector.source];
    const name = wallet ? `${words} of ${wallet.name}` : words;
    const why = withoutEndpoint(lastFailure?.detail ?? "failing");
    return `${name} (${why.replace(/^(?=[45]\d\d\b)/, "HTTP ")})`;
  });
  const more = failing.length - names.length;
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ");
}
