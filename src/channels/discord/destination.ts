/** The destination of messages on Discord: a bot's text channel, or a webhook. Contains their differences. */
import type { Message } from "../../domain/alerts/delivery.ts";
import type { ApiAnswer, DiscordApi, SentFile } from "./api.ts";
import { parseReceipt } from "./message-location.ts";
import type { WebhookAddress } from "./settings.ts";

export interface Destination {
  /** A bot can reply, and can find an earlier attempt by nonce and footer. A webhook can do neither. */
  readonly remembers: boolean;
  /** @param placement the thread (null: the channel itself), and the message to reply to there */
  create(
    body: object,
    message: Message,
    placement: Placement,
    signal: AbortSignal,
    file?: SentFile,
  ): Promise<ApiAnswer>;
  /** Edits a message. Parts that the body omits stay, attachments too. */
  edit(receipt: string, body: object, signal: AbortSignal, file?: SentFile): Promise<ApiAnswer>;
  /** Messages of a thread (null: the channel itself) after an id, oldest page first; null if they cannot be read. */
  after(snowflake: string, threadId: string | null, signal: AbortSignal): Promise<ApiAnswer | null>;
  /** Starts a thread at a message of the channel; the thread gets the message's id. */
  startThread(messageId: string, name: string, signal: AbortSignal): Promise<ApiAnswer>;
}

export interface Placement {
  readonly threadId: string | null;
  readonly replyTo: string | null;
  /** Index among the parts of a divided message; left out: 0, it is not divided. */
  readonly part?: number;
}

/** Minutes without a message after which Discord archives a thread; a message restores it. */
const archiveAfterMin = 1_440;

export function botDestination(api: DiscordApi, channelId: string): Destination {
  const messagesOf = (threadId: string | null) => `/channels/${threadId ?? channelId}/messages` as const;
  const routeOf = (receipt: string) => {
    const { threadId, id } = parseReceipt(receipt);
    return `${messagesOf(threadId)}/${id}` as const;
  };
  return {
    remembers: true,
    create: (body, message, { threadId, replyTo, part = 0 }, signal, file) => {
      const reference = {
        message_id: replyTo,
        channel_id: threadId ?? channelId,
        fail_if_not_exists: false,
      };
      const reply = replyTo === null ? {} : { message_reference: reference };
      const nonce = part === 0 ? message.id : `${message.id}-${part}`;
      const whole = { ...body, nonce, enforce_nonce: true, ...reply };
      return api.call({ method: "POST", route: messagesOf(threadId), body: whole, file }, signal);
    },
    edit: (receipt, body, signal, file) =>
      api.call({ method: "PATCH", route: routeOf(receipt), body, file }, signal),
    after: (after, threadId, signal) =>
      api.call({ method: "GET", route: messagesOf(threadId), query: { after, limit: "100" } }, signal),
    startThread: (messageId, name, signal) => {
      const route = `${messagesOf(null)}/${messageId}/threads` as const;
      return api.call(
        { method: "POST", route, body: { name, auto_archive_duration: archiveAfterMin } },
        signal,
      );
    },
  };
}

export function webhookDestination(api: DiscordApi, { id, token, threadId }: WebhookAddress): Destination {
  const route = `/webhooks/${id}/${token}` as const;
  const thread: Record<string, string> = threadId === null ? {} : { thread_id: threadId };
  return {
    remembers: false,
    create: (body, _message, _where, signal, file) =>
      api.call({ method: "POST", route, body, query: { wait: "true", ...thread }, file }, signal),
    edit: (receipt, body, signal, file) =>
      api.call({ method: "PATCH", route: `${route}/messages/${receipt}`, body, query: thread, file }, signal),
    after: async () => null,
    startThread: async () => ({
      ...{ kind: "problem", failure: "rejected", status: null, code: null, afterMs: null },
      detail: "a webhook starts no threads",
    }),
  };
}
