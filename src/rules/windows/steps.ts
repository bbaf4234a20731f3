/**
 * A series as steps: a sample is valid until the next one, at most until it is stale. Short windows keep every sample; long ones
 * keep for each minute the mean of its samples, their deviation from it, and the last of them, which is valid until the next
 * minute that has a sample.
 */
import type { Unknown } from "../value.ts";
import { pushMinutes, squaresAround } from "./buckets.ts";
import { minuteMs, minuteOf } from "./minute.ts";
import { doubles, Samples, VALUE } from "./samples.ts";
import type { Layout, Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

/** Data shared by the windows of one specification. */
export interface StepsKind {
  /** Its edge, at whole minutes for long windows. */
  readonly shape: Shape;
  /** True if the squares around the mean are needed. */
  readonly deviates: boolean;
  readonly layout: Layout;
}

export function stepsKind(shape: Shape, deviates: boolean): StepsKind {
  const stride = shape.byMinute ? (deviates ? 5 : 4) : 2;
  return { shape, deviates, layout: { head: 0, stride, maxSamples: shape.maxSamples } };
}

/** Offsets within a minute: the time of its last sample, their sum, their number, the last one, and the squares around the mean. */
export const [SEEN_MS, TOTAL, COUNT, LAST, AROUND] = [0, 1, 2, 3, 4] as const;

/**
 * Offsets within the result of `look`: the time for which the sample was valid within its minute, ms, its value, and the variance
 * around that value; then the time for which its last value was valid after that, and that value. One array for all windows, so
 * that a look allocates nothing.
 */
export const [OWN_MS, MEAN, VARIANCE, HELD_MS, LAST_VALUE] = [0, 1, 2, 3, 4] as const;
export const found = doubles(5);

export abstract class SteppedWindow<K extends StepsKind> implements Window {
  protected readonly kind: K;
  /**
   * Short windows: time and value. Long windows: the time of the minute's last sample, their sum, their number, the last one, and,
   * if deviations are needed, the squares around the mean.
   */
  protected readonly samples: Samples;
  /** Counts changes to anything but the newest sample: results computed from the other samples are then invalid. */
  protected version = 0;

  constructor(kind: K) {
    this.kind = kind;
    this.samples = new Samples(kind.layout);
  }

  abstract read(nowMs: number): number | Unknown;
  abstract coverage(nowMs: number): number;

  push(atMs: number, value: number): boolean {
    if (Number.isNaN(value)) return false;
    const { samples } = this;
    if (this.kind.shape.byMinute) this.#takeMinute(atMs, value, 1, value, 0);
    else {
      const index = samples.above(atMs);
      samples.insert(index, atMs, value);
      this.#inserted(index, atMs);
    }
    return true;
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  /** Takes a minute. Short windows take its last sample only. */
  takeMinute(atMs: number, stats: BucketStats): void {
    const { sum, count, last, lastMs } = stats;
    if (!this.kind.shape.byMinute) {
      this.push(lastMs, last);
      return;
    }
    const minute = minuteOf(atMs);
    const seenMs = Math.min(Math.max(lastMs, minute), minute + minuteMs - 1);
    this.#takeMinute(seenMs, sum, count, last, this.kind.deviates ? squaresAround(stats) : 0);
  }

  nextEdgeMs(nowMs: number): number | null {
    const { samples } = this;
    return samples.first === samples.end ? null : nowMs + this.kind.shape.edge.fineStepMs;
  }

  clear(): void {
    this.samples.clear();
    this.version++;
  }

  /** The value of the newest sample. */
  protected get newest(): number {
    const { ring, end } = this.samples;
    return ring[this.samples.offset(end - 1) + (this.kind.shape.byMinute ? LAST : VALUE)]!;
  }

  /** Time since which the sample of this index is valid: its time, or the beginning of its minute. */
  protected beginsAt(index: number): number {
    const atMs = this.samples.timeAt(index);
    return this.kind.shape.byMinute ? minuteOf(atMs) : atMs;
  }

  /** Writes to `found` what the sample of this index contributes between two times. Values are set only if their times are above 0. */
  protected look(index: number, fromMs: number, toMs: number): void {
    const { samples, kind } = this;
    const { byMinute, staleAfterMs } = kind.shape;
    const { ring } = samples;
    const at = samples.offset(index);
    const atMs = ring[at + SEEN_MS]!;
    let untilMs = Math.min(atMs + staleAfterMs, toMs);
    if (!byMinute) {
      if (index + 1 < samples.end) untilMs = Math.min(untilMs, samples.timeAt(index + 1));
      found[OWN_MS] = untilMs - Math.max(atMs, fromMs);
      found[MEAN] = ring[at + TOTAL]!;
      found[VARIANCE] = found[HELD_MS] = 0;
      return;
    }
    if (index + 1 < samples.end) untilMs = Math.min(untilMs, minuteOf(samples.timeAt(index + 1)));
    const begins = minuteOf(atMs);
    const ends = begins + minuteMs;
    const count = ring[at + COUNT]!;
    found[OWN_MS] = Math.min(ends, toMs) - Math.max(begins, fromMs);
    found[MEAN] = ring[at + TOTAL]! / count;
    found[VARIANCE] = kind.deviates ? ring[at + AROUND]! / count : 0;
    found[HELD_MS] = untilMs - Math.max(ends, fromMs);
    found[LAST_VALUE] = ring[at + LAST]!;
  }

  /** `look` without bounds. */
  protected lookAtAll(index: number): void {
    this.look(index, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  /** Adds samples of one minute to its record. */
  #takeMinute(lastMs: number, sum: number, count: number, last: number, squares: number): void {
    const { samples } = this;
    const minute = minuteOf(lastMs);
    const above = samples.above(minute + minuteMs - 1);
    const index = above - 1;
    const knownMs = index < samples.first ? Number.NEGATIVE_INFINITY : samples.timeAt(index);
    if (knownMs < minute) {
      samples.insert(above, lastMs, sum, count, last, squares);
      this.#inserted(above, lastMs);
      return;
    }
    const { ring } = samples;
    const at = samples.offset(index);
    const n = ring[at + COUNT]!;
    const s = ring[at + TOTAL]!;
    let around = 0;
    if (this.kind.deviates) {
      const apart = sum / count - s / n;
      around = ring[at + AROUND]! + squares + (apart * apart * n * count) / (n + count);
    }
    const isLast = lastMs >= knownMs;
    const stands = isLast ? last : ring[at + LAST]!;
    samples.set(index, isLast ? lastMs : knownMs, s + sum, n + count, stands, around);
    if (index < samples.end - 1) this.version++;
  }

  #inserted(index: number, atMs: number): void {
    const { samples } = this;
    if (index < samples.end - 1) this.version++;
    // The sample before the edge may be valid beyond it.
    const keep = samples.above(this.kind.shape.edge.at(atMs) - 1) - 1;
    if (keep > samples.first) samples.forgetUntil(keep);
  }
}
