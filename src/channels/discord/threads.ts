/**
 * Threads below critical messages of a text channel. A thread has the id of the message at which it was started, so it
 * is found again by the history of messages; no state has to survive a restart.
 *
 * If a thread refuses messages (locked, deleted, no permission), they are sent to the channel, and the thread is
 * suspended for some time.
 */

import type { Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Outgoing, SentMessage } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { mentionsPeople } from "../mention.ts";
import { ownLine, shorten } from "../message/text.ts";
import type { ApiProblem } from "./api.ts";
import type { Destination } from "./destination.ts";
import { createdAtMs, parseReceipt } from "./message-location.ts";

/** A thread that a message may be sent to, started or not. */
export interface ThreadCandidate {
  readonly id: string;
  /** True if it has messages, so it was started. */
  readonly started: boolean;
  /** The message at which the thread is started; null: not known, only the thread's messages are. */
  readonly root: SentMessage | null;
}

/** Maximum age of a thread that new alerts join. Groups have no end, and old threads are far up in the channel. */
const maxThreadAgeMs = 24 * 3_600_000;

/**
 * Returns the threads that this message may be or may have been sent to: below the first critical message about its
 * alerts, or about other firing alerts of their group. Oldest first; pure.
 */
export function threadCandidates({ message, around = [] }: Outgoing): ThreadCandidate[] {
  const found = new Map<string, ThreadCandidate>();
  for (const sent of around) {
    const { threadId, id } = parseReceipt(sent.receipt);
    if (threadId === null && !canRootThread(sent.message)) continue;
    const of = threadId ?? id;
    const own = sent.message.alertIds.some((alertId) => message.alertIds.includes(alertId));
    if (!own && message.sealedAtMs - createdAtMs(of) > maxThreadAgeMs) continue;
    const before = found.get(of);
    found.set(of, {
      id: of,
      started: threadId !== null || before?.started === true,
      root: threadId === null ? sent : (before?.root ?? null),
    });
  }
  return [...found.values()].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
}

/** Returns true if a thread may be started at the message: it reports a firing critical alert, of a single group. */
function canRootThread({ content }: Message): boolean {
  return (
    content.kind === "alert" &&
    content.folded === undefined &&
    content.items.some(({ change }) => {
      const { severity, drill } = change.alert;
      return (
        severity === "critical" && drill !== true && change.kind !== "ended" && change.kind !== "acknowledged"
      );
    })
  );
}

/**
 * Returns true if a message belongs into a thread. It does not if the people concerned would not be notified there: in
 * a thread, `@here` and `@everyone` reach only those who joined it, and without a mention nobody is notified. New
 * critical alerts then go to the channel.
 * @param mention that the message will have
 */
export function isForThread({ content }: Message, mention: string | null): boolean {
  if (content.kind !== "alert" || content.folded !== undefined) return false;
  if (mention !== null) return !mention.startsWith("@");
  return !content.items.some(
    ({ change }) =>
      mentionsPeople(change) &&
      change.alert.severity === "critical" &&
      (change.kind === "fired" || change.kind === "rose" || change.kind === "ended"),
  );
}

const codes = { unknownMessage: 10008, missingPermissions: 50013, alreadyStarted: 160004 } as const;
/** Suspension of a thread, or of all threads if a permission is missing. */
const suspendMs = 10 * 60_000;
const shortSuspendMs = 60_000;
const maxKnown = 1_000;

export class Threads {
  readonly #options: { readonly destination: Destination; readonly clock: Clock; readonly log: ChannelLog };
  readonly #started = new Set<string>();
  /** End of suspension, monotonic ms, by thread id. */
  readonly #suspendedUntilMs = new Map<string, number>();
  #allSuspendedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: {
    readonly destination: Destination;
    readonly clock: Clock;
    readonly log: ChannelLog;
  }) {
    this.#options = options;
  }

  /** @returns the thread to write to, started if necessary; null: none, the message goes to the channel */
  async open(
    candidates: readonly ThreadCandidate[],
    title: string,
    signal: AbortSignal,
  ): Promise<string | null> {
    const nowMs = this.#options.clock.elapsedMs();
    if (nowMs < this.#allSuspendedUntilMs) return null;
    const one = candidates.find(({ id }) => nowMs >= (this.#suspendedUntilMs.get(id) ?? nowMs));
    if (one === undefined) return null;
    if (one.started || this.#started.has(one.id)) return one.id;
    const name = shorten(ownLine(one.root?.message.content.title ?? title), 95) || "Alert";
    const answer = await this.#options.destination.startThread(one.id, name, signal);
    // `alreadyStarted`: by an earlier attempt, or before a restart.
    if (answer.kind === "ok" || answer.code === codes.alreadyStarted) return this.#remember(one.id);
    // Other failures concern all threads: none can be started.
    if (answer.code !== codes.unknownMessage) this.#allSuspendedUntilMs = nowMs + waitOf(answer);
    this.suspend(one.id, answer);
    return null;
  }

  /** Suspends a thread that refused a message. Its messages go to the channel. */
  suspend(id: string, problem: ApiProblem): void {
    const { clock, log } = this.#options;
    const untilMs = clock.elapsedMs() + waitOf(problem);
    this.#started.delete(id);
    this.#suspendedUntilMs.set(id, untilMs);
    if (this.#suspendedUntilMs.size > maxKnown)
      this.#suspendedUntilMs.delete([...this.#suspendedUntilMs.keys()][0]!);
    const lacksPermission = problem.code === codes.missingPermissions;
    if (lacksPermission) this.#allSuspendedUntilMs = untilMs;
    const fix = lacksPermission ? `: ${threadFix}` : "";
    log.warn(
      { thread: id, detail: problem.detail },
      `a thread on Discord takes no message, so it goes to the channel${fix}`,
    );
  }

  #remember(id: string): string {
    this.#started.add(id);
    if (this.#started.size > maxKnown) this.#started.delete([...this.#started][0]!);
    return id;
  }
}

function waitOf({ afterMs, failure }: ApiProblem): number {
  return afterMs ?? (failure === "rejected" || failure === "authentication" ? suspendMs : shortSuspendMs);
}

export const threadFix =
  "give the bot Create Public Threads and Send Messages in Threads in this channel, or set threads: false";
