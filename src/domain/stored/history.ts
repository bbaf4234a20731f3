/** Roll-ups: figures of each minute and each hour of a series, kept longer than its samples. */
import type { Tick } from "../observation.ts";

export type Resolution = "minute" | "hour";

export const resolutionMs: Readonly<Record<Resolution, number>> = { minute: 60_000, hour: 3_600_000 };

/** Statistics of the samples of one series in one bucket, without unknown ones (NaN). */
export interface Stats {
  /** 0: the series was never known. Then `min`, `max`, `last` and `lastMs` are NaN. */
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly sumSquares: number;
  readonly last: number;
  /** The time of the last one, ms. */
  readonly lastMs: number;
}

/** One bucket of one owner. */
export interface RollUp {
  /** The beginning of the bucket, ms: a whole minute or hour since the epoch. */
  readonly atMs: number;
  readonly owner: string;
  /** Series names as in ticks, of all layouts in the bucket. Often the same array as that of the previous bucket. */
  readonly series: readonly string[];
  /** At the same indices. */
  readonly stats: readonly Stats[];
}

/** Figures of one series, in columns by bucket. */
export type StatsColumns = Readonly<Record<keyof Stats, Readonly<Float64Array> | readonly number[]>>;

/** Consecutive buckets of one owner with the same series, in columns: this takes little memory. */
export interface RollUpBlock {
  readonly owner: string;
  readonly series: readonly string[];
  /** The beginnings of the buckets, ms, ascending. */
  readonly times: readonly number[];
  /** By the index of the series, then by the index of the time. */
  readonly columns: readonly StatsColumns[];
  /** The range of valid indices of the times: from the first, to before the second. */
  readonly from: number;
  readonly to: number;
}

export interface RollUpQuery {
  readonly owner: string;
  readonly resolution: Resolution;
  /** The first bucket is the one that begins at or after it. */
  readonly fromMs: number;
  /** The last bucket is the one that begins at or before it; default: the newest. */
  readonly toMs?: number;
  /** The wanted series; default all. Others cost little. */
  readonly wanted?: (series: string) => boolean;
}

/** The result of returning free space of the database to the disk. */
export interface Compacted {
  /** False: there is more to return; call again. */
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

/**
 * Merges two parts of one series: two buckets, or two parts of one bucket. The later `last` wins; at equal times `b`'s.
 */
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

/** The values at one index of columns. */
export function statsAt(columns: StatsColumns, index: number): Stats {
  return {
    count: columns.count[index]!,
    min: columns.min[index]!,
    max: columns.max[index]!,
    sum: columns.sum[index]!,
    sumSquares: columns.sumSquares[index]!,
    last: columns.last[index]!,
    lastMs: columns.lastMs[index]!,
  };
}

/** Gathers buckets of one owner, which come oldest first. */
export class RollUpBlocks {
  readonly #owner: string;
  #series: readonly string[] | null = null;
  #times: number[] = [];
  #columns: Record<keyof Stats, number[]>[] = [];

  constructor(owner: string) {
    this.#owner = owner;
  }

  /** @returns the previous block if this bucket has other series */
  add({ atMs, series, stats }: Pick<RollUp, "atMs" | "series" | "stats">): RollUpBlock | null {
    const before = series === this.#series ? null : this.take();
    if (series !== this.#series) {
      this.#series = series;
      this.#columns = series.map(() => ({
        count: [],
        min: [],
        max: [],
        sum: [],
        sumSquares: [],
        last: [],
        lastMs: [],
      }));
    }
    this.#times.push(atMs);
    for (let i = 0; i < stats.length; i++) {
      const [column, one] = [this.#columns[i]!, stats[i]!];
      column.count.push(one.count);
      column.min.push(one.min);
      column.max.push(one.max);
      column.sum.push(one.sum);
      column.sumSquares.push(one.sumSquares);
      column.last.push(one.last);
      column.lastMs.push(one.lastMs);
    }
    return before;
  }

  /** Returns the gathered block, if any, and begins a new one. */
  take(): RollUpBlock | null {
    if (this.#series === null) return null;
    const [series, times, columns] = [this.#series, this.#times, this.#columns];
    this.#series = null;
    this.#times = [];
    return { owner: this.#owner, series, times, columns, from: 0, to: times.length };
  }
}

/** Groups the buckets of one owner, oldest first, into blocks. */
export async function* inBlocks(buckets: AsyncIterable<RollUp>, owner: string): AsyncIterable<RollUpBlock> {
  const blocks = new RollUpBlocks(owner);
  for await (const bucket of buckets) {
    const block = blocks.add(bucket);
    if (block !== null) yield block;
  }
  const block = blocks.take();
  if (block !== null) yield block;
}

/** Returns the beginning of the bucket of a time, ms. */
export function bucketOf(atMs: number, widthMs: number): number {
  return Math.floor(atMs / widthMs) * widthMs;
}

/** Makes buckets of the ticks of one owner, oldest first. */
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

/** Returns the statistics of one sample. */
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
