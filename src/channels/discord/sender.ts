/**
 * One attempt to send a message to Discord:
 *
 *   did an earlier attempt arrive? ──yes──► delivered
 *        └──no──► quiet or minor: edit the message about it ──► delivered, retry or refused
 *        └──no, or that message is gone──► send as embeds ──refused──► send as plain text ──► delivered, retry or refused
 *                      └── delivered ──► mark the alerts' messages as ended, if this one reports endings
 *
 * Messages after the first message of a critical group are sent into a thread below it. If the thread refuses a message
 * for good, so that nothing of it can have arrived, it is sent to the channel. An earlier attempt may have used either,
 * so both are searched.
 *
 * An edit wakes nobody, and repeating it changes nothing, so it needs no search.
 */

import type { Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Outgoing, SendResult } from "../channel.ts";
import { Edits } from "../edits.ts";
import type { ChannelLog } from "../log.ts";
import { mentionFor } from "../mention.ts";
import type { CommandLine } from "../message/command-line.ts";
import { listName } from "../message/lines.ts";
import { isMinorUpdate } from "../message/updated-message.ts";
import { render } from "../message.ts";
import { Parts } from "../parts.ts";
import type { ApiAnswer, ApiProblem } from "./api.ts";
import type { ChartAttacher } from "./chart-attacher.ts";
import type { Destination } from "./destination.ts";
import { editedBody } from "./edited.ts";
import { findMessage } from "./find-message.ts";
import { buttonsOf } from "./interactions/buttons.ts";
import { formatReceipt, parseReceipt } from "./message-location.ts";
import { type DiscordBody, discordBody, listOf, maxEmbeds, plainBodies } from "./render.ts";
import type { MentionSettings } from "./settings.ts";
import { isForThread, type ThreadCandidate, type Threads, threadCandidates } from "./threads.ts";

export interface SenderOptions {
  readonly destination: Destination;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
  readonly commandLine: CommandLine;
  readonly mention: MentionSettings | undefined;
  /** True if messages have buttons: actions are available, and somebody is allowed to use them. */
  readonly buttons: boolean;
  /** Adds charts to delivered messages, in the background. */
  readonly chartAttacher?: ChartAttacher | undefined;
  /** Threads for messages after a critical one; left out: all messages are sent to the channel. */
  readonly threads?: Threads | undefined;
}

/** Discord forgets a nonce after "a few minutes"; above this age an earlier attempt is searched for instead. */
const nonceTrustedMs = 60_000;
const maxThreadsSearched = 2;

/** Flag of a silent message. */
const suppressNotifications = 4_096;

const codes = { missingPermissions: 50013 } as const;
/** Errors of replies: replying needs the permission to read the message history, which sending does not. */
const replyRefusals: ReadonlySet<number> = new Set([160002, 160009]);

export class DiscordSender {
  readonly #options: SenderOptions;
  readonly #parts = new Parts<ApiAnswer>(({ kind }) => kind === "ok");

  readonly #edits: Edits;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { clock, log, destination } = options;
    this.#edits = new Edits({
      ...{ clock, log },
      put: async (receipt, _told, signal, { message, since }) => {
        const { shown, over, body: edited } = editedBody(message, since, options);
        const body = { ...edited, ...this.#buttons(shown, over) };
        const answer = await destination.edit(receipt, body, signal);
        if (answer.kind === "problem") return resultOf(answer);
        return idOf(answer.data) === null ? missingId : { kind: "delivered", receipt };
      },
    });
  }

  async send(outgoing: Outgoing, signal: AbortSignal): Promise<SendResult> {
    const threads = threadCandidates(outgoing);
    const earlier = await this.#findEarlier(outgoing, threads, signal);
    const { adds, into } = incidentAddition(outgoing);
    const added = adds && earlier === null ? await this.#edits.editInstead(into, signal) : null;
    const edited =
      added ?? (earlier === null ? await this.#editMinorUpdate(outgoing, threads, signal) : null);
    const result = edited ?? (await this.#sendAnew(outgoing, threads, earlier, signal));
    if (result.kind !== "delivered") return result;
    if (added === null && !adds) this.#edits.updateRoot(outgoing);
    this.#markEnded(outgoing, threads);
    return result;
  }

  /** @param earlier result of an earlier attempt; null: none arrived */
  async #sendAnew(
    outgoing: Outgoing,
    threads: readonly ThreadCandidate[],
    earlier: Sent | null,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { message } = outgoing;
    const { answer, threadId } = earlier ?? (await this.#create(outgoing, threads, signal));
    if (answer.kind === "problem") return resultOf(answer);
    const id = idOf(answer.data);
    if (id === null) return missingId;
    const receipt = formatReceipt({ threadId, id });
    // A chart would replace the attached file.
    const hasList = message.content.items.length > maxEmbeds;
    if (earlier === null && !hasList) this.#options.chartAttacher?.attachChart(message, receipt);
    return { kind: "delivered", receipt };
  }

  /**
   * Delivers a minor update by editing the thread's first message, which the channel shows, and the newest message.
   * @returns null if there is nothing to edit or it cannot be edited; the message is sent then
   */
  async #editMinorUpdate(
    { message, latest }: Outgoing,
    threads: readonly ThreadCandidate[],
    signal: AbortSignal,
  ): Promise<SendResult | null> {
    if (!isMinorUpdate(message)) return null;
    const roots = threads.flatMap(({ root, started }) => (root !== null && started ? [root] : []));
    const whole = roots.find((one) => message.alertIds.every((id) => one.message.alertIds.includes(id)));
    // The newest message of the thread has buttons for a state that no longer holds.
    const places = [whole, latest === whole ? undefined : latest].filter((one) => one !== undefined);
    const [first] = places;
    // An alert without an embed cannot be shown there.
    if (first === undefined || first.message.content.items.length > maxEmbeds) return null;
    return await this.#edits.edit(places, message, signal);
  }

  /** Aborts edits that wait for a retry. */
  stop(): void {
    this.#edits.stop();
  }

  /**
   * Returns the result of an earlier attempt; null if there is none, or a search is not needed or not possible. A nonce
   * is trusted for a minute in the place where it was used, which may differ from the current one if there is a thread.
   */
  async #findEarlier(
    { message, attempt }: Outgoing,
    threads: readonly ThreadCandidate[],
    signal: AbortSignal,
  ): Promise<Sent | null> {
    const { destination, clock } = this.#options;
    const isRecent = clock.nowMs() - message.sealedAtMs <= nonceTrustedMs;
    if (attempt === 0 || !destination.remembers || (isRecent && threads.length === 0)) return null;
    for (const threadId of [...threads.slice(0, maxThreadsSearched).map(({ id }) => id), null]) {
      const answer = await findMessage(message, threadId, destination, signal);
      if (answer === null) continue;
      if (answer.kind === "ok") return { answer, threadId };
      // If reading is not permitted or the thread does not exist, go on. On other failures the next attempt searches
      // again, except for critical messages: a duplicate is better than a loss.
      if (answer.failure === "authentication" || answer.failure === "rejected") continue;
      return message.severity === "critical" ? null : { answer, threadId };
    }
    return null;
  }

  async #create(outgoing: Outgoing, threads: readonly ThreadCandidate[], signal: AbortSignal): Promise<Sent> {
    const { message } = outgoing;
    const mention = mentionFor(message, this.#options.mention);
    const open = isForThread(message, mention) ? this.#options.threads : undefined;
    const threadId = (await open?.open(threads, message.content.title, signal)) ?? null;
    const answer = await this.#post(outgoing, mention, threadId, signal);
    if (threadId === null || answer.kind === "ok") return { answer, threadId };
    // After a rate limit or a missing answer, the next attempt searches the thread for what this attempt may have left.
    if (answer.failure !== "rejected" && answer.failure !== "authentication") return { answer, threadId };
    open?.suspend(threadId, answer);
    return { answer: await this.#post(outgoing, mention, null, signal), threadId: null };
  }

  async #post(
    { message, inReplyTo, late }: Outgoing,
    mention: string | null,
    threadId: string | null,
    signal: AbortSignal,
  ): Promise<ApiAnswer> {
    const { destination, log } = this.#options;
    const rendering = render(message, this.#options, late);
    // A reply refers to a message in the same place. The first message of a thread needs no reply.
    const first = inReplyTo === null ? null : parseReceipt(inReplyTo.receipt);
    const replyTo = first !== null && first.threadId === threadId ? first.id : null;
    const quiet = message.content.quiet === true ? { flags: suppressNotifications } : {};
    const withEmbeds = { ...discordBody(rendering, mention), ...quiet, ...this.#buttons(message) };
    const list = listOf(rendering);
    const file =
      list === null
        ? undefined
        : { name: listName, data: Buffer.from(list), contentType: "text/plain; charset=utf-8" };
    let answer = await destination.create(withEmbeds, message, { threadId, replyTo }, signal, file);
    if (replyTo !== null && answer.kind === "problem" && replyRefusals.has(answer.code ?? 0)) {
      answer = await destination.create(withEmbeds, message, { threadId, replyTo: null }, signal, file);
    }
    if (answer.kind === "ok" || !canRetryAsPlainText(answer)) return answer;
    const bodies = plainBodies(rendering, mention);
    const second = await this.#parts.send(message.id, bodies, (body, part) => {
      const whole = { ...body, ...quiet, ...(part === 0 ? this.#buttons(message) : {}) };
      return destination.create(whole, message, { threadId, replyTo: null, part }, signal);
    });
    if (second.kind === "ok")
      log.warn(
        { messageId: message.id, detail: answer.detail },
        `Discord refused an embed${file === undefined ? "" : " or a file"}; sent plain text`,
      );
    return second;
  }

  #buttons(message: Message, over?: ReadonlySet<number>): Pick<DiscordBody, "components"> {
    return this.#options.buttons ? { components: buttonsOf(message, over) } : {};
  }

  /**
   * Marks alerts as ended in their first and newest message and in the message with their thread. Best effort: the
   * ending itself was delivered.
   */
  #markEnded(
    { message, inReplyTo, latest, former, root = former }: Outgoing,
    threads: readonly ThreadCandidate[],
  ): void {
    const over = message.content.items.flatMap(({ change }) =>
      change.kind === "ended" ? [change.alertId] : [],
    );
    const marked = new Set([root?.receipt]);
    for (const place of [...threads.map((one) => one.root), inReplyTo, latest]) {
      if (!place || marked.has(place.receipt)) continue;
      marked.add(place.receipt);
      if (over.some((id) => place.message.alertIds.includes(id))) this.#edits.refresh(place, message);
    }
  }
}

const missingId: SendResult = {
  ...{ kind: "retry", failure: "server-error", afterMs: null, unconfirmed: true },
  detail: "Discord accepted the message without naming its id",
};

/** The result of sending a message, and its thread; null: the channel itself. */
interface Sent {
  readonly answer: ApiAnswer;
  readonly threadId: string | null;
}

/**
 * Determines whether a message is added to the first message of its incident. A minor update of an ended incident is
 * added if that message contains all of its alerts.
 */
function incidentAddition(outgoing: Outgoing): { readonly adds: boolean; readonly into: Outgoing } {
  const { message, root, former, latest: _, ...rest } = outgoing;
  if (root !== undefined) return { adds: message.content.quiet === true, into: outgoing };
  if (former === undefined || !isMinorUpdate(message)) return { adds: false, into: outgoing };
  const members = new Set([former.message, ...(former.since ?? [])].flatMap(({ alertIds }) => alertIds));
  return {
    adds: message.alertIds.every((id) => members.has(id)),
    into: { ...rest, message, root: former },
  };
}

/** Returns true for a refusal because of content or a missing permission; plain text may be accepted. */
function canRetryAsPlainText({ status, code }: ApiProblem): boolean {
  return status === 400 || code === codes.missingPermissions;
}

export function resultOf(problem: ApiProblem): SendResult {
  const { failure, detail, status, afterMs, unconfirmed } = problem;
  switch (failure) {
    case "authentication":
      return { kind: "refused", failure, detail, channelBroken: true };
    case "rejected":
      return { kind: "refused", failure, detail, channelBroken: status === 404 };
    default:
      return { kind: "retry", failure, detail, afterMs, ...(unconfirmed ? { unconfirmed } : {}) };
  }
}

function idOf(data: unknown): string | null {
  if (typeof data !== "object" || data === null || !("id" in data)) return null;
  return typeof data.id === "string" ? data.id : null;
}
