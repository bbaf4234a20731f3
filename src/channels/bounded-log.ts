/**
 * A log for what others bring about: at most so many lines of acts and so many of failures within a minute, and the number of the
 * rest in one line when it is over. An act that changed something is always logged. A service that is hostile, or lets somebody press
 * without end, would fill the disk.
 */
import type { Clock } from "../domain/clock.ts";
import type { ChannelLog } from "./log.ts";

export interface BoundedLogOptions {
  readonly clock: Clock;
  readonly log: ChannelLog;
  /** The chat's name for the log. */
  readonly where: string;
}

const maxLines = 20;
const everyMs = 60_000;

export class BoundedLog implements ChannelLog {
  readonly #options: BoundedLogOptions;
  #fromMs = Number.NEGATIVE_INFINITY;
  #acts = 0;
  #failures = 0;
  #stopped = false;
  #more = 0;
  #cancel: (() => void) | null = null;

  constructor(options: BoundedLogOptions) {
    this.#options = options;
  }

  debug(fields: object, message: string): void {
    this.#options.log.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.#renew();
    if (++this.#acts > maxLines) this.#leaveOut();
    else this.#options.log.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.#renew();
    if (++this.#failures > maxLines) this.#leaveOut();
    else this.#options.log.warn(fields, message);
  }

  /** @param changed true: it is logged in any case */
  acted(changed: boolean, fields: object, message: string): void {
    if (changed) this.#options.log.info(fields, message);
    else this.info(fields, message);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
    this.#over();
  }

  /** Begins another minute when one is over. */
  #renew(): void {
    const nowMs = this.#options.clock.elapsedMs();
    if (nowMs - this.#fromMs < everyMs) return;
    this.#fromMs = nowMs;
    this.#acts = 0;
    this.#failures = 0;
  }

  #leaveOut(): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    this.#more++;
    this.#cancel ??= clock.after(this.#fromMs + everyMs - clock.elapsedMs(), () => this.#over());
  }

  #over(): void {
    const [more, { log, where }] = [this.#more, this.#options];
    this.#cancel = null;
    this.#more = 0;
    if (more > 0) log.warn({ count: more }, `${more} more lines within a minute about presses from ${where}`);
  }
}
