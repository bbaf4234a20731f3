/** Feeds roll-ups to windows, minute by minute. */
import { minuteMs } from "./minute.ts";
import type { BucketStats } from "./window.ts";

/** A window that takes minutes of which only the roll-up is known. */
export interface MinuteTaker {
  takeMinute(atMs: number, stats: BucketStats, companion: BucketStats | undefined): void;
}

/** Feeds a roll-up by the minute. A wider bucket is divided into equal minutes, which keeps sums correct. */
export function pushMinutes(
  into: MinuteTaker,
  atMs: number,
  stats: BucketStats,
  companion: BucketStats | undefined,
  widthMs = minuteMs,
): void {
  if (!(stats.count > 0) || Number.isNaN(stats.sum)) return;
  if (widthMs <= minuteMs) {
    into.takeMinute(atMs, stats, companion);
    return;
  }
  for (let at = atMs; at < atMs + widthMs; at += minuteMs) {
    const isLast = at + minuteMs >= atMs + widthMs;
    into.takeMinute(at, minuteOf(stats, at, isLast), companion && minuteOf(companion, at, isLast));
  }
}

function minuteOf(stats: BucketStats, atMs: number, isLast: boolean): BucketStats {
  const mean = stats.sum / stats.count;
  return {
    count: 1,
    min: stats.min,
    max: stats.max,
    sum: mean,
    sumSquares: stats.sumSquares / stats.count,
    last: isLast ? stats.last : mean,
    lastMs: isLast ? Math.max(stats.lastMs, atMs) : atMs + minuteMs - 1,
  };
}

/**
 * Sum of the squared distances from the mean. The difference of two large sums loses digits; the error is limited to what the range
 * of values allows.
 */
export function squaresAround({ count, min, max, sum, sumSquares }: BucketStats): number {
  if (min === max) return 0;
  const most = (count * (max - min) ** 2) / 4;
  return Math.min(Math.max(sumSquares - (sum * sum) / count, 0), most);
}
