/**
 * Receives presses of a bot's buttons by long polling; no port is opened. There is one poller per bot and process,
 * since Telegram ends all but the newest poll. A press is confirmed to Telegram by the offset of the next poll, after
 * it was handled. After a crash before that it is delivered again, and so it is after a stop in between. While nobody
 * polls, Telegram keeps presses for a day.
 */
import type { Clock } from "../../domain/clock.ts";
import { trimmed } from "../address.ts";
import { FrameBound } from "../frame-bound.ts";
import { type Listening, type Source, Sources } from "../listeners.ts";
import type { ChannelLog } from "../log.ts";
import { largeAnswerBytes, Poster, tryParseJson } from "../post.ts";
import { type Press, readUpdate } from "./update.ts";

export interface Listener {
  /** Returns true if the message is in the listener's chat. */
  isFor(press: Press): boolean;
  /** Returns true if the listener is configured for the topic of the message. */
  isOfTopic(press: Press): boolean;
  /** Returns true if the person is allowed to act. */
  allows(press: Press): boolean;
  /** Resolves when the press is handled. Never rejects. */
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
/** Maximum answers with updates in 10 s; each has one press at most. */
const maxFrames = 250;
const firstWaitMs = 1_000;
const maxWaitMs = 60_000;
/** Consecutive polls that return nothing new within a second before the next one waits. */
const maxEmptyPolls = 3;
/** Consecutive failed polls before a failure is reported. */
const reportAfterFailures = 3;
/** A conflict is over after this time without one, ms. */
const conflictOverMs = 90_000;

const pollers = new Sources<Listener>();

/** Adds a listener for the presses of a bot's buttons. */
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
  /** Id of the next update; undefined: the oldest unconfirmed one. */
  #offset: number | undefined;
  #confirmed = true;
  /** Id of the last handled update. */
  #last: number | undefined;
  #emptyPolls = 0;
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
      maxAnswerBytes: largeAnswerBytes,
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
      if (!answered || this.#failures > 0 || this.#emptyPolls >= maxEmptyPolls) await this.#wait(signal);
    }
    // Otherwise the handled press would be delivered again at the next start.
    if (!this.#confirmed) await this.#ask(0, AbortSignal.timeout(2_000)).catch(() => {});
  }

  async #ask(timeout: number, signal: AbortSignal) {
    const { apiUrl, token } = this.#bot;
    const url = `${trimmed(apiUrl)}/bot${token}/getUpdates`;
    const offset = this.#offset === undefined ? {} : { offset: this.#offset };
    const body = { ...offset, limit: 1, timeout, allowed_updates: ["callback_query"] };
    return this.#poster.call({ url, body }, signal);
  }

  /** Waits for the next press and handles it. The following poll confirms it. @returns false: it failed */
  async #poll(signal: AbortSignal): Promise<boolean> {
    const beganMs = this.#bot.clock.elapsedMs();
    // After a failure, a poll without wait shows at once if it is over.
    const answer = await this.#ask(this.#failures > 0 ? 0 : pollSeconds, signal);
    if (answer.kind === "none") return this.#failed(answer.detail, null);
    const reply = tryParseJson(answer.text) as { description?: unknown; result?: unknown } | undefined;
    if (answer.status !== 200 || !Array.isArray(reply?.result)) {
      const words = typeof reply?.description === "string" ? reply.description : undefined;
      return this.#failed(this.#poster.detail(answer, words), answer.status);
    }
    // The update is not confirmed, so it is delivered again.
    if (this.#bound.refusal(answer.text.length) !== null)
      return this.#failed("Telegram sends presses without end", null);
    this.#confirmed = true;
    this.#recovered();
    // At most one, as requested.
    const [update] = reply.result as unknown[];
    const isNew = update !== undefined && (await this.#take(update));
    this.#emptyPolls =
      isNew || this.#bot.clock.elapsedMs() - beganMs >= firstWaitMs ? 0 : this.#emptyPolls + 1;
    return true;
  }

  /** @returns false if the update was handled already */
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

  /** Several channels may have the same chat. */
  #listenerFor(press: Press): Listener | undefined {
    const ofChat = [...this.#listeners].filter((one) => one.isFor(press));
    const ofTopic = ofChat.filter((one) => one.isOfTopic(press));
    const candidates = ofTopic.length > 0 ? ofTopic : ofChat;
    return candidates.find((one) => one.allows(press)) ?? candidates[0];
  }

  #recovered(): void {
    if (this.#bot.clock.elapsedMs() - this.#conflictAtMs < conflictOverMs) return;
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
    if (!lasting && this.#failures < reportAfterFailures) return false;
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
