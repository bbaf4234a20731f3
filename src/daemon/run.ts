/** Runs a daemon from its start to its end, and logs what remains pending. */
import { type Alert, severities } from "../domain/alerts/alert.ts";
import { systemClock } from "../domain/clock.ts";
import type { DaemonStatus } from "../domain/status.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import { type Daemon, startDaemon } from "./app.ts";
import type { DaemonDeps } from "./deps.ts";
import type { DaemonSettings } from "./settings.ts";

/**
 * Runs until the signal aborts or an unrecoverable error occurs.
 * @returns the exit status
 */
export async function runDaemon(
  settings: DaemonSettings,
  options: DaemonDeps & { readonly signal: AbortSignal; readonly onStarted?: (daemon: Daemon) => void },
): Promise<number> {
  const { log, signal } = options;
  const clock = options.clock ?? systemClock();
  const startedMs = clock.elapsedMs();
  const daemon = await startDaemon(settings, options).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  if (daemon === null) {
    log.info("stopped before it had started");
    return 0;
  }
  const names = settings.wallets.map((wallet) => wallet.name).join(", ");
  log.info(`watching ${names}${daemon.url ? `; status page ${daemon.url}` : ""}`);
  options.onStarted?.(daemon);
  const stopped = new Promise<"stopped">((resolve) => {
    if (signal.aborted) resolve("stopped");
    signal.addEventListener("abort", () => resolve("stopped"), { once: true });
  });
  try {
    await Promise.race([stopped, daemon.broken]);
    return 0;
  } catch (error) {
    log.fatal({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, "broken");
    return 1;
  } finally {
    await daemon.stop();
    log.info(
      `stopped after ${formatDurationMs(clock.elapsedMs() - startedMs)}; ${summaryOfStop(daemon.status())}`,
    );
  }
}

/** Describes what the stop leaves for the next start. */
function summaryOfStop({ channels, acknowledgements, database, watch }: DaemonStatus): string {
  const count = (n: number, what: string): string[] => (n === 0 ? [] : [`${n} ${what}${n === 1 ? "" : "s"}`]);
  const waiting = channels.reduce((sum, channel) => sum + channel.waiting, 0);
  const pending = [
    ...count(waiting, "message"),
    ...count(acknowledgements.due, "acknowledgement of notifications"),
  ];
  const lost = count(database.waitingCommits, "observation");
  const stored =
    lost.length === 0 ? "all that was seen is stored" : `${lost} could not be stored and will be read again`;
  const left =
    pending.length === 0
      ? `${stored}, nothing is pending`
      : `${stored}, ${pending.join(" and ")} still pending, to be sent at the next start`;
  const firing = firingText(watch.firing);
  return firing === null ? left : `${left}; ${firing}`;
}

/** Maximum ids of each severity in a line. */
const maxIds = 10;

/** `2 critical alerts are firing (#18, #20): nobody watches them now`, worst first; null: no alert is firing. */
function firingText(firing: readonly Pick<Alert, "id" | "severity">[]): string | null {
  if (firing.length === 0) return null;
  const parts = severities.toReversed().flatMap((severity) => {
    const ids = firing.filter((one) => one.severity === severity).map(({ id }) => `#${id}`);
    if (ids.length === 0) return [];
    const more = ids.length > maxIds ? ", …" : "";
    const word = ids.length === 1 ? "alert is" : "alerts are";
    return [`${ids.length} ${severity} ${word} firing (${ids.slice(0, maxIds).join(", ")}${more})`];
  });
  return `${parts.join(", ")}: nobody watches ${firing.length === 1 ? "it" : "them"} now`;
}
