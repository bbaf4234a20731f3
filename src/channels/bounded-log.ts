/**
 * A log for what others bring about: at most so many lines within a minute, and the number of the rest in one line when it is over. A
 * service that is hostile, or lets somebody press without end, would fill the disk.
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
  #lines = 0;
  #more = 0;
  #cancel: (() => void) | null = null;

  constructor(options: BoundedLogOptions) {
    this.#options = options;
  }

  debug(fields: object, message: string): void {
    this.#options.log.debug(fields, message);
  }

  info(fields: object, message: string): void {
    if (this.#counts()) this.#options.log.info(fields, message);
  }

  warn(fields: object, message: string): void {
    if (this.#counts()) this.#options.log.warn(fields, message);
  }

  stop(): void {
    this.#cancel?.();
    this.#over();
  }

  /** @returns false for a line too many */
  #counts(): boolean {
    const { clock } = this.#options;
    const nowMs = clock.elapsedMs();
    if (nowMs - this.#fromMs >= everyMs) {
      this.#fromMs = nowMs;
      this.#lines = 0;
    }
    this.#lines++;
    if (this.#lines <= maxLines) return true;
    this.#more++;
    this.#cancel ??= clock.after(this.#fromMs + everyMs - nowMs, () => this.#over());
    return false;
  }

  #over(): void {
    const [more, { log, where }] = [this.#more, this.#options];
    this.#cancel = null;
    this.#more = 0;
    if (more > 0) log.warn({ count: more }, `${more} more lines within a minute about presses from ${where}`);
  }
}
