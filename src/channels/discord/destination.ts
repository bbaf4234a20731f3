/**
 * The destination of messages on Discord: a text channel that a bot writes to, or a webhook. What differs between them is
 * here.
 */
import type { Message } from "../../domain/delivery.ts";
import type { ApiAnswer, DiscordApi, SentFile } from "./api.ts";
import { placeOf } from "./place.ts";
import type { WebhookAddress } from "./settings.ts";

export interface Destination {
  /** A bot can reply, and its nonces and footers make an earlier attempt recognisable; a webhook can do neither. */
  readonly remembers: boolean;
  /** @param where the thread to write to (null: the channel itself), and what to reply to there */
  create(
    body: object,
    message: Message,
    where: Where,
    signal: AbortSignal,
    file?: SentFile,
  ): Promise<ApiAnswer>;
  /** Edits a message. The parts that the body leaves out stay, attachments too. */
  edit(receipt: string, body: object, signal: AbortSignal, file?: SentFile): Promise<ApiAnswer>;
  /** The messages of a thread (null: the channel itself) after a moment, oldest page first; null where they cannot be read. */
  after(snowflake: string, threadId: string | null, signal: AbortSignal): Promise<ApiAnswer | null>;
  /** Starts a thread from a message of the channel; it gets the id of that message. */
  startThread(messageId: string, name: string, signal: AbortSignal): Promise<ApiAnswer>;
}

export interface Where {
  readonly threadId: string | null;
  readonly replyTo: string | null;
  /** Its place among the parts that a message was divided into; left out: 0, it is whole. */
  readonly part?: number;
}

/** Minutes without a message after which Discord folds a thread away; a message brings it back. */
const archiveAfterMin = 1_440;

export function botDestination(api: DiscordApi, channelId: string): Destination {
  const messagesOf = (threadId: string | null) => `/channels/${threadId ?? channelId}/messages` as const;
  const routeOf = (receipt: string) => {
    const { threadId, id } = placeOf(receipt);
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
