/** The settings of a Discord channel: a bot in a text channel, or a webhook address. */
import { z } from "zod";
import { isLoopbackHost } from "../../domain/loopback.ts";

const snowflake = z.string().regex(/^\d{17,20}$/, "must be a Discord id: 17 to 20 digits");
const mention = z
  .string()
  .regex(
    /^(<@&\d{17,20}>|<@\d{17,20}>|@here|@everyone)$/,
    "must be <@&ROLE_ID> or <@USER_ID> with the number of the role or user (17 to 20 digits) in place of the word, @here or @everyone",
  );

/** The mention for messages of each severity. */
export const mentionSettings = z.strictObject({
  critical: mention.optional(),
  warning: mention.optional(),
  info: mention.optional(),
});
export type MentionSettings = z.infer<typeof mentionSettings>;

const webhook = /^(https?:\/\/[^/\s]+(?:\/[^\s?]*)?)\/webhooks\/(\d{17,20})\/([\w-]+)\/?(\?[^\s#]*)?$/;

/** Plain HTTP exposes the token on the network. It is allowed for servers on this machine, such as in tests. */
const plainOnlyHere = {
  check: (url: string) =>
    !/^http:/i.test(url) || isLoopbackHost(URL.canParse(url) ? new URL(url).hostname : ""),
  message: "has to begin with https:// (http:// only for this machine: 127.0.0.1, [::1], localhost)",
};

/**
 * Users and roles, by Discord id, who may act from the chat. Without any, messages have no buttons, there are no
 * commands, and nobody may act.
 */
const allowSettings = z.strictObject({
  users: z.array(snowflake).default([]),
  roles: z.array(snowflake).default([]),
});
export type AllowSettings = z.infer<typeof allowSettings>;

export const discordBotSettings = z.strictObject({
  type: z.literal("discord"),
  token: z.string().regex(/^[\w.-]{20,}$/, "must be a bot token, without the word Bot in front"),
  channelId: snowflake,
  /** Another server, without version: `http://127.0.0.1:9000/api`. */
  apiUrl: z
    .url({ protocol: /^https?$/ })
    .refine(plainOnlyHere.check, plainOnlyHere.message)
    .optional(),
  mention: mentionSettings.optional(),
  allow: allowSettings.optional(),
  /** True: messages after the first message of a critical group are sent into a thread below it. */
  threads: z.boolean().default(true),
});
export type DiscordBotSettings = z.infer<typeof discordBotSettings>;

export const discordWebhookSettings = z.strictObject({
  type: z.literal("discord"),
  webhookUrl: z
    .string()
    .regex(webhook, "must be a webhook address: https://discord.com/api/webhooks/ID/TOKEN")
    .refine(plainOnlyHere.check, plainOnlyHere.message),
  mention: mentionSettings.optional(),
});
export type DiscordWebhookSettings = z.infer<typeof discordWebhookSettings>;

export interface WebhookAddress {
  /** For discord.js' `rest.api`, without version. */
  readonly apiUrl: string;
  readonly id: string;
  readonly token: string;
  /** Thread of the channel, if the URL names one. */
  readonly threadId: string | null;
}

/** @throws {TypeError} if the URL is not valid; the error does not contain it, because it is a secret */
export function parseWebhookUrl(url: string): WebhookAddress {
  const match = webhook.exec(url);
  if (match === null) throw new TypeError("not a webhook address");
  const [, api = "", id = "", token = "", query = ""] = match;
  return {
    apiUrl: api.replace(/\/v\d+$/, ""),
    id,
    token,
    threadId: new URLSearchParams(query).get("thread_id"),
  };
}
