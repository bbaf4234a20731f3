/** Work under way: waits for its end, and logs its errors. */
import type { Clock } from "../domain/clock.ts";
import type { DeliverLog } from "./log.ts";

export class Work {
  readonly #log: DeliverLog;
  readonly #fault: string;
  #underWay = 0;
  #waiting: (() => void)[] = [];

  /** @param fault log text for a piece of work that rejects, which is a bug */
  constructor(log: DeliverLog, fault: string) {
    this.#log = log;
    this.#fault = fault;
  }

  readonly track = (work: Promise<void>): void => {
    this.#underWay++;
    work
      .catch((error: unknown) => {
        const detail = error instanceof Error ? (error.stack ?? error.message) : "failed";
        this.#log.warn({ detail }, this.#fault);
      })
      .finally(() => {
        this.#underWay--;
        if (this.#underWay > 0) return;
        for (const resolve of this.#waiting.splice(0)) resolve();
      });
  };

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  /** Resolves when nothing is under way, or after `ms`. */
  async idleWithin(ms: number, clock: Clock): Promise<void> {
    const bound = new AbortController();
    const over = clock.sleep(ms, bound.signal).catch(() => {});
    await Promise.race([this.idle(), over]);
    bound.abort();
  }
}
