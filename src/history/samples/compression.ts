/** zstd for rarely read data. */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** Length below which a text is stored uncompressed, as compression costs more than it saves. */
const worthwhileChars = 256;
const params = { [constants.ZSTD_c_compressionLevel]: 3 };

export function compress(bytes: Uint8Array | string): Buffer {
  return zstdCompressSync(bytes, { params });
}

/** Maximum length of a stored text: otherwise a few bytes of a foreign database could decompress to any size. */
const maxUnpacked = 67_108_864;

/** @param length decompressed length, if known: then one buffer is used */
export function decompress(bytes: Uint8Array, length?: number): Buffer {
  return length === undefined
    ? zstdDecompressSync(bytes, { maxOutputLength: maxUnpacked })
    : // One more than fits: a full piece is taken for one that others follow.
      zstdDecompressSync(bytes, {
        chunkSize: Math.max(64, length + 1),
        maxOutputLength: Math.max(64, length + 1),
      });
}

/** Returns the text uncompressed, or compressed if that is shorter. */
export function shorten(text: string): string | Buffer {
  if (text.length < worthwhileChars) return text;
  const packed = compress(text);
  return packed.length < text.length ? packed : text;
}

export function lengthen(stored: string | Buffer): string {
  return typeof stored === "string" ? stored : decompress(stored).toString("utf8");
}
