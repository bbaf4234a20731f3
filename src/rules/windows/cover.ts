/**
 * The times that were watched: a sample stands from its time until it is stale, and the union of those spans is the cover. A
 * union does not care in which order its parts came, so late samples and replays give the same cover.
 *
 * The newest span belongs to the window: it grows with every sample, and mostly there is no other. These are those before.
 */
import { Unknown } from "../value.ts";

export class Cover {
  /** Starts and ends in turn, ascending, not touching. Gaps are rare, so this stays short. */
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
    spans.splice(first, after - first, from, to);
  }

  /** Takes the newest span out. @returns where it begins */
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

  /** @returns ms of [from, to] that were watched. */
  within(fromMs: number, toMs: number): number {
    let total = 0;
    for (let i = 0; i < this.#spans.length; i += 2)
      total += overlap(this.#spans[i]!, this.#spans[i + 1]!, fromMs, toMs);
    return total;
  }
}

/** @returns ms that lie in both spans */
export function overlap(fromMs: number, toMs: number, otherFromMs: number, otherToMs: number): number {
  return Math.max(0, Math.min(toMs, otherToMs) - Math.max(fromMs, otherFromMs));
}

export function notCovered(share: number): Unknown {
  return new Unknown("uncovered", null, `only ${Math.floor(share * 100)} % of the window was watched`);
}
