/** A window over one series of one subject, for one function. */
import type { Unknown } from "../value.ts";

/** The roll-up of the samples of a period. NaN is never among the samples. */
export interface BucketStats {
  /** Number of samples, at least 1. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly sumSquares: number;
  /** The newest sample, and its time, ms. */
  readonly last: number;
  readonly lastMs: number;
}

export interface Window {
  /**
   * Takes one sample or event.
   * @param atMs time of the sample or event. Late ones are inserted at their own time.
   * @param value value of the series; 1 for `countOver`. NaN is ignored.
   * @param companion for `drawdown`: the figure that the fall is measured against; default: the value itself
   * @returns false only if the result, and the time until which it holds, are certain to be unchanged
   */
  push(atMs: number, value: number, companion?: number): boolean;
  /** Takes an event that may or may not belong to the window. Windows over events only: the result is unknown until it has left. */
  pushUnknown?(atMs: number): void;
  /**
   * Takes a period of the past of which only the roll-up is known. Minutes give the same result as their samples, to the minute;
   * wider buckets are exact to their own width.
   * @param atMs start of the period, a whole minute, before every sample that is pushed
   * @param companion for `drawdown`: the roll-up of the figure that the fall is measured against, of the same period
   * @param widthMs its length, whole minutes; default: one
   */
  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void;
  /** @returns the figure over [now − window, now], or the reason why it is unknown */
  read(nowMs: number): number | Unknown;
  /**
   * Returns the figure as if one more sample had been pushed now. Absent: such a sample does not count.
   * @param companion as for `push`
   */
  readWith?(nowMs: number, value: number, companion?: number): number | Unknown;
  /** Share of the window for which there are data, 0–1. */
  coverage(nowMs: number): number;
  /** The next time at which the figure can change without a push, ms; null: never. */
  nextEdgeMs(nowMs: number): number | null;
  /**
   * The time until which `read` is certain to return the same without a push that changes it, ms; before `nowMs`: not known. Absent:
   * never known. In contrast, `nextEdgeMs` gives the resolution at which a figure that changes all the time is followed.
   */
  holdsUntilMs?(nowMs: number): number;
  /** Removes all samples: the subject is a new one. */
  clear(): void;
}
