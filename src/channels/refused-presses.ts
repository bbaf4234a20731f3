/**
 * Log of presses and commands of people who may not act: the first at once, those of the minute after it in one line with their
 * number and who they were by. Anybody in a public chat can press without end.
 */
import type { Clock } from "../domain/clock.ts";
import type { ChannelLog } from "./log.ts";

export interface RefusedPressesOptions {
  readonly clock: Clock;
  readonly log: ChannelLog;
  /** The chat's name for the log. */
  readonly where: string;
}

const everyMs = 60_000;
/** People that one line names; more are counted. */
const maxNamed = 10;
/** People that are told apart within a minute. */
const maxKnown = 1_000;

export class RefusedPresses {
  readonly #options: RefusedPressesOptions;
  readonly #people = new Set<string>();
  #count = 0;
  #cancel: (() => void) | null = null;

  constructor(options: RefusedPressesOptions) {
    this.#options = options;
  }

  /** @param what the id of the button, or the command */
  note(who: string, what: string): void {
    const { log, where } = this.#options;
    if (this.#cancel === null) {
      log.warn({ who, what }, `somebody who is not allowed to tried to act from ${where}`);
      this.#wait();
      return;
    }
    this.#count++;
    if (this.#people.size < maxKnown) this.#people.add(who);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#tell();
  }

  #wait(): void {
    this.#cancel = this.#options.clock.after(everyMs, () => {
      this.#cancel = null;
      // Whoever goes on is not told of at once again.
      if (this.#tell()) this.#wait();
    });
  }

  /** @returns false if nothing was counted */
  #tell(): boolean {
    const [count, people] = [this.#count, [...this.#people]];
    if (count === 0) return false;
    this.#count = 0;
    this.#people.clear();
    const { log, where } = this.#options;
    const unnamed = Math.max(0, people.length - maxNamed);
    log.warn(
      { count, who: people.slice(0, maxNamed), ...(unnamed === 0 ? {} : { unnamed }) },
      `people who are not allowed to tried to act from ${where} ${count} more ${count === 1 ? "time" : "times"} within a minute`,
    );
    return true;
  }
}
