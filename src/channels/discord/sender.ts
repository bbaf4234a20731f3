/**
 * One attempt to put a message on Discord:
 *
 *   look whether an earlier attempt arrived ──yes──► delivered
 *        └──no──► quiet, or nothing got worse: edit the message about it ──► delivered, retry or refused
 *        └──no, or it is gone──► send as embeds ──refused──► send as plain text ──► delivered, retry or refused
 *                      └── delivered ──► mark the alert's messages as over, when this one tells of its end
 *
 * What follows the first message of a critical group is sent into a thread below it; where that is refused for good, so that
 * nothing of it can have arrived, to the channel. Which of both an earlier attempt took is not known: both are looked at.
 *
 * An edit wakes nobody and tells the same however often it is made, so it needs no looking.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Message } from "../../domain/delivery.ts";
import { isCalm } from "../as-told.ts";
import type { Outgoing, SendResult } from "../channel.ts";
import { Edits } from "../edits.ts";
import { listName } from "../lines.ts";
import type { ChannelLog } from "../log.ts";
import { loudest } from "../mention.ts";
import type { CommandLine } from "../message/command-line.ts";
import { render } from "../message.ts";
import { Parts } from "../parts.ts";
import type { ApiAnswer, ApiProblem } from "./api.ts";
import { buttonsOf } from "./buttons.ts";
import type { Destination } from "./destination.ts";
import { editedBody } from "./edited.ts";
import type { Illustrator } from "./illustrator.ts";
import { lookFor } from "./look.ts";
import { placeOf, receiptOf } from "./place.ts";
import { type DiscordBody, discordBody, listOf, maxEmbeds, plainBodies } from "./render.ts";
import type { MentionSettings } from "./settings.ts";
import { isForThread, type ThreadOf, type Threads, threadsOf } from "./threads.ts";

export interface SenderOptions {
  readonly destination: Destination;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
  readonly commandLine: CommandLine;
  readonly mention: MentionSettings | undefined;
  /** True if messages have buttons: somebody is there to answer them, and somebody may press them. */
  readonly buttons: boolean;
  /** Adds charts to what was delivered, in its own time. */
  readonly illustrator?: Illustrator | undefined;
  /** Takes what follows a critical message; left out: all goes to the channel. */
  readonly threads?: Threads | undefined;
}

/** Discord forgets a nonce after "a few minutes"; from this age on an earlier attempt is looked for instead. */
const nonceTrustedMs = 60_000;
const maxThreadsLookedAt = 2;

/** Flag of a message that makes no sound. */
const suppressNotifications = 4_096;

const codes = { missingPermissions: 50013 } as const;
/** Replying needs the right to read the message history, which sending does not. */
const replyRefusals: ReadonlySet<number> = new Set([160002, 160009]);

export class DiscordSender {
  readonly #options: SenderOptions;
  readonly #parts = new Parts<ApiAnswer>(({ kind }) => kind === "ok");

  /** Edits of messages that were sent. */
  readonly #edits: Edits;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { clock, log, destination } = options;
    this.#edits = new Edits({
      ...{ clock, log },
      put: async (receipt, _told, signal, { message, since }) => {
        const { told, over, body: edited } = editedBody(message, since, options);
        const body = { ...edited, ...this.#buttons(told, over) };
        const answer = await destination.edit(receipt, body, signal);
        if (answer.kind === "problem") return resultOf(answer);
        return idOf(answer.data) === null ? unnamed : { kind: "delivered", receipt };
      },
    });
  }

  async send(outgoing: Outgoing, signal: AbortSignal): Promise<SendResult> {
    const threads = threadsOf(outgoing);
    const earlier = await this.#earlier(outgoing, threads, signal);
    const { adds, into } = addition(outgoing);
    const added = adds && earlier === null ? await this.#edits.inPlaceOf(into, signal) : null;
    const edited = added ?? (earlier === null ? await this.#editCalm(outgoing, threads, signal) : null);
    const result = edited ?? (await this.#sendAnew(outgoing, threads, earlier, signal));
    if (result.kind !== "delivered") return result;
    if (added === null && !adds) this.#edits.keepCurrent(outgoing);
    this.#markEnded(outgoing, threads);
    return result;
  }

  /** @param earlier what an earlier attempt left there; null: nothing */
  async #sendAnew(
    outgoing: Outgoing,
    threads: readonly ThreadOf[],
    earlier: Put | null,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { message } = outgoing;
    const { answer, threadId } = earlier ?? (await this.#create(outgoing, threads, signal));
    if (answer.kind === "problem") return resultOf(answer);
    const id = idOf(answer.data);
    if (id === null) return unnamed;
    const receipt = receiptOf({ threadId, id });
    // A chart takes the place of the files that are there.
    const hasList = message.content.items.length > maxEmbeds;
    if (earlier === null && !hasList) this.#options.illustrator?.illustrate(message, receipt);
    return { kind: "delivered", receipt };
  }

  /**
   * Edits the message that a thread hangs on, where nothing got worse, which is what the channel shows of it; else the
   * newest.
   * @returns null where there is nothing to edit, or it cannot be: then it is sent
   */
  async #editCalm(
    { message, latest }: Outgoing,
    threads: readonly ThreadOf[],
    signal: AbortSignal,
  ): Promise<SendResult | null> {
    if (!isCalm(message)) return null;
    const roots = threads.flatMap(({ root, started }) => (root !== null && started ? [root] : []));
    const whole = roots.find((one) => message.alertIds.every((id) => one.message.alertIds.includes(id)));
    // The newest in the thread has buttons that would say what is no longer so.
    const places = [whole, latest === whole ? undefined : latest].filter((one) => one !== undefined);
    const [first] = places;
    // An alert without an embed could not be shown there.
    if (first === undefined || first.message.content.items.length > maxEmbeds) return null;
    return await this.#edits.edit(places, message, signal);
  }

  /** Gives up on edits that wait for another try. */
  stop(): void {
    this.#edits.stop();
  }

  /**
   * The result of an earlier attempt; null when there is nothing, or no need or no way to look. A nonce is trusted for a
   * minute in the place where it was used, which with a thread may be another one than now.
   */
  async #earlier(
    { message, attempt }: Outgoing,
    threads: readonly ThreadOf[],
    signal: AbortSignal,
  ): Promise<Put | null> {
    const { destination, clock } = this.#options;
    const young = clock.nowMs() - message.sealedAtMs <= nonceTrustedMs;
    if (attempt === 0 || !destination.remembers || (young && threads.length === 0)) return null;
    for (const threadId of [...threads.slice(0, maxThreadsLookedAt).map(({ id }) => id), null]) {
      const answer = await lookFor(message, threadId, destination, signal);
      if (answer === null) continue;
      if (answer.kind === "ok") return { answer, threadId };
      // Nobody may look, or there is no such thread: what can be done is done. Otherwise the next attempt looks again, except
      // that a critical message told twice is better than not told.
      if (answer.failure === "authentication" || answer.failure === "rejected") continue;
      return message.severity === "critical" ? null : { answer, threadId };
    }
    return null;
  }

  async #create(outgoing: Outgoing, threads: readonly ThreadOf[], signal: AbortSignal): Promise<Put> {
    const { message } = outgoing;
    const mention = loudest(message, this.#options.mention);
    const open = isForThread(message, mention) ? this.#options.threads : undefined;
    const threadId = (await open?.open(threads, message.content.title, signal)) ?? null;
    const answer = await this.#post(outgoing, mention, threadId, signal);
    if (threadId === null || answer.kind === "ok") return { answer, threadId };
    // A limit, or an answer that never came, is waited for: there the next attempt finds what this one may have left.
    if (answer.failure !== "rejected" && answer.failure !== "authentication") return { answer, threadId };
    open?.shut(threadId, answer);
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
    // A reply stays in its place; what a thread hangs on needs none.
    const first = inReplyTo === null ? null : placeOf(inReplyTo.receipt);
    const replyTo = first !== null && first.threadId === threadId ? first.id : null;
    const quiet = message.content.quiet === true ? { flags: suppressNotifications } : {};
    const pretty = { ...discordBody(rendering, mention), ...quiet, ...this.#buttons(message) };
    const list = listOf(rendering);
    const file =
      list === null
        ? undefined
        : { name: listName, data: Buffer.from(list), contentType: "text/plain; charset=utf-8" };
    let answer = await destination.create(pretty, message, { threadId, replyTo }, signal, file);
    if (replyTo !== null && answer.kind === "problem" && replyRefusals.has(answer.code ?? 0)) {
      answer = await destination.create(pretty, message, { threadId, replyTo: null }, signal, file);
    }
    if (answer.kind === "ok" || !worthPlain(answer)) return answer;
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

  /** Edits the first and the newest message of an alert that is over, and what its thread hangs on. Best effort: the news itself has been delivered. */
  #markEnded(
    { message, inReplyTo, latest, former, root = former }: Outgoing,
    threads: readonly ThreadOf[],
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

const unnamed: SendResult = {
  ...{ kind: "retry", failure: "server-error", afterMs: null, unconfirmed: true },
  detail: "Discord accepted the message without naming its id",
};

/** The outcome of sending a message, and its place: in a thread, or (null) in the channel itself. */
interface Put {
  readonly answer: ApiAnswer;
  readonly threadId: string | null;
}

/** Finds whether a message is added to the first one of its incident; also what got no worse, where all of it stands there. */
function addition(outgoing: Outgoing): { readonly adds: boolean; readonly into: Outgoing } {
  const { message, root, former, latest: _, ...rest } = outgoing;
  if (root !== undefined) return { adds: message.content.quiet === true, into: outgoing };
  if (former === undefined || !isCalm(message)) return { adds: false, into: outgoing };
  const members = new Set([former.message, ...(former.since ?? [])].flatMap(({ alertIds }) => alertIds));
  return {
    adds: message.alertIds.every((id) => members.has(id)),
    into: { ...rest, message, root: former },
  };
}

/** An embed that Discord will not have, by its content or for want of a permission, may still be taken as plain text. */
function worthPlain({ status, code }: ApiProblem): boolean {
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
