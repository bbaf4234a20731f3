/** `sumOver` and `countOver`: events of the window, added up. By the minute, each minute keeps its total. */
import { pushMinutes } from "./buckets.ts";
import { Samples } from "./samples.ts";
import { type Layout, minuteMs, type Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

/** What the windows of one specification share. */
interface Kind {
  readonly shape: Shape;
  readonly layout: Layout;
}

export function totalKind(shape: Shape): Kind {
  return { shape, layout: { head: 0, stride: 2, most: shape.most } };
}

export class TotalWindow implements Window {
  readonly #shape: Shape;
  readonly #samples: Samples;
  /** Taken afresh when something came or went: a running sum would drift. */
  #sum: number | null = null;
  #summedFrom = 0;

  constructor({ shape, layout }: Kind) {
    this.#shape = shape;
    this.#samples = new Samples(layout);
  }

  push(atMs: number, value: number): boolean {
    if (Number.isNaN(value)) return false;
    this.#sum = null;
    const samples = this.#samples;
    const width = this.#width;
    const time = Math.floor(atMs / width) * width;
    const index = samples.above(time);
    if (this.#shape.byMinute && index > samples.first && samples.timeAt(index - 1) === time)
      samples.set(index - 1, time, samples.valueAt(index - 1) + value);
    else samples.insert(index, time, value);
    if (index >= samples.end - 1) this.#forget(atMs);
    return true;
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(atMs: number, { sum }: BucketStats): void {
    this.push(atMs, sum);
  }

  read(nowMs: number): number {
    this.#forget(nowMs);
    const samples = this.#samples;
    if (this.#sum === null || this.#summedFrom !== samples.first) {
      let sum = 0;
      for (let i = samples.first; i < samples.end; i++) sum += samples.valueAt(i);
      this.#sum = sum;
      this.#summedFrom = samples.first;
    }
    return this.#sum;
  }

  // Events are read back page by page after downtime: their past has no gaps that this window could know of.
  coverage(): number {
    return 1;
  }

  nextEdgeMs(nowMs: number): number | null {
    this.#forget(nowMs);
    const samples = this.#samples;
    if (samples.first === samples.end) return null;
    return this.#shape.edge.leavesAt(samples.timeAt(samples.first) + this.#width - 1, nowMs);
  }

  clear(): void {
    this.#samples.clear();
    this.#sum = null;
  }

  get #width(): number {
    return this.#shape.byMinute ? minuteMs : 1;
  }

  #forget(nowMs: number): void {
    const samples = this.#samples;
    const keep = samples.above(this.#shape.edge.at(nowMs) - this.#width);
    if (keep > samples.first) samples.forgetUntil(keep);
  }
}
