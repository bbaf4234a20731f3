/** Requests to the running daemon over the socket next to its database. */

import type { DaemonStatus } from "../domain/status.ts";
import { nearestName } from "../domain/text/nearest.ts";
import { askDaemon } from "../web/client.ts";
import { DashboardError } from "../web/errors.ts";
import { CommandFailed } from "./command.ts";
import type { Place } from "./configuration.ts";

export type Answer<T> = { readonly kind: "answered"; readonly body: T } | { readonly kind: "noDaemon" };

/** The daemon has no object of that name or number. */
class NotFound extends CommandFailed {}

/** Longer than the daemon's own time limits for channels and the exchange. */
const patienceMs = 60_000;

/** @throws {CommandFailed} when the daemon refuses, does not answer, or does not accept this user */
export async function ask<T>(
  place: Place,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  withinMs = patienceMs,
): Promise<Answer<T>> {
  const signal = AbortSignal.timeout(withinMs);
  const { socketPath, ownerUid: owner } = place;
  const answer = await askDaemon({
    socketPath,
    method,
    path,
    signal,
    ...(owner === undefined ? {} : { owner }),
    ...(body === undefined ? {} : { body }),
  }).catch((error: unknown) => {
    throw new CommandFailed(`the daemon at ${socketPath} ${whyNot(error, signal.aborted ? withinMs : null)}`);
  });
  if (answer.kind === "noDaemon") return answer;
  if (answer.status >= 200 && answer.status < 300) return { kind: "answered", body: answer.body as T };
  const { error } = (answer.body ?? {}) as { error?: unknown };
  const text = typeof error === "string" ? error : `the daemon answered ${answer.status}`;
  if (answer.status === 404) throw new NotFound(text);
  throw new CommandFailed(text, answer.status === 400 ? 2 : 1);
}

/** As `ask`, about a wallet or channel by its name: an unknown name is wrong use, and reported with the known ones. */
export async function askAbout<T>(
  place: Place,
  kind: "wallet" | "channel",
  name: string,
  asking: Promise<Answer<T>>,
): Promise<Answer<T>> {
  try {
    return await asking;
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    const status = await ask<DaemonStatus>(place, "GET", "/api/v1/status").catch(() => null);
    if (status?.kind !== "answered") throw error;
    const { watch, channels } = status.body;
    const known = (kind === "wallet" ? watch.wallets : channels).map((one) => one.name);
    throw unknownName(kind, name, known);
  }
}

/** The same text with a daemon and without one. */
export function unknownName(
  kind: "wallet" | "channel",
  name: string,
  known: readonly string[],
): CommandFailed {
  const nearest = nearestName(name, known);
  const hint = nearest === null ? "" : ` (did you mean ${nearest}?)`;
  return new CommandFailed(`no ${kind} is called ${name}${hint}; configured: ${known.join(", ")}`, 2, {
    known,
  });
}

/** For requests that only a daemon can answer. */
export function noDaemon(place: Place): CommandFailed {
  return new CommandFailed(
    `the daemon is not running (nobody answers at ${place.socketPath}): start it with ${place.startWith}`,
    1,
    { running: false },
  );
}

/** Builds `?a=1&b=2` from the defined values. */
export function queryOf(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

function whyNot(error: unknown, timedOutMs: number | null): string {
  if (timedOutMs !== null) return `did not answer within ${timedOutMs / 1_000} s`;
  if (error instanceof DashboardError) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "EACCES" || code === "EPERM") return "belongs to another user: ask as the user that runs it";
  if (code === "ECONNRESET" || code === "EPIPE") return "hung up before it answered";
  return `cannot be asked: ${error instanceof Error ? error.message : "unknown error"}`;
}
