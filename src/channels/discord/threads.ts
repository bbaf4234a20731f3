/**
 * Threads under the critical messages of a text channel. A thread has the id of the message that it was started from, so what
 * history knows of a message is all that is needed to find it again: nothing is kept here that a restart would miss.
 *
 * Where a thread takes nothing (locked, deleted, no permission) its messages go to the channel, and it is left alone for a
 * while.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Message } from "../../domain/delivery.ts";
import type { Outgoing, ToldBefore } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { calls } from "../mention.ts";
import { ownLine, shorten } from "../text.ts";
import type { ApiProblem } from "./api.ts";
import type { Destination } from "./destination.ts";
import { madeAtMs, placeOf } from "./place.ts";

/** A thread that a message belongs into, started or not yet. */
export interface ThreadOf {
  readonly id: string;
  /** Something stands in it, so it was started. */
  readonly started: boolean;
  /** The message that it hangs on, as far as that is known; null: known from what stands in the thread only. */
  readonly root: ToldBefore | null;
}

/** The maximum age of a thread that new alerts join: a group has no end, and nobody looks for news that far up. */
const joinsWithinMs = 24 * 3_600_000;

/**
 * The threads that this message may go into or has gone into: under the first critical message about its alerts, or about
 * what else fires in their group. Oldest first; pure.
 */
export function threadsOf({ message, around = [] }: Outgoing): ThreadOf[] {
  const found = new Map<string, ThreadOf>();
  for (const told of around) {
    const { threadId, id } = placeOf(told.receipt);
    if (threadId === null && !mayHang(told.message)) continue;
    const of = threadId ?? id;
    const own = told.message.alertIds.some((alertId) => message.alertIds.includes(alertId));
    if (!own && message.sealedAtMs - madeAtMs(of) > joinsWithinMs) continue;
    const before = found.get(of);
    found.set(of, {
      id: of,
      started: threadId !== null || before?.started === true,
      root: threadId === null ? told : (before?.root ?? null),
    });
  }
  return [...found.values()].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
}

/** True if a thread may hang on it: it says that something critical fires, and of one group only. */
function mayHang({ content }: Message): boolean {
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
 * True if a message belongs into a thread. It is not where it would wake nobody whom it has to: in a thread `@here` and
 * `@everyone` reach those who joined it, and without a mention nobody is called there, so that what newly is critical stays
 * in the channel, where people look.
 * @param mention that the message will carry
 */
export function isForThread({ content }: Message, mention: string | null): boolean {
  if (content.kind !== "alert" || content.folded !== undefined) return false;
  if (mention !== null) return !mention.startsWith("@");
  return !content.items.some(
    ({ change }) =>
      calls(change) &&
      change.alert.severity === "critical" &&
      (change.kind === "fired" || change.kind === "rose" || change.kind === "ended"),
  );
}

const codes = { unknownMessage: 10008, missingPermissions: 50013, alreadyStarted: 160004 } as const;
/** The time for which a thread, or all of them for want of a permission, is left alone. */
const shutForMs = 10 * 60_000;
const unwellForMs = 60_000;
const maxKnown = 1_000;

export class Threads {
  readonly #options: { readonly destination: Destination; readonly clock: Clock; readonly log: ChannelLog };
  readonly #started = new Set<string>();
  /** Until when, monotonic. */
  readonly #shut = new Map<string, number>();
  #allShutUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: {
    readonly destination: Destination;
    readonly clock: Clock;
    readonly log: ChannelLog;
  }) {
    this.#options = options;
  }

  /** @returns the thread to write to, started if need be; null: there is none, the channel has to do */
  async open(candidates: readonly ThreadOf[], title: string, signal: AbortSignal): Promise<string | null> {
    const nowMs = this.#options.clock.elapsedMs();
    if (nowMs < this.#allShutUntilMs) return null;
    const one = candidates.find(({ id }) => nowMs >= (this.#shut.get(id) ?? nowMs));
    if (one === undefined) return null;
    if (one.started || this.#started.has(one.id)) return one.id;
    const name = shorten(ownLine(one.root?.message.content.title ?? title), 95) || "Alert";
    const answer = await this.#options.destination.startThread(one.id, name, signal);
    // By an earlier attempt, or before a restart.
    if (answer.kind === "ok" || answer.code === codes.alreadyStarted) return this.#know(one.id);
    // Else it is not about this one: no other can be started either.
    if (answer.code !== codes.unknownMessage) this.#allShutUntilMs = nowMs + waitOf(answer);
    this.shut(one.id, answer);
    return null;
  }

  /** It takes nothing, for the reason given. What was to go there goes to the channel. */
  shut(id: string, problem: ApiProblem): void {
    const { clock, log } = this.#options;
    const untilMs = clock.elapsedMs() + waitOf(problem);
    this.#started.delete(id);
    this.#shut.set(id, untilMs);
    if (this.#shut.size > maxKnown) this.#shut.delete([...this.#shut.keys()][0]!);
    const barred = problem.code === codes.missingPermissions;
    if (barred) this.#allShutUntilMs = untilMs;
    const fix = barred ? `: ${threadFix}` : "";
    log.warn(
      { thread: id, detail: problem.detail },
      `a thread on Discord takes no message, so it goes to the channel${fix}`,
    );
  }

  #know(id: string): string {
    this.#started.add(id);
    if (this.#started.size > maxKnown) this.#started.delete([...this.#started][0]!);
    return id;
  }
}

function waitOf({ afterMs, failure }: ApiProblem): number {
  return afterMs ?? (failure === "rejected" || failure === "authentication" ? shutForMs : unwellForMs);
}

export const threadFix =
  "give the bot Create Public Threads and Send Messages in Threads in this channel, or set threads: false";
