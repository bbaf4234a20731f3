/** The part of series that outlives their samples: figures of each minute, and of each hour. */
import type { Tick } from "../observation.ts";

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
  /** The time of the last one, ms. */
  readonly lastMs: number;
}

/** One bucket of one owner. */
export interface RollUp {
  /** The beginning of the bucket, ms: a whole minute or hour since the epoch. */
  readonly atMs: number;
  readonly owner: string;
  /** As in ticks; of all layouts that the bucket saw. Often the same array as that of the bucket before it. */
  readonly series: readonly string[];
  /** At the same indices. */
  readonly stats: readonly Stats[];
}

/** Figures of one series, bucket after bucket. */
export type StatsColumns = Readonly<Record<keyof Stats, Readonly<Float64Array> | readonly number[]>>;

/** Buckets of one owner that follow one another and are of the same series: millions of them are in little room so. */
export interface RollUpBlock {
  readonly owner: string;
  readonly series: readonly string[];
  /** The beginnings of the buckets, ms, ascending. */
  readonly times: readonly number[];
  /** At the indices of the series, and in these at the indices of the times. */
  readonly columns: readonly StatsColumns[];
  /** The index range of the times that count: from this one to before the other. */
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

/** The result of giving free space in the database back to the disk. */
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

/**
 * Merges two parts of one series: of two buckets, or of one whose samples came in parts. The later last wins; of two of one
 * moment `b`'s.
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

  /** @returns what was gathered before, where this one is of other series */
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

  /** The gathered block, if anything; then it begins anew. */
  take(): RollUpBlock | null {
    if (this.#series === null) return null;
    const [series, times, columns] = [this.#series, this.#times, this.#columns];
    this.#series = null;
    this.#times = [];
    return { owner: this.#owner, series, times, columns, from: 0, to: times.length };
  }
}

/** Buckets of one owner, which come oldest first, as blocks. */
export async function* inBlocks(buckets: AsyncIterable<RollUp>, owner: string): AsyncIterable<RollUpBlock> {
  const blocks = new RollUpBlocks(owner);
  for await (const bucket of buckets) {
    const block = blocks.add(bucket);
    if (block !== null) yield block;
  }
  const block = blocks.take();
  if (block !== null) yield block;
}

/** The beginning of the bucket that a time falls into, ms. */
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

/** The statistics of one sample. */
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
