/** Minutes of one owner's past, oldest first: a start may hold hundreds of thousands of them for a while. */
import type { RollUpBlock } from "../domain/history.ts";

export interface HeldBlock {
  readonly block: RollUpBlock;
  /** Of each of its buckets, ms. */
  readonly widthMs: number;
}

export class HeldMinutes {
  readonly owner: string;
  readonly #blocks: HeldBlock[] = [];

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Blocks come oldest first. */
  add(block: RollUpBlock, widthMs: number): void {
    this.#blocks.push({ block, widthMs });
  }

  get blocks(): readonly HeldBlock[] {
    return this.#blocks;
  }
}
