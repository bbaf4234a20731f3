/** Does what people press under messages of a Telegram channel, if they may, and tells them what came of it. */
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import { Acting, mayNot } from "../acting.ts";
import type { Answer } from "../answers.ts";
import { BoundedLog } from "../bounded-log.ts";
import type { SendResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { RefusedPresses } from "../refused-presses.ts";
import { ownLine, shorten } from "../text.ts";
import { forTelegram } from "./render.ts";
import type { Press } from "./update.ts";
import type { Listener } from "./updates.ts";

export interface DeskOptions {
  readonly ask: (method: string, body: object, signal: AbortSignal) => Promise<SendResult>;
  /** A chat's number, or `@name`. */
  readonly chatId: string;
  readonly topicId: number | undefined;
  /** Numbers of the people who may act. */
  readonly users: readonly string[];
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
}

/** Length of a notice that answers a press. */
const maxNotice = 200;
const maxStory = 3_800;

export class Desk implements Listener {
  readonly #options: DeskOptions;
  readonly #log: BoundedLog;
  readonly #acting: Acting;
  readonly #refused: RefusedPresses;
  readonly #life = new AbortController();
  /** Somebody who may not act is being told so. */
  #refusing = false;

  constructor(options: DeskOptions) {
    this.#log = new BoundedLog({ ...options, where: "Telegram" });
    this.#options = { ...options, log: this.#log };
    this.#acting = new Acting({ ...this.#options, where: "Telegram" });
    this.#refused = new RefusedPresses({ ...options, where: "Telegram" });
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
    const work = this.#acting.pressed(data, person.name, press.id);
    const answer = await this.#acting.withinPatience(work);
    this.#log.acted(
      answer.changed === true,
      { who: person.name, what: data },
      `acted from Telegram: ${answer.title || lineOf(answer, 0)}`,
    );
    await this.#tell(press, answer);
    // It is confirmed to Telegram when it is done.
    await work.catch(() => {});
  }

  /** One at a time, and nobody waits for it: whoever presses without end holds up no press of those who may act. */
  async #refuse(press: Press): Promise<void> {
    if (this.#refusing) return;
    this.#refusing = true;
    await this.#tell(press, mayNot);
    this.#refusing = false;
  }

  /** A notice to who pressed; what has a title is longer, and a message in the chat. */
  async #tell(press: Press, answer: Answer): Promise<void> {
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

  /** Twice where it may pass. What was done is done, whether or not it can be told. */
  async #ask(method: string, body: object): Promise<void> {
    const { ask, log } = this.#options;
    try {
      const first = await ask(method, body, this.#life.signal);
      const result = first.kind === "retry" ? await ask(method, body, this.#life.signal) : first;
      if (result.kind !== "delivered")
        log.debug({ detail: result.detail }, "Telegram did not take the answer to a press");
    } catch {
      // The channel stops.
    }
  }
}

function lineOf({ lines }: Answer, index: number): string {
  return ownLine([lines[index] ?? ""].flat().join(" "));
}

/** As many whole lines as fit. */
function noticeOf(answer: Answer): string {
  let text = shorten(lineOf(answer, 0), maxNotice);
  for (let index = 1; index < answer.lines.length; index++) {
    const next = `${text}\n${lineOf(answer, index)}`;
    if (next.length > maxNotice) break;
    text = next;
  }
  return text;
}
