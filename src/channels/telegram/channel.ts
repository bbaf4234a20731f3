/**
 * A Telegram bot. It knows no key for repeats, so a message whose answer was lost on the way may come twice. Texts are sent
 * without markup, so nothing in them can be refused as such, and what looks like a link or a call in data is none; an info or an
 * ending makes no sound.
 */
import { z } from "zod";
import type { WordedText } from "../../domain/template-data.ts";
import { safeAddress, trimmed } from "../address.ts";
import type { Channel, Outgoing, ProbeResult, SendResult } from "../channel.ts";
import { inTexts, lineOf, listName, plainLines } from "../lines.ts";
import { type Block, type CommandLine, type Rendering, render, type Tone } from "../message.ts";
import { Parts } from "../parts.ts";
import { type Answer, type NoAnswer, Poster, parsed, probeFailure } from "../post.ts";
import { dressed, shorten } from "../text.ts";

export const telegramSettings = z.strictObject({
  type: z.literal("telegram"),
  token: z.string().regex(/^\d{3,20}:[\w-]{20,}$/, "must be a bot token: 123456789:ABC…"),
  /** The chat of a person, a group (negative) or a channel (`@name`). */
  chatId: z.union([
    z.int(),
    z.string().regex(/^(-?\d{1,20}|@\w{4,64})$/, "must be a chat's number, or @name of a channel"),
  ]),
  /** A topic of a group that has them. */
  topicId: z.int().min(1).optional(),
  /** Another server than Telegram's. */
  apiUrl: safeAddress.default("https://api.telegram.org"),
});
export type TelegramSettings = z.infer<typeof telegramSettings>;

export interface TelegramDeps {
  readonly timezone: string;
  readonly commandLine: CommandLine;
}

const timeoutMs = 8_000;
const mostCharacters = 4_096;
/** Length of the text beside a file. */
const mostCaption = 1_024;
const glyphs: Readonly<Record<Tone, string>> = {
  critical: "🔴",
  warning: "🟠",
  info: "🔵",
  good: "🟢",
  over: "⚪",
  test: "🟣",
};

interface Said {
  readonly ok?: unknown;
  readonly description?: unknown;
  readonly result?: { readonly message_id?: unknown; readonly username?: unknown; readonly title?: unknown };
  readonly parameters?: { readonly retry_after?: unknown };
}

export function createTelegram(name: string, settings: TelegramSettings, deps: TelegramDeps): Channel {
  const { token, chatId, topicId } = settings;
  const base = `${trimmed(settings.apiUrl)}/bot${token}`;
  const poster = new Poster({ who: "Telegram", secrets: [token], timeoutMs });
  const parts = new Parts<SendResult>(({ kind }) => kind === "delivered");
  const ask = async (method: string, body: object, signal: AbortSignal) => {
    const answer = await poster.call({ url: `${base}/${method}`, body }, signal);
    const said = answer.kind === "answer" ? ((parsed(answer.text) ?? {}) as Said) : {};
    return { answer, said };
  };

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const fix = {
      denied: "check token: @BotFather shows it; add the bot to the chat, and let it write there",
      refused: "check chatId, and that the bot is in that chat",
      away: "check that no firewall keeps this machine from api.telegram.org",
    };
    const me = await ask("getMe", {}, signal);
    const known = verdict(me.answer, me.said, poster);
    if (known.kind !== "delivered") return probeFailure(known, fix);
    const chat = await ask("getChat", { chat_id: chatId }, signal);
    const found = verdict(chat.answer, chat.said, poster);
    if (found.kind !== "delivered") return probeFailure(found, fix);
    return { kind: "ok", detail: poster.words(`@${String(me.said.result?.username)} sees the chat`) };
  };

  return {
    name,
    kind: "telegram",
    deadlineMs: 2 * timeoutMs + 1_000,
    start: probe,
    probe,
    stop: () => poster.close(),
    async send(outgoing, signal) {
      const { message, inReplyTo } = outgoing;
      const rendering = asText(render(message, deps, outgoing.late));
      const first = Number(inReplyTo?.receipt);
      const where = {
        chat_id: chatId,
        ...(topicId === undefined ? {} : { message_thread_id: topicId }),
        disable_notification: isQuiet(outgoing),
        // A message that somebody deleted cannot be replied to.
        ...(Number.isSafeInteger(first) && inReplyTo !== null
          ? { reply_parameters: { message_id: first, allow_sending_without_reply: true } }
          : {}),
      };
      const sendText = async (text: string) => {
        const body = { ...where, text, link_preview_options: { is_disabled: true } };
        const { answer, said } = await ask("sendMessage", body, signal);
        return verdict(answer, said, poster);
      };
      const text = textOf(rendering);
      if (text.length <= mostCharacters) return sendText(text);
      const { headline, notes, footer, blocks } = rendering;
      if (blocks.length < 2)
        return sendText(
          `${shorten(text.slice(0, -footer.length), mostCharacters - footer.length - 2)}\n\n${footer}`,
        );
      const caption = inTexts(
        [`${glyphs[rendering.tone]} ${headline}`, ...notes],
        mostCaption - footer.length - 2,
      )[0];
      const list = `${plainLines(rendering, blocks.length).join("\n")}\n`;
      const document = formOf({ ...where, caption: `${caption}\n\n${footer}` }, list);
      const { answer, said } = await ask("sendDocument", document, signal);
      const result = verdict(answer, said, poster);
      if (result.kind !== "refused" || result.failure === "authentication") return result;
      // The chat takes no files: everything is named in as many messages as it needs.
      const lines = [...notes, ...blocks.map((block) => lineOf(block)), ...rendering.standing];
      const texts = inTexts([`${glyphs[rendering.tone]} ${headline}`, ...lines, "", footer], mostCharacters);
      return parts.send(message.id, texts, sendText);
    },
  };
}

/** The whole message as one text, longer perhaps than Telegram takes. */
function textOf(rendering: Rendering): string {
  const [headline = "", ...lines] = plainLines(rendering).slice(0, -1);
  return `${`${glyphs[rendering.tone]} ${headline}\n${lines.join("\n")}`.trim()}\n\n${rendering.footer}`;
}

/** A message with a text file, as Telegram takes it: fields that are no text are JSON. */
function formOf(fields: Readonly<Record<string, unknown>>, list: string): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    form.set(name, typeof value === "string" ? value : JSON.stringify(value));
  form.set("document", new Blob([list], { type: "text/plain; charset=utf-8" }), listName);
  return form;
}

/** Text from data as it is: Telegram makes links and calls of what looks like some, without any markup. */
function forTelegram(text: string): string {
  return withoutCalls(text).replaceAll(/\.(?=\p{L})/gu, ".\u200b");
}

/** Sentences of ours may hold a command to be copied, with names of files. */
function withoutCalls(text: string): string {
  return text.replaceAll("@", "@\u200b").replaceAll("://", ":\u200b//");
}

/** Renders as text. Words of a template's author stay as they are, and so does a runbook. */
function asText(rendering: Rendering): Rendering {
  const lines = (texts: readonly string[]) => texts.map(forTelegram);
  const pairs = (rows: Block["figures"]) =>
    rows.map(([name, value]) => [forTelegram(name), forTelegram(value)] as const);
  const worded = (words: WordedText | undefined, text: string) =>
    words === undefined ? forTelegram(text) : dressed(words, forTelegram, Number.POSITIVE_INFINITY).trim();
  const blocks = rendering.blocks.map((block) => ({
    ...block,
    what: worded(block.own?.title, block.what).replaceAll(/\s*\n\s*/g, " "),
    description: worded(block.own?.body, block.description),
    figures: pairs(block.figures),
    fresh: lines(block.fresh),
    now: block.now.map(withoutCalls),
  }));
  const [first] = rendering.blocks;
  const told = first?.own?.title === undefined ? "" : first.what;
  const at = told === "" ? -1 : rendering.headline.indexOf(told);
  const { headline } = rendering;
  return {
    ...rendering,
    blocks,
    headline:
      at < 0
        ? forTelegram(headline)
        : forTelegram(headline.slice(0, at)) +
          blocks[0]!.what +
          forTelegram(headline.slice(at + told.length)),
    notes: rendering.notes.map(withoutCalls),
    sections: rendering.sections.map(({ title, rows }) => ({ title: forTelegram(title), rows: pairs(rows) })),
    standing: lines(rendering.standing),
  };
}

function isQuiet({ message }: Outgoing): boolean {
  return message.severity === "info" || message.content.resolved;
}

function verdict(answer: Answer | NoAnswer, said: Said, poster: Poster): SendResult {
  const words = typeof said.description === "string" ? said.description : undefined;
  const result = poster.verdict(answer, String(said.result?.message_id ?? "accepted"), words);
  // The time to wait stands in the answer's body.
  const seconds = Number(said.parameters?.retry_after);
  if (result.kind === "retry" && result.failure === "rate-limited" && seconds > 0)
    return { ...result, afterMs: Math.ceil(seconds * 1_000) };
  // The chat is gone, moved, or never was: no message will be taken.
  const ofChat = /chat not found|chat_id|upgraded to a supergroup|thread not found|not enough rights/i;
  if (result.kind === "refused" && !result.channelBroken && ofChat.test(words ?? ""))
    return { ...result, channelBroken: true };
  // A token that is none is answered like a path that is none.
  if (result.kind === "refused" && answer.kind === "answer" && answer.status === 404)
    return { ...result, failure: "authentication" };
  return result;
}
