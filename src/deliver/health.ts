/**
 * The health of a channel, for the log, the status, the other channels and whoever reads a message that comes late: each
 * trouble is said once, and its end once.
 *
 *   unknown ──► works ──a failure that may pass──► retrying ──► works
 *                 │                                   └─ it lasts: the other channels are told ──► works
 *                 └───── its own fault ──────────► broken: the other channels are told ──► works
 */
import type { Clock } from "../domain/clock.ts";
import type { SendFailure } from "../domain/delivery.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { DeliverLog } from "./log.ts";

/** Nothing was taken for so long: no passing trouble any more, a limit neither. */
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
  /** As the other channels know it; null until it is known. */
  #working: boolean | null = null;
  #broken = false;
  #retrying = false;
  /** Since when messages have failed, monotonic, without one that was taken; null: none waits that did. */
  #failingSinceMs: number | null = null;
  #detail = "not used yet";
  #trouble: { readonly detail: string; readonly lastMs: number } | null = null;
  /** Since when it is in trouble that the log tells of, monotonic; null: in none. */
  #toldSinceMs: number | null = null;

  constructor(channel: string, { clock, log, onWorking }: HealthOptions) {
    this.#channel = channel;
    this.#clock = clock;
    this.#log = log;
    this.#onWorking = onWorking;
  }

  get state(): { readonly working: boolean; readonly retrying: boolean; readonly detail: string } {
    return { working: this.#working ?? true, retrying: this.#retrying, detail: this.#detail };
  }

  /** True while messages fail, and none has been taken since. */
  get isFailing(): boolean {
    return this.#failingSinceMs !== null;
  }

  /** The trouble that has kept messages back since then (wall time, ms); null: nothing did. */
  troubleSince(ms: number): string | null {
    return this.#trouble && this.#trouble.lastMs >= ms ? this.#trouble.detail : null;
  }

  /** The time at which lasting trouble is reported, monotonic: `lasts` then. Infinity: never, as it stands. */
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
    if (this.#toldSinceMs !== null) {
      const lasted = formatDurationMs(this.#clock.elapsedMs() - this.#toldSinceMs);
      this.#toldSinceMs = null;
      this.#say("info", `takes messages again, after ${lasted}`);
    } else if (was === null) this.#say("info", `works: ${detail}`);
    this.#tell(true);
  }

  /** It did not open, or its check failed, in a way that may pass. No message has suffered from that yet. */
  unready(detail: string, failure: SendFailure): void {
    this.#retrying = true;
    this.#troubled(detail);
    if (failure !== "rate-limited") this.#sayRetried();
  }

  /** A message's failure that may pass. @param isNew it is not one more of a message whose failure was seen before */
  retries(detail: string, failure: SendFailure, isNew: boolean): void {
    this.#retrying = true;
    this.#failingSinceMs ??= this.#clock.elapsedMs();
    this.#troubled(detail);
    // Limits are kept as a matter of course; and one message that fails alone is no news each time that others succeed.
    if (isNew && failure !== "rate-limited") this.#sayRetried();
    this.lasts();
  }

  /** No message that failed waits any more. */
  owesNothing(): void {
    this.#failingSinceMs = null;
  }

  /** Says what goes on for long, whatever it is. Does nothing before `lastsAtMs`. */
  lasts(): void {
    if (this.#clock.elapsedMs() < this.lastsAtMs) return;
    this.#sayRetried();
    this.#tell(false);
  }

  /** Its own fault: somebody has to mend it. */
  breaks(detail: string): void {
    const was = this.#broken;
    this.#broken = true;
    this.#retrying = false;
    this.#troubled(detail);
    if (was) return;
    this.#toldSinceMs ??= this.#clock.elapsedMs();
    this.#say("warn", `cannot be used until it is mended: ${detail}`);
    this.#tell(false);
  }

  #sayRetried(): void {
    if (this.#toldSinceMs !== null) return;
    this.#toldSinceMs = this.#failingSinceMs ?? this.#clock.elapsedMs();
    this.#say("warn", `does not take messages now, and is tried again: ${this.#detail}`);
  }

  #tell(working: boolean): void {
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
