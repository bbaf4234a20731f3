/** Minutes of one owner's past, oldest first: a start may hold hundreds of thousands of them for a while. */
import type { RollUpBlock } from "../../domain/history.ts";

/**
 * Equity at the highest profit of a bucket, USD, by series and by the time at which the bucket begins, where the roll-ups do not
 * tell it: money was paid in or out within the bucket.
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

  /** Blocks come oldest first. */
  add(block: RollUpBlock, widthMs: number, atPeaks: AtPeaks): void {
    this.#blocks.push({ block, widthMs, atPeaks });
  }

  get blocks(): readonly HeldBlock[] {
    return this.#blocks;
  }
}
