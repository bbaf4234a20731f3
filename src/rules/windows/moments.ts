/**
 * `avgOver`, `stddevOver` and `zscore`, weighted by time. What was summed up for whole blocks of the series (an hour of
 * minutes, a minute of samples) is kept until something late arrives in it, so that a reading adds a few blocks and not
 * a day of minutes. Blocks lie on the clock, not on the samples: the same series gives the same digits however it was
 * fed. A running sum would drift.
 */
import { Unknown } from "../value.ts";
import { pushMinutes } from "./buckets.ts";
import { fineStep, notCovered } from "./extremes.ts";
import { Pieces, type Weighing } from "./pieces.ts";
import { enoughCover, minuteMs, type Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

const blockMinutes = 60;
/** A deviation that is smaller than this share of the mean is what is left of rounding. */
const noise = 1e-12;

/** What the windows of one specification share. */
interface Kind {
  readonly fn: "avgOver" | "stddevOver" | "zscore";
  readonly shape: Shape;
  /** Whether squares are asked for. */
  readonly deviates: boolean;
  readonly blockMs: number;
  /** Room for one reading. */
  readonly total: Moments;
}

/** @param shape its edge by whole minutes where it is kept by the minute */
export function momentsKind(fn: Kind["fn"], shape: Shape): Kind {
  const blockMs = shape.byMinute ? blockMinutes * minuteMs : minuteMs;
  const deviates = fn !== "avgOver";
  return { fn, shape, deviates, blockMs, total: new Moments(deviates) };
}

export class MomentsWindow implements Window {
  readonly #kind: Kind;
  readonly #pieces: Pieces;
  readonly #blocks = new Map<number, Moments>();
  /** All but the newest sample, as it was worked out last. */
  readonly #settled: Moments;
  #settledFrom = Number.NaN;
  #settledLast = -1;
  #version = -1;
  /** The first sample behind the edge. */
  #known = -1;

  /** Of the samples of its block, each together with all that follow it: time, sum and squares in turn, the last one first. */
  #head: number[] = [];
  #headKey = Number.NaN;
  #headFirst = 0;
  #headEnd = 0;
  readonly #middle: Moments;
  #middleFrom = Number.NaN;
  #middleUntil = Number.NaN;
  readonly #tail: Moments;
  #tailKey = Number.NaN;
  #tailUntil = 0;

  constructor(kind: Kind) {
    const { shape, deviates } = kind;
    this.#kind = kind;
    this.#pieces = new Pieces(shape, deviates);
    this.#settled = new Moments(deviates);
    this.#middle = new Moments(deviates);
    this.#tail = new Moments(deviates);
  }

  push(atMs: number, value: number): void {
    if (Number.isNaN(value)) return;
    this.#pieces.push(atMs, value);
    this.#forget(atMs);
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(atMs: number, stats: BucketStats): void {
    this.#pieces.pushMinute(atMs, stats);
    this.#forget(stats.lastMs);
  }

  read(nowMs: number): number | Unknown {
    const { fn, shape } = this.#kind;
    const pieces = this.#pieces;
    const { samples } = pieces;
    if (fn === "zscore" && nowMs - pieces.newestMs > shape.staleAfterMs && samples.first !== samples.end)
      return new Unknown("stale", null, "the newest sample is too old");
    const { total } = this.#kind;
    const watched = this.#weigh(nowMs, total);
    if (watched < enoughCover) return notCovered(watched);
    const result = this.#figure(total);
    return Number.isNaN(result) ? new Unknown("nan", null, noAnswer[fn]) : result;
  }

  coverage(nowMs: number): number {
    return this.#weigh(nowMs, this.#kind.total);
  }

  nextEdgeMs(nowMs: number): number | null {
    const { samples } = this.#pieces;
    return samples.first === samples.end ? null : nowMs + fineStep(this.#kind.shape.edge);
  }

  clear(): void {
    this.#pieces.clear();
  }

  /** @returns the share of the window that was watched; the figures are in `total` then. */
  #weigh(nowMs: number, total: Moments): number {
    total.clear();
    const pieces = this.#pieces;
    const { samples } = pieces;
    const last = samples.end - 1;
    if (last < samples.first) return 0;
    const from = this.#kind.shape.edge.at(nowMs);
    // The newest sample may lie before the window.
    if (samples.timeAt(last) >= from) {
      this.#settle(from, last);
      total.set(this.#settled);
    }
    pieces.weigh(last, from, nowMs, total);
    return nowMs > from ? total.ms / (nowMs - from) : 0;
  }

  #settle(from: number, last: number): void {
    const pieces = this.#pieces;
    const { samples } = pieces;
    const { blockMs } = this.#kind;
    if (this.#version !== pieces.version) {
      this.#blocks.clear();
      this.#headKey = this.#middleFrom = this.#tailKey = this.#settledFrom = Number.NaN;
      this.#version = pieces.version;
    } else if (from === this.#settledFrom && last === this.#settledLast) return;
    const before = this.#settledFrom;
    this.#settledFrom = from;
    this.#settledLast = last;
    const settled = this.#settled;
    settled.clear();
    const lastMs = pieces.beginsAt(last);
    const known = this.#known;
    // The edge moves on by a sample or two at a time.
    let first = from >= before && known >= samples.first && known <= last ? known : samples.above(from - 1);
    while (first < last && samples.timeAt(first) < from) first++;
    this.#known = first;
    if (first > samples.first) pieces.weigh(first - 1, from, lastMs, settled);
    const fromKey = Math.floor(from / blockMs);
    const lastKey = Math.floor(lastMs / blockMs);
    if (fromKey >= lastKey) {
      for (let i = first; i < last; i++) pieces.weigh(i, from, lastMs, settled);
      return;
    }
    const isWhole = fromKey * blockMs === from;
    if (!isWhole) this.#addHead(fromKey, first);
    this.#addMiddle(isWhole ? fromKey : fromKey + 1, lastKey);
    this.#addTail(lastKey, last);
  }

  /** What of its block lies behind the edge: summed up from the block's end, so that the edge can move through it. */
  #addHead(key: number, first: number): void {
    const { samples } = this.#pieces;
    const { deviates, blockMs } = this.#kind;
    if (this.#headKey !== key || first < this.#headFirst) {
      this.#headKey = key;
      this.#headFirst = first;
      this.#headEnd = samples.above((key + 1) * blockMs - 1);
      this.#head = [];
      const rest = new Moments(deviates);
      for (let i = this.#headEnd - 1; i >= first; i--) {
        const moments = new Moments(deviates);
        this.#whole(i, moments);
        moments.merge(rest);
        rest.set(moments);
        this.#head.push(rest.ms, rest.sum, rest.squares);
      }
    }
    const at = (this.#headEnd - 1 - first) * 3;
    const head = this.#head;
    if (at >= 0 && at < head.length) this.#settled.mergeOf(head[at]!, head[at + 1]!, head[at + 2]!);
  }

  /** The blocks that lie in the window as a whole. */
  #addMiddle(fromKey: number, untilKey: number): void {
    const { samples } = this.#pieces;
    const { blockMs } = this.#kind;
    if (this.#middleFrom !== fromKey || this.#middleUntil !== untilKey) {
      this.#middleFrom = fromKey;
      this.#middleUntil = untilKey;
      this.#middle.clear();
      let i = samples.above(fromKey * blockMs - 1);
      while (i < samples.end) {
        const key = Math.floor(samples.timeAt(i) / blockMs);
        if (key >= untilKey) break;
        const end = samples.above((key + 1) * blockMs - 1);
        this.#middle.merge(this.#block(key, i, end));
        i = end;
      }
      for (const key of this.#blocks.keys()) if (key < fromKey) this.#blocks.delete(key);
    }
    this.#settled.merge(this.#middle);
  }

  /** What has settled of the newest block. */
  #addTail(key: number, last: number): void {
    if (this.#tailKey !== key || last < this.#tailUntil) {
      this.#tailKey = key;
      this.#tail.clear();
      this.#tailUntil = this.#pieces.samples.above(key * this.#kind.blockMs - 1);
    }
    while (this.#tailUntil < last) this.#whole(this.#tailUntil++, this.#tail);
    this.#settled.merge(this.#tail);
  }

  #block(key: number, index: number, end: number): Moments {
    const known = this.#blocks.get(key);
    if (known !== undefined) return known;
    const made = new Moments(this.#kind.deviates);
    for (let i = index; i < end; i++) this.#whole(i, made);
    this.#blocks.set(key, made);
    return made;
  }

  #whole(index: number, into: Moments): void {
    this.#pieces.weigh(index, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, into);
  }

  #figure(total: Moments): number {
    const { fn } = this.#kind;
    const mean = total.sum / total.ms;
    if (fn === "avgOver") return mean;
    const deviation = Math.sqrt(total.squares / total.ms);
    const known = deviation > Math.abs(mean) * noise ? deviation : Number.isNaN(deviation) ? deviation : 0;
    if (fn === "stddevOver") return known;
    const apart = this.#pieces.newest - mean;
    return (known === 0 && Math.abs(apart) <= Math.abs(mean) * noise ? 0 : apart) / known;
  }

  #forget(atMs: number): void {
    const { samples } = this.#pieces;
    const from = this.#kind.shape.edge.at(atMs);
    // The one before the edge may reach in over it.
    while (samples.first + 1 < samples.end && samples.timeAt(samples.first + 1) < from)
      this.#pieces.forgetUntil(samples.first + 1);
  }
}

const noAnswer = {
  avgOver: "mean of infinite values",
  stddevOver: "deviation of infinite values",
  zscore: "the series does not deviate",
} as const;

/** Time, sum and squares around the mean of steps: two of them add up to that of all their steps. */
class Moments implements Weighing {
  ms = 0;
  sum = 0;
  squares = 0;
  readonly #deviates: boolean;

  /** @param deviates whether the squares are asked for */
  constructor(deviates: boolean) {
    this.#deviates = deviates;
  }

  add(ms: number, value: number, variance: number): void {
    if (this.#deviates && this.ms > 0) {
      const apart = value - this.sum / this.ms;
      this.squares += (apart * apart * this.ms * ms) / (this.ms + ms);
    }
    this.squares += variance * ms;
    this.ms += ms;
    this.sum += value * ms;
  }

  merge({ ms, sum, squares }: Moments): void {
    this.mergeOf(ms, sum, squares);
  }

  mergeOf(ms: number, sum: number, squares: number): void {
    if (ms === 0) return;
    if (this.#deviates && this.ms > 0) {
      const apart = sum / ms - this.sum / this.ms;
      this.squares += (apart * apart * this.ms * ms) / (this.ms + ms);
    }
    this.squares += squares;
    this.ms += ms;
    this.sum += sum;
  }

  set(other: Moments): void {
    this.ms = other.ms;
    this.sum = other.sum;
    this.squares = other.squares;
  }

  clear(): void {
    this.ms = this.sum = this.squares = 0;
  }
}
