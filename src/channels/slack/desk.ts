/** Does what people press under messages of a Slack channel, if they may, and tells them, and nobody else, what came of it. */
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import { Acting, mayNot } from "../acting.ts";
import type { Answer } from "../answers.ts";
import { BoundedLog } from "../bounded-log.ts";
import type { SendResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { RefusedPresses } from "../refused-presses.ts";
import { ownLine } from "../text.ts";
import type { Press } from "./frames.ts";
import { cut } from "./render.ts";
import type { Listener } from "./socket.ts";

export interface DeskOptions {
  /** Shows a text to one person alone. */
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
/** Answers to presses on their way to Slack; more are done without one. */
const maxTelling = 50;

export class Desk implements Listener {
  readonly #options: DeskOptions;
  readonly #log: BoundedLog;
  readonly #acting: Acting;
  readonly #refused: RefusedPresses;
  readonly #life = new AbortController();
  /** Somebody who may not act is being told so. */
  #refusing = false;
  #telling = 0;

  constructor(options: DeskOptions) {
    this.#log = new BoundedLog({ ...options, where: "Slack" });
    this.#options = { ...options, log: this.#log };
    this.#acting = new Acting({ ...this.#options, where: "Slack" });
    this.#refused = new RefusedPresses({ ...options, where: "Slack" });
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
      // The channel stops.
    });
  }

  async #serve(press: Press): Promise<void> {
    const { person, actionId } = press;
    if (!this.allows(press)) {
      this.#refused.note(person.name, actionId);
      return this.#refuse(press);
    }
    const answer = await this.#acting.withinPatience(this.#acting.pressed(actionId, person.name));
    const told = answer.title || ownLine([answer.lines[0] ?? ""].flat().join(" "));
    this.#log.acted(
      answer.changed === true,
      { who: person.name, what: actionId },
      `acted from Slack: ${told}`,
    );
    if (this.#telling >= maxTelling) return;
    this.#telling++;
    try {
      await this.#tell(press, answer);
    } finally {
      this.#telling--;
    }
  }

  /** One at a time: whoever presses without end takes no request from those who may act. */
  async #refuse(press: Press): Promise<void> {
    if (this.#refusing) return;
    this.#refusing = true;
    try {
      await this.#tell(press, mayNot);
    } finally {
      this.#refusing = false;
    }
  }

  /** Twice where it may pass. What was done is done, whether or not it can be told. */
  async #tell({ person, threadTs }: Press, answer: Answer): Promise<void> {
    const { show, channelId, log } = this.#options;
    const thread = threadTs === null ? {} : { thread_ts: threadTs };
    const body = { channel: channelId, user: person.id, text: textOf(answer), ...thread };
    const first = await show(body, this.#life.signal);
    const result = first.kind === "retry" ? await show(body, this.#life.signal) : first;
    if (result.kind === "delivered") return;
    const fields = { who: person.name, why: result.detail };
    // Presses by people who may not act are counted above.
    log[answer === mayNot ? "debug" : "warn"](fields, "Slack did not take the answer to a press");
  }
}

function textOf({ title, lines }: Answer): string {
  let text = title === "" ? "" : `*${cut(title, maxLine)}*`;
  for (const [index, line] of lines.entries()) {
    const shown =
      typeof line === "string" ? cut(line, maxLine) : `*${cut(line[0], 200)}* ${cut(line[1], maxLine)}`;
    if (text.length + shown.length + 1 > maxText) return `${text}\n… and ${lines.length - index} more`;
    text = text === "" ? shown : `${text}\n${shown}`;
  }
  return text;
}
