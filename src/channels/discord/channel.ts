/** The two Discord channels: a bot in a text channel, and a webhook. */

import type { Capacity } from "../../domain/alerts/delivery.ts";
import type { Clock, Random } from "../../domain/clock.ts";
import type { Charts, ChatActions } from "../../domain/ports.ts";
import type { Channel, ProbeResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { type CommandLine, plainCommandLine } from "../message/command-line.ts";
import { DiscordApi } from "./api.ts";
import { ChartAttacher } from "./chart-attacher.ts";
import { botDestination, webhookDestination } from "./destination.ts";
import { Registration } from "./interactions/commands.ts";
import { DiscordGateway } from "./interactions/gateway.ts";
import { InteractionHandler } from "./interactions/interaction-handler.ts";
import { probeBot, probeWebhook } from "./probe.ts";
import { DiscordSender } from "./sender.ts";
import {
  type DiscordBotSettings,
  type DiscordWebhookSettings,
  type MentionSettings,
  parseWebhookUrl,
} from "./settings.ts";
import { Threads } from "./threads.ts";

export interface DiscordDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ChannelLog;
  readonly timezone: string;
  readonly commandLine?: CommandLine;
  /** Mentions, where the channel's own settings have none. */
  readonly mention?: MentionSettings | undefined;
  /** Queries and actions of people in the channel. */
  readonly actions?: ChatActions | undefined;
  readonly charts?: Charts | undefined;
}

/** A bot and a webhook can both edit their own messages. */
export const discordCapacity: Capacity = { edits: true };

/** Time for a search, an attempt and a plain-text attempt, each of at most three seconds. */
const deadlineMs = 10_000;
/** A bot also searches a thread and may have to start it. */
const botDeadlineMs = 16_000;

/**
 * Creates a bot channel. `start` checks token, channel and permissions over REST, and connects to the gateway in the
 * background. A message has its id as nonce, so Discord drops a repetition; sender.ts handles later retries.
 */
export function createDiscordBot(name: string, settings: DiscordBotSettings, deps: DiscordDeps): Channel {
  const { token, apiUrl, channelId, threads: wantsThreads } = settings;
  const { clock, random, log } = deps;
  const mention = settings.mention ?? deps.mention;
  const api = new DiscordApi({ apiUrl, token, secrets: [token], clock });
  const { timezone, commandLine = plainCommandLine, actions } = deps;
  const { allow = { users: [], roles: [] } } = settings;
  const actionsAllowed = allow.users.length + allow.roles.length > 0;
  // Answers to interactions have a short time limit and are not subject to the limits of the bot's own requests.
  const interactionApi = new DiscordApi({ apiUrl, token: null, secrets: [token], clock });
  const newHandler = (): InteractionHandler | undefined =>
    actions &&
    new InteractionHandler({ api: interactionApi, name, channelId, allow, actions, clock, log, timezone });
  let handler: InteractionHandler | undefined;
  const onInteraction = (data: unknown) => handler?.take(data);
  const gateway = new DiscordGateway({ apiUrl, token, clock, random, log, onInteraction });
  const registration =
    actions && actionsAllowed ? new Registration({ api, channelId, clock, log }) : undefined;
  const destination = botDestination(api, channelId);
  const buttons = actions !== undefined && actionsAllowed;
  const chartAttacher = deps.charts && new ChartAttacher({ destination, charts: deps.charts, log, timezone });
  const renderOptions = { timezone, commandLine, mention, buttons };
  const threads = wantsThreads ? new Threads({ destination, clock, log }) : undefined;
  const sender = new DiscordSender({ destination, clock, log, ...renderOptions, chartAttacher, threads });
  const probe = (signal: AbortSignal) => withTimeoutResult(probeBot(api, settings, mention, signal), signal);
  return {
    name,
    kind: "discord",
    ...discordCapacity,
    deadlineMs: botDeadlineMs,
    keepsGroups: true,
    probe,
    send: (outgoing, signal) => sender.send(outgoing, signal),
    async start(signal) {
      handler ??= newHandler();
      gateway.start();
      const found = await probe(signal);
      registration?.start();
      return found;
    },
    async stop() {
      sender.stop();
      await chartAttacher?.stop();
      registration?.stop();
      handler?.stop();
      handler = undefined;
      await gateway.stop();
      await interactionApi.close();
      await api.close();
    },
  };
}

/** Creates a webhook channel: no gateway, no replies, and no way to find out whether an unanswered attempt arrived. */
export function createDiscordWebhook(
  name: string,
  settings: DiscordWebhookSettings,
  deps: DiscordDeps,
): Channel {
  const address = parseWebhookUrl(settings.webhookUrl);
  const { clock, log } = deps;
  const secrets = [settings.webhookUrl, address.token];
  const api = new DiscordApi({ apiUrl: address.apiUrl, token: null, secrets, clock });
  const destination = webhookDestination(api, address);
  const mention = settings.mention ?? deps.mention;
  const { timezone, commandLine = plainCommandLine } = deps;
  const buttons = false;
  const chartAttacher = deps.charts && new ChartAttacher({ destination, charts: deps.charts, log, timezone });
  const renderOptions = { timezone, commandLine, mention, buttons };
  const sender = new DiscordSender({ destination, clock, log, ...renderOptions, chartAttacher });
  const probe = (signal: AbortSignal) => withTimeoutResult(probeWebhook(api, address, signal), signal);
  return {
    name,
    kind: "discord",
    ...discordCapacity,
    deadlineMs,
    probe,
    start: probe,
    send: (outgoing, signal) => sender.send(outgoing, signal),
    async stop() {
      sender.stop();
      await chartAttacher?.stop();
      await api.close();
    },
  };
}

/** Turns an aborted probe into a failed one. */
async function withTimeoutResult(probe: Promise<ProbeResult>, signal: AbortSignal): Promise<ProbeResult> {
  try {
    return await probe;
  } catch (error) {
    if (!signal.aborted) throw error;
    const detail = "Discord did not answer in time";
    return {
      kind: "failed",
      failure: "timeout",
      detail,
      fix: "check the network; perpwatch tries again by itself",
    };
  }
}
