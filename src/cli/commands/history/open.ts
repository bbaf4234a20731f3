/** Shared by the commands of `history`: opens the database, also while the daemon runs, and finds series by name. */
import { nearestName } from "../../../domain/text/nearest.ts";
import type { History } from "../../../history/index.ts";
import { type Cli, CommandFailed, hint } from "../../command.ts";
import { locate, type Place } from "../../configuration.ts";
import { ask } from "../../daemon.ts";
import { timeOf } from "../../terminal/values.ts";

/** Reads in this process, so that a long reading does not delay the daemon. */
export async function withHistory<T>(
  cli: Cli,
  config: string,
  read: (history: History, place: Place) => Promise<T>,
): Promise<T> {
  return withPlace(await locate(cli, config), read);
}

/** As `withHistory`, with the times of `--since` and `--until`, ms, by the clock of the running daemon. */
export async function withSpan<T>(
  cli: Cli,
  options: { readonly config: string; readonly since: string; readonly until: string },
  read: (history: History, place: Place, fromMs: number, toMs: number) => Promise<T>,
): Promise<T> {
  const place = await locate(cli, options.config);
  const nowMs = await nowOf(cli, place);
  const fromMs = timeOf("--since", options.since, nowMs);
  const toMs = timeOf("--until", options.until, nowMs);
  if (fromMs >= toMs) throw new CommandFailed("--since has to be before --until", 2);
  return withPlace(place, (history) => read(history, place, fromMs, toMs));
}

/** Time limit of the request for the daemon's time, ms: history can be read without it. */
const clockPatienceMs = 2_000;

/** The time of the daemon's clock, which is corrected to the exchange's; of this machine's if no daemon runs, ms. */
async function nowOf(cli: Cli, place: Place): Promise<number> {
  try {
    const path = "/api/v1/silences";
    const answer = await ask<{ nowMs: number }>(place, "GET", path, undefined, clockPatienceMs);
    if (answer.kind === "answered") return answer.body.nowMs;
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    hint(cli, `${error.message}: times before now are by this machine's clock`);
  }
  return Date.now();
}

async function withPlace<T>(place: Place, read: (history: History, place: Place) => Promise<T>): Promise<T> {
  const { openStore } = await import("../../../history/index.ts");
  const history = openStore({ path: place.databasePath, readonly: true });
  try {
    return await read(history, place);
  } finally {
    await history.close();
  }
}

/** One series of one owner. */
export interface Named {
  readonly owner: string;
  readonly series: string;
}

export function nameOf({ owner, series }: Named): string {
  return `${owner}:${series}`;
}

/**
 * Finds `OWNER:SERIES`, or a series that only one owner has.
 * @throws {CommandFailed} status 2, with the nearest names
 */
export function findSeries(text: string, all: ReadonlyMap<string, readonly string[]>): Named {
  const named = [...all].flatMap(([owner, list]) => list.map((series) => ({ owner, series })));
  if (named.length === 0) throw new CommandFailed("there are no series in this history yet");
  const whole = named.find((one) => nameOf(one) === text);
  if (whole) return whole;
  const alone = named.filter(({ series }) => series === text);
  if (alone.length === 1) return alone[0]!;
  if (alone.length > 1) {
    const names = alone.map(nameOf);
    throw new CommandFailed(
      `${alone.length} owners have a series ${text}; name one: ${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`,
      2,
      { known: names },
    );
  }
  const known = [...new Set(named.flatMap((one) => [one.series, nameOf(one)]))];
  const nearest = nearestName(text, known);
  const hint = nearest === null ? "" : ` (did you mean ${nearest}?)`;
  throw new CommandFailed(`no series is called ${text}${hint}; \`history query\` lists all`, 2, { nearest });
}
