/**
 * How a channel fares, for the log, the status and whoever reads a message that comes late: each trouble is said once, and
 * its end once.
 *
 *   unknown ──► works ──a failure that may pass──► retrying ──► works
 *                 └───── its own fault ──────────► broken ───► works
 */
import type { Clock } from "../domain/clock.ts";
import type { SendFailure } from "../domain/delivery.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { DeliverLog } from "./log.ts";

export class Health {
  readonly #channel: string;
  readonly #clock: Clock;
  readonly #log: DeliverLog;
  readonly #onWorking: (working: boolean, detail: string) => void;
  /** Null until it is known. */
  #working: boolean | null = null;
  #retrying = false;
  #detail = "not used yet";
  #trouble: { readonly detail: string; readonly lastMs: number } | null = null;
  /** Since when it is in trouble that the log tells of, monotonic; null: in none. */
  #toldSinceMs: number | null = null;

  constructor(
    channel: string,
    {
      clock,
      log,
      onWorking,
    }: {
      readonly clock: Clock;
      readonly log: DeliverLog;
      readonly onWorking: (working: boolean, detail: string) => void;
    },
  ) {
    this.#channel = channel;
    this.#clock = clock;
    this.#log = log;
    this.#onWorking = onWorking;
  }

  get state(): { readonly working: boolean; readonly retrying: boolean; readonly detail: string } {
    return { working: this.#working ?? true, retrying: this.#retrying, detail: this.#detail };
  }

  /** What kept messages back since then (wall time, ms); null: nothing did. */
  troubleSince(ms: number): string | null {
    return this.#trouble && this.#trouble.lastMs >= ms ? this.#trouble.detail : null;
  }

  works(detail: string): void {
    const was = this.#working;
    this.#working = true;
    this.#retrying = false;
    this.#detail = detail;
    if (this.#toldSinceMs !== null) {
      const lasted = formatDurationMs(this.#clock.elapsedMs() - this.#toldSinceMs);
      this.#toldSinceMs = null;
      this.#say("info", `takes messages again, after ${lasted}`);
    } else if (was === null) this.#say("info", `works: ${detail}`);
    if (was !== true) this.#onWorking(true, detail);
  }

  /** A failure that may pass. @param isNew it is not one more of the same message */
  retries(detail: string, failure: SendFailure, isNew: boolean): void {
    this.#retrying = true;
    this.#troubled(detail);
    // Limits are kept as a matter of course.
    if (!isNew || failure === "rate-limited" || this.#toldSinceMs !== null) return;
    this.#toldSinceMs = this.#clock.elapsedMs();
    this.#say("warn", `does not take messages now, and is tried again: ${detail}`);
  }

  /** Its own fault: somebody has to mend it. */
  breaks(detail: string): void {
    const was = this.#working;
    this.#working = false;
    this.#retrying = false;
    this.#troubled(detail);
    if (was === false) return;
    this.#toldSinceMs ??= this.#clock.elapsedMs();
    this.#say("warn", `cannot be used until it is mended: ${detail}`);
    this.#onWorking(false, detail);
  }

  #troubled(detail: string): void {
    this.#detail = detail;
    this.#trouble = { detail, lastMs: this.#clock.nowMs() };
  }

  #say(level: "info" | "warn", what: string): void {
    this.#log[level]({ channel: this.#channel }, `the channel ${this.#channel} ${what}`);
  }
}
