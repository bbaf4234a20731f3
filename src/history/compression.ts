/** zstd for what is kept and seldom read. */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** Below this a text is stored as it is: compressing costs more than it saves. */
const worthwhileChars = 256;
const params = { [constants.ZSTD_c_compressionLevel]: 3 };

export function compress(bytes: Uint8Array | string): Buffer {
  return zstdCompressSync(bytes, { params });
}

export function decompress(bytes: Uint8Array): Buffer {
  return zstdDecompressSync(bytes);
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
