/**
 * Logs presses and commands of people who are not allowed to act: the first at once, those of the following minute in
 * one line with their count and names. In a public chat anybody can press without end.
 */
import type { Clock } from "../domain/clock.ts";
import type { ChannelLog } from "./log.ts";

export interface RefusedPressesOptions {
  readonly clock: Clock;
  readonly log: ChannelLog;
  /** Name of the chat in log lines. */
  readonly chat: string;
}

const periodMs = 60_000;
/** Number of people that one line names; the others are counted. */
const maxNamed = 10;
/** Number of people that are distinguished within a period. */
const maxKnown = 1_000;

export class RefusedPresses {
  readonly #options: RefusedPressesOptions;
  readonly #names = new Set<string>();
  #count = 0;
  #cancel: (() => void) | null = null;

  constructor(options: RefusedPressesOptions) {
    this.#options = options;
  }

  /** @param what id of the button, or the command */
  note(who: string, what: string): void {
    const { log, chat } = this.#options;
    if (this.#cancel === null) {
      log.warn({ who, what }, `somebody who is not allowed to tried to act from ${chat}`);
      this.#schedule();
      return;
    }
    this.#count++;
    if (this.#names.size < maxKnown) this.#names.add(who);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#report();
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.after(periodMs, () => {
      this.#cancel = null;
      // Further presses are not logged at once again.
      if (this.#report()) this.#schedule();
    });
  }

  /** @returns false if nothing was counted */
  #report(): boolean {
    const [count, names] = [this.#count, [...this.#names]];
    if (count === 0) return false;
    this.#count = 0;
    this.#names.clear();
    const { log, chat } = this.#options;
    const unnamed = Math.max(0, names.length - maxNamed);
    log.warn(
      { count, who: names.slice(0, maxNamed), ...(unnamed === 0 ? {} : { unnamed }) },
      `people who are not allowed to tried to act from ${chat} ${count} more ${count === 1 ? "time" : "times"} within a minute`,
    );
    return true;
  }
}
