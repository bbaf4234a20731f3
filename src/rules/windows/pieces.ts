/**
 * A series as steps: a sample counts for as long as it stood, at most until it was stale. Short windows keep every
 * sample; long ones keep for each minute the mean of its samples, how far they lay around it, and the last of them,
 * which stands until the next minute that has one.
 */
import { squaresAround } from "./buckets.ts";
import { Samples } from "./samples.ts";
import { minuteMs, type Shape } from "./shape.ts";
import type { BucketStats } from "./window.ts";

/** Takes what stood: for how long, ms; which value; how far the samples behind it lay around it, squared. */
export interface Weighing {
  add(ms: number, value: number, variance: number): void;
}

export class Pieces {
  /** Raw: time, value, –. By the minute: its start, sum and number of its samples. */
  readonly samples = new Samples();
  /** By the minute, at the same indices: when the last sample was seen, its value, and the squares around the mean. */
  readonly #lasts: Samples | null;
  readonly #staleAfterMs: number;
  /** Counts changes to anything but the newest sample: what was worked out from the others is to be done again. */
  version = 0;

  constructor({ byMinute, staleAfterMs }: Shape) {
    this.#lasts = byMinute ? new Samples() : null;
    this.#staleAfterMs = staleAfterMs;
  }

  /** When the newest sample was seen, and its value. */
  get newestMs(): number {
    const { samples } = this;
    const lasts = this.#lasts ?? samples;
    return samples.first === samples.end ? Number.NEGATIVE_INFINITY : lasts.timeAt(samples.end - 1);
  }
  get newest(): number {
    return (this.#lasts ?? this.samples).valueAt(this.samples.end - 1);
  }

  push(atMs: number, value: number): void {
    const { samples } = this;
    const lasts = this.#lasts;
    if (lasts === null) {
      const index = samples.above(atMs);
      samples.insert(index, atMs, value, 0);
      this.#touched(index);
      return;
    }
    const minute = Math.floor(atMs / minuteMs) * minuteMs;
    const index = samples.above(minute);
    if (index === samples.first || samples.timeAt(index - 1) !== minute) {
      samples.insert(index, minute, value, 1);
      lasts.insert(index, atMs, value, 0);
      this.#touched(index);
      return;
    }
    this.#add(index - 1, 1, value, 0, atMs, value);
  }

  /** Only where samples are kept by the minute; elsewhere a minute is its last sample. */
  pushMinute(atMs: number, stats: BucketStats): void {
    const { samples } = this;
    const lasts = this.#lasts;
    if (lasts === null) {
      this.push(stats.lastMs, stats.last);
      return;
    }
    const minute = Math.floor(atMs / minuteMs) * minuteMs;
    const index = samples.above(minute);
    if (index > samples.first && samples.timeAt(index - 1) === minute) {
      this.#add(index - 1, stats.count, stats.sum, squaresAround(stats), stats.lastMs, stats.last);
      return;
    }
    samples.insert(index, minute, stats.sum, stats.count);
    lasts.insert(index, stats.lastMs, stats.last, squaresAround(stats));
    this.#touched(index);
  }

  forgetUntil(index: number): void {
    this.samples.forgetUntil(index);
    this.#lasts?.forgetUntil(index);
  }

  clear(): void {
    this.samples.clear();
    this.#lasts?.clear();
    this.version++;
  }

  /** Hands over what the sample of this index is between two times. */
  weigh(index: number, fromMs: number, toMs: number, into: Weighing): void {
    const { samples } = this;
    const lasts = this.#lasts;
    const next = index + 1 < samples.end ? samples.timeAt(index + 1) : toMs;
    const begins = samples.timeAt(index);
    if (lasts === null) {
      const ms = Math.min(next, begins + this.#staleAfterMs, toMs) - Math.max(begins, fromMs);
      if (ms > 0) into.add(ms, samples.valueAt(index), 0);
      return;
    }
    const own = Math.min(begins + minuteMs, toMs) - Math.max(begins, fromMs);
    if (own > 0) {
      const count = samples.extraAt(index);
      into.add(own, samples.valueAt(index) / count, lasts.extraAt(index) / count);
    }
    const held =
      Math.min(next, lasts.timeAt(index) + this.#staleAfterMs, toMs) - Math.max(begins + minuteMs, fromMs);
    if (held > 0) into.add(held, lasts.valueAt(index), 0);
  }

  #add(index: number, count: number, sum: number, squares: number, lastMs: number, last: number): void {
    const { samples } = this;
    const lasts = this.#lasts!;
    const [n, s] = [samples.extraAt(index), samples.valueAt(index)];
    const apart = sum / count - s / n;
    const around = lasts.extraAt(index) + squares + (apart * apart * n * count) / (n + count);
    samples.set(index, samples.timeAt(index), s + sum, n + count);
    const newer = lastMs >= lasts.timeAt(index);
    lasts.set(index, newer ? lastMs : lasts.timeAt(index), newer ? last : lasts.valueAt(index), around);
    this.#touched(index);
  }

  #touched(index: number): void {
    if (index < this.samples.end - 1) this.version++;
  }
}
