/** A look back over one series of one subject, for one function. */
import type { Unknown } from "../value.ts";

/** The remains of the samples of a stretch of time after their roll-up. Only numbers count; NaN was never among them. */
export interface BucketStats {
  /** Samples, at least 1. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly sumSquares: number;
  /** The newest sample, and when it was seen, ms. */
  readonly last: number;
  readonly lastMs: number;
}

export interface Window {
  /**
   * Takes one sample or event.
   * @param atMs when it was seen (samples) or happened (events). Late ones are taken in at their own time.
   * @param value of the series; 1 for `countOver`. NaN is ignored.
   * @param companion of `drawdown`: what the fall is measured against; default the value itself.
   * @returns false only where it surely left everything as it was: the figure, and until when that was said to hold
   */
  push(atMs: number, value: number, companion?: number): boolean;
  /** Takes an event of which it is not known whether it belongs in. Windows over events only: unknown until it has left. */
  pushUnknown?(atMs: number): void;
  /**
   * Takes a stretch of the past that is known by its roll-up only. Minutes give, to the minute, what their samples would
   * have given; wider buckets are exact to their own width.
   * @param atMs start of the stretch, a whole minute. It lies before every sample that is pushed.
   * @param companion of `drawdown`: the roll-up of what the fall is measured against, of the same stretch.
   * @param widthMs its length, whole minutes; default one.
   */
  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void;
  /** @returns the figure over [now − window, now], or why there is none. */
  read(nowMs: number): number | Unknown;
  /**
   * Returns the figure as it would be with one more sample now, which is not kept. Absent: such a sample is no part of it.
   * @param companion as of `push`
   */
  readWith?(nowMs: number, value: number, companion?: number): number | Unknown;
  /** Share of the window that was watched, 0–1. */
  coverage(nowMs: number): number;
  /** The next time at which the figure can change without a push, ms; null: never. */
  nextEdgeMs(nowMs: number): number | null;
  /**
   * Until when `read` surely answers the same without a push that moves it, ms; before `nowMs` where that cannot be said. Not
   * there: it never can. Other than `nextEdgeMs`, which says how finely a figure is followed that moves all the time.
   */
  holdsUntilMs?(nowMs: number): number;
  /** Forgets everything: the subject is a new one. */
  clear(): void;
}
