/**
 * Every kind of channel: its settings and how one is made. A new kind is a folder beside the others and its lines here.
 */
import type { Writable } from "node:stream";
import { z } from "zod";
import type { Clock, Random } from "../domain/clock.ts";
import type { Channel } from "./channel.ts";
import { consoleSettings, createConsole } from "./console/channel.ts";
import { createDiscordBot, createDiscordWebhook } from "./discord/channel.ts";
import { discordBotSettings, discordWebhookSettings, type MentionSettings } from "./discord/settings.ts";
import { createEmail } from "./email/channel.ts";
import { emailSettings } from "./email/settings.ts";
import { type ChannelLog, silentLog } from "./log.ts";
import { type CommandLine, plainCommandLine } from "./message.ts";

export { type MentionSettings, mentionSettings } from "./discord/settings.ts";

/** A Discord channel is a bot or a webhook; whoever names a webhookUrl means the latter, and is told of its keys only. */
const discordSettings = z.unknown().transform((raw, context) => {
  const webhook = typeof raw === "object" && raw !== null && "webhookUrl" in raw;
  const parsed = (webhook ? discordWebhookSettings : discordBotSettings).safeParse(raw);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) context.addIssue({ ...issue } as never);
  return z.NEVER;
});

/**
 * The settings of one entry under `channels:`, told apart by `type`. Secrets are plain strings here; whoever reads the
 * configuration resolves `tokenFile`, `webhookUrlFile`, `smtp.passwordFile` and `smtp.caFile` first.
 */
export const channelSettings = z
  .looseObject({ type: z.enum(["console", "discord", "email"]) })
  .transform((raw, context) => {
    const schema = { console: consoleSettings, discord: discordSettings, email: emailSettings }[raw.type];
    const parsed = schema.safeParse(raw);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) context.addIssue({ ...issue } as never);
    return z.NEVER;
  });
export type ChannelSettings = z.infer<typeof channelSettings>;

/** Keys of settings that hold secrets, by path; each may be given as `…File` instead. */
export const secretSettings: readonly (readonly string[])[] = [
  ["token"],
  ["webhookUrl"],
  ["smtp", "password"],
];

export interface ChannelDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Where a console channel writes. */
  readonly out: Writable & { readonly isTTY?: boolean };
  /** Console channels write a JSON line for each message, as the log beside them does. Default: text. */
  readonly json?: boolean;
  readonly log?: ChannelLog;
  /** IANA name in which times are told; default UTC. */
  readonly timezone?: string;
  /** How commands are called, for messages that name one; default `perpwatch …`. */
  readonly commandLine?: CommandLine;
  /** Whom Discord channels ping, by severity, where their own settings say nothing. */
  readonly mention?: MentionSettings;
}

/** @returns the channel, not started. It opens nothing before `start`, `probe` or `send`. */
export function createChannel(name: string, settings: ChannelSettings, deps: ChannelDeps): Channel {
  const { clock, random, out, json = false, log = silentLog, timezone = "UTC", mention } = deps;
  const commandLine = deps.commandLine ?? plainCommandLine;
  switch (settings.type) {
    case "console":
      return createConsole(name, { out, timezone, commandLine, json });
    case "email":
      return createEmail(name, settings, { log, timezone, commandLine });
    case "discord": {
      const discord = { clock, random, log, timezone, commandLine, mention };
      return "webhookUrl" in settings
        ? createDiscordWebhook(name, settings, discord)
        : createDiscordBot(name, settings, discord);
    }
  }
}
