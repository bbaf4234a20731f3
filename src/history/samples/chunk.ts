/**
 * Many ticks of one owner and one layout as one compressed blob. Lossless: every bit of every float64 comes back.
 *
 *   columns   seq, atMs, then one for each series
 *   bits      each value XOR the one before it in its column: unchanged values are zero
 *   bytes     by plane: all first bytes of a column, all second bytes, …: zeros and repeats are adjacent
 *   zstd
 */
import { compress, decompress } from "./compression.ts";

export interface ChunkTick {
  readonly seq: number;
  readonly atMs: number;
  /** float64, little-endian, as in the tick log. */
  readonly body: Uint8Array;
}

/** @param ticks at least one, all with `width` values */
export function encodeChunk(ticks: readonly ChunkTick[], width: number): Buffer {
  const count = ticks.length;
  const columns = width + 2;
  const rows = new Uint8Array(count * columns * 8);
  const view = new DataView(rows.buffer);
  for (const [i, tick] of ticks.entries()) {
    const start = i * columns * 8;
    view.setFloat64(start, tick.seq, true);
    view.setFloat64(start + 8, tick.atMs, true);
    rows.set(tick.body, start + 16);
  }
  const planes = new Uint8Array(rows.length);
  const stride = columns * 8;
  for (let plane = 0, out = 0; plane < stride; plane++) {
    let before = 0;
    for (let at = plane; at < rows.length; at += stride) {
      const byte = rows[at] as number;
      planes[out++] = byte ^ before;
      before = byte;
    }
  }
  return compress(planes);
}

export interface Chunk {
  readonly count: number;
  seqAt(index: number): number;
  atMsAt(index: number): number;
  valuesAt(index: number): number[];
}

/** @param wanted returns true for the wanted series, by index; default all. Others cost only their decompression. */
export function decodeChunk(
  body: Uint8Array,
  count: number,
  width: number,
  wanted: readonly number[] = [...Array(width).keys()],
): Chunk {
  const bytes = (width + 2) * 8 * count;
  const planes = decompress(body, bytes);
  if (planes.length !== bytes)
    throw new Error(`chunk of ${count} ticks × ${width} series holds ${planes.length} bytes`);
  const [seqs, times] = [column(planes, 0, count), column(planes, 1, count)];
  const columns = wanted.map((index) => column(planes, index + 2, count));
  return {
    count,
    seqAt: (index) => seqs[index]!,
    atMsAt: (index) => times[index]!,
    valuesAt(index) {
      const values: number[] = [];
      for (let i = 0; i < columns.length; i++) values.push(columns[i]![index]!);
      return values;
    },
  };
}

function column(planes: Uint8Array, which: number, count: number): Float64Array {
  const values = new Float64Array(count);
  const words = new Uint32Array(values.buffer);
  let [low, high] = [0, 0];
  let at = which * 8 * count;
  for (let i = 0; i < words.length; at++) {
    low ^=
      planes[at]! |
      (planes[at + count]! << 8) |
      (planes[at + 2 * count]! << 16) |
      (planes[at + 3 * count]! << 24);
    high ^=
      planes[at + 4 * count]! |
      (planes[at + 5 * count]! << 8) |
      (planes[at + 6 * count]! << 16) |
      (planes[at + 7 * count]! << 24);
    words[i++] = low;
    words[i++] = high;
  }
  return values;
}
