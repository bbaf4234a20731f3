/**
 * Slack: a bot in a channel, or an incoming webhook. Slack knows no key for repeats, so a message whose answer was lost on
 * the way may come twice. A bot's later messages about an alert stand in the thread of its first one; what begins, rises or is
 * about a critical one is shown in the channel as well. A message whose blocks are refused goes as plain text.
 */
import { z } from "zod";
import type { AlertChange } from "../../domain/alert.ts";
import type { Capacity } from "../../domain/delivery.ts";
import { safeAddress, trimmed } from "../address.ts";
import type { Channel, Outgoing, ProbeResult, SendResult } from "../channel.ts";
import { blockLines, headOf, inTexts, ledBy, plainLines, sectionLines, titleLines } from "../lines.ts";
import { calls, loudest, type MentionOfSeverity } from "../mention.ts";
import { type Block, type CommandLine, type Rendering, render, type Tone } from "../message.ts";
import { type Answer, type NoAnswer, Poster, parsed, probeFailure } from "../post.ts";
import { clean, dressed, shorten } from "../text.ts";

const mention = z
  .string()
  .regex(
    /^<(@[UW]\w{4,20}|!subteam\^S\w{4,20}|!here|!channel)>$/,
    "must be <@USER_ID>, <!subteam^ID>, <!here> or <!channel>",
  );

const common = {
  type: z.literal("slack"),
  /** The mention for a message of this severity. */
  mention: z
    .strictObject({ critical: mention.optional(), warning: mention.optional(), info: mention.optional() })
    .optional(),
};

export const slackBotSettings = z.strictObject({
  ...common,
  token: z.string().regex(/^xox[a-z]-[\w-]{10,}$/, "must be a bot token: xoxb-…"),
  channel: z
    .string()
    .regex(/^[CGD][A-Z0-9]{6,20}$/, "must be a channel's id such as C0123456789 (its details show it)"),
  /** Another server than Slack's. */
  apiUrl: safeAddress.default("https://slack.com/api"),
});
export type SlackBotSettings = z.infer<typeof slackBotSettings>;

export const slackWebhookSettings = z.strictObject({ ...common, webhookUrl: safeAddress });
export type SlackWebhookSettings = z.infer<typeof slackWebhookSettings>;

export interface SlackDeps {
  readonly timezone: string;
  readonly commandLine: CommandLine;
}

const timeoutMs = 8_000;
const mostText = 3_900;
const mostSection = 2_900;
/** The part of 50 sections for alerts: notes, those that have a line only, what else fires and the footer take the others. */
const mostSections = 36;
/**
 * Text of the sections of all alerts, characters. Slack refuses a message whose blocks have more than about 12,000 with what holds
 * them (msg_blocks_too_long), which it states nowhere.
 */
const mostOfAlerts = 7_000;
/** Alerts in one message: a line each takes at most `mostLine` characters. */
export const slackCapacity: Capacity = { maxNamed: 50 };
const mostLine = 150;
const colours: Readonly<Record<Tone, string>> = {
  critical: "#d92d20",
  warning: "#f79009",
  info: "#2e90fa",
  good: "#12b76a",
  over: "#98a2b3",
  test: "#875bf7",
};

/** The meaning of Slack's errors; one that is not listed is about the message. */
const denied = new Set(
  [
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "no_permission",
  ].concat([
    "missing_scope",
    "ekm_access_denied",
    "org_login_required",
    "not_allowed_token_type",
    "invalid_token",
    "no_service_id",
  ]),
);
const gone = new Set(
  ["channel_not_found", "not_in_channel", "is_archived", "restricted_action", "channel_is_archived"].concat([
    "no_service",
    "no_team",
    "team_disabled",
    "action_prohibited",
    "posting_to_general_channel_denied",
    "user_not_found",
  ]),
);
const unwell = new Set([
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
  "rollup_error",
  "team_added_to_org",
]);
const ill = new Set(
  [
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_attachments",
    "invalid_payload",
    "msg_blocks_too_long",
  ].concat(["too_many_attachments", "attachment_payload_limit_exceeded", "invalid_arguments"]),
);

export function createSlack(
  name: string,
  settings: SlackBotSettings | SlackWebhookSettings,
  deps: SlackDeps,
): Channel {
  const bot = "token" in settings ? settings : null;
  const target =
    bot === null ? (settings as SlackWebhookSettings).webhookUrl : `${trimmed(bot.apiUrl)}/chat.postMessage`;
  const secret = bot === null ? new URL(target).pathname : bot.token;
  const headers: Record<string, string> = bot === null ? {} : { authorization: `Bearer ${bot.token}` };
  const poster = new Poster({ who: "Slack", secrets: [secret], timeoutMs });
  const ask = async (url: string, body: object | undefined, signal: AbortSignal) =>
    judge(await poster.call({ url, headers, ...(body === undefined ? {} : { body }) }, signal), poster);
  const fix = {
    denied: "check token, and that the app has the scope chat:write",
    refused:
      bot === null ? "make a new webhook: this one is gone" : "check channel, and invite the app to it",
    away: "check that no firewall keeps this machine from slack.com",
  };

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    if (bot === null) {
      // Slack refuses an empty message of a webhook that exists with "no_text", and posts nothing.
      const { result, error } = await ask(target, {}, signal);
      if (error === "no_text" || error === "invalid_payload" || result.kind === "delivered")
        return { kind: "ok", detail: "Slack knows the webhook" };
      return probeFailure(result, fix);
    }
    const { result } = await ask(`${trimmed(bot.apiUrl)}/auth.test`, undefined, signal);
    if (result.kind !== "delivered") return probeFailure(result, fix);
    return {
      kind: "ok",
      detail: `Slack knows the token; whether ${bot.channel} takes messages, channels test ${name} shows`,
    };
  };

  return {
    name,
    kind: "slack",
    ...slackCapacity,
    deadlineMs: 2 * timeoutMs + 1_000,
    start: probe,
    probe,
    stop: () => poster.close(),
    async send(outgoing, signal) {
      const rendering = render(outgoing.message, deps, outgoing.late);
      const ping = loudest(outgoing.message, settings.mention satisfies MentionOfSeverity | undefined);
      const where =
        bot === null
          ? {}
          : { channel: bot.channel, unfurl_links: false, unfurl_media: false, ...threadOf(outgoing) };
      const dressed = await ask(target, { ...where, ...bodyOf(rendering, ping) }, signal);
      if (dressed.error === null || !ill.has(dressed.error)) return dressed.result;
      return (await ask(target, { ...where, text: plainText(rendering, ping) }, signal)).result;
    },
  };
}

function threadOf({ message, inReplyTo }: Outgoing): object {
  if (inReplyTo === null || !/^\d+\.\d+$/.test(inReplyTo.receipt)) return {};
  const loud = message.content.items.some(({ change }) => isLoud(change));
  return { thread_ts: inReplyTo.receipt, ...(loud ? { reply_broadcast: true } : {}) };
}

/** Nobody looks into a thread: what begins, rises or has no answer stands in the channel too, and so does what calls about a critical alert. */
function isLoud(change: AlertChange): boolean {
  const { kind, alert } = change;
  if (kind === "fired" || kind === "rose" || kind === "escalated") return true;
  return alert.severity === "critical" && (kind === "ended" || calls(change));
}

interface Judged {
  readonly result: SendResult;
  /** Slack's own word; null where it took the message or said nothing. */
  readonly error: string | null;
}

/** A bot's answers are all 200 with `ok` in the body; a webhook's are a status with a word. */
function judge(answer: Answer | NoAnswer, poster: Poster): Judged {
  if (answer.kind === "none") return { result: poster.verdict(answer, ""), error: null };
  // Whether it took the message stands in its words.
  if (answer.cut !== undefined) return { result: poster.verdict(answer.cut, ""), error: null };
  const said = parsed(answer.text) as { ok?: unknown; error?: unknown; ts?: unknown } | undefined;
  const failed = said?.ok === false || answer.status >= 400;
  const word = typeof said?.error === "string" ? said.error : answer.text.trim();
  const error = failed && /^[a-z_]{2,60}$/.test(word) ? word : null;
  const detail = `Slack answered ${error ?? `${answer.status}`}`;
  if (error === "ratelimited" || error === "rate_limited" || error === "message_limit_exceeded")
    return { result: { ...poster.verdict({ ...answer, status: 429 }, ""), detail } as SendResult, error };
  if (error !== null && answer.status !== 429) {
    if (denied.has(error))
      return { result: { kind: "refused", failure: "authentication", detail, channelBroken: true }, error };
    if (gone.has(error))
      return { result: { kind: "refused", failure: "rejected", detail, channelBroken: true }, error };
    if (unwell.has(error) || answer.status >= 500)
      return { result: { kind: "retry", failure: "server-error", detail, afterMs: null }, error };
    return { result: { kind: "refused", failure: "rejected", detail, channelBroken: false }, error };
  }
  return { result: poster.verdict(answer, String(said?.ts ?? "accepted"), error ?? undefined), error };
}

/** Text from data as Slack shall show it: nothing in it pings, links or formats. */
export function forSlack(text: string): string {
  return clean(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[*_~`]/g, (mark) => `${mark}\u200b`)
    .replaceAll("://", ":\u200b//");
}

/** Escaped, and at most so many characters in that form. */
function cut(text: string, most: number): string {
  let kept = shorten(text, most);
  for (;;) {
    const shown = forSlack(kept);
    if (shown.length <= most) return shown;
    kept = shorten(kept, Math.min(kept.length - 1, Math.floor((kept.length * most) / shown.length)));
  }
}

function bodyOf(rendering: Rendering, ping: string | null): object {
  const full = rendering.blocks
    .slice(0, Math.min(rendering.inFull, mostSections))
    .map((block) => sectionOf(block, rendering) + linkOf(block.runbook));
  const short = rendering.blocks.map((block) => cut(headOf(block), mostLine));
  const texts = full.slice(0, fitting(full, short));
  const sections = [...texts, ...inTexts(short.slice(texts.length), mostSection)].map((text) => ({
    type: "section",
    text: { type: "mrkdwn", text },
  }));
  const notes = rendering.notes.map((note) => ({
    type: "section",
    text: { type: "mrkdwn", text: cut(note, mostSection) },
  }));
  const tables = rendering.sections.map((section) => ({
    type: "section",
    text: { type: "mrkdwn", text: cut(sectionLines([section]).join("\n"), mostSection) },
  }));
  const standing =
    rendering.standing.length === 0
      ? []
      : [
          {
            type: "section",
            text: { type: "mrkdwn", text: cut(rendering.standing.join("\n"), mostSection) },
          },
        ];
  return {
    text: headline(rendering, ping),
    attachments: [
      {
        color: colours[rendering.tone],
        blocks: [
          ...notes,
          ...sections,
          ...tables,
          ...standing,
          { type: "context", elements: [{ type: "mrkdwn", text: cut(rendering.footer, 400) }] },
        ],
      },
    ],
  };
}

/** The number of alerts, from the first on, that fit in full beside a line for each of the others; a single one always does. */
function fitting(full: readonly string[], short: readonly string[]): number {
  if (short.length < 2) return full.length;
  let size = short.reduce((sum, line) => sum + line.length, 0);
  for (const [index, text] of full.entries()) {
    size += text.length - short[index]!.length;
    if (size > mostOfAlerts) return index;
  }
  return full.length;
}

/** A template's markup is its author's; all else is text. */
function sectionOf(block: Block, rendering: Rendering): string {
  const { own } = block;
  const alone = rendering.blocks.length === 1;
  if (own === undefined || (own.body === undefined && alone))
    return cut(blockLines({ ...block, runbook: null }, rendering).join("\n"), mostSection);
  const head = cut(`${headOf({ ...block, what: "" })} `, 200);
  const title = alone ? cut(titleLines(block, rendering).join("\n"), 500) : `${head}${titleOf(block)}`;
  const tail = alone ? `Alert #${block.alertId}` : "";
  const room = mostSection - title.length - tail.length - 2;
  const body =
    own.body === undefined
      ? cut(
          blockLines({ ...block, runbook: null }, rendering)
            .slice(1)
            .join("\n"),
          room,
        )
      : dressed(own.body, cut, room);
  return [title, body, tail].filter((part) => part !== "").join("\n");
}

function titleOf({ what, own }: Block): string {
  return own?.title === undefined ? cut(what, 500) : oneLine(dressed(own.title, cut, 500));
}

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ");

function headline(rendering: Rendering, ping: string | null): string {
  const call = ping === null ? "" : `${ping} `;
  const [first] = rendering.blocks;
  const told = first === undefined ? "" : ledBy(first, first.what);
  if (first?.own?.title === undefined || !rendering.headline.startsWith(told))
    return `${call}*${cut(rendering.headline, 1_000)}*`;
  const lead = cut(ledBy(first, "").trim(), 100);
  const rest = cut(rendering.headline.slice(told.length), 50);
  return `${call}${lead === "" ? "" : `*${lead}* `}${oneLine(dressed(first.own.title, cut, 800))}${rest}`;
}

/** @param link an address that is safe to link, of which no character may end the link early */
function linkOf(link: string | null): string {
  return link === null || link.length > 500
    ? ""
    : `\n<${link.replaceAll(/[<>|]/g, encodeURIComponent)}|What to do>`;
}

function plainText(rendering: Rendering, ping: string | null): string {
  const alone = rendering.blocks.length < 2;
  const [, ...lines] = plainLines(rendering, alone ? rendering.inFull : 0).slice(0, -1);
  const head = headline(rendering, ping);
  const footer = cut(rendering.footer, 200);
  const room = mostText - head.length - footer.length;
  // Each alert keeps its beginning, by which it is known.
  const each = Math.floor(room / Math.max(1, lines.length)) - 1;
  const text = alone ? cut(lines.join("\n").trim(), room) : lines.map((line) => cut(line, each)).join("\n");
  return `${head}\n${text.trim()}\n${footer}`;
}
