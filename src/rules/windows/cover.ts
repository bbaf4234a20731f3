/**
 * Which times were watched: a sample stands from its time until it is stale, and the union of those spans is the
 * cover. A union does not care in which order its parts came, so late samples and replays give the same cover.
 */
const none: readonly number[] = [];

export class Cover {
  /** Starts and ends in turn, ascending, not touching. Gaps are rare, so this stays short. */
  #spans: number[] | typeof none = none;

  add(fromMs: number, toMs: number): void {
    const spans = this.#spans as number[];
    const length = spans.length;
    if (length === 0) {
      // As a literal it has room for just this one.
      this.#spans = [fromMs, toMs];
      return;
    }
    if (fromMs >= spans[length - 2]! && fromMs <= spans[length - 1]!) {
      if (toMs > spans[length - 1]!) spans[length - 1] = toMs;
      return;
    }
    // The spans that [from, to] touches become one with it.
    let first = 0;
    while (first < length && spans[first + 1]! < fromMs) first += 2;
    let after = first;
    let from = fromMs;
    let to = toMs;
    while (after < length && spans[after]! <= toMs) {
      from = Math.min(from, spans[after]!);
      to = Math.max(to, spans[after + 1]!);
      after += 2;
    }
    this.#spans = spans.toSpliced(first, after - first, from, to);
  }

  forgetBefore(ms: number): void {
    const spans = this.#spans;
    if (spans.length === 0 || spans[1]! >= ms) return;
    let kept = 2;
    while (kept < spans.length && spans[kept + 1]! < ms) kept += 2;
    this.#spans = kept < spans.length ? spans.slice(kept) : none;
  }

  /** @returns ms of [from, to] that were watched. */
  within(fromMs: number, toMs: number): number {
    let total = 0;
    for (let i = 0; i < this.#spans.length; i += 2) {
      const span = Math.min(this.#spans[i + 1]!, toMs) - Math.max(this.#spans[i]!, fromMs);
      if (span > 0) total += span;
    }
    return total;
  }

  /** When the newest sample becomes stale; -∞ when there was none. */
  get endMs(): number {
    return this.#spans.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  clear(): void {
    this.#spans = none;
  }
}
