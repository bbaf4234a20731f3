/** Where messages go on Discord: a text channel that a bot writes to, or a webhook. What differs between them is here. */
import type { Message } from "../../domain/delivery.ts";
import type { ApiAnswer, DiscordApi, SentFile } from "./api.ts";
import type { WebhookAddress } from "./settings.ts";

export interface Destination {
  /** A bot can reply, and its nonces and footers make an earlier attempt recognisable; a webhook can do neither. */
  readonly remembers: boolean;
  create(body: object, message: Message, replyTo: string | null, signal: AbortSignal): Promise<ApiAnswer>;
  /** What the body leaves out stays, attachments too. */
  edit(receipt: string, body: object, signal: AbortSignal, file?: SentFile): Promise<ApiAnswer>;
  get(receipt: string, signal: AbortSignal): Promise<ApiAnswer>;
  /** The channel's messages after a moment, oldest page first; null where they cannot be read. */
  after(snowflake: string, signal: AbortSignal): Promise<ApiAnswer | null>;
}

export function botDestination(api: DiscordApi, channelId: string): Destination {
  const messages = `/channels/${channelId}/messages` as const;
  return {
    remembers: true,
    create: (body, message, replyTo, signal) => {
      const reference = { message_id: replyTo, channel_id: channelId, fail_if_not_exists: false };
      const reply = replyTo === null ? {} : { message_reference: reference };
      const whole = { ...body, nonce: message.id, enforce_nonce: true, ...reply };
      return api.call({ method: "POST", route: messages, body: whole }, signal);
    },
    edit: (receipt, body, signal, file) =>
      api.call({ method: "PATCH", route: `${messages}/${receipt}`, body, file }, signal),
    get: (receipt, signal) => api.call({ method: "GET", route: `${messages}/${receipt}` }, signal),
    after: (after, signal) =>
      api.call({ method: "GET", route: messages, query: { after, limit: "100" } }, signal),
  };
}

export function webhookDestination(api: DiscordApi, { id, token, threadId }: WebhookAddress): Destination {
  const route = `/webhooks/${id}/${token}` as const;
  const thread: Record<string, string> = threadId === null ? {} : { thread_id: threadId };
  return {
    remembers: false,
    create: (body, _message, _replyTo, signal) =>
      api.call({ method: "POST", route, body, query: { wait: "true", ...thread } }, signal),
    edit: (receipt, body, signal, file) =>
      api.call({ method: "PATCH", route: `${route}/messages/${receipt}`, body, query: thread, file }, signal),
    get: (receipt, signal) =>
      api.call({ method: "GET", route: `${route}/messages/${receipt}`, query: thread }, signal),
    after: async () => null,
  };
}
