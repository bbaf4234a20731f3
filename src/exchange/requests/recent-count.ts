import type { Clock } from "../../domain/clock.ts";

const countedSeconds = 10;

/** Counts events of the last ten seconds: by the second, with a proportional share of the first one. */
export class RecentCount {
  readonly #clock: Clock;
  readonly #seconds = new Float64Array(countedSeconds + 1);
  #second = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(amount: number): void {
    this.#turn();
    this.#seconds[this.#second % this.#seconds.length]! += amount;
  }

  get perSecond(): number {
    this.#turn();
    const { length } = this.#seconds;
    const over = this.#clock.elapsedMs() / 1_000 - this.#second;
    const first = this.#seconds[(this.#second + 1) % length]!;
    return (this.#seconds.reduce((total, count) => total + count, 0) - first * over) / countedSeconds;
  }

  #turn(): void {
    const second = Math.floor(this.#clock.elapsedMs() / 1_000);
    const { length } = this.#seconds;
    if (second - this.#second >= length) {
      this.#seconds.fill(0);
      this.#second = second;
    }
    while (this.#second < second) this.#seconds[++this.#second % length] = 0;
  }
}
