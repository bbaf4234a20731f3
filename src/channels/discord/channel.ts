/** The two Discord channels: a bot in a text channel, and a webhook. */
import type { Clock, Random } from "../../domain/clock.ts";
import type { Capacity } from "../../domain/delivery.ts";
import type { Charts, ChatActions } from "../../domain/ports.ts";
import type { Channel, ProbeResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { type CommandLine, plainCommandLine } from "../message/command-line.ts";
import { DiscordApi } from "./api.ts";
import { Registration } from "./commands.ts";
import { Desk } from "./desk.ts";
import { botDestination, webhookDestination } from "./destination.ts";
import { DiscordGateway } from "./gateway.ts";
import { Illustrator } from "./illustrator.ts";
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
  /** The mentions where the channel's own settings say nothing. */
  readonly mention?: MentionSettings | undefined;
  /** The questions and actions of people in the channel. */
  readonly actions?: ChatActions | undefined;
  readonly charts?: Charts | undefined;
}

/** A bot and a webhook alike edit their own messages. */
export const discordCapacity: Capacity = { edits: true };

/** Room for a look, an attempt and a plain second one, each within its own three seconds. */
const deadlineMs = 10_000;
/** A bot looks in a thread besides, and may have to start it. */
const botDeadlineMs = 16_000;

/**
 * A bot: `start` checks token, channel and permissions over REST, then holds a gateway connection in the background.
 * A message has its id as nonce, so that Discord itself drops a repeat; see sender.ts for later ones.
 */
export function createDiscordBot(name: string, settings: DiscordBotSettings, deps: DiscordDeps): Channel {
  const { token, apiUrl, channelId, threads: wantsThreads } = settings;
  const { clock, random, log } = deps;
  const mention = settings.mention ?? deps.mention;
  const api = new DiscordApi({ apiUrl, token, secrets: [token], clock });
  const { timezone, commandLine = plainCommandLine, actions } = deps;
  const { allow = { users: [], roles: [] } } = settings;
  const somebodyMay = allow.users.length + allow.roles.length > 0;
  // Limits of the bot's own requests do not hold for answers to people, whose time is short.
  const answering = new DiscordApi({ apiUrl, token: null, secrets: [token], clock });
  const newDesk = (): Desk | undefined =>
    actions && new Desk({ api: answering, name, channelId, allow, actions, clock, log, timezone });
  let desk: Desk | undefined;
  const onInteraction = (data: unknown) => desk?.take(data);
  const gateway = new DiscordGateway({ apiUrl, token, clock, random, log, onInteraction });
  const registration = actions && somebodyMay ? new Registration({ api, channelId, clock, log }) : undefined;
  const destination = botDestination(api, channelId);
  const buttons = actions !== undefined && somebodyMay;
  const illustrator = deps.charts && new Illustrator({ destination, charts: deps.charts, log, timezone });
  const told = { timezone, commandLine, mention, buttons };
  const threads = wantsThreads ? new Threads({ destination, clock, log }) : undefined;
  const sender = new DiscordSender({ destination, clock, log, ...told, illustrator, threads });
  const probe = (signal: AbortSignal) => settled(probeBot(api, settings, mention, signal), signal);
  return {
    name,
    kind: "discord",
    ...discordCapacity,
    deadlineMs: botDeadlineMs,
    keepsGroups: true,
    probe,
    send: (outgoing, signal) => sender.send(outgoing, signal),
    async start(signal) {
      desk ??= newDesk();
      gateway.start();
      const found = await probe(signal);
      registration?.start();
      return found;
    },
    async stop() {
      sender.stop();
      await illustrator?.stop();
      registration?.stop();
      desk?.stop();
      desk = undefined;
      await gateway.stop();
      await answering.close();
      await api.close();
    },
  };
}

/** A webhook: no gateway, no replies, and no way to see whether an unanswered attempt arrived. */
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
  const illustrator = deps.charts && new Illustrator({ destination, charts: deps.charts, log, timezone });
  const told = { timezone, commandLine, mention, buttons };
  const sender = new DiscordSender({ destination, clock, log, ...told, illustrator });
  const probe = (signal: AbortSignal) => settled(probeWebhook(api, address, signal), signal);
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
      await illustrator?.stop();
      await api.close();
    },
  };
}

/** A probe that was cut off is a failed one. */
async function settled(probe: Promise<ProbeResult>, signal: AbortSignal): Promise<ProbeResult> {
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
