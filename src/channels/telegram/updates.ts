/**
 * Presses of buttons under a bot's messages, by long polling: no port is open. One poller a bot in a process, as Telegram ends all but
 * the newest. A press is confirmed to Telegram, by the offset of the next poll, when it was done: a crash before that brings it again,
 * and so does a stop that came between; while nobody polls, presses wait there for a day.
 */
import type { Clock } from "../../domain/clock.ts";
import { trimmed } from "../address.ts";
import { FrameBound } from "../frame-bound.ts";
import { type Listening, type Source, Sources } from "../listeners.ts";
import type { ChannelLog } from "../log.ts";
import { largeAnswer, Poster, parsed } from "../post.ts";
import { type Press, readUpdate } from "./update.ts";

export interface Listener {
  /** True if the message is of its channel. */
  isFor(press: Press): boolean;
  /** True if its channel is the topic of the message, no more than that. */
  isOfTopic(press: Press): boolean;
  /** True if who pressed is named there. */
  allows(press: Press): boolean;
  /** Resolves when the press is done. Never rejects. */
  take(press: Press): Promise<void>;
}

export interface Bot {
  readonly apiUrl: string;
  readonly token: string;
  readonly clock: Clock;
  readonly log: ChannelLog;
}

const pollSeconds = 30;
const pollTimeoutMs = 40_000;
/** Answers with updates in 10 s; each brings one press at most. */
const maxFrames = 250;
const firstWaitMs = 1_000;
const maxWaitMs = 60_000;
/** Polls in a row that bring nothing new within a second before the next one waits. */
const maxHasty = 3;
/** Polls that fail in a row before it is said. */
const toldAfter = 3;
/** Time without a conflict after which it is over, ms. */
const overAfterMs = 90_000;

const pollers = new Sources<Listener>();

/** Hands presses of a bot's buttons to a listener, beside those that listen already. */
export function listen(bot: Bot, listener: Listener): Listening {
  const key = JSON.stringify([trimmed(bot.apiUrl), bot.token]);
  return pollers.listen(key, listener, (listeners) => new Poller(bot, listeners));
}

class Poller implements Source {
  readonly #bot: Bot;
  readonly #poster: Poster;
  readonly #listeners: ReadonlySet<Listener>;
  readonly #life = new AbortController();
  readonly #bound: FrameBound;
  /** The next update; undefined: the oldest that nobody confirmed. */
  #offset: number | undefined;
  #confirmed = true;
  /** The update that was taken last. */
  #last: number | undefined;
  #hasty = 0;
  #failures = 0;
  #conflictAtMs = Number.NEGATIVE_INFINITY;
  #trouble: string | null = null;
  readonly #running: Promise<void>;

  constructor(bot: Bot, listeners: ReadonlySet<Listener>) {
    this.#bot = bot;
    this.#listeners = listeners;
    this.#bound = new FrameBound(() => bot.clock.elapsedMs(), maxFrames);
    this.#poster = new Poster({
      who: "Telegram",
      secrets: [bot.token],
      timeoutMs: pollTimeoutMs,
      largestAnswer: largeAnswer,
    });
    this.#running = Promise.resolve().then(() => this.#run());
  }

  get trouble(): string | null {
    return this.#trouble;
  }

  async stop(): Promise<void> {
    this.#life.abort();
    await this.#running;
    await this.#poster.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#life;
    while (!signal.aborted) {
      let answered = false;
      try {
        answered = await this.#poll(signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#failed(error instanceof Error ? error.message : "failed", null);
      }
      if (!answered || this.#failures > 0 || this.#hasty >= maxHasty) await this.#wait(signal);
    }
    // Else what was done comes again at the next start.
    if (!this.#confirmed) await this.#ask(0, AbortSignal.timeout(2_000)).catch(() => {});
  }

  async #ask(timeout: number, signal: AbortSignal) {
    const { apiUrl, token } = this.#bot;
    const url = `${trimmed(apiUrl)}/bot${token}/getUpdates`;
    const offset = this.#offset === undefined ? {} : { offset: this.#offset };
    const body = { ...offset, limit: 1, timeout, allowed_updates: ["callback_query"] };
    return this.#poster.call({ url, body }, signal);
  }

  /** Waits for the next press, and sees to it that it is done. Asking for the one after it confirms it. @returns false: it failed */
  async #poll(signal: AbortSignal): Promise<boolean> {
    const beganMs = this.#bot.clock.elapsedMs();
    // After a failure it shows at once whether that is over.
    const answer = await this.#ask(this.#failures > 0 ? 0 : pollSeconds, signal);
    if (answer.kind === "none") return this.#failed(answer.detail, null);
    const said = parsed(answer.text) as { description?: unknown; result?: unknown } | undefined;
    if (answer.status !== 200 || !Array.isArray(said?.result)) {
      const words = typeof said?.description === "string" ? said.description : undefined;
      return this.#failed(this.#poster.detail(answer, words), answer.status);
    }
    // It is not confirmed, and comes again.
    if (this.#bound.refusal(answer.text.length) !== null)
      return this.#failed("Telegram sends presses without end", null);
    this.#confirmed = true;
    this.#works();
    // No more than was asked for.
    const [update] = said.result as unknown[];
    const isNew = update !== undefined && (await this.#take(update));
    this.#hasty = isNew || this.#bot.clock.elapsedMs() - beganMs >= firstWaitMs ? 0 : this.#hasty + 1;
    return true;
  }

  /** @returns false if it is the one that was taken last */
  async #take(raw: unknown): Promise<boolean> {
    const read = readUpdate(raw);
    if (read === null) throw new Error("Telegram sent an update without a number");
    const { id, press } = read;
    if (id === this.#last) return false;
    if (press !== null) {
      const listener = this.#listenerFor(press);
      if (listener === undefined)
        this.#bot.log.debug({ chat: press.chat.id }, "a button was pressed in a chat that no channel names");
      await listener?.take(press);
    }
    this.#last = id;
    this.#offset = id + 1;
    this.#confirmed = false;
    return true;
  }

  /** Several channels may stand in one chat. */
  #listenerFor(press: Press): Listener | undefined {
    const ofChat = [...this.#listeners].filter((one) => one.isFor(press));
    const ofTopic = ofChat.filter((one) => one.isOfTopic(press));
    const near = ofTopic.length > 0 ? ofTopic : ofChat;
    return near.find((one) => one.allows(press)) ?? near[0];
  }

  #works(): void {
    if (this.#bot.clock.elapsedMs() - this.#conflictAtMs < overAfterMs) return;
    this.#failures = 0;
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#bot.log.info({}, "buttons on Telegram work again");
  }

  /** @param status of the answer; null: there was none */
  #failed(detail: string, status: number | null): false {
    const { clock, log } = this.#bot;
    this.#failures++;
    if (status === 409) this.#conflictAtMs = clock.elapsedMs();
    const lasting = status === 409 || status === 401 || status === 404;
    if (!lasting && this.#failures < toldAfter) return false;
    const why = status === 409 ? "another program or a webhook takes the updates of this bot: " : "";
    const isNew = this.#trouble === null;
    this.#trouble = `buttons do not work: ${why}${detail}`;
    if (isNew) log.warn({ detail: `${why}${detail}` }, "buttons on Telegram do not work now");
    return false;
  }

  #wait(signal: AbortSignal): Promise<void> {
    const ms = Math.min(firstWaitMs * 2 ** Math.max(0, this.#failures - 1), maxWaitMs);
    return new Promise((resolve) => {
      const over = () => {
        cancel();
        signal.removeEventListener("abort", over);
        resolve();
      };
      const cancel = this.#bot.clock.after(ms, over);
      signal.addEventListener("abort", over, { once: true });
    });
  }
}
