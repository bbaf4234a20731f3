/**
 * Handles button presses in a Slack channel: checks authorization, runs the action, and shows the result to the person
 * only.
 */
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import { ActionRunner, notAllowed } from "../action-runner.ts";
import type { Answer } from "../answers.ts";
import { BoundedLog } from "../bounded-log.ts";
import type { SendResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { ownLine } from "../message/text.ts";
import { RefusedPresses } from "../refused-presses.ts";
import type { Press } from "./frames.ts";
import { cutEscaped } from "./render.ts";
import type { Listener } from "./socket.ts";

export interface PressHandlerOptions {
  /** Shows a message to one person only. */
  readonly show: (body: object, signal: AbortSignal) => Promise<SendResult>;
  readonly channelId: string;
  /** Ids of the people who may act. */
  readonly users: readonly string[];
  readonly actions: ChatActions;
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
}

const maxLine = 400;
const maxText = 3_800;
/** Maximum answers being sent; further presses are handled without an answer. */
const maxReplying = 50;

export class PressHandler implements Listener {
  readonly #options: PressHandlerOptions;
  readonly #log: BoundedLog;
  readonly #runner: ActionRunner;
  readonly #refused: RefusedPresses;
  readonly #life = new AbortController();
  /** True while a refusal is being sent. */
  #replyingRefusal = false;
  #replying = 0;

  constructor(options: PressHandlerOptions) {
    this.#log = new BoundedLog({ ...options, chat: "Slack" });
    this.#options = { ...options, log: this.#log };
    this.#runner = new ActionRunner({ ...this.#options, chat: "Slack" });
    this.#refused = new RefusedPresses({ ...options, chat: "Slack" });
  }

  stop(): void {
    this.#life.abort();
    this.#refused.stop();
    this.#log.stop();
  }

  isFor({ channelId }: Press): boolean {
    return channelId === this.#options.channelId;
  }

  allows({ person }: Press): boolean {
    return this.#options.users.includes(person.id);
  }

  take(press: Press): void {
    void this.#serve(press).catch(() => {
      // The channel is stopping.
    });
  }

  async #serve(press: Press): Promise<void> {
    const { person, actionId } = press;
    if (!this.allows(press)) {
      this.#refused.note(person.name, actionId);
      return this.#refuse(press);
    }
    const answer = await this.#runner.answerInTime(this.#runner.handlePress(actionId, person.name));
    const outcome = answer.title || ownLine([answer.lines[0] ?? ""].flat().join(" "));
    this.#log.logAction(
      answer.changed === true,
      { who: person.name, what: actionId },
      `acted from Slack: ${outcome}`,
    );
    if (this.#replying >= maxReplying) return;
    this.#replying++;
    try {
      await this.#reply(press, answer);
    } finally {
      this.#replying--;
    }
  }

  /** Sends one refusal at a time, so that repeated presses take no requests from people who are allowed to act. */
  async #refuse(press: Press): Promise<void> {
    if (this.#replyingRefusal) return;
    this.#replyingRefusal = true;
    try {
      await this.#reply(press, notAllowed);
    } finally {
      this.#replyingRefusal = false;
    }
  }

  /** Sends the answer, with one retry. The action is not undone if this fails. */
  async #reply({ person, threadTs }: Press, answer: Answer): Promise<void> {
    const { show, channelId, log } = this.#options;
    const thread = threadTs === null ? {} : { thread_ts: threadTs };
    const body = { channel: channelId, user: person.id, text: textOf(answer), ...thread };
    const first = await show(body, this.#life.signal);
    const result = first.kind === "retry" ? await show(body, this.#life.signal) : first;
    if (result.kind === "delivered") return;
    const fields = { who: person.name, why: result.detail };
    // Presses of people who are not allowed are counted above.
    log[answer === notAllowed ? "debug" : "warn"](fields, "Slack did not take the answer to a press");
  }
}

function textOf({ title, lines }: Answer): string {
  let text = title === "" ? "" : `*${cutEscaped(title, maxLine)}*`;
  for (const [index, line] of lines.entries()) {
    const shown =
      typeof line === "string"
        ? cutEscaped(line, maxLine)
        : `*${cutEscaped(line[0], 200)}* ${cutEscaped(line[1], maxLine)}`;
    if (text.length + shown.length + 1 > maxText) return `${text}\n… and ${lines.length - index} more`;
    text = text === "" ? shown : `${text}\n${shown}`;
  }
  return text;
}
