/** The answers of the local Discord: refusals, rate limits, and the bodies of its records. */
import { invalidForm, messageProblems } from "./discord-limits.ts";
import type { DiscordMessage, DiscordPermission } from "./discord-types.ts";

export class Refusal extends Error {
  readonly status: number;
  readonly body: object;
  constructor(status: number, code: number, message: string, body?: object) {
    super(message);
    this.status = status;
    this.body = body ?? { message, code };
  }
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export const permissionBits: Record<DiscordPermission, bigint> = {
  ADMINISTRATOR: 1n << 3n,
  VIEW_CHANNEL: 1n << 10n,
  SEND_MESSAGES: 1n << 11n,
  EMBED_LINKS: 1n << 14n,
  ATTACH_FILES: 1n << 15n,
  READ_MESSAGE_HISTORY: 1n << 16n,
  MENTION_EVERYONE: 1n << 17n,
  CREATE_PUBLIC_THREADS: 1n << 35n,
  SEND_MESSAGES_IN_THREADS: 1n << 38n,
};

export function ok(body: unknown): Answer {
  return { status: 200, body };
}

export function limited(retryAfterMs: number, global: boolean): [Answer, Record<string, string>] {
  const seconds = retryAfterMs / 1_000;
  return [
    { status: 429, body: { message: "You are being rate limited.", retry_after: seconds, global } },
    {
      "retry-after": String(seconds),
      "x-ratelimit-scope": global ? "global" : "user",
      ...(global ? { "x-ratelimit-global": "true" } : {}),
    },
  ];
}

export function formBody(raw: unknown): Record<string, unknown> {
  if (typeof raw !== "object" || raw === null)
    throw new Refusal(400, 50109, "The request body contains invalid JSON.");
  const body = raw as Record<string, unknown>;
  const problems = messageProblems(body);
  if (problems.length > 0) throw new Refusal(400, 50035, "Invalid Form Body", invalidForm(problems));
  return body;
}

export function readable(message: Pick<DiscordMessage, "content" | "embeds">): string {
  const lines = [message.content];
  for (const embed of message.embeds) {
    lines.push(embed.title ?? "", embed.description ?? "");
    for (const { name, value } of embed.fields ?? []) lines.push(`${name}: ${value}`);
    lines.push(embed.footer?.text ?? "");
  }
  return lines.filter((line) => line !== "").join("\n");
}

/** A message as Discord's API shows it. */
export function wireMessage(message: DiscordMessage, botId: string, nowMs: number): object {
  return {
    id: message.id,
    channel_id: message.channelId,
    type: message.replyTo === null ? 0 : 19,
    author:
      message.via === "webhook"
        ? { id: message.authorId, username: "perpwatch", discriminator: "0000", bot: true }
        : {
            id: message.authorId,
            username: "somebody",
            discriminator: "0",
            bot: message.authorId === botId,
          },
    content: message.content,
    embeds: message.embeds.map((embed) => ({ type: "rich", ...embed })),
    attachments: [],
    timestamp: new Date(message.sentAtMs).toISOString(),
    edited_timestamp: message.edits > 0 ? new Date(nowMs).toISOString() : null,
    mentions: message.pings.users.map((id) => ({ id })),
    mention_roles: message.pings.roles,
    mention_everyone: message.pings.everyone,
    pinned: false,
    tts: false,
    ...(message.nonce === null ? {} : { nonce: message.nonce }),
    ...(message.via === "webhook" ? { webhook_id: message.authorId } : {}),
    ...(message.replyTo === null
      ? {}
      : { message_reference: { message_id: message.replyTo, channel_id: message.channelId } }),
  };
}
