/** A chat of a Telegram bot: the Bot API's methods that a channel calls, as strict as Telegram, and what stands in the chat. */
import { z } from "zod";
import { wrong } from "./dialects.ts";
import type { Asked, Dialect, Reply } from "./service.ts";
import { Watched } from "./wait.ts";

const preview = z.strictObject({ is_disabled: z.boolean() }).optional();
const text = z.string().min(1).max(4096);

const keyboard = z.strictObject({
  inline_keyboard: z.array(
    z
      .array(z.strictObject({ text: z.string().min(1), callback_data: z.string() }))
      .min(1)
      .max(8),
  ),
});

const textBody = z.strictObject({
  chat_id: z.union([z.int(), z.string()]),
  message_thread_id: z.int().optional(),
  text,
  disable_notification: z.boolean().optional(),
  link_preview_options: preview,
  reply_parameters: z
    .strictObject({ message_id: z.int(), allow_sending_without_reply: z.boolean().optional() })
    .optional(),
  reply_markup: keyboard.optional(),
});

/** As Telegram takes it in a form: what is no text is JSON. */
const documentBody = z.strictObject({
  chat_id: z.string(),
  message_thread_id: z.string().optional(),
  caption: z.string().max(1024).optional(),
  disable_notification: z.enum(["true", "false"]).optional(),
  reply_parameters: z.string().optional(),
  reply_markup: z.string().optional(),
  document: z.string().min(1),
});

const editBody = z.strictObject({
  chat_id: z.union([z.int(), z.string()]),
  message_id: z.int(),
  text,
  link_preview_options: preview,
  reply_markup: keyboard.optional(),
});

const pollBody = z.strictObject({
  offset: z.int().optional(),
  limit: z.int().min(1).max(100).optional(),
  timeout: z.int().min(0).optional(),
  allowed_updates: z.array(z.string()).optional(),
});

const answerBody = z.strictObject({
  callback_query_id: z.string(),
  text: z.string().max(200).optional(),
  show_alert: z.boolean().optional(),
});

export interface TelegramPerson {
  readonly id: number;
  readonly first_name: string;
  readonly username?: string;
}

/** One press of a button. */
export interface TelegramPress {
  readonly id: string;
  /** The notice that answered it; null: none yet. */
  notice: string | null;
}

interface Update {
  readonly update_id: number;
  readonly callback_query: object;
}

export interface TelegramMessage {
  readonly id: number;
  /** As it stands now; a document's caption. */
  text: string;
  readonly isDocument: boolean;
  readonly soundless: boolean;
  buttons: readonly { readonly text: string; readonly callback_data: string }[];
  readonly replyTo: number | null;
  edits: number;
}

export interface TelegramOptions {
  readonly token: string;
  readonly chatId: number;
  /** False: nobody may send documents to the chat. */
  readonly documents?: boolean;
}

type Keyboard = z.infer<typeof keyboard>;

const isTooLong = (markup: Keyboard | undefined): boolean =>
  (markup?.inline_keyboard.flat() ?? []).some(({ callback_data }) => {
    const bytes = Buffer.byteLength(callback_data);
    return bytes < 1 || bytes > 64;
  });

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
  readonly presses = new Watched<TelegramPress>();
  /** Presses that nobody confirmed yet. */
  readonly unconfirmed: Update[] = [];
  /** Updates go to a webhook: nobody may poll. */
  hasWebhook = false;
  /** Notices that were taken in and never answered. */
  held = 0;
  #holds: (pressId: string) => boolean = () => false;
  #last = 100;
  #updates = 5_000;
  /** Answers the poll that waits. */
  #wake: ((reply: Reply | null) => void) | null = null;

  constructor(options: TelegramOptions) {
    this.#options = options;
  }

  readonly dialect: Dialect = (asked, take) => {
    const { token, chatId } = this.#options;
    const body = asked.form ?? asked.json;
    const [, given, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(asked.path) ?? [];
    if (given !== token) return wrong(404, { ok: false, error_code: 404, description: "Not Found" });
    if (method === "getMe") return good({ id: 1, is_bot: true, username: "watch_bot" });
    if (method === "getUpdates") return this.#poll(body);
    if (method === "answerCallbackQuery") return this.#answer(body);
    if (String((body as { chat_id?: unknown }).chat_id) !== String(chatId)) return bad("chat not found");
    if (method === "getChat") return good({ id: chatId, title: "Alerts" });
    if (method === "sendDocument") return this.#sendDocument(asked, take);
    if (method === "sendMessage") return this.#sendText(body, take);
    if (method === "editMessageText") return this.#edit(body, take);
    return wrong(404, { ok: false, error_code: 404, description: "Not Found: method not found" });
  };

  /** True if a poll waits for presses. */
  get isPolled(): boolean {
    return this.#wake !== null;
  }

  /** The poll that waits ends without a press, as after its time. */
  endPoll(): void {
    this.#wake?.(null);
  }

  /** Notices about these presses are taken in and never answered. */
  holdAnswersTo(holds: (pressId: string) => boolean): void {
    this.#holds = holds;
  }

  /** Somebody deletes a message. */
  delete(id: number): void {
    const { items } = this.messages;
    items.splice(
      items.findIndex((one) => one.id === id),
      1,
    );
  }

  /** Somebody presses a button, which an older client may show still. @returns the press */
  press(messageId: number, data: string, from: TelegramPerson, topicId?: number): TelegramPress {
    const id = `43825${this.#updates}`;
    const chat = { id: this.#options.chatId, type: "supergroup", title: "Alerts" };
    const callback_query = {
      ...{ id, from: { is_bot: false, ...from }, chat_instance: "1", data },
      message: {
        ...{ message_id: messageId, date: 1_763_696_478, chat },
        ...(topicId === undefined ? {} : { message_thread_id: topicId }),
      },
    };
    this.unconfirmed.push({ update_id: this.#updates++, callback_query });
    const press = { id, notice: null };
    this.presses.add(press);
    this.#wake?.(null);
    return press;
  }

  #poll(body: unknown): Reply | Promise<Reply> {
    const asked = pollBody.safeParse(body);
    if (!asked.success) return bad(asked.error.message);
    const conflict = (why: string) =>
      wrong(409, { ok: false, error_code: 409, description: `Conflict: ${why}` });
    if (this.hasWebhook)
      return conflict(
        "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    const { offset = 0, limit = 100, timeout = 0, allowed_updates } = asked.data;
    // Else messages of the chat, which nobody reads, come as well.
    if (allowed_updates?.join() !== "callback_query") return bad("unexpected allowed_updates");
    this.#wake?.(
      conflict("terminated by other getUpdates request; make sure that only one bot instance is running"),
    );
    const keep = this.unconfirmed.filter(({ update_id }) => update_id >= offset);
    this.unconfirmed.splice(0, this.unconfirmed.length, ...keep);
    const now = () => good(this.unconfirmed.slice(0, limit));
    if (this.unconfirmed.length > 0 || timeout === 0) return now();
    return new Promise((resolve) => {
      const timer = setTimeout(() => wake(null), timeout * 1_000);
      const wake = (reply: Reply | null) => {
        clearTimeout(timer);
        if (this.#wake === wake) this.#wake = null;
        resolve(reply ?? now());
      };
      this.#wake = wake;
    });
  }

  #answer(body: unknown): Reply | Promise<Reply> {
    const sent = answerBody.safeParse(body);
    if (!sent.success) return bad(sent.error.message);
    if (this.#holds(sent.data.callback_query_id)) {
      this.held++;
      return new Promise(() => {});
    }
    const press = this.presses.items.find(({ id }) => id === sent.data.callback_query_id);
    if (press === undefined || press.notice !== null)
      return bad("query is too old and response timeout expired or query ID is invalid");
    press.notice = sent.data.text ?? "";
    this.presses.changed();
    return good(true);
  }

  #sendDocument({ form }: Asked, take: (text: string) => void): Reply {
    const sent = documentBody.safeParse(form);
    if (!sent.success) return bad("there is no document in the request");
    if (this.#options.documents === false) return bad("not enough rights to send documents to the chat");
    const { caption = "", document, disable_notification, reply_parameters, reply_markup } = sent.data;
    const markup = keyboard.optional().safeParse(JSON.parse(reply_markup ?? "null") ?? undefined);
    if (!markup.success || isTooLong(markup.data)) return bad("BUTTON_DATA_INVALID");
    take(visible(`${caption}\n${document}`));
    const reply = JSON.parse(reply_parameters ?? "{}") as { message_id?: number };
    const how = { soundless: disable_notification === "true", isDocument: true };
    return this.#add(caption, how, reply.message_id ?? null, markup.data);
  }

  #sendText(body: unknown, take: (text: string) => void): Reply {
    const sent = textBody.safeParse(body);
    if (!sent.success) return bad(sent.error.message);
    const { text, disable_notification = false, reply_parameters, reply_markup } = sent.data;
    if (isTooLong(reply_markup)) return bad("BUTTON_DATA_INVALID");
    take(visible(text));
    const how = { soundless: disable_notification, isDocument: false };
    return this.#add(text, how, reply_parameters?.message_id ?? null, reply_markup);
  }

  #add(
    text: string,
    how: Pick<TelegramMessage, "soundless" | "isDocument">,
    replyTo: number | null,
    markup: Keyboard | undefined,
  ): Reply {
    const id = ++this.#last;
    const there = this.messages.items.some((one) => one.id === replyTo);
    const buttons = markup?.inline_keyboard.flat() ?? [];
    this.messages.add({ id, text, ...how, replyTo: there ? replyTo : null, edits: 0, buttons });
    return good({ message_id: id });
  }

  #edit(body: unknown, take: (text: string) => void): Reply {
    const sent = editBody.safeParse(body);
    if (!sent.success) return bad(sent.error.message);
    const message = this.messages.items.find(({ id }) => id === sent.data.message_id);
    if (message === undefined) return bad("message to edit not found");
    if (this.frozen.has(message.id)) return bad("message can't be edited");
    if (message.isDocument) return bad("there is no text in the message to edit");
    if (isTooLong(sent.data.reply_markup)) return bad("BUTTON_DATA_INVALID");
    // An edit without buttons takes them away.
    const buttons = sent.data.reply_markup?.inline_keyboard.flat() ?? [];
    if (message.text === sent.data.text && JSON.stringify(message.buttons) === JSON.stringify(buttons))
      return bad(
        "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    take(visible(sent.data.text));
    message.text = sent.data.text;
    message.buttons = buttons;
    message.edits++;
    this.messages.changed();
    return good({ message_id: message.id });
  }
}

/** @param documents false: nobody may send documents to the chat */
export function telegramDialect(token: string, chatId: number, documents = true): Dialect {
  return new TelegramChat({ token, chatId, documents }).dialect;
}
