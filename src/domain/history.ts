/** What is kept of series when their samples are gone: figures of each minute, and of each hour. */
import type { Tick } from "./observation.ts";

export type Resolution = "minute" | "hour";

export const resolutionMs: Readonly<Record<Resolution, number>> = { minute: 60_000, hour: 3_600_000 };

/** The samples of one series in one bucket. What was not known (NaN) is not among them. */
export interface Stats {
  /** 0: the series was looked at, and never known. Then `min`, `max`, `last` and `lastMs` are NaN. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly sumSquares: number;
  readonly last: number;
  /** When the last one was seen, ms. */
  readonly lastMs: number;
}

/** One bucket of one owner. */
export interface RollUp {
  /** When the bucket begins, ms: a whole minute or hour since the epoch. */
  readonly atMs: number;
  readonly owner: string;
  /** As in ticks; of all layouts that the bucket saw. Often the same array as that of the bucket before it. */
  readonly series: readonly string[];
  /** At the same indices. */
  readonly stats: readonly Stats[];
}

export interface RollUpQuery {
  readonly owner: string;
  readonly resolution: Resolution;
  /** The first bucket is the one that begins at or after it. */
  readonly fromMs: number;
  /** The last bucket is the one that begins at or before it; default: the newest. */
  readonly toMs?: number;
  /** Which series are asked for; default all. Others cost little. */
  readonly wanted?: (series: string) => boolean;
}

/** What came of giving free space in the database back to the disk. */
export interface Compacted {
  /** False: there is more to give back; ask again. */
  readonly finished: boolean;
  readonly freedBytes: number;
  readonly leftBytes: number;
}

export const noStats: Stats = {
  count: 0,
  min: Number.NaN,
  max: Number.NaN,
  sum: 0,
  sumSquares: 0,
  last: Number.NaN,
  lastMs: Number.NaN,
};

/** Of two parts of one series: of two buckets, or of one whose samples came in parts. The later last wins; of two of one moment `b`'s. */
export function mergeStats(a: Stats, b: Stats): Stats {
  if (b.count === 0) return a;
  if (a.count === 0) return b;
  const newer = b.lastMs >= a.lastMs ? b : a;
  return {
    count: a.count + b.count,
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    sum: a.sum + b.sum,
    sumSquares: a.sumSquares + b.sumSquares,
    last: newer.last,
    lastMs: newer.lastMs,
  };
}

/** When the bucket that an instant falls into begins. */
export function bucketOf(atMs: number, widthMs: number): number {
  return Math.floor(atMs / widthMs) * widthMs;
}

/** Buckets of ticks of one owner, which come oldest first. */
export async function* rolledUp(
  ticks: AsyncIterable<Tick>,
  { owner, resolution, wanted }: Pick<RollUpQuery, "owner" | "resolution" | "wanted">,
): AsyncIterable<RollUp> {
  const widthMs = resolutionMs[resolution];
  let atMs = Number.NaN;
  let stats = new Map<string, Stats>();
  const bucket = (): RollUp => ({ atMs, owner, series: [...stats.keys()], stats: [...stats.values()] });
  for await (const tick of ticks) {
    const startMs = bucketOf(tick.atMs, widthMs);
    if (startMs !== atMs && stats.size > 0) yield bucket();
    if (startMs !== atMs) stats = new Map();
    atMs = startMs;
    for (const [index, name] of tick.series.entries()) {
      if (wanted === undefined || wanted(name))
        stats.set(name, mergeStats(stats.get(name) ?? noStats, statsOf(tick.values[index]!, tick.atMs)));
    }
  }
  if (stats.size > 0) yield bucket();
}

/** Of one sample. */
function statsOf(value: number, atMs: number): Stats {
  if (Number.isNaN(value)) return noStats;
  return {
    count: 1,
    min: value,
    max: value,
    sum: value,
    sumSquares: value * value,
    last: value,
    lastMs: atMs,
  };
}
