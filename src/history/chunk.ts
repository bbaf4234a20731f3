/**
 * Many ticks of one owner and one layout as one compressed blob. Lossless: every bit of every float64 comes back.
 *
 *   columns   seq, atMs, then one for each series
 *   bits      each value XOR the one before it in its column: what did not change is zero
 *   bytes     by plane: all first bytes of a column, all second bytes, …: zeros and repeats lie together
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

export function decodeChunk(body: Uint8Array, count: number, width: number): Chunk {
  const planes = decompress(body);
  const stride = (width + 2) * 8;
  if (planes.length !== count * stride)
    throw new Error(`chunk of ${count} ticks × ${width} series holds ${planes.length} bytes`);
  const rows = new Uint8Array(planes.length);
  for (let plane = 0, from = 0; plane < stride; plane++) {
    let before = 0;
    for (let at = plane; at < rows.length; at += stride) {
      before ^= planes[from++] as number;
      rows[at] = before;
    }
  }
  const view = new DataView(rows.buffer);
  return {
    count,
    seqAt: (index) => view.getFloat64(index * stride, true),
    atMsAt: (index) => view.getFloat64(index * stride + 8, true),
    valuesAt(index) {
      const values = new Array<number>(width);
      for (let i = 0; i < width; i++) values[i] = view.getFloat64(index * stride + 16 + i * 8, true);
      return values;
    },
  };
}
