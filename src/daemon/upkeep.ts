/**
 * Periodic work of a running daemon besides reading and delivering: its own figures, database maintenance, data ages.
 */
import type { Collectors } from "../collect/index.ts";
import type { Outbox } from "../deliver/index.ts";
import type { Clock } from "../domain/clock.ts";
import { stretchedText } from "../domain/text/source-words.ts";
import type { History } from "../history/index.ts";
import type { IngestLoop } from "../ingest/loop.ts";
import type { DaemonReport } from "./answers/daemon-report.ts";
import type { DaemonDeps } from "./deps.ts";
import { every } from "./every.ts";
import { Heartbeat } from "./heartbeat.ts";
import { LostTime } from "./lost-time.ts";
import type { Pace } from "./settings/pace.ts";
import type { DaemonSettings } from "./settings.ts";
import { version } from "./version.ts";

const figuresEveryMs = 5_000;
const maintainEveryMs = 60_000;
const maintainBudgetMs = 200;
/** Interval while there is more to do than fits the budget. */
const maintainAgainMs = 1_000;
const paceEveryMs = 5_000;
const maxWalBytes = 67_108_864;
const lostTimeEveryMs = 1_000;

interface UpkeepParts {
  readonly settings: DaemonSettings;
  readonly log: DaemonDeps["log"];
  readonly machine: Clock;
  readonly clock: Clock;
  readonly store: History;
  readonly ingest: IngestLoop;
  readonly outbox: Outbox;
  readonly collectors: Collectors;
}

/**
 * Reports time during which the process was paused or the machine slept, as a start does.
 * @returns a function that ends it
 */
export function reportLostTime({ machine, clock, ingest }: UpkeepParts): () => void {
  const lostTime = new LostTime(machine, clock);
  return every(machine, lostTimeEveryMs, async () => {
    const fromMs = lostTime.check();
    if (fromMs !== null)
      await ingest.observe({ kind: "started", atMs: clock.nowMs(), version, lastAliveMs: fromMs });
  });
}

/** The time of the last turn of `observeFigures`, monotonic, ms; null: there was none. */
export interface LastTurn {
  atMs: number | null;
}

/**
 * Observes the daemon's own figures.
 * @returns a function that ends it
 */
export function observeFigures({
  machine,
  clock,
  ingest,
  report,
  lastTurn,
}: Pick<UpkeepParts, "machine" | "clock" | "ingest"> & {
  readonly report: DaemonReport;
  readonly lastTurn: LastTurn;
}): () => void {
  return every(machine, figuresEveryMs, async () => {
    await report.refresh();
    await ingest.observe({ kind: "daemon", atMs: clock.nowMs(), figures: report.figures() });
    lastTurn.atMs = clock.elapsedMs();
  });
}

/** @returns null: none is configured */
export function heartbeatOf(
  { settings, clock, log, collectors, outbox }: UpkeepParts,
  lastTurn: LastTurn,
): Heartbeat | null {
  if (!settings.heartbeat) return null;
  return new Heartbeat({
    ...{ settings: settings.heartbeat, clock, log },
    turnedMs: () => lastTurn.atMs,
    readMs: () =>
      collectors.status().reduce<number | null>((newest, { lastOkMs }) => {
        return lastOkMs === null ? newest : Math.max(newest ?? lastOkMs, lastOkMs);
      }, null),
    critical: () => outbox.critical(),
  });
}

/**
 * Maintains the database.
 * @returns a function that ends it
 */
export function maintainStore({ machine, log, store }: UpkeepParts): () => void {
  let waitMs = maintainEveryMs;
  let isWalReported = false;
  return every(machine, maintainAgainMs, async () => {
    waitMs -= maintainAgainMs;
    if (waitMs > 0) return;
    waitMs = maintainEveryMs;
    try {
      // Continues soon while maintenance is behind, or the database of many wallets would grow without limit.
      if (!(await store.maintain(machine.nowMs(), maintainBudgetMs)).finished) waitMs = 0;
      const walBytes = await store.walBytes();
      if (walBytes > maxWalBytes && !isWalReported)
        log.warn(
          { walBytes },
          "a long reader keeps the write-ahead file from being emptied: it grows until that ends",
        );
      isWalReported = walBytes > maxWalBytes;
    } catch (error) {
      log.warn({ error: String(error) }, "keeping the database in order failed; tried again later");
    }
  });
}

/**
 * Adjusts the ages at which data count as stale to the granted request rate.
 * @param judgeAgain evaluates the rules with the ages of `pace`
 * @returns a function that ends it
 */
export function followPace(
  { machine, clock, log, collectors }: UpkeepParts,
  pace: Pace,
  judgeAgain: () => Promise<void>,
): () => void {
  return every(machine, paceEveryMs, async () => {
    if (!pace.update(collectors.status(), clock.elapsedMs())) return;
    const { stretched } = pace;
    try {
      await judgeAgain();
      if (stretched.length > 0) log.info({ stretched }, stretchedText(stretched));
      else log.info("the schedules are kept again: data count as too old as configured");
    } catch (error) {
      pace.undo();
      log.warn({ error: String(error) }, "ages of data could not follow the granted requests");
    }
  });
}
