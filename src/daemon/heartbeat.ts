/**
 * The dead man's switch: an address elsewhere is called while all is well, and whoever stands behind it raises the alarm when
 * the calls stay away. What is well: the loop turns, no critical message is stuck, and something was read from the exchange
 * since the last call. (One wallet that cannot be read is an alert, and no dead daemon.)
 *
 * When a critical message can leave by no channel for a minute, `failUrl` is called, and again each hour while that is so. One that
 * was given up is told by it once; without it by an hour without a call, and no longer, since nobody could tell a dead daemon then.
 * That a call fails is logged once, shown in the status, and no alert: the other side notices by itself.
 */
import { Agent, request } from "undici";
import type { Clock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { HeartbeatStatus } from "../domain/status.ts";
import type { HeartbeatSettings } from "./settings/heartbeat.ts";

export interface HeartbeatOptions {
  readonly settings: HeartbeatSettings;
  readonly clock: Clock;
  readonly log: {
    info(fields: object, text: string): void;
    warn(fields: object, text: string): void;
  };
  /** The time at which the loop last finished a turn, monotonic ms; null: not yet. */
  readonly turnedMs: () => number | null;
  /** The time of the last read from the exchange, ms; null: not yet. */
  readonly readMs: () => number | null;
  readonly critical: () => {
    /** Since when the oldest critical message that nobody got waits, ms; null: none does. */
    readonly waitingSinceMs: number | null;
    /** Critical messages given up since the start that nobody got. */
    readonly lost: number;
  };
}

const callMs = 5_000;
const lookEveryMs = 5_000;
const stuckMs = 60_000;
const failAgainMs = 3_600_000;

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #agent = new Agent({ connect: { timeout: callMs }, keepAliveTimeout: 1_000 });
  #cancel: () => void = () => {};
  #looking: Promise<void> = Promise.resolve();
  #stopped = false;
  #dueMs = Number.NEGATIVE_INFINITY;
  /** The time of the last call, monotonic and wall. */
  #beatMs = Number.NEGATIVE_INFINITY;
  #beatAtMs = Number.NEGATIVE_INFINITY;
  #lastOkMs: number | null = null;
  #failure: string | null = null;
  #failingSinceMs: number | null = null;
  #withheld: string | null = null;
  #failDueMs = Number.NEGATIVE_INFINITY;
  #failToldMs: number | null = null;
  #failFailure: string | null = null;
  /** The number given up that are the past, and since when there are more, monotonic. */
  #lost = 0;
  #lostSinceMs: number | null = null;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  start(): void {
    this.#next();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#agent.destroy();
  }

  status(): HeartbeatStatus {
    return {
      everyMs: this.#options.settings.everyMs,
      lastOkMs: this.#lastOkMs,
      failure: this.#failure ?? this.#failFailure,
      failingSinceMs: this.#failingSinceMs,
      withheld: this.#withheld,
      failToldMs: this.#failToldMs,
    };
  }

  /** Resolves when no call is under way. */
  looked(): Promise<void> {
    return this.#looking;
  }

  #next(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    this.#cancel = clock.after(lookEveryMs, () => {
      this.#looking = this.#look().finally(() => this.#next());
    });
  }

  async #look(): Promise<void> {
    const stuck = this.#stuck();
    await Promise.all([this.#alarm(stuck), this.#beat(stuck)]);
  }

  /** The reason why alarms do not arrive, for people; null: they do, as far as is known. */
  #stuck(): string | null {
    const { clock, critical } = this.#options;
    const { waitingSinceMs, lost } = critical();
    const waitedMs = waitingSinceMs === null ? 0 : clock.nowMs() - waitingSinceMs;
    if (waitedMs >= stuckMs)
      return `a critical message can leave by no channel for ${formatDurationMs(waitedMs)}`;
    if (lost <= this.#lost) return null;
    this.#lostSinceMs ??= clock.elapsedMs();
    if (this.#options.settings.failUrl === null && clock.elapsedMs() - this.#lostSinceMs >= failAgainMs) {
      this.#settle(lost);
      return null;
    }
    return "a critical message was given up, and nobody got it";
  }

  /** So many that were given up are told, or were long enough: they are the past. */
  #settle(lost: number): void {
    this.#lost = lost;
    this.#lostSinceMs = null;
  }

  async #alarm(stuck: string | null): Promise<void> {
    const { settings, clock, critical, log } = this.#options;
    if (stuck === null) {
      this.#failDueMs = Number.NEGATIVE_INFINITY;
      this.#failFailure = null;
      return;
    }
    if (settings.failUrl === null || clock.elapsedMs() < this.#failDueMs) return;
    this.#failDueMs = clock.elapsedMs() + failAgainMs;
    const { lost } = critical();
    const failure = await this.#call(settings.failUrl);
    if (failure === null) {
      this.#failToldMs = clock.nowMs();
      this.#settle(lost);
      this.#failFailure = null;
      log.warn({}, `the heartbeat's failUrl was called: ${stuck}`);
      return;
    }
    // It matters now: at the next look again.
    this.#failDueMs = Number.NEGATIVE_INFINITY;
    if (this.#failFailure === null)
      log.warn({}, `${stuck}, and the heartbeat's failUrl cannot be called: ${failure}`);
    this.#failFailure = failure;
  }

  async #beat(stuck: string | null): Promise<void> {
    const { settings, clock, log } = this.#options;
    if (clock.elapsedMs() < this.#dueMs) return;
    const withheld = stuck ?? this.#unwell();
    if (withheld !== null) {
      if (this.#withheld === null && this.#lastOkMs !== null) log.warn({}, `no heartbeat: ${withheld}`);
      this.#withheld = withheld;
      return;
    }
    if (this.#withheld !== null && this.#lastOkMs !== null) log.info({}, "the heartbeat goes on");
    this.#withheld = null;
    this.#dueMs = clock.elapsedMs() + settings.everyMs;
    this.#beatMs = clock.elapsedMs();
    this.#beatAtMs = clock.nowMs();
    const failure = await this.#call(settings.url);
    if (failure === null) {
      this.#lastOkMs = clock.nowMs();
      if (this.#failure !== null) log.info({}, "the heartbeat can be sent again");
      this.#failingSinceMs = null;
    } else {
      this.#failingSinceMs ??= clock.nowMs();
      if (this.#failure === null) log.warn({}, `the heartbeat cannot be sent: ${failure}`);
    }
    this.#failure = failure;
  }

  #unwell(): string | null {
    const { turnedMs, readMs } = this.#options;
    const turned = turnedMs();
    if (turned === null || turned <= this.#beatMs) return "the loop has not turned since the last one";
    const read = readMs();
    if (read === null || read <= this.#beatAtMs)
      return "nothing was read from the exchange since the last one";
    return null;
  }

  /** @returns why it failed, without the address: it may be a secret */
  async #call(url: string): Promise<string | null> {
    if (this.#stopped) return "stopping";
    try {
      const signal = AbortSignal.timeout(callMs);
      const { statusCode, body } = await request(url, { method: "GET", dispatcher: this.#agent, signal });
      await body.dump({ limit: 65_536, signal });
      return statusCode >= 200 && statusCode < 300 ? null : `answered ${statusCode}`;
    } catch (error) {
      const { name, code } = error as { readonly name?: string; readonly code?: string };
      if (name === "TimeoutError" || /TIMEOUT/.test(code ?? "")) return "no answer within 5 s";
      return `unreachable${code === undefined ? "" : ` (${code})`}`;
    }
  }
}
