/**
 * The health of a channel, for the log, the status, the other channels and the note on a late message: each problem is
 * reported once, and its end once.
 *
 *   unknown ──► works ──temporary failure──────► retrying ──► works
 *                 │                                   └─ it lasts: the other channels are notified ──► works
 *                 └───── its own fault ──────────► broken: the other channels are notified ──► works
 */

import type { SendFailure } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import type { DeliverLog } from "../log.ts";

/** Time without an accepted message after which a failure or a limit counts as lasting, ms. */
const lastingMs = 300_000;

export interface HealthOptions {
  readonly clock: Clock;
  readonly log: DeliverLog;
  readonly onWorking: (working: boolean, detail: string) => void;
}

export class Health {
  readonly #channel: string;
  readonly #clock: Clock;
  readonly #log: DeliverLog;
  readonly #onWorking: (working: boolean, detail: string) => void;
  /** The state reported to the other channels; null until known. */
  #working: boolean | null = null;
  #broken = false;
  #retrying = false;
  /** Start of the failures since the last accepted message, monotonic; null: no failed message waits. */
  #failingSinceMs: number | null = null;
  #detail = "not used yet";
  #trouble: { readonly detail: string; readonly lastMs: number } | null = null;
  /** Start of the trouble reported in the log, monotonic; null: none. */
  #reportedSinceMs: number | null = null;

  constructor(channel: string, { clock, log, onWorking }: HealthOptions) {
    this.#channel = channel;
    this.#clock = clock;
    this.#log = log;
    this.#onWorking = onWorking;
  }

  get state(): { readonly working: boolean; readonly retrying: boolean; readonly detail: string } {
    return { working: this.#working ?? true, retrying: this.#retrying, detail: this.#detail };
  }

  /** True while messages fail, and none has been accepted since. */
  get isFailing(): boolean {
    return this.#failingSinceMs !== null;
  }

  /** Returns the trouble that has delayed messages since this wall time, ms; null: none. */
  troubleSince(ms: number): string | null {
    return this.#trouble && this.#trouble.lastMs >= ms ? this.#trouble.detail : null;
  }

  /** The time at which lasting trouble is reported by `lasts`, monotonic; Infinity: none is pending. */
  get lastsAtMs(): number {
    if (this.#failingSinceMs === null || this.#working === false) return Number.POSITIVE_INFINITY;
    return this.#failingSinceMs + lastingMs;
  }

  works(detail: string): void {
    const was = this.#working;
    this.#broken = false;
    this.#retrying = false;
    this.#failingSinceMs = null;
    this.#detail = detail;
    if (this.#reportedSinceMs !== null) {
      const lasted = formatDurationMs(this.#clock.elapsedMs() - this.#reportedSinceMs);
      this.#reportedSinceMs = null;
      this.#say("info", `takes messages again, after ${lasted}`);
    } else if (was === null) this.#say("info", `works: ${detail}`);
    this.#report(true);
  }

  /** The channel did not open, or its check failed temporarily. No message was affected yet. */
  unready(detail: string, failure: SendFailure): void {
    this.#retrying = true;
    this.#troubled(detail);
    if (failure !== "rate-limited") this.#sayRetried();
  }

  /** Notes a temporary failure of a message. @param isNew false if an earlier failure of this message was seen */
  retries(detail: string, failure: SendFailure, isNew: boolean): void {
    this.#retrying = true;
    this.#failingSinceMs ??= this.#clock.elapsedMs();
    this.#troubled(detail);
    // Rate limits are expected; and a single message that fails while others succeed is not reported each time.
    if (isNew && failure !== "rate-limited") this.#sayRetried();
    this.lasts();
  }

  /** Notes that no failed message waits any more. */
  noneFailing(): void {
    this.#failingSinceMs = null;
  }

  /** Reports trouble that lasts. Does nothing before `lastsAtMs`. */
  lasts(): void {
    if (this.#clock.elapsedMs() < this.lastsAtMs) return;
    this.#sayRetried();
    this.#report(false);
  }

  /** Notes a fault of the channel itself, which somebody has to fix. */
  breaks(detail: string): void {
    const was = this.#broken;
    this.#broken = true;
    this.#retrying = false;
    this.#troubled(detail);
    if (was) return;
    this.#reportedSinceMs ??= this.#clock.elapsedMs();
    this.#say("warn", `cannot be used until it is mended: ${detail}`);
    this.#report(false);
  }

  #sayRetried(): void {
    if (this.#reportedSinceMs !== null) return;
    this.#reportedSinceMs = this.#failingSinceMs ?? this.#clock.elapsedMs();
    this.#say("warn", `does not take messages now, and is tried again: ${this.#detail}`);
  }

  #report(working: boolean): void {
    if (this.#working === working) return;
    this.#working = working;
    this.#onWorking(working, this.#detail);
  }

  #troubled(detail: string): void {
    this.#detail = detail;
    this.#trouble = { detail, lastMs: this.#clock.nowMs() };
  }

  #say(level: "info" | "warn", what: string): void {
    this.#log[level]({ channel: this.#channel }, `the channel ${this.#channel} ${what}`);
  }
}
