/** Asking the running daemon, over its socket beside the database. */

import { nearestName } from "../domain/nearest.ts";
import type { DaemonStatus } from "../domain/status.ts";
import { askDaemon } from "../web/client.ts";
import { DashboardError } from "../web/errors.ts";
import { CommandFailed } from "./command.ts";
import type { Place } from "./configuration.ts";

export type Answer<T> = { readonly kind: "answered"; readonly body: T } | { readonly kind: "noDaemon" };

/** The daemon knows nothing of that name or number. */
class NotThere extends CommandFailed {}

/** A channel's or the exchange's own patience is within it. */
const patienceMs = 60_000;

/** @throws {CommandFailed} when the daemon refuses, does not answer, or may not be asked by this user */
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
  if (answer.status === 404) throw new NotThere(text);
  throw new CommandFailed(text, answer.status === 400 ? 2 : 1);
}

/** As `ask`, about a wallet or channel by its name: one that the daemon does not have is wrong use, and told with those it has. */
export async function askAbout<T>(
  place: Place,
  kind: "wallet" | "channel",
  name: string,
  asking: Promise<Answer<T>>,
): Promise<Answer<T>> {
  try {
    return await asking;
  } catch (error) {
    if (!(error instanceof NotThere)) throw error;
    const status = await ask<DaemonStatus>(place, "GET", "/api/v1/status").catch(() => null);
    if (status?.kind !== "answered") throw error;
    const { watch, channels } = status.body;
    const known = (kind === "wallet" ? watch.wallets : channels).map((one) => one.name);
    throw unknownName(kind, name, known);
  }
}

/** The same words with a daemon and without one. */
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

/** For what only a daemon can do. */
export function noDaemon(place: Place): CommandFailed {
  return new CommandFailed(
    `the daemon is not running (nobody answers at ${place.socketPath}): start it with ${place.startWith}`,
    1,
    { running: false },
  );
}

/** `?a=1&b=2` from what is given. */
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
