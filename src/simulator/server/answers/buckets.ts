/** Buckets of time for series: each excludes its start and includes its end. */

export interface Bucket {
  readonly startMs: number;
  readonly endMs: number;
  /** The time of its point: its end, or the present if it is not complete. */
  readonly atMs: number;
}

export interface Window {
  readonly resolution: string;
  readonly startTime?: number | undefined;
  readonly endTime?: number | undefined;
  /** Maximum buckets; the newest are kept. */
  readonly limit?: number | undefined;
  /** Adds the first and the last bucket of all, also outside of the window. */
  readonly includeEarliest?: boolean | undefined;
  readonly includeLatest?: boolean | undefined;
}

const lengths: Readonly<Record<string, number>> = {
  "1m": 60_000,
  "5m": 300_000,
  "15m": 900_000,
  "30m": 1_800_000,
  "1h": 3_600_000,
  "4h": 14_400_000,
  "1d": 86_400_000,
  "1w": 604_800_000,
};

/** The bucket that contains a time. Months are calendar months in UTC. */
function bucketAt(ms: number, resolution: string): { startMs: number; endMs: number } {
  if (resolution === "1M") {
    const date = new Date(ms - 1);
    const month = (more: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more, 1);
    return { startMs: month(0), endMs: month(1) };
  }
  const length = lengths[resolution] ?? 86_400_000;
  const startMs = Math.floor((ms - 1) / length) * length;
  return { startMs, endMs: startMs + length };
}

/**
 * Buckets whose end is in the window, oldest first, with the incomplete one if the window reaches the present.
 * @param fromMs no data exists before it
 * @returns `truncated`: there were more than `limit`
 */
export function bucketsOf(
  window: Window,
  fromMs: number,
  nowMs: number,
): { readonly buckets: Bucket[]; readonly truncated: boolean } {
  const { resolution, startTime = 0, endTime = nowMs, limit = Number.POSITIVE_INFINITY } = window;
  const at = (ms: number): Bucket => {
    const bucket = bucketAt(ms, resolution);
    return { ...bucket, atMs: Math.min(bucket.endMs, nowMs) };
  };
  const earliest = at(fromMs + 1);
  const latest = at(nowMs);
  const buckets: Bucket[] = [];
  let truncated = false;
  let bucket = latest;
  if (endTime < nowMs) {
    const last = at(Math.max(endTime, fromMs));
    bucket = last.endMs <= endTime ? last : at(last.startMs);
    if (window.includeLatest) buckets.push(latest);
  }
  while (bucket.endMs > fromMs && bucket.endMs >= startTime) {
    if (buckets.length >= limit) {
      truncated = true;
      break;
    }
    buckets.push(bucket);
    bucket = at(bucket.startMs);
  }
  if (window.includeEarliest && buckets.at(-1)?.startMs !== earliest.startMs) {
    if (buckets.length >= limit) buckets.pop();
    buckets.push(earliest);
  }
  return { buckets: buckets.reverse(), truncated };
}
