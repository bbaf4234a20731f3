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

/** Where in `samples` a minute has them. */
const [COUNT, LAST, SQUARES] = [0, 1, 2] as const;

export class Pieces {
  /**
   * Raw: time and value. By the minute: when its last sample was seen, their sum, how many there were, the last one, and,
   * where deviations are asked for, the squares around the mean.
   */
  readonly samples: Samples;
  readonly #shape: Shape;
  readonly #deviates: boolean;
  /** Counts changes to anything but the newest sample: what was worked out from the others is to be done again. */
  version = 0;

  /** @param deviates whether the squares are asked for */
  constructor(shape: Shape, deviates: boolean) {
    this.#shape = shape;
    this.#deviates = deviates;
    this.samples = new Samples(shape.byMinute ? (deviates ? 3 : 2) : 0, shape.most);
  }

  /** When the newest sample was seen, and its value. */
  get newestMs(): number {
    const { samples } = this;
    return samples.first === samples.end ? Number.NEGATIVE_INFINITY : samples.timeAt(samples.end - 1);
  }
  get newest(): number {
    const index = this.samples.end - 1;
    return this.#shape.byMinute ? this.samples.moreAt(index, LAST) : this.samples.valueAt(index);
  }

  /** Since when the sample of this index stands: its time, or the beginning of its minute. */
  beginsAt(index: number): number {
    const atMs = this.samples.timeAt(index);
    return this.#shape.byMinute ? minuteOf(atMs) : atMs;
  }

  push(atMs: number, value: number): void {
    const { samples } = this;
    if (this.#shape.byMinute) this.#takeMinute(atMs, value, 1, value, 0);
    else {
      const index = samples.above(atMs);
      samples.insert(index, atMs, value);
      this.#touched(index);
    }
  }

  /** Only where samples are kept by the minute; elsewhere a minute is its last sample. */
  pushMinute(atMs: number, stats: BucketStats): void {
    const { sum, count, last, lastMs } = stats;
    if (!this.#shape.byMinute) {
      this.push(lastMs, last);
      return;
    }
    const minute = minuteOf(atMs);
    const seenMs = Math.min(Math.max(lastMs, minute), minute + minuteMs - 1);
    this.#takeMinute(seenMs, sum, count, last, this.#deviates ? squaresAround(stats) : 0);
  }

  forgetUntil(index: number): void {
    this.samples.forgetUntil(index);
  }

  clear(): void {
    this.samples.clear();
    this.version++;
  }

  /** Hands over what the sample of this index is between two times. */
  weigh(index: number, fromMs: number, toMs: number, into: Weighing): void {
    const { samples } = this;
    const { byMinute, staleAfterMs } = this.#shape;
    const next = index + 1 < samples.end ? this.beginsAt(index + 1) : toMs;
    const atMs = samples.timeAt(index);
    if (!byMinute) {
      const ms = Math.min(next, atMs + staleAfterMs, toMs) - Math.max(atMs, fromMs);
      if (ms > 0) into.add(ms, samples.valueAt(index), 0);
      return;
    }
    const begins = minuteOf(atMs);
    const own = Math.min(begins + minuteMs, toMs) - Math.max(begins, fromMs);
    if (own > 0) {
      const count = samples.moreAt(index, COUNT);
      const variance = this.#deviates ? samples.moreAt(index, SQUARES) / count : 0;
      into.add(own, samples.valueAt(index) / count, variance);
    }
    const held = Math.min(next, atMs + staleAfterMs, toMs) - Math.max(begins + minuteMs, fromMs);
    if (held > 0) into.add(held, samples.moreAt(index, LAST), 0);
  }

  /** Adds samples of one minute to what is kept of it. */
  #takeMinute(lastMs: number, sum: number, count: number, last: number, squares: number): void {
    const { samples } = this;
    const minute = minuteOf(lastMs);
    const above = samples.above(minute + minuteMs - 1);
    const index = above - 1;
    if (index < samples.first || minuteOf(samples.timeAt(index)) !== minute) {
      samples.insert(above, lastMs, sum, count, last, squares);
      this.#touched(above);
      return;
    }
    const [n, s] = [samples.moreAt(index, COUNT), samples.valueAt(index)];
    const apart = sum / count - s / n;
    const around = this.#deviates
      ? samples.moreAt(index, SQUARES) + squares + (apart * apart * n * count) / (n + count)
      : 0;
    const knownMs = samples.timeAt(index);
    if (lastMs >= knownMs) samples.set(index, lastMs, s + sum, n + count, last, around);
    else samples.set(index, knownMs, s + sum, n + count, samples.moreAt(index, LAST), around);
    this.#touched(index);
  }

  #touched(index: number): void {
    if (index < this.samples.end - 1) this.version++;
  }
}

const minuteOf = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs;
