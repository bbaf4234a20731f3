/** Reads the database when no daemon answers. */
import { type Alert, isOfSeverity } from "../domain/alerts/alert.ts";
import type { AlertQuery } from "../domain/ports.ts";
import type { History } from "../history/index.ts";
import { type Cli, CommandFailed, hint } from "./command.ts";
import type { Place } from "./configuration.ts";

/** @throws {CommandFailed} when there is no readable database */
export async function withHistory<T>(
  cli: Cli,
  place: Place,
  read: (history: History) => Promise<T>,
): Promise<T> {
  const history = await openHistory(
    place.databasePath,
    "the daemon is not running, and its database cannot be read",
  );
  hint(cli, "the daemon is not running; this is what it left in its database");
  try {
    return await read(history);
  } finally {
    await history.close();
  }
}

/**
 * Opens the database, also while a daemon runs.
 * @throws {CommandFailed} when there is no readable database
 */
export async function openHistory(path: string, otherwise = "the past cannot be read"): Promise<History> {
  const { HistoryError, openStore } = await import("../history/index.ts");
  try {
    return openStore({ path, readonly: true });
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error;
    throw new CommandFailed(`${otherwise}: ${error.message}`, 1, { running: false });
  }
}

/** Maximum alerts that are searched when a filter has no index. */
const maxSearched = 10_000;

/** Alerts as the running daemon returns them: newest first. */
export async function alertsOf(history: History, query: AlertQuery): Promise<readonly Alert[]> {
  const { state, rule, wallet, severity, limit } = query;
  const narrow = rule !== undefined || wallet !== undefined || severity !== undefined;
  const found = await history.alerts({
    shadow: query.shadow ?? false,
    ...(state === undefined ? {} : { state }),
    limit: narrow ? maxSearched : limit,
  });
  return found
    .filter((alert) => rule === undefined || alert.rule === rule)
    .filter((alert) => wallet === undefined || alert.wallet === wallet)
    .filter((alert) => severity === undefined || isOfSeverity(alert, severity, state === "firing"))
    .slice(0, limit);
}
