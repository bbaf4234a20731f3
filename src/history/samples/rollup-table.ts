/**
 * Figures of the samples of one owner and one layout by bucket: gathered from ticks, and kept compressed.
 *
 *   kinds     when, count, lastMs, last, min, max, sum, sumSquares: each a column, series after series
 *   bits      each number XOR its prediction (the last one, the last times the count, …): a series that did not change
 *             within a bucket costs only its last value
 *   bytes     by plane, as in chunk.ts
 *   zstd
 *
 * Lossless: every bit is preserved, NaN as a NaN.
 */
import type { StatsColumns } from "../../domain/stored/history.ts";
import { compress, decompress } from "./compression.ts";

const kinds = ["count", "lastMs", "last", "min", "max", "sum", "sumSquares"] as const;
type Kind = (typeof kinds)[number];

/** Buckets in ascending order, while they are gathered. The index of a figure is `bucket × width + series`. */
export class RollUpTable {
  readonly width: number;
  readonly bucketMs: number;
  readonly times: number[] = [];
  readonly columns: Readonly<Record<Kind, number[]>> = {
    count: [],
    lastMs: [],
    last: [],
    min: [],
    max: [],
    sum: [],
    sumSquares: [],
  };

  constructor(width: number, bucketMs: number) {
    this.width = width;
    this.bucketMs = bucketMs;
  }

  get length(): number {
    return this.times.length;
  }

  /** Adds a tick. Ticks come oldest first, those of the same time in the order of commits. */
  addTick(atMs: number, valueAt: (index: number) => number): void {
    const at = this.#bucket(Math.floor(atMs / this.bucketMs) * this.bucketMs);
    const { count, lastMs, last, min, max, sum, sumSquares } = this.columns;
    for (let i = 0; i < this.width; i++) {
      const value = valueAt(i);
      if (Number.isNaN(value)) continue;
      const cell = at + i;
      if (count[cell] === 0) {
        count[cell] = 1;
        min[cell] = max[cell] = sum[cell] = value;
        sumSquares[cell] = value * value;
      } else {
        count[cell]!++;
        if (value < min[cell]!) min[cell] = value;
        if (value > max[cell]!) max[cell] = value;
        sum[cell]! += value;
        sumSquares[cell]! += value * value;
      }
      last[cell] = value;
      lastMs[cell] = atMs;
    }
  }

  /** Adds a bucket of another table of this width. They come in ascending order, and the later part of a bucket after the earlier. */
  addBucket(from: RollUpTable, bucket: number): void {
    const at = this.#bucket(Math.floor(from.times[bucket]! / this.bucketMs) * this.bucketMs);
    const mine = this.columns;
    const theirs = from.columns;
    for (let i = 0; i < this.width; i++) {
      const source = bucket * this.width + i;
      const cell = at + i;
      if (theirs.count[source] === 0) continue;
      if (mine.count[cell] === 0) {
        for (const kind of kinds) mine[kind][cell] = theirs[kind][source]!;
        continue;
      }
      mine.count[cell]! += theirs.count[source]!;
      mine.min[cell] = Math.min(mine.min[cell]!, theirs.min[source]!);
      mine.max[cell] = Math.max(mine.max[cell]!, theirs.max[source]!);
      mine.sum[cell]! += theirs.sum[source]!;
      mine.sumSquares[cell]! += theirs.sumSquares[source]!;
      if (theirs.lastMs[source]! < mine.lastMs[cell]!) continue;
      mine.lastMs[cell] = theirs.lastMs[source]!;
      mine.last[cell] = theirs.last[source]!;
    }
  }

  /** Returns the table of stored roll-ups, to which more can be added. */
  static of(stored: StoredRollUps, width: number, bucketMs: number): RollUpTable {
    const table = new RollUpTable(width, bucketMs);
    table.times.push(...stored.times);
    for (let s = 0; s < width; s++) {
      const series = stored.series(s);
      for (const kind of kinds)
        for (let b = 0; b < table.length; b++) table.columns[kind][b * width + s] = series[kind][b]!;
    }
    return table;
  }

  /** Returns the buckets from one index to before another as a table. */
  slice(from: number, to: number): RollUpTable {
    const part = new RollUpTable(this.width, this.bucketMs);
    part.times.push(...this.times.slice(from, to));
    for (const kind of kinds)
      part.columns[kind].push(...this.columns[kind].slice(from * this.width, to * this.width));
    return part;
  }

  /** Returns all figures of one series. */
  series(index: number): StatsColumns {
    const { columns, width } = this;
    const of = (kind: Kind) => this.times.map((_, bucket) => columns[kind][bucket * width + index]!);
    return {
      count: of("count"),
      min: of("min"),
      max: of("max"),
      sum: of("sum"),
      sumSquares: of("sumSquares"),
      last: of("last"),
      lastMs: of("lastMs"),
    };
  }

  /** @returns the index of the first figure of a bucket, which is the last one here or a new one after it */
  #bucket(atMs: number): number {
    if (this.times.at(-1) !== atMs) {
      this.times.push(atMs);
      for (let i = 0; i < this.width; i++) {
        for (const kind of ["count", "sum", "sumSquares"] as const) this.columns[kind].push(0);
        for (const kind of ["lastMs", "last", "min", "max"] as const) this.columns[kind].push(Number.NaN);
      }
    }
    return (this.times.length - 1) * this.width;
  }
}

export function encodeRollUps(table: RollUpTable): Buffer {
  const { width, length, columns } = table;
  const planes = new Uint8Array(8 * length * (1 + kinds.length * width));
  const column = new Column(length * width);
  const times = new Column(length);
  for (let b = 0; b < length; b++)
    times.put(b, table.times[b]!, likelyTime(table.times[b - 1], table.bucketMs));
  times.write(planes, 0);
  let offset = 8 * length;
  for (const kind of kinds) {
    for (let s = 0; s < width; s++) {
      for (let b = 0; b < length; b++) {
        const cell = b * width + s;
        const value = kind === "lastMs" ? columns.lastMs[cell]! - table.times[b]! : columns[kind][cell]!;
        let likely: number;
        switch (kind) {
          case "count":
            likely = likelyCount(
              s === 0 ? undefined : columns.count[b * width]!,
              b === 0 ? 0 : columns.count[cell - width]!,
            );
            break;
          case "lastMs":
            likely = s === 0 ? 0 : columns.lastMs[b * width]! - table.times[b]!;
            break;
          case "last":
            likely = b === 0 ? 0 : columns.last[cell - width]!;
            break;
          default:
            likely = likelyFigure(
              kind,
              columns.count[cell]!,
              columns.last[cell]!,
              columns.min[cell]!,
              columns.max[cell]!,
              columns.sum[cell]!,
            );
        }
        column.put(s * length + b, value, likely);
      }
    }
    column.write(planes, offset);
    offset += 8 * length * width;
  }
  return compress(planes);
}

/** The prediction for the figures of one series, and their columns. */
interface Figures {
  readonly memory: ArrayBuffer;
  readonly index: number;
  readonly count: Float64Array;
  readonly last: Float64Array;
}

/** Stored figures, decoded by series, so that unwanted series cost nothing. */
export class StoredRollUps {
  readonly times: readonly number[];
  readonly #planes: Buffer;
  readonly #width: number;
  readonly #length: number;
  readonly #firstCounts: Float64Array;
  readonly #firstOffsets: Float64Array;

  constructor(body: Uint8Array, length: number, width: number, bucketMs: number) {
    const bytes = 8 * length * (1 + kinds.length * width);
    this.#planes = decompress(body, bytes);
    this.#width = width;
    this.#length = length;
    if (this.#planes.length !== bytes)
      throw new Error(`${length} buckets × ${width} series hold ${this.#planes.length} bytes, not ${bytes}`);
    const times = new Column(length);
    readColumn(this.#planes, 0, length, 0, times.words);
    let before: number | undefined;
    for (let b = 0; b < length; b++) before = times.take(b, likelyTime(before, bucketMs));
    this.times = [...times.values];
    const firsts = new ArrayBuffer(8 * length * kinds.length);
    this.#firstCounts = width === 0 ? new Float64Array(0) : this.#counts(0, firsts);
    this.#firstOffsets = width === 0 ? new Float64Array(0) : this.#offsets(0, firsts);
  }

  /** Returns all figures of one series. */
  series(index: number): StatsColumns {
    const length = this.#length;
    const memory = new ArrayBuffer(8 * length * (kinds.length + 1));
    const count = index === 0 ? this.#firstCounts : this.#counts(index, memory);
    const offsets = index === 0 ? this.#firstOffsets : this.#offsets(index, memory);
    const lastMs = new Float64Array(memory, 8 * length * kinds.length, length);
    for (let b = 0; b < length; b++) lastMs[b] = this.times[b]! + offsets[b]!;
    const last = this.#column("last", index, memory);
    for (let b = 0, before = 0; b < length; b++) before = last.take(b, before);
    const of = { memory, index, count, last: last.values };
    const min = this.#figures("min", of);
    const max = this.#figures("max", of);
    const sum = this.#figures("sum", of, min, max);
    const sumSquares = this.#figures("sumSquares", of, min, max, sum);
    return { count, lastMs, last: last.values, min, max, sum, sumSquares };
  }

  #counts(index: number, memory: ArrayBuffer): Float64Array {
    const column = this.#column("count", index, memory);
    const { values } = column;
    for (let b = 0; b < this.#length; b++)
      column.take(
        b,
        likelyCount(index === 0 ? undefined : this.#firstCounts[b]!, b === 0 ? 0 : values[b - 1]!),
      );
    return values;
  }

  #offsets(index: number, memory: ArrayBuffer): Float64Array {
    const column = this.#column("lastMs", index, memory);
    for (let b = 0; b < this.#length; b++) column.take(b, index === 0 ? 0 : this.#firstOffsets[b]!);
    return column.values;
  }

  #figures(
    kind: "min" | "max" | "sum" | "sumSquares",
    { memory, index, count, last }: Figures,
    min: Float64Array = last,
    max: Float64Array = last,
    sum: Float64Array = last,
  ): Float64Array {
    const column = this.#column(kind, index, memory);
    for (let b = 0; b < this.#length; b++)
      column.take(b, likelyFigure(kind, count[b]!, last[b]!, min[b]!, max[b]!, sum[b]!));
    return column.values;
  }

  /** @param memory for the columns of all kinds of one series: separate memory for each would cost more than its numbers */
  #column(kind: Kind, index: number, memory: ArrayBuffer): Column {
    const length = this.#length;
    const which = kinds.indexOf(kind);
    const offset = 8 * length * (1 + which * this.#width);
    const column = new Column(length, memory, 8 * length * which);
    readColumn(this.#planes, offset, length * this.#width, index * length, column.words);
    return column;
  }
}

function likelyTime(before: number | undefined, bucketMs: number): number {
  return before === undefined ? 0 : before + bucketMs;
}

/** Predicts the count: the series of a layout have their samples at the same times. */
function likelyCount(ofFirst: number | undefined, before: number): number {
  return ofFirst ?? before;
}

function likelyFigure(
  kind: "min" | "max" | "sum" | "sumSquares",
  count: number,
  last: number,
  min: number,
  max: number,
  sum: number,
): number {
  switch (kind) {
    case "min":
    case "max":
      return last;
    case "sum":
      if (count === 0) return 0;
      return count === 1 ? last : ((min + max) / 2) * count;
    case "sumSquares":
      if (count === 0) return 0;
      return count === 2 ? min * min + max * max : (sum * sum) / count;
  }
}

/** For access to the bits of a double. */
const likelyDouble = new Float64Array(1);
const likelyWords = new Uint32Array(likelyDouble.buffer);

/** Encodes doubles as differences from their predictions. */
class Column {
  readonly values: Float64Array;
  readonly words: Uint32Array;

  constructor(count: number, memory = new ArrayBuffer(8 * count), offset = 0) {
    this.values = new Float64Array(memory, offset, count);
    this.words = new Uint32Array(memory, offset, 2 * count);
  }

  put(index: number, value: number, likely: number): void {
    this.values[index] = value;
    this.#flip(index, likely);
  }

  take(index: number, likely: number): number {
    this.#flip(index, likely);
    return this.values[index]!;
  }

  #flip(index: number, likely: number): void {
    // Machines and versions may write different NaNs, so a NaN is not predicted.
    likelyDouble[0] = Number.isNaN(likely) ? 0 : likely;
    this.words[index * 2]! ^= likelyWords[0]!;
    this.words[index * 2 + 1]! ^= likelyWords[1]!;
  }

  write(planes: Uint8Array, offset: number): void {
    const bytes = new Uint8Array(this.values.buffer);
    let out = offset;
    for (let plane = 0; plane < 8; plane++)
      for (let at = plane; at < bytes.length; at += 8) planes[out++] = bytes[at]!;
  }
}

/** @param total count of numbers in the whole column  @param from index of the first wanted one  @param words of all wanted ones */
function readColumn(
  planes: Uint8Array,
  offset: number,
  total: number,
  from: number,
  words: Uint32Array,
): void {
  let at = offset + from;
  for (let out = 0; out < words.length; at++) {
    words[out++] =
      planes[at]! |
      (planes[at + total]! << 8) |
      (planes[at + 2 * total]! << 16) |
      (planes[at + 3 * total]! << 24);
    words[out++] =
      planes[at + 4 * total]! |
      (planes[at + 5 * total]! << 8) |
      (planes[at + 6 * total]! << 16) |
      (planes[at + 7 * total]! << 24);
  }
}
