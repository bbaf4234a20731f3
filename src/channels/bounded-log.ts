/**
 * A rate-limited log for events that other people or services cause. Per minute it writes a fixed number of action
 * lines and of failure lines, and then one line with the number of omitted lines. Actions that changed something are
 * always logged. The limit keeps a hostile service, or a person who presses buttons without end, from filling the disk.
 */
import type { Clock } from "../domain/clock.ts";
import type { ChannelLog } from "./log.ts";

export interface BoundedLogOptions {
  readonly clock: Clock;
  readonly log: ChannelLog;
  /** Name of the chat in log lines. */
  readonly chat: string;
}

const maxLines = 20;
const periodMs = 60_000;

export class BoundedLog implements ChannelLog {
  readonly #options: BoundedLogOptions;
  #fromMs = Number.NEGATIVE_INFINITY;
  #acts = 0;
  #failures = 0;
  #stopped = false;
  #omitted = 0;
  #cancel: (() => void) | null = null;

  constructor(options: BoundedLogOptions) {
    this.#options = options;
  }

  debug(fields: object, message: string): void {
    this.#options.log.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.#startPeriod();
    if (++this.#acts > maxLines) this.#omit();
    else this.#options.log.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.#startPeriod();
    if (++this.#failures > maxLines) this.#omit();
    else this.#options.log.warn(fields, message);
  }

  /** @param changed true: the action is logged regardless of the limit */
  logAction(changed: boolean, fields: object, message: string): void {
    if (changed) this.#options.log.info(fields, message);
    else this.info(fields, message);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
    this.#reportOmitted();
  }

  /** Starts a new period if the current one has ended. */
  #startPeriod(): void {
    const nowMs = this.#options.clock.elapsedMs();
    if (nowMs - this.#fromMs < periodMs) return;
    this.#fromMs = nowMs;
    this.#acts = 0;
    this.#failures = 0;
  }

  #omit(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    this.#omitted++;
    this.#cancel ??= clock.after(this.#fromMs + periodMs - clock.elapsedMs(), () => this.#reportOmitted());
  }

  #reportOmitted(): void {
    const [omitted, { log, chat }] = [this.#omitted, this.#options];
    this.#cancel = null;
    this.#omitted = 0;
    if (omitted > 0)
      log.warn({ count: omitted }, `${omitted} more lines within a minute about presses from ${chat}`);
  }
}
