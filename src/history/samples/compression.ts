/** zstd for rarely read data. */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** Below this a text is stored as it is: compressing costs more than it saves. */
const worthwhileChars = 256;
const params = { [constants.ZSTD_c_compressionLevel]: 3 };

export function compress(bytes: Uint8Array | string): Buffer {
  return zstdCompressSync(bytes, { params });
}

/** No stored text is longer; a few bytes of somebody else's database could become any number otherwise. */
const maxUnpacked = 67_108_864;

/** @param length how many bytes come out, where that is known: then they are not gathered piece by piece */
export function decompress(bytes: Uint8Array, length?: number): Buffer {
  return length === undefined
    ? zstdDecompressSync(bytes, { maxOutputLength: maxUnpacked })
    : // One more than fits: a full piece is taken for one that others follow.
      zstdDecompressSync(bytes, {
        chunkSize: Math.max(64, length + 1),
        maxOutputLength: Math.max(64, length + 1),
      });
}

/** A text as it is, or compressed where that is shorter. */
export function shorten(text: string): string | Buffer {
  if (text.length < worthwhileChars) return text;
  const packed = compress(text);
  return packed.length < text.length ? packed : text;
}

export function lengthen(stored: string | Buffer): string {
  return typeof stored === "string" ? stored : decompress(stored).toString("utf8");
}
