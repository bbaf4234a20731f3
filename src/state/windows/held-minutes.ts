/** Minutes of one owner's history, oldest first. A start may hold hundreds of thousands of them for a while. */
import type { RollUpBlock } from "../../domain/stored/history.ts";

/**
 * Equity at the highest profit of a bucket, USD, by series and by the start time of the bucket. Only for buckets whose roll-up
 * does not contain it, as money was paid in or out within the bucket.
 */
export type AtPeaks = ReadonlyMap<string, ReadonlyMap<number, number>>;

export interface HeldBlock {
  readonly block: RollUpBlock;
  /** Width of each of its buckets, ms. */
  readonly widthMs: number;
  readonly atPeaks: AtPeaks;
}

export class HeldMinutes {
  readonly owner: string;
  readonly #blocks: HeldBlock[] = [];

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Takes a block. Blocks arrive oldest first. */
  add(block: RollUpBlock, widthMs: number, atPeaks: AtPeaks): void {
    this.#blocks.push({ block, widthMs, atPeaks });
  }

  get blocks(): readonly HeldBlock[] {
    return this.#blocks;
  }
}
