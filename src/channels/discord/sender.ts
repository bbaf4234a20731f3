/**
 * One attempt to put a message on Discord:
 *
 *   look whether an earlier attempt arrived ──yes──► delivered
 *        └──no──► nothing got worse: edit the newest message about it ──► delivered, retry or refused
 *        └──no, or it is gone──► send as embeds ──refused──► send as plain text ──► delivered, retry or refused
 *                      └── delivered ──► mark the alert's messages as over, when this one tells of its end
 *
 * An edit wakes nobody and tells the same however often it is made, so it needs no looking.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Message } from "../../domain/delivery.ts";
import type { Outgoing, SendResult, ToldBefore } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { loudest } from "../mention.ts";
import { type CommandLine, formatTime, leadOf, render } from "../message.ts";
import { cleanLine } from "../text.ts";
import type { ApiAnswer, ApiProblem } from "./api.ts";
import { asTold, isCalm } from "./as-told.ts";
import { buttonsOf } from "./buttons.ts";
import type { Destination } from "./destination.ts";
import type { Illustrator } from "./illustrator.ts";
import {
  type DiscordBody,
  discordBody,
  type Embed,
  type Ended,
  endedBody,
  endedIn,
  endingTone,
  plainBody,
} from "./render.ts";
import type { MentionSettings } from "./settings.ts";

export interface SenderOptions {
  readonly destination: Destination;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
  readonly commandLine: CommandLine;
  readonly mention: MentionSettings | undefined;
  /** Whether messages have buttons: somebody is there to answer them, and somebody may press them. */
  readonly buttons: boolean;
  /** Adds charts to what was delivered, in its own time. */
  readonly illustrator?: Illustrator | undefined;
}

/** Discord forgets a nonce after "a few minutes"; from this age on an earlier attempt is looked for instead. */
const nonceTrustedMs = 60_000;
/** Discord's clock and ours may differ by this much when looking for an earlier attempt. */
const clockSlackMs = 5 * 60_000;
const mostPages = 5;
const discordEpochMs = 1_420_070_400_000;
const mostMarkTries = 5;

const codes = { unknownMessage: 10008, missingPermissions: 50013 } as const;
/** Replying needs the right to read the message history, which sending does not. */
const replyRefusals: ReadonlySet<number> = new Set([160002, 160009]);

export class DiscordSender {
  readonly #options: SenderOptions;
  readonly #pending = new Set<() => void>();
  readonly #stopped = new AbortController();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  async send(outgoing: Outgoing, signal: AbortSignal): Promise<SendResult> {
    const earlier = await this.#earlier(outgoing, signal);
    const edited = earlier ?? (await this.#editLatest(outgoing, signal));
    const answer = edited ?? (await this.#create(outgoing, signal));
    if (answer.kind === "problem") return resultOf(answer);
    const receipt = idOf(answer.data);
    if (receipt === null) {
      const detail = "Discord accepted the message without naming its id";
      return { kind: "retry", failure: "server-error", detail, afterMs: null };
    }
    if (edited === null) this.#options.illustrator?.illustrate(outgoing.message, receipt);
    await this.#markEnded(outgoing, signal);
    return { kind: "delivered", receipt };
  }

  /** @returns null where there is nothing to edit, or it cannot be: then it is sent */
  async #editLatest({ message, latest }: Outgoing, signal: AbortSignal): Promise<ApiAnswer | null> {
    if (latest === undefined || !isCalm(message)) return null;
    const { receipt } = latest;
    const known = await this.#endings(receipt, latest.message, [], signal);
    const told = { ...latest, since: [...(latest.since ?? []), message] };
    const answer = await this.#options.destination.edit(receipt, this.#bodyOf(told, known), signal);
    if (answer.kind === "problem" && (answer.failure === "rejected" || answer.failure === "authentication"))
      return null;
    return answer;
  }

  /** What stands under a receipt, with what was told since, and where its alerts are over. */
  #bodyOf({ message, since = [] }: ToldBefore, ended: readonly Ended[]): DiscordBody {
    const told = asTold(message, since);
    const rendering = render(told, this.#options);
    const over = new Set(ended.map(({ alertId }) => alertId));
    const body = ended.length === 0 ? discordBody(rendering, null) : endedBody(rendering, ended);
    return { ...body, ...this.#buttons(told, over) };
  }

  /** Gives up on marks that wait for another try. */
  stop(): void {
    this.#stopped.abort();
    for (const cancel of this.#pending) cancel();
    this.#pending.clear();
  }

  /** What an earlier attempt left in the channel; null when there is nothing, or no need or no way to look. */
  async #earlier({ message, attempt }: Outgoing, signal: AbortSignal): Promise<ApiAnswer | null> {
    const { destination, clock } = this.#options;
    const young = clock.nowMs() - message.sealedAtMs <= nonceTrustedMs;
    if (attempt === 0 || young || !destination.remembers) return null;
    let after = snowflakeAt(message.sealedAtMs - clockSlackMs);
    for (let page = 0; page < mostPages; page++) {
      const answer = await destination.after(after, signal);
      if (answer === null) return null;
      if (answer.kind === "problem") {
        // Nobody may look: sending is all that is left. Otherwise the next attempt looks again, except that a critical
        // message told twice is better than not told.
        const denied = answer.failure === "authentication" || answer.failure === "rejected";
        return denied || message.severity === "critical" ? null : answer;
      }
      const messages = Array.isArray(answer.data) ? (answer.data as WireMessage[]) : [];
      const found = messages.find((one) => one.author?.bot === true && carries(one, message.id));
      if (found !== undefined) return { kind: "ok", data: found };
      const newest = messages.map(({ id }) => BigInt(id)).reduce((a, b) => (a > b ? a : b), 0n);
      if (messages.length < 100) return null;
      after = String(newest);
    }
    return null;
  }

  async #create({ message, inReplyTo, late }: Outgoing, signal: AbortSignal): Promise<ApiAnswer> {
    const { destination, mention: settings, log } = this.#options;
    const rendering = render(message, this.#options, late);
    const mention = loudest(message, settings);
    const replyTo = inReplyTo?.receipt ?? null;
    const pretty = { ...discordBody(rendering, mention), ...this.#buttons(message) };
    let answer = await destination.create(pretty, message, replyTo, signal);
    if (replyTo !== null && answer.kind === "problem" && replyRefusals.has(answer.code ?? 0)) {
      answer = await destination.create(pretty, message, null, signal);
    }
    if (answer.kind === "ok" || !worthPlain(answer)) return answer;
    log.warn(
      { messageId: message.id, detail: answer.detail },
      "Discord refused an embed; sending plain text",
    );
    const plain = { ...plainBody(rendering, mention), ...this.#buttons(message) };
    return await destination.create(plain, message, null, signal);
  }

  #buttons(message: Message, over?: ReadonlySet<number>): Pick<DiscordBody, "components"> {
    return this.#options.buttons ? { components: buttonsOf(message, over) } : {};
  }

  /** Edits the first and the newest message of an alert that is over. Best effort: the news itself has been delivered. */
  async #markEnded({ message, inReplyTo, latest }: Outgoing, signal: AbortSignal): Promise<void> {
    const all = endingsIn(message, this.#options.timezone);
    const places = [inReplyTo, ...(latest?.receipt === inReplyTo?.receipt ? [] : [latest])];
    for (const place of places) {
      const ended = all.filter(({ alertId }) => place?.message.alertIds.includes(alertId));
      if (place && ended.length > 0) await this.#mark(place, ended, 0, signal);
    }
  }

  async #mark(place: ToldBefore, ended: readonly Ended[], tries: number, signal: AbortSignal): Promise<void> {
    const { destination, log, clock } = this.#options;
    const { receipt } = place;
    const known = await this.#endings(receipt, place.message, ended, signal);
    const body = this.#bodyOf(place, known);
    let answer: ApiAnswer;
    try {
      answer = await destination.edit(receipt, body, signal);
    } catch {
      // The deadline passed. The message itself is delivered; saying otherwise would send it twice.
      answer = {
        kind: "problem",
        failure: "timeout",
        status: null,
        code: null,
        detail: "deadline",
        afterMs: null,
      };
    }
    if (answer.kind === "ok" || answer.code === codes.unknownMessage) return;
    log.warn(
      { receipt, detail: answer.detail },
      "Discord did not let the first message of an ended alert be marked",
    );
    if (resultOf(answer).kind !== "retry" || tries + 1 >= mostMarkTries || this.#stopped.signal.aborted)
      return;
    const again = () => {
      this.#pending.delete(cancel);
      void this.#mark(place, ended, tries + 1, this.#stopped.signal);
    };
    const cancel = clock.after(answer.afterMs ?? 2_000 * 2 ** tries, again);
    this.#pending.add(cancel);
  }

  /** What is known to be over in messages that hold several alerts; those marked before a restart are read back. */
  readonly #told = new Map<string, readonly Ended[]>();

  async #endings(
    receipt: string,
    first: Message,
    more: readonly Ended[],
    signal: AbortSignal,
  ): Promise<readonly Ended[]> {
    const before = this.#told.get(receipt) ?? (await this.#readBack(receipt, first, signal));
    const all = [...before.filter((one) => !more.some(({ alertId }) => alertId === one.alertId)), ...more];
    this.#told.delete(receipt);
    this.#told.set(receipt, all);
    const [oldest] = this.#told.keys();
    if (this.#told.size > 1_000 && oldest !== undefined) this.#told.delete(oldest);
    return all;
  }

  async #readBack(receipt: string, first: Message, signal: AbortSignal): Promise<readonly Ended[]> {
    if (first.alertIds.length < 2) return [];
    try {
      const answer = await this.#options.destination.get(receipt, signal);
      return answer.kind === "ok" ? endedIn(answer.data as { embeds?: readonly Partial<Embed>[] }) : [];
    } catch {
      return [];
    }
  }
}

interface WireMessage {
  readonly id: string;
  readonly content?: string;
  readonly author?: { readonly bot?: boolean };
  readonly embeds?: readonly { readonly footer?: { readonly text?: string } }[];
}

function carries(message: WireMessage, id: string): boolean {
  const texts = [message.content ?? "", ...(message.embeds ?? []).map(({ footer }) => footer?.text ?? "")];
  return texts.some((text) => text.trimEnd().endsWith(` ${id}`));
}

function endingsIn({ content }: Message, timezone: string): Ended[] {
  return content.items
    .filter(({ change }) => change.kind === "ended")
    .map(({ change, lead }) => ({
      alertId: change.alertId,
      words: `${cleanLine(lead)} ${formatTime(change.atMs, timezone)}`,
      tone: endingTone(leadOf(change)),
    }));
}

/** An embed that Discord will not have, by its content or for want of a permission, may still be taken as plain text. */
function worthPlain({ status, code }: ApiProblem): boolean {
  return status === 400 || code === codes.missingPermissions;
}

export function resultOf(problem: ApiProblem): SendResult {
  const { failure, detail, status, afterMs } = problem;
  switch (failure) {
    case "authentication":
      return { kind: "refused", failure, detail, channelBroken: true };
    case "rejected":
      return { kind: "refused", failure, detail, channelBroken: status === 404 };
    default:
      return { kind: "retry", failure, detail, afterMs };
  }
}

function idOf(data: unknown): string | null {
  if (typeof data !== "object" || data === null || !("id" in data)) return null;
  return typeof data.id === "string" ? data.id : null;
}

/** The smallest message id of a moment. */
function snowflakeAt(ms: number): string {
  return String(BigInt(Math.max(0, Math.trunc(ms) - discordEpochMs)) << 22n);
}
