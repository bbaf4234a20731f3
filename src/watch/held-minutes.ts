/** Minutes of one owner's past, oldest first, in little room: a start may hold hundreds of thousands of them for a while. */
import type { RollUp, Stats } from "../domain/history.ts";

const kinds = ["count", "min", "max", "sum", "sumSquares", "last", "lastMs"] as const;

interface Block {
  readonly series: readonly string[];
  /** Row after row: when, then the figures of each series. */
  readonly numbers: number[];
}

/** One bucket of those held; good until the next one is asked for. */
export interface HeldBucket {
  readonly atMs: number;
  readonly widthMs: number;
  readonly series: readonly string[];
  statsAt(index: number): Stats;
}

export class HeldMinutes {
  readonly owner: string;
  readonly #blocks: (Block & { readonly widthMs: number })[] = [];

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Buckets come oldest first. */
  add({ atMs, series, stats }: RollUp, widthMs: number): void {
    let block = this.#blocks.at(-1);
    if (block?.series !== series || block.widthMs !== widthMs) {
      block = { series, numbers: [], widthMs };
      this.#blocks.push(block);
    }
    block.numbers.push(atMs);
    for (const one of stats) for (const kind of kinds) block.numbers.push(one[kind]);
  }

  *buckets(): Iterable<HeldBucket> {
    for (const { series, numbers, widthMs } of this.#blocks) {
      const stride = 1 + kinds.length * series.length;
      for (let row = 0; row < numbers.length; row += stride) {
        const figure = (index: number, kind: number) => numbers[row + 1 + index * kinds.length + kind]!;
        yield {
          atMs: numbers[row]!,
          widthMs,
          series,
          statsAt: (index) => ({
            count: figure(index, 0),
            min: figure(index, 1),
            max: figure(index, 2),
            sum: figure(index, 3),
            sumSquares: figure(index, 4),
            last: figure(index, 5),
            lastMs: figure(index, 6),
          }),
        };
      }
    }
  }
}
