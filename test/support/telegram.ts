/** A chat of a Telegram bot: the Bot API's methods that a channel calls, as strict as Telegram, and what stands in the chat. */
import { z } from "zod";
import { wrong } from "./dialects.ts";
import type { Asked, Dialect, Reply } from "./service.ts";
import { Watched } from "./wait.ts";

const preview = z.strictObject({ is_disabled: z.boolean() }).optional();
const text = z.string().min(1).max(4096);

const textBody = z.strictObject({
  chat_id: z.union([z.int(), z.string()]),
  message_thread_id: z.int().optional(),
  text,
  disable_notification: z.boolean().optional(),
  link_preview_options: preview,
  reply_parameters: z
    .strictObject({ message_id: z.int(), allow_sending_without_reply: z.boolean().optional() })
    .optional(),
});

/** As Telegram takes it in a form: what is no text is JSON. */
const documentBody = z.strictObject({
  chat_id: z.string(),
  message_thread_id: z.string().optional(),
  caption: z.string().max(1024).optional(),
  disable_notification: z.enum(["true", "false"]).optional(),
  reply_parameters: z.string().optional(),
  document: z.string().min(1),
});

const editBody = z.strictObject({
  chat_id: z.union([z.int(), z.string()]),
  message_id: z.int(),
  text,
  link_preview_options: preview,
});

export interface TelegramMessage {
  readonly id: number;
  /** As it stands now; a document's caption. */
  text: string;
  readonly isDocument: boolean;
  readonly soundless: boolean;
  readonly replyTo: number | null;
  edits: number;
}

export interface TelegramOptions {
  readonly token: string;
  readonly chatId: number;
  /** False: nobody may send documents to the chat. */
  readonly documents?: boolean;
}

const bad = (description: string) =>
  wrong(400, { ok: false, error_code: 400, description: `Bad Request: ${description}` });
const good = (result: object | boolean): Reply => ({ status: 200, body: { ok: true, result } });
const visible = (words: string) => words.replaceAll("\u200b", "");

export class TelegramChat {
  readonly #options: TelegramOptions;
  /** The messages that stand in the chat. */
  readonly messages = new Watched<TelegramMessage>();
  /** Numbers of messages that cannot be edited any more. */
  readonly frozen = new Set<number>();
  #last = 100;

  constructor(options: TelegramOptions) {
    this.#options = options;
  }

  readonly dialect: Dialect = (asked, take) => {
    const { token, chatId } = this.#options;
    const body = asked.form ?? asked.json;
    const [, given, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(asked.path) ?? [];
    if (given !== token) return wrong(404, { ok: false, error_code: 404, description: "Not Found" });
    if (method === "getMe") return good({ id: 1, is_bot: true, username: "watch_bot" });
    if (String((body as { chat_id?: unknown }).chat_id) !== String(chatId)) return bad("chat not found");
    if (method === "getChat") return good({ id: chatId, title: "Alerts" });
    if (method === "sendDocument") return this.#sendDocument(asked, take);
    if (method === "sendMessage") return this.#sendText(body, take);
    if (method === "editMessageText") return this.#edit(body, take);
    return wrong(404, { ok: false, error_code: 404, description: "Not Found: method not found" });
  };

  /** Somebody deletes a message. */
  delete(id: number): void {
    const { items } = this.messages;
    items.splice(
      items.findIndex((one) => one.id === id),
      1,
    );
  }

  #sendDocument({ form }: Asked, take: (text: string) => void): Reply {
    const sent = documentBody.safeParse(form);
    if (!sent.success) return bad("there is no document in the request");
    if (this.#options.documents === false) return bad("not enough rights to send documents to the chat");
    const { caption = "", document, disable_notification, reply_parameters } = sent.data;
    take(visible(`${caption}\n${document}`));
    const reply = JSON.parse(reply_parameters ?? "{}") as { message_id?: number };
    return this.#add(caption, disable_notification === "true", reply.message_id ?? null, true);
  }

  #sendText(body: unknown, take: (text: string) => void): Reply {
    const sent = textBody.safeParse(body);
    if (!sent.success) return bad(sent.error.message);
    const { text, disable_notification = false, reply_parameters } = sent.data;
    take(visible(text));
    return this.#add(text, disable_notification, reply_parameters?.message_id ?? null, false);
  }

  #add(text: string, soundless: boolean, replyTo: number | null, isDocument: boolean): Reply {
    const id = ++this.#last;
    const there = this.messages.items.some((one) => one.id === replyTo);
    this.messages.add({ id, text, soundless, replyTo: there ? replyTo : null, isDocument, edits: 0 });
    return good({ message_id: id });
  }

  #edit(body: unknown, take: (text: string) => void): Reply {
    const sent = editBody.safeParse(body);
    if (!sent.success) return bad(sent.error.message);
    const message = this.messages.items.find(({ id }) => id === sent.data.message_id);
    if (message === undefined) return bad("message to edit not found");
    if (this.frozen.has(message.id)) return bad("message can't be edited");
    if (message.isDocument) return bad("there is no text in the message to edit");
    if (message.text === sent.data.text)
      return bad(
        "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    take(visible(sent.data.text));
    message.text = sent.data.text;
    message.edits++;
    this.messages.changed();
    return good({ message_id: message.id });
  }
}

/** @param documents false: nobody may send documents to the chat */
export function telegramDialect(token: string, chatId: number, documents = true): Dialect {
  return new TelegramChat({ token, chatId, documents }).dialect;
}
