/** Limiters of an exchange, and requests that never end, in virtual time. */
import { RequestBudget } from "../../src/exchange/requests/budget.ts";
import { lanes } from "../../src/exchange/requests/lanes.ts";
import { FakeClock } from "../support/clock.ts";

/** Returns the time to wait, ms; 0: the request is taken. */
export type Limiter = (nowMs: number) => number;

export function tokenBucket(perSecond: number, burst: number): Limiter {
  let tokens = burst;
  let filledMs = 0;
  return (nowMs) => {
    tokens = Math.min(burst, tokens + ((nowMs - filledMs) * perSecond) / 1_000);
    filledMs = nowMs;
    if (tokens < 1 - 1e-9) return ((1 - tokens) * 1_000) / perSecond;
    tokens--;
    return 0;
  };
}

/** Takes at most so many in any window. */
export function slidingWindow(count: number, windowMs: number): Limiter {
  const takenMs: number[] = [];
  return (nowMs) => {
    while (takenMs.length > 0 && nowMs - takenMs[0]! >= windowMs) takenMs.shift();
    if (takenMs.length >= count) return takenMs[0]! + windowMs - nowMs;
    takenMs.push(nowMs);
    return 0;
  };
}

/** Only promises have to settle between two timers. */
class PromiseClock extends FakeClock {
  override async settle(): Promise<void> {
    for (let i = 0; i < 12; i++) await null;
  }
}

export interface Phase {
  readonly answered: number;
  readonly refused: number;
  /** The longest time between two answers, ms. */
  readonly maxGapMs: number;
}

/** Requests that wait all the time, against a limiter. */
export class Load {
  readonly clock = new PromiseClock(0);
  readonly budget = new RequestBudget({ clock: this.clock, requestsPerSecond: null });
  readonly #limiter: Limiter;
  readonly #header: (waitMs: number) => number | null;
  #answered = 0;
  #refused = 0;
  #lastMs = 0;
  #maxGapMs = 0;

  /** @param header `Retry-After` of a refusal, ms; null: none */
  constructor(limiter: Limiter, header: (waitMs: number) => number | null) {
    this.#limiter = limiter;
    this.#header = header;
    for (let i = 0; i < 8; i++) void this.#ask(40 + 2 * i);
  }

  async #ask(answerMs: number): Promise<never> {
    for (;;) {
      const grant = await this.budget.take({ lane: lanes.state, route: "traderState" });
      await this.clock.sleep(answerMs / 2);
      const nowMs = this.clock.elapsedMs();
      const waitMs = this.#limiter(nowMs);
      if (waitMs === 0) {
        this.#answered++;
        this.#maxGapMs = Math.max(this.#maxGapMs, nowMs - this.#lastMs);
        this.#lastMs = nowMs;
      } else this.#refused++;
      await this.clock.sleep(answerMs / 2);
      if (waitMs === 0) grant.answered();
      else grant.throttled(this.#header(waitMs));
    }
  }

  async pass(ms: number): Promise<Phase> {
    const [answered, refused] = [this.#answered, this.#refused];
    this.#maxGapMs = 0;
    await this.clock.advance(ms);
    return {
      answered: this.#answered - answered,
      refused: this.#refused - refused,
      maxGapMs: this.#maxGapMs,
    };
  }
}
