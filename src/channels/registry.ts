/** All types of channels: settings and constructors. A new type is a folder beside the others and its lines here. */

import type { Writable } from "node:stream";
import { z } from "zod";
import type { Capacity } from "../domain/alerts/delivery.ts";
import type { Clock, Random } from "../domain/clock.ts";
import type { Charts, ChatActions } from "../domain/ports.ts";
import { alertmanagerCapacity, alertmanagerSettings, createAlertmanager } from "./alertmanager/channel.ts";
import type { Channel } from "./channel.ts";
import { commandCapacity, commandSettings, createCommand } from "./command/channel.ts";
import { consoleCapacity, consoleSettings, createConsole } from "./console/channel.ts";
import { createDiscordBot, createDiscordWebhook, discordCapacity } from "./discord/channel.ts";
import { discordBotSettings, discordWebhookSettings, type MentionSettings } from "./discord/settings.ts";
import { createEmail, emailCapacity } from "./email/channel.ts";
import { emailSettings } from "./email/settings.ts";
import { type ChannelLog, silentLog } from "./log.ts";
import { type CommandLine, plainCommandLine } from "./message/command-line.ts";
import { createNtfy, ntfyCapacity, ntfySettings } from "./ntfy/channel.ts";
import { createPagerduty, pagerdutyCapacity, pagerdutySettings } from "./pagerduty/channel.ts";
import { createPushover, pushoverCapacity, pushoverSettings } from "./pushover/channel.ts";
import { actionsForPerson, createRota, sharedCapacity } from "./rota/channel.ts";
import type { RotaPlan } from "./rota/plan.ts";
import { rotaSettings } from "./rota/settings.ts";
import {
  createSlack,
  slackBotCapacity,
  slackBotSettings,
  slackWebhookCapacity,
  slackWebhookSettings,
} from "./slack/channel.ts";
import { createTelegram, telegramCapacity, telegramSettings } from "./telegram/channel.ts";
import { createWebhook, webhookCapacity, webhookSettings } from "./webhook/channel.ts";

export { type MentionSettings, mentionSettings } from "./discord/settings.ts";

/**
 * For services that support a bot or a webhook. If `webhookUrl` is set, the webhook's schema applies, and its errors
 * are reported.
 */
function botOrWebhook<Bot, Webhook>(bot: z.ZodType<Bot>, webhook: z.ZodType<Webhook>) {
  return z.unknown().transform((raw, context): Bot | Webhook => {
    const parsed =
      typeof raw === "object" && raw !== null && "webhookUrl" in raw
        ? webhook.safeParse(raw)
        : bot.safeParse(raw);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) context.addIssue({ ...issue } as never);
    return z.NEVER;
  });
}

const settingsByType = {
  console: consoleSettings,
  discord: botOrWebhook(discordBotSettings, discordWebhookSettings),
  email: emailSettings,
  webhook: webhookSettings,
  slack: botOrWebhook(slackBotSettings, slackWebhookSettings),
  telegram: telegramSettings,
  ntfy: ntfySettings,
  pagerduty: pagerdutySettings,
  pushover: pushoverSettings,
  alertmanager: alertmanagerSettings,
  command: commandSettings,
  rota: rotaSettings,
} as const;
type ChannelType = keyof typeof settingsByType;
export const channelTypes = Object.keys(settingsByType) as [ChannelType, ...ChannelType[]];

/**
 * Capacities of channel types, known without creating a channel. A Slack channel has that of a bot or of a webhook, a
 * rota what its people have in common.
 */
const capacityByType: Readonly<Partial<Record<ChannelType, Capacity>>> = {
  console: consoleCapacity,
  discord: discordCapacity,
  email: emailCapacity,
  webhook: webhookCapacity,
  telegram: telegramCapacity,
  ntfy: ntfyCapacity,
  pagerduty: pagerdutyCapacity,
  pushover: pushoverCapacity,
  alertmanager: alertmanagerCapacity,
  command: commandCapacity,
};

function capacityOf(
  settings: ChannelSettings,
  channels: Readonly<Record<string, ChannelSettings>>,
): Capacity | undefined {
  if (settings.type === "rota")
    return sharedCapacity(settings.people.map((person) => capacityIn(channels, person)));
  if (settings.type !== "slack") return capacityByType[settings.type];
  return "token" in settings ? slackBotCapacity : slackWebhookCapacity;
}

/** The capacity of a channel that is not a rota. */
function capacityIn(channels: Readonly<Record<string, ChannelSettings>>, name: string): Capacity {
  const found = channels[name];
  return found === undefined || found.type === "rota" ? {} : (capacityOf(found, channels) ?? {});
}

/** @returns the capacity of each channel that has one, by name */
export function capacitiesOf(
  channels: Readonly<Record<string, ChannelSettings>>,
): ReadonlyMap<string, Capacity> {
  return new Map(
    Object.entries(channels).flatMap(([name, settings]) => {
      const capacity = capacityOf(settings, channels);
      return capacity === undefined ? [] : [[name, capacity]];
    }),
  );
}

/**
 * The settings of one entry under `channels:`, selected by `type`. Secrets are plain strings here; secrets given as
 * `…File` are read before.
 */
export const channelSettings = z
  .looseObject({ type: z.enum(channelTypes) })
  .transform((raw, context): z.infer<(typeof settingsByType)[ChannelType]> => {
    // Templates are checked separately (template.ts), and may change while the channel runs.
    const { templates: _templates, ...own } = raw;
    const parsed = settingsByType[raw.type].safeParse(own);
    if (parsed.success) return parsed.data;
    for (const issue of parsed.error.issues) context.addIssue({ ...issue } as never);
    return z.NEVER;
  });
export type ChannelSettings = z.infer<typeof channelSettings>;

/** Paths of settings that hold secrets; each may be given as `…File` instead. */
export const secretSettings: readonly (readonly string[])[] = [
  ["token"],
  ["appToken"],
  ["webhookUrl"],
  ["smtp", "password"],
  // Many webhook addresses act as passwords.
  ["url"],
  ["secret"],
  ["password"],
  ["routingKey"],
  ["userKey"],
];

export interface ChannelDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** The stream to which a console channel writes. */
  readonly out: Writable & { readonly isTTY?: boolean };
  /** Console channels write a JSON line per message, like the log. Default: text. */
  readonly json?: boolean;
  readonly log?: ChannelLog;
  /** IANA name of the zone in which times are shown; default UTC. */
  readonly timezone?: string;
  /** Formats a command line for messages that name one; default `perpwatch …`. */
  readonly commandLine?: CommandLine;
  /** Mentions of Discord channels by severity, where the channel's own settings have none. */
  readonly mention?: MentionSettings;
  /** Queries and actions of people in a chat. Left out: none, and no buttons are shown. */
  readonly actions?: ChatActions;
  /** The series behind alerts, for charts. Left out: no charts. */
  readonly charts?: Charts;
  /** The environment of programs of command channels (`programEnvironment`). Default: empty. */
  readonly environment?: Readonly<Record<string, string>>;
  /** For a rota: its current plan, and the people's channels by name. */
  readonly rota?: {
    readonly plan: (name: string) => RotaPlan;
    readonly people: ReadonlyMap<string, Channel>;
  };
}

/**
 * Creates all channels of a configuration. Rotas are created last, since they send by the others.
 * @param plan returns the current plan of a rota by name
 */
export function createChannels(
  settings: Readonly<Record<string, ChannelSettings>>,
  plan: (name: string) => RotaPlan,
  deps: ChannelDeps,
  create: typeof createChannel = createChannel,
): ReadonlyMap<string, Channel> {
  const channels = new Map<string, Channel>();
  const rota = { plan, people: channels };
  const all = Object.entries(settings);
  const rotas = new Set(all.flatMap(([name, { type }]) => (type === "rota" ? [name] : [])));
  const createAll = (isRota: boolean) => {
    for (const [name, one] of all) {
      if (rotas.has(name) !== isRota) continue;
      const actions = deps.actions && actionsForPerson(name, rotas, deps.actions);
      channels.set(name, create(name, one, { ...deps, rota, ...(actions ? { actions } : {}) }));
    }
  };
  createAll(false);
  createAll(true);
  // In the order of the configuration.
  return new Map(Object.keys(settings).map((name) => [name, channels.get(name)!]));
}

/** @returns the channel, not started. It opens no connection before `start`, `probe` or `send`. */
export function createChannel(name: string, settings: ChannelSettings, deps: ChannelDeps): Channel {
  const { clock, random, out, json = false, log = silentLog, timezone = "UTC", mention } = deps;
  const commandLine = deps.commandLine ?? plainCommandLine;
  const renderOptions = { timezone, commandLine };
  switch (settings.type) {
    case "webhook":
      return createWebhook(name, settings, { ...renderOptions, clock });
    case "slack":
      return createSlack(name, settings, { ...renderOptions, clock, log, actions: deps.actions });
    case "telegram":
      return createTelegram(name, settings, { ...renderOptions, clock, log, actions: deps.actions });
    case "ntfy":
      return createNtfy(name, settings, renderOptions);
    case "pagerduty":
      return createPagerduty(name, settings, renderOptions);
    case "pushover":
      return createPushover(name, settings, { ...renderOptions, clock, log, actions: deps.actions });
    case "alertmanager":
      return createAlertmanager(name, settings, renderOptions);
    case "command":
      return createCommand(name, settings, { ...renderOptions, environment: deps.environment ?? {} });
    case "rota": {
      const { rota } = deps;
      if (rota === undefined) throw new Error(`the rota ${name} has no channels to send by`);
      return createRota(name, settings.people, { clock, plan: () => rota.plan(name), people: rota.people });
    }
    case "console":
      return createConsole(name, { out, timezone, commandLine, json });
    case "email":
      return createEmail(name, settings, { log, timezone, commandLine });
    case "discord": {
      const { actions, charts } = deps;
      const discord = { clock, random, log, timezone, commandLine, mention, actions, charts };
      return "webhookUrl" in settings
        ? createDiscordWebhook(name, settings, discord)
        : createDiscordBot(name, settings, discord);
    }
  }
}

/** The part of the daemon's environment that programs of command channels see: paths, home, language and time zone. */
export function programEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "LANG", "TZ"]) {
    const value = env[name];
    if (value !== undefined) found[name] = value;
  }
  return found;
}
