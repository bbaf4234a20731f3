/**
 * Slack: a bot in a channel, or an incoming webhook. Slack has no idempotency key, so a message whose answer was lost
 * may be delivered twice. Buttons work for people who are allowed to act. A bot sends later messages about an alert or
 * its incident into the thread of the first one; new alerts, rises, and changes of critical alerts are shown in the
 * channel as well. Quiet messages and minor updates edit the message that they add to; if that is not possible they are
 * sent. A message whose blocks are refused is sent as plain text.
 */
import { z } from "zod";
import type { AlertChange } from "../../domain/alerts/alert.ts";
import type { Capacity, Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import { secretsOfAddress } from "../../domain/text/hidden-secrets.ts";
import { safeAddress, trimmed } from "../address.ts";
import { buttonsOf } from "../buttons.ts";
import type { Channel, Outgoing, ProbeResult } from "../channel.ts";
import { Edits } from "../edits.ts";
import type { Listening } from "../listeners.ts";
import type { ChannelLog } from "../log.ts";
import { type MentionOfSeverity, mentionFor, mentionsPeople } from "../mention.ts";
import type { CommandLine } from "../message/command-line.ts";
import type { Rendering } from "../message/rendering.ts";
import { render } from "../message.ts";
import { largeAnswerBytes, Poster, probeFailure } from "../post.ts";
import { PressHandler } from "./press-handler.ts";
import { bodyOf, plainText } from "./render.ts";
import { listen, openConnection } from "./socket.ts";
import { formatErrors, judge, threadErrors } from "./verdict.ts";

const mention = z
  .string()
  .regex(
    /^<(@[UW]\w{4,20}|!subteam\^S\w{4,20}|!here|!channel)>$/,
    "must be <@USER_ID>, <!subteam^ID>, <!here> or <!channel>",
  );

const common = {
  type: z.literal("slack"),
  /** The mention for messages of each severity. */
  mention: z
    .strictObject({ critical: mention.optional(), warning: mention.optional(), info: mention.optional() })
    .optional(),
};

export const slackBotSettings = z
  .strictObject({
    ...common,
    token: z.string().regex(/^xox[a-z]-[\w-]{10,}$/, "must be a bot token: xoxb-…"),
    channel: z
      .string()
      .regex(/^[CGD][A-Z0-9]{6,20}$/, "must be a channel's id such as C0123456789 (its details show it)"),
    /** The app's token for Socket Mode, which delivers button presses. */
    appToken: z
      .string()
      .regex(/^xapp-[\w-]{10,}$/, "must be an app-level token: xapp-…")
      .optional(),
    /** Ids of members who may act from the channel. Without any, messages have no buttons, and nobody may act. */
    allow: z
      .strictObject({
        users: z
          .array(z.string().regex(/^[UW][A-Z0-9]{4,20}$/, "must be a member's id such as U0123456789"))
          .default([]),
      })
      .optional(),
    /** Another server. */
    apiUrl: safeAddress.default("https://slack.com/api"),
  })
  .refine(({ allow, appToken }) => allow === undefined || appToken !== undefined, {
    path: ["appToken"],
    message: "is needed for allow: presses of buttons come by Socket Mode",
  });
export type SlackBotSettings = z.infer<typeof slackBotSettings>;

export const slackWebhookSettings = z.strictObject({ ...common, webhookUrl: safeAddress });
export type SlackWebhookSettings = z.infer<typeof slackWebhookSettings>;

export interface SlackDeps {
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
  readonly commandLine: CommandLine;
  /** Queries and actions of people in the channel. */
  readonly actions?: ChatActions | undefined;
}

const timeoutMs = 8_000;
/** Maximum alerts in one message; each has a line. */
const maxNamed = 50;
export const slackBotCapacity: Capacity = { maxNamed, edits: true };
export const slackWebhookCapacity: Capacity = { maxNamed };

/** A rendered message and its mention. */
interface RenderedMessage {
  readonly message: Message;
  readonly rendering: Rendering;
  readonly ping: string | null;
}

export function createSlack(
  name: string,
  settings: SlackBotSettings | SlackWebhookSettings,
  deps: SlackDeps,
): Channel {
  const bot = "token" in settings ? settings : null;
  const method = (word: string) => `${trimmed(bot?.apiUrl ?? "")}/${word}`;
  const target = bot === null ? (settings as SlackWebhookSettings).webhookUrl : method("chat.postMessage");
  const appToken = bot?.appToken;
  const headers: Record<string, string> = bot === null ? {} : { authorization: `Bearer ${bot.token}` };
  const secrets = [
    ...(bot === null ? secretsOfAddress(target) : [bot.token]),
    ...(appToken === undefined ? [] : [appToken]),
  ];
  const posterOptions = { who: "Slack", secrets, timeoutMs, maxAnswerBytes: largeAnswerBytes };
  const poster = new Poster(posterOptions);
  // Separate connections, so that messages do not wait for answers to presses.
  const interactionPoster = new Poster(posterOptions);
  const ask = async (url: string, body: object | undefined, signal: AbortSignal, by = poster) =>
    judge(
      await by.call({ url, headers, ...(body === undefined ? {} : { body }) }, signal),
      by,
      bot === null ? "webhook" : "bot",
    );
  const users = bot?.allow?.users ?? [];
  const app = appToken === undefined ? null : { apiUrl: bot?.apiUrl ?? "", appToken, secrets, ...deps };
  const actions = users.length === 0 || app === null ? undefined : deps.actions;
  const newHandler = (): PressHandler | undefined =>
    actions &&
    new PressHandler({
      show: async (body, signal) =>
        (await ask(method("chat.postEphemeral"), body, signal, interactionPoster)).result,
      ...{ ...deps, actions, users, channelId: bot?.channel ?? "" },
    });
  let listening: (Listening & { readonly handler: PressHandler }) | undefined;
  /** Sends or edits a message: as blocks, or as plain text if the blocks are refused. */
  const put = async (url: string, fields: object, shown: RenderedMessage, signal: AbortSignal) => {
    const { message, rendering, ping } = shown;
    const body = bodyOf(rendering, ping, actions === undefined ? [] : buttonsOf(message));
    const asBlocks = await ask(url, { ...fields, ...body }, signal);
    if (asBlocks.error === null || !formatErrors.has(asBlocks.error)) return asBlocks;
    // An edit keeps fields that it omits.
    const noAttachments = url === target ? {} : { attachments: [] };
    return ask(url, { ...fields, text: plainText(rendering, ping), ...noAttachments }, signal);
  };
  /** Messages that were deleted. Their threads are not visible, so nothing is sent to them. */
  const deleted = new Set<string>();
  const edits = new Edits({
    ...{ clock: deps.clock, log: deps.log },
    async put(ts, shown, signal) {
      if (!isMessage(ts) || shown.content.items.length > maxNamed) return null;
      const fields = { channel: bot?.channel, ts, parse: "none" };
      const now = { message: shown, rendering: render(shown, deps), ping: null };
      const { result, error } = await put(method("chat.update"), fields, now, signal);
      if (error === "message_not_found") deleted.add(ts);
      return result;
    },
  });
  const fix = {
    denied: "check token, and that the app has the scope chat:write",
    refused:
      bot === null ? "make a new webhook: this one is gone" : "check channel, and invite the app to it",
    away: "check that no firewall keeps this machine from slack.com",
  };

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    if (bot === null) {
      // For an existing webhook, Slack refuses an empty message with "no_text" and posts nothing.
      const { result, error } = await ask(target, {}, signal);
      if (error === "no_text" || error === "invalid_payload" || result.kind === "delivered")
        return { kind: "ok", detail: "Slack knows the webhook" };
      return probeFailure(result, fix);
    }
    const { result } = await ask(method("auth.test"), undefined, signal);
    if (result.kind !== "delivered") return probeFailure(result, fix);
    const detail = `Slack knows the token; whether ${bot.channel} takes messages, channels test ${name} shows`;
    const opened = app === null ? null : await openConnection(app, poster, signal);
    if (opened?.kind !== "refused") return { kind: "ok", detail };
    const appFix = "check appToken, its scope connections:write, and that Socket Mode is on";
    return { kind: "ok", detail, warnings: [{ detail: `no buttons: ${opened.detail}`, fix: appFix }] };
  };

  return {
    name,
    kind: "slack",
    ...(bot === null ? slackWebhookCapacity : slackBotCapacity),
    deadlineMs: 3 * timeoutMs + 1_000,
    probe,
    trouble: () => listening?.trouble() ?? null,
    start(signal) {
      const handler = listening === undefined ? newHandler() : undefined;
      if (handler !== undefined && app !== null) listening = { ...listen(app, handler), handler };
      return probe(signal);
    },
    async stop() {
      edits.stop();
      listening?.handler.stop();
      await listening?.stop();
      listening = undefined;
      await interactionPoster.close();
      await poster.close();
    },
    async send(outgoing, signal) {
      const edited = bot === null ? null : await edits.editInstead(outgoing, signal);
      if (edited !== null) return edited;
      const { message, late } = outgoing;
      const ping = mentionFor(message, settings.mention satisfies MentionOfSeverity | undefined);
      const shown = { message, rendering: render(message, deps, late), ping };
      const post = async (fields: object) => put(target, fields, shown, signal);
      const thread = bot === null ? null : threadOf(outgoing, deleted);
      const fields = bot === null ? {} : { channel: bot.channel, unfurl_links: false, unfurl_media: false };
      const first = await post({ ...fields, ...thread });
      const threadRefused = thread !== null && threadErrors.has(first.error ?? "");
      const { result } = threadRefused ? await post(fields) : first;
      if (bot !== null && result.kind === "delivered") edits.updateRoot(outgoing);
      return result;
    },
  };
}

const isMessage = (receipt: string) => /^\d+\.\d+$/.test(receipt);

/** The thread for a message; null: none. */
function threadOf({ message, inReplyTo, root }: Outgoing, deleted: ReadonlySet<string>): object | null {
  const first = root ?? inReplyTo;
  if (first === null || !isMessage(first.receipt) || deleted.has(first.receipt)) return null;
  const loud = !message.content.quiet && message.content.items.some(({ change }) => isLoud(change));
  return { thread_ts: first.receipt, ...(loud ? { reply_broadcast: true } : {}) };
}

/**
 * Returns true if a change is also shown in the channel, because threads are easily missed: new alerts, rises,
 * escalations, and endings and mentions of critical alerts.
 */
function isLoud(change: AlertChange): boolean {
  const { kind, alert } = change;
  if (kind === "fired" || kind === "rose" || kind === "escalated") return true;
  return alert.severity === "critical" && (kind === "ended" || mentionsPeople(change));
}
