/** Sets of sources as bit masks. */
import { type Source, sources } from "../../domain/sources.ts";

const sourceBits: ReadonlyMap<Source, number> = new Map(sources.map((source, i) => [source, 1 << i]));

export function bitsOf(read: readonly Source[]): number {
  return read.reduce((bits, source) => bits | sourceBit(source), 0);
}

export function sourceBit(source: Source): number {
  return sourceBits.get(source)!;
}
