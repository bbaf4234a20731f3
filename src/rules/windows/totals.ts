/** `sumOver` and `countOver`: sums over the events of the window. Long windows keep the total of each minute. */
import { Unknown } from "../value.ts";
import { pushMinutes } from "./buckets.ts";
import { minuteMs } from "./minute.ts";
import { Samples } from "./samples.ts";
import type { Layout, Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

/** The shared part of the windows of one specification. */
interface Kind {
  readonly shape: Shape;
  readonly layout: Layout;
}

export function totalKind(shape: Shape): Kind {
  return { shape, layout: { head: 0, stride: 2, maxSamples: shape.maxSamples } };
}

const unattributed = new Unknown(
  "absent",
  null,
  "an event in this window may belong to another account of the wallet: the exchange does not state which",
);

export class TotalWindow implements Window {
  readonly #shape: Shape;
  readonly #samples: Samples;
  /** Recomputed when an event enters or leaves: a running sum would drift. */
  #sum: number | null = null;
  #summedFrom = 0;
  /** The newest event that may or may not belong to the window. */
  #unknownMs = Number.NEGATIVE_INFINITY;

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

  pushUnknown(atMs: number): void {
    this.#unknownMs = Math.max(this.#unknownMs, Math.floor(atMs / this.#width) * this.#width);
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(atMs: number, { sum }: BucketStats): void {
    this.push(atMs, sum);
  }

  read(nowMs: number): number | Unknown {
    this.#forget(nowMs);
    if (this.#unknownMs > this.#shape.edge.at(nowMs) - this.#width) return unattributed;
    const samples = this.#samples;
    if (this.#sum === null || this.#summedFrom !== samples.first) {
      let sum = 0;
      for (let i = samples.first; i < samples.end; i++) sum += samples.valueAt(i);
      this.#sum = sum;
      this.#summedFrom = samples.first;
    }
    return this.#sum;
  }

  // After downtime events are read back page by page, so this window sees no gaps in them.
  coverage(): number {
    return 1;
  }

  nextEdgeMs(nowMs: number): number | null {
    this.#forget(nowMs);
    const samples = this.#samples;
    const unknown = this.#unknownMs > this.#shape.edge.at(nowMs) - this.#width;
    if (samples.first === samples.end && !unknown) return null;
    const firstMs = samples.first === samples.end ? this.#unknownMs : samples.timeAt(samples.first);
    const leavingMs = unknown ? Math.min(firstMs, this.#unknownMs) : firstMs;
    return this.#shape.edge.leavesAt(leavingMs + this.#width - 1, nowMs);
  }

  clear(): void {
    this.#samples.clear();
    this.#sum = null;
    this.#unknownMs = Number.NEGATIVE_INFINITY;
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
