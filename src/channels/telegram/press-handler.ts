/** Handles button presses in a Telegram chat: checks authorization, runs the action, and shows the result. */
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import { ActionRunner, notAllowed } from "../action-runner.ts";
import type { Answer } from "../answers.ts";
import { BoundedLog } from "../bounded-log.ts";
import type { SendResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { ownLine, shorten } from "../message/text.ts";
import { RefusedPresses } from "../refused-presses.ts";
import { forTelegram } from "./render.ts";
import type { Press } from "./update.ts";
import type { Listener } from "./updates.ts";

export interface PressHandlerOptions {
  readonly ask: (method: string, body: object, signal: AbortSignal) => Promise<SendResult>;
  /** A chat's id, or `@name`. */
  readonly chatId: string;
  readonly topicId: number | undefined;
  /** Ids of users who may act. */
  readonly users: readonly string[];
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
}

/** Maximum length of the notice that answers a press. */
const maxNotice = 200;
const maxStory = 3_800;

export class PressHandler implements Listener {
  readonly #options: PressHandlerOptions;
  readonly #log: BoundedLog;
  readonly #runner: ActionRunner;
  readonly #refused: RefusedPresses;
  readonly #life = new AbortController();
  /** True while a refusal is being sent. */
  #replyingRefusal = false;

  constructor(options: PressHandlerOptions) {
    this.#log = new BoundedLog({ ...options, chat: "Telegram" });
    this.#options = { ...options, log: this.#log };
    this.#runner = new ActionRunner({ ...this.#options, chat: "Telegram" });
    this.#refused = new RefusedPresses({ ...options, chat: "Telegram" });
  }

  stop(): void {
    this.#life.abort();
    this.#refused.stop();
    this.#log.stop();
  }

  isFor({ chat, topicId }: Press): boolean {
    const { chatId, topicId: own } = this.#options;
    const isChat = chatId.startsWith("@")
      ? chatId.slice(1).toLowerCase() === chat.username?.toLowerCase()
      : chatId === chat.id;
    return isChat && (own === undefined || own === topicId);
  }

  isOfTopic({ topicId }: Press): boolean {
    return this.#options.topicId !== undefined && this.#options.topicId === topicId;
  }

  allows({ person }: Press): boolean {
    return this.#options.users.includes(person.id);
  }

  async take(press: Press): Promise<void> {
    const { person, data } = press;
    if (!this.allows(press)) {
      this.#refused.note(person.name, data);
      void this.#refuse(press);
      return;
    }
    const work = this.#runner.handlePress(data, person.name, press.id);
    const answer = await this.#runner.answerInTime(work);
    this.#log.logAction(
      answer.changed === true,
      { who: person.name, what: data },
      `acted from Telegram: ${answer.title || lineOf(answer, 0)}`,
    );
    await this.#reply(press, answer);
    // The press is confirmed to Telegram after the action has ended.
    await work.catch(() => {});
  }

  /**
   * Sends one refusal at a time, in the background, so that repeated presses do not delay people who are allowed to
   * act.
   */
  async #refuse(press: Press): Promise<void> {
    if (this.#replyingRefusal) return;
    this.#replyingRefusal = true;
    await this.#reply(press, notAllowed);
    this.#replyingRefusal = false;
  }

  /** Answers with a notice to the person. An answer with a title is longer and is sent to the chat. */
  async #reply(press: Press, answer: Answer): Promise<void> {
    const { chatId, topicId } = this.#options;
    const isStory = answer.title !== "";
    const notice = isStory ? {} : { text: noticeOf(answer), show_alert: true };
    await this.#ask("answerCallbackQuery", { callback_query_id: press.id, ...notice });
    if (!isStory) return;
    const lines = answer.lines.map((_line, index) => forTelegram(lineOf(answer, index)));
    await this.#ask("sendMessage", {
      chat_id: chatId,
      ...(topicId === undefined ? {} : { message_thread_id: topicId }),
      text: shorten([forTelegram(answer.title), ...lines].join("\n"), maxStory),
      disable_notification: true,
      link_preview_options: { is_disabled: true },
      reply_parameters: { message_id: press.messageId, allow_sending_without_reply: true },
    });
  }

  /** Makes a request, with one retry. The action is not undone if this fails. */
  async #ask(method: string, body: object): Promise<void> {
    const { ask, log } = this.#options;
    try {
      const first = await ask(method, body, this.#life.signal);
      const result = first.kind === "retry" ? await ask(method, body, this.#life.signal) : first;
      if (result.kind !== "delivered")
        log.debug({ detail: result.detail }, "Telegram did not take the answer to a press");
    } catch {
      // The channel is stopping.
    }
  }
}

function lineOf({ lines }: Answer, index: number): string {
  return ownLine([lines[index] ?? ""].flat().join(" "));
}

/** Returns as many whole lines as fit. */
function noticeOf(answer: Answer): string {
  let text = shorten(lineOf(answer, 0), maxNotice);
  for (let index = 1; index < answer.lines.length; index++) {
    const next = `${text}\n${lineOf(answer, index)}`;
    if (next.length > maxNotice) break;
    text = next;
  }
  return text;
}
