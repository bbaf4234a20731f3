/**
 * A dead man's switch. The daemon calls an external address while it is healthy, and the service behind it raises the
 * alarm when the calls stop. Healthy means: the main loop runs, no critical message is stuck, and something was read
 * from the exchange since the last call. (A single wallet that cannot be read is reported by an alert instead.)
 *
 * When no channel can send a critical message for a minute, `failUrl` is called, and again each hour while that lasts.
 * A dead message is reported by one call of it. Without `failUrl`, calls stop for an hour, and not longer, because a
 * dead daemon could not be detected meanwhile. A failed call is logged once and shown in the status, without an alert:
 * the service notices it by itself.
 */
import { Agent, request } from "undici";
import type { Clock } from "../domain/clock.ts";
import type { HeartbeatStatus } from "../domain/status.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import type { HeartbeatSettings } from "./settings/heartbeat.ts";

export interface HeartbeatOptions {
  readonly settings: HeartbeatSettings;
  readonly clock: Clock;
  readonly log: {
    info(fields: object, text: string): void;
    warn(fields: object, text: string): void;
  };
  /** The time at which the main loop last finished a turn, monotonic ms; null: not yet. */
  readonly turnedMs: () => number | null;
  /** The time of the last read from the exchange, ms; null: not yet. */
  readonly readMs: () => number | null;
  readonly critical: () => {
    /** The time since which the oldest undelivered critical message waits, ms; null: there is none. */
    readonly waitingSinceMs: number | null;
    /** Critical messages since the start that were given up without any delivery. */
    readonly lost: number;
  };
}

const callTimeoutMs = 5_000;
const checkEveryMs = 5_000;
const stuckMs = 60_000;
const failRepeatMs = 3_600_000;

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #agent = new Agent({ connect: { timeout: callTimeoutMs }, keepAliveTimeout: 1_000 });
  #cancel: () => void = () => {};
  #checking: Promise<void> = Promise.resolve();
  #stopped = false;
  #dueMs = Number.NEGATIVE_INFINITY;
  /** The time of the last call, monotonic and wall. */
  #lastCallMs = Number.NEGATIVE_INFINITY;
  #lastCallAtMs = Number.NEGATIVE_INFINITY;
  #lastOkMs: number | null = null;
  #failure: string | null = null;
  #failingSinceMs: number | null = null;
  #withheld: string | null = null;
  #failDueMs = Number.NEGATIVE_INFINITY;
  #failToldMs: number | null = null;
  #failUrlFailure: string | null = null;
  /** The number of dead messages already reported, and the time since which there are more, monotonic. */
  #reportedLost = 0;
  #lostSinceMs: number | null = null;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  start(): void {
    this.#scheduleCheck();
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
      failure: this.#failure ?? this.#failUrlFailure,
      failingSinceMs: this.#failingSinceMs,
      withheld: this.#withheld,
      failToldMs: this.#failToldMs,
    };
  }

  /** Resolves when no call is in flight. */
  settled(): Promise<void> {
    return this.#checking;
  }

  #scheduleCheck(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    this.#cancel = clock.after(checkEveryMs, () => {
      this.#checking = this.#check().finally(() => this.#scheduleCheck());
    });
  }

  async #check(): Promise<void> {
    const stuck = this.#stuckReason();
    await Promise.all([this.#callFailUrl(stuck), this.#callUrl(stuck)]);
  }

  /** The reason why messages do not arrive, for people; null: none is known. */
  #stuckReason(): string | null {
    const { clock, critical } = this.#options;
    const { waitingSinceMs, lost } = critical();
    const waitedMs = waitingSinceMs === null ? 0 : clock.nowMs() - waitingSinceMs;
    if (waitedMs >= stuckMs)
      return `a critical message can leave by no channel for ${formatDurationMs(waitedMs)}`;
    if (lost <= this.#reportedLost) return null;
    this.#lostSinceMs ??= clock.elapsedMs();
    if (this.#options.settings.failUrl === null && clock.elapsedMs() - this.#lostSinceMs >= failRepeatMs) {
      this.#markReported(lost);
      return null;
    }
    return "a critical message was given up, and nobody got it";
  }

  /** Marks dead messages as reported. */
  #markReported(lost: number): void {
    this.#reportedLost = lost;
    this.#lostSinceMs = null;
  }

  async #callFailUrl(stuck: string | null): Promise<void> {
    const { settings, clock, critical, log } = this.#options;
    if (stuck === null) {
      this.#failDueMs = Number.NEGATIVE_INFINITY;
      this.#failUrlFailure = null;
      return;
    }
    if (settings.failUrl === null || clock.elapsedMs() < this.#failDueMs) return;
    this.#failDueMs = clock.elapsedMs() + failRepeatMs;
    const { lost } = critical();
    const failure = await this.#call(settings.failUrl);
    if (failure === null) {
      this.#failToldMs = clock.nowMs();
      this.#markReported(lost);
      this.#failUrlFailure = null;
      log.warn({}, `the heartbeat's failUrl was called: ${stuck}`);
      return;
    }
    // It is tried again at the next check.
    this.#failDueMs = Number.NEGATIVE_INFINITY;
    if (this.#failUrlFailure === null)
      log.warn({}, `${stuck}, and the heartbeat's failUrl cannot be called: ${failure}`);
    this.#failUrlFailure = failure;
  }

  async #callUrl(stuck: string | null): Promise<void> {
    const { settings, clock, log } = this.#options;
    if (clock.elapsedMs() < this.#dueMs) return;
    const withheld = stuck ?? this.#unhealthyReason();
    if (withheld !== null) {
      if (this.#withheld === null && this.#lastOkMs !== null) log.warn({}, `no heartbeat: ${withheld}`);
      this.#withheld = withheld;
      return;
    }
    if (this.#withheld !== null && this.#lastOkMs !== null) log.info({}, "the heartbeat goes on");
    this.#withheld = null;
    this.#dueMs = clock.elapsedMs() + settings.everyMs;
    this.#lastCallMs = clock.elapsedMs();
    this.#lastCallAtMs = clock.nowMs();
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

  #unhealthyReason(): string | null {
    const { turnedMs, readMs } = this.#options;
    const turned = turnedMs();
    if (turned === null || turned <= this.#lastCallMs) return "the loop has not turned since the last one";
    const read = readMs();
    if (read === null || read <= this.#lastCallAtMs)
      return "nothing was read from the exchange since the last one";
    return null;
  }

  /** @returns the reason of the failure, without the address, which may be secret; null: success */
  async #call(url: string): Promise<string | null> {
    if (this.#stopped) return "stopping";
    try {
      const signal = AbortSignal.timeout(callTimeoutMs);
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
