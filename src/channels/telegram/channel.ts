/**
 * A Telegram bot. Telegram has no idempotency key, so a message whose answer was lost may be delivered twice. Info
 * messages, endings and quiet messages make no sound. Buttons work for people who are allowed to act. Quiet messages
 * and minor updates edit the message that they add to; if that is not possible they are sent.
 */
import { z } from "zod";
import type { Capacity, Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import { safeAddress, trimmed } from "../address.ts";
import type { Channel, ProbeResult, SendResult } from "../channel.ts";
import { Edits, isSilent } from "../edits.ts";
import type { Listening } from "../listeners.ts";
import type { ChannelLog } from "../log.ts";
import type { CommandLine } from "../message/command-line.ts";
import type { Rendering } from "../message/rendering.ts";
import { render } from "../message.ts";
import { Parts } from "../parts.ts";
import { largeAnswerBytes, Poster, probeFailure, textOrNumber } from "../post.ts";
import { PressHandler } from "./press-handler.ts";
import { asText, documentOf, keyboardOf, textOf, textsOf } from "./render.ts";
import { listen } from "./updates.ts";
import { replyIn, verdict } from "./verdict.ts";

export const telegramSettings = z.strictObject({
  type: z.literal("telegram"),
  token: z.string().regex(/^\d{3,20}:[\w-]{20,}$/, "must be a bot token: 123456789:ABC…"),
  /** The id of a private chat, a group (negative) or a channel (`@name`). */
  chatId: z.union([
    z.int(),
    z.string().regex(/^(-?\d{1,20}|@\w{4,64})$/, "must be a chat's number, or @name of a channel"),
  ]),
  /** A topic of the group. */
  topicId: z.int().min(1).optional(),
  /** Ids of users who may act from the chat. Without any, messages have no buttons, and nobody may act. */
  allow: z
    .strictObject({
      users: z
        .array(z.union([z.int().min(1), z.string().regex(/^[1-9]\d{0,19}$/, "must be a user's number")]))
        .default([]),
    })
    .optional(),
  /** Another server. */
  apiUrl: safeAddress.default("https://api.telegram.org"),
});
export type TelegramSettings = z.infer<typeof telegramSettings>;

export interface TelegramDeps {
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
  readonly commandLine: CommandLine;
  /** Queries and actions of people in the chat. */
  readonly actions?: ChatActions | undefined;
}

const timeoutMs = 8_000;
export const telegramCapacity: Capacity = { edits: true };
const noPreview = { link_preview_options: { is_disabled: true } };

export function createTelegram(name: string, settings: TelegramSettings, deps: TelegramDeps): Channel {
  const { token, chatId, topicId } = settings;
  const base = `${trimmed(settings.apiUrl)}/bot${token}`;
  const poster = new Poster({
    who: "Telegram",
    secrets: [token],
    timeoutMs,
    maxAnswerBytes: largeAnswerBytes,
  });
  const parts = new Parts<SendResult>(({ kind }) => kind === "delivered");
  const ask = async (method: string, body: object, signal: AbortSignal) => {
    const answer = await poster.call({ url: `${base}/${method}`, body }, signal);
    return { answer, reply: replyIn(answer) };
  };

  const sendText = async (target: object, text: string, signal: AbortSignal) => {
    const { answer, reply } = await ask("sendMessage", { ...target, text, ...noPreview }, signal);
    return verdict(answer, reply, poster);
  };
  const users = (settings.allow?.users ?? []).map(String);
  const actions = users.length === 0 ? undefined : deps.actions;
  const buttons = (message: Message) => (actions === undefined ? {} : keyboardOf(message));
  const newHandler = (): PressHandler | undefined =>
    actions &&
    new PressHandler({
      async ask(method, body, signal) {
        const { answer, reply } = await ask(method, body, signal);
        return verdict(answer, reply, poster);
      },
      ...{ ...deps, actions, users, chatId: String(chatId), topicId },
    });
  let listening: (Listening & { readonly handler: PressHandler }) | undefined;
  const create = async (message: Message, rendering: Rendering, target: object, signal: AbortSignal) => {
    const text = textOf(rendering, message.content.incident !== undefined);
    if (text !== null) return sendText(target, text, signal);
    const { answer, reply } = await ask("sendDocument", documentOf(rendering, target), signal);
    const result = verdict(answer, reply, poster);
    if (result.kind !== "refused" || result.failure === "authentication") return result;
    // If the chat refuses files, the alerts are listed in as many messages as needed.
    const withoutButtons = { ...target, reply_markup: undefined };
    return parts.send(message.id, textsOf(rendering), (part, index) =>
      sendText(index === 0 ? target : withoutButtons, part, signal),
    );
  };
  const edits = new Edits({
    ...{ clock: deps.clock, log: deps.log },
    async put(receipt, updated, signal) {
      const message_id = idOf(receipt);
      const text = textOf(asText(render(updated, deps)), true);
      if (message_id === null || text === null) return null;
      const body = { chat_id: chatId, message_id, text, ...noPreview, ...buttons(updated) };
      const { answer, reply } = await ask("editMessageText", body, signal);
      if (/message is not modified/i.test(textOrNumber(reply.description) ?? ""))
        return { kind: "delivered", receipt };
      return verdict(answer, reply, poster);
    },
  });

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const fix = {
      denied: "check token: @BotFather shows it; add the bot to the chat, and let it write there",
      refused: "check chatId, and that the bot is in that chat",
      away: "check that no firewall keeps this machine from api.telegram.org",
    };
    const me = await ask("getMe", {}, signal);
    const known = verdict(me.answer, me.reply, poster);
    if (known.kind !== "delivered") return probeFailure(known, fix);
    const chat = await ask("getChat", { chat_id: chatId }, signal);
    const found = verdict(chat.answer, chat.reply, poster);
    if (found.kind !== "delivered") return probeFailure(found, fix);
    return { kind: "ok", detail: poster.words(`@${textOrNumber(me.reply.result?.username)} sees the chat`) };
  };

  return {
    name,
    kind: "telegram",
    ...telegramCapacity,
    deadlineMs: 3 * timeoutMs + 1_000,
    probe,
    trouble: () => listening?.trouble() ?? null,
    start(signal) {
      const handler = listening === undefined ? newHandler() : undefined;
      if (handler !== undefined)
        listening = { ...listen({ ...deps, token, apiUrl: settings.apiUrl }, handler), handler };
      return probe(signal);
    },
    async stop() {
      edits.stop();
      listening?.handler.stop();
      await listening?.stop();
      listening = undefined;
      await poster.close();
    },
    async send(outgoing, signal) {
      const { message, inReplyTo, root } = outgoing;
      const edited = await edits.editInstead(outgoing, signal);
      if (edited !== null) return edited;
      const rendering = asText(render(message, deps, outgoing.late));
      const replyTo = idOf((root ?? inReplyTo)?.receipt);
      const target = {
        chat_id: chatId,
        ...(topicId === undefined ? {} : { message_thread_id: topicId }),
        disable_notification: isSoundless(message),
        // A deleted message cannot be replied to.
        ...(replyTo === null
          ? {}
          : { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } }),
        ...buttons(message),
      };
      const result = await create(message, rendering, target, signal);
      if (result.kind === "delivered") edits.updateRoot(outgoing);
      return result;
    },
  };
}

/** The message id in a receipt; null: there is none. */
function idOf(receipt: string | undefined): number | null {
  const id = Number(receipt);
  return Number.isSafeInteger(id) && id > 0 ? id : null;
}

function isSoundless(message: Message): boolean {
  return message.severity === "info" || message.content.resolved || isSilent(message);
}
