/** A count over time. At a moment in which it changes it may be read before and after that. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

export class Tally {
  #count = 0;
  #changedMs = Number.NEGATIVE_INFINITY;
  /** Counts at that moment. */
  #within: Range = { low: 0, high: 0 };

  add(more: number, atMs: number): void {
    const { low, high } = this.at(atMs);
    this.#count += more;
    this.#changedMs = atMs;
    this.#within = { low: Math.min(low, this.#count), high: Math.max(high, this.#count) };
  }

  at(atMs: number): Range {
    return atMs === this.#changedMs ? this.#within : { low: this.#count, high: this.#count };
  }
}
