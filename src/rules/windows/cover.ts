/**
 * The periods with data: a sample is valid from its time until it is stale, and the union of these spans is the cover. A union does not
 * depend on the order of its parts, so late samples and replays give the same cover.
 *
 * The newest span is stored in the window: it grows with every sample, and mostly it is the only one. Here are the earlier ones.
 */
import { Unknown } from "../value.ts";

export class Cover {
  /** Alternating starts and ends, ascending, not touching. Gaps are rare, so this is short. */
  readonly #spans: number[] = [];

  get isEmpty(): boolean {
    return this.#spans.length === 0;
  }

  add(fromMs: number, toMs: number): void {
    const spans = this.#spans;
    const { length } = spans;
    if (length > 0 && fromMs >= spans[length - 2]! && fromMs <= spans[length - 1]!) {
      if (toMs > spans[length - 1]!) spans[length - 1] = toMs;
      return;
    }
    // Spans that touch [from, to] are merged with it.
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
    spans.splice(first, after - first, from, to);
  }

  /** Removes the newest span. @returns its beginning */
  pop(): number {
    this.#spans.pop();
    return this.#spans.pop() ?? Number.NaN;
  }

  forgetBefore(ms: number): void {
    const spans = this.#spans;
    let gone = 0;
    while (gone < spans.length && spans[gone + 1]! < ms) gone += 2;
    if (gone > 0) spans.splice(0, gone);
  }

  /** @returns covered time within [from, to], ms */
  within(fromMs: number, toMs: number): number {
    let total = 0;
    for (let i = 0; i < this.#spans.length; i += 2)
      total += overlap(this.#spans[i]!, this.#spans[i + 1]!, fromMs, toMs);
    return total;
  }
}

/** @returns length of the intersection of both spans, ms */
export function overlap(fromMs: number, toMs: number, otherFromMs: number, otherToMs: number): number {
  return Math.max(0, Math.min(toMs, otherToMs) - Math.max(fromMs, otherFromMs));
}

export function notCovered(share: number): Unknown {
  return new Unknown("uncovered", null, `only ${Math.floor(share * 100)} % of the window was watched`);
}
