/** The work that a running daemon repeats beside reading and delivering: its figures, order in the database, its pace. */
import type { Collectors } from "../collect/index.ts";
import type { Outbox } from "../deliver/index.ts";
import type { Clock } from "../domain/clock.ts";
import { stretchedText } from "../domain/source-words.ts";
import type { History } from "../history/index.ts";
import type { IngestLoop } from "../ingest/loop.ts";
import type { DaemonSource } from "./daemon-source.ts";
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
/** While there is more to do than fits the budget. */
const maintainAgainMs = 1_000;
const paceEveryMs = 5_000;
const largestWalBytes = 67_108_864;
const lostTimeEveryMs = 1_000;

interface Upkept {
  readonly settings: DaemonSettings;
  readonly log: DaemonDeps["log"];
  readonly machine: Clock;
  readonly clock: Clock;
  readonly store: History;
  readonly ingest: IngestLoop;
  readonly outbox: Outbox;
  readonly collectors: Collectors;
}

/** Reports time in which the process stood still or the machine slept, as a start does. @returns ends it */
export function reportLostTime({ machine, clock, ingest }: Upkept): () => void {
  const lostTime = new LostTime(machine, clock);
  return every(machine, lostTimeEveryMs, async () => {
    const fromMs = lostTime.look();
    if (fromMs !== null)
      await ingest.observe({ kind: "started", atMs: clock.nowMs(), version, lastAliveMs: fromMs });
  });
}

/** The time of the last turn of `observeFigures`, monotonic, ms; null: there was none. */
export interface Turned {
  atMs: number | null;
}

/** Observes the daemon's own figures. @returns ends it */
export function observeFigures(
  { machine, clock, ingest }: Upkept,
  source: DaemonSource,
  turned: Turned,
): () => void {
  return every(machine, figuresEveryMs, async () => {
    await source.refresh();
    await ingest.observe({ kind: "daemon", atMs: clock.nowMs(), figures: source.figures() });
    turned.atMs = clock.elapsedMs();
  });
}

/** @returns null: none is configured */
export function heartbeatOf(
  { settings, clock, log, collectors, outbox }: Upkept,
  turned: Turned,
): Heartbeat | null {
  if (!settings.heartbeat) return null;
  return new Heartbeat({
    ...{ settings: settings.heartbeat, clock, log },
    turnedMs: () => turned.atMs,
    readMs: () =>
      collectors.status().reduce<number | null>((newest, { lastOkMs }) => {
        return lastOkMs === null ? newest : Math.max(newest ?? lastOkMs, lastOkMs);
      }, null),
    critical: () => outbox.critical(),
  });
}

/** Keeps the database in order. @returns ends it */
export function maintainStore({ machine, log, store }: Upkept): () => void {
  let restMs = maintainEveryMs;
  let walTold = false;
  return every(machine, maintainAgainMs, async () => {
    restMs -= maintainAgainMs;
    if (restMs > 0) return;
    restMs = maintainEveryMs;
    try {
      // Behind: it goes on soon, or a large desk's log would grow for ever.
      if (!(await store.maintain(machine.nowMs(), maintainBudgetMs)).finished) restMs = 0;
      const walBytes = await store.walBytes();
      if (walBytes > largestWalBytes && !walTold)
        log.warn(
          { walBytes },
          "a long reader keeps the write-ahead file from being emptied: it grows until that ends",
        );
      walTold = walBytes > largestWalBytes;
    } catch (error) {
      log.warn({ error: String(error) }, "keeping the database in order failed; tried again later");
    }
  });
}

/** Judges the age of data by the requests that are granted. @param judgeAgain by the ages of `pace` @returns ends it */
export function followPace(
  { machine, clock, log, collectors }: Upkept,
  pace: Pace,
  judgeAgain: () => Promise<void>,
): () => void {
  return every(machine, paceEveryMs, async () => {
    if (!pace.look(collectors.status(), clock.elapsedMs())) return;
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
