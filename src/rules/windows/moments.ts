/**
 * `avgOver`, `stddevOver` and `zscore`, weighted by time. What was summed up for whole blocks of the series (an hour of
 * minutes, a minute of samples) is kept until something late arrives in it, so that a reading adds a few blocks and not
 * a day of minutes. Blocks lie on the clock, not on the samples: the same series gives the same digits however it was
 * fed. A running sum would drift.
 */
import { Unknown } from "../value.ts";
import { byMinutes } from "./buckets.ts";
import { fineStep, notCovered } from "./extremes.ts";
import { Pieces, type Weighing } from "./pieces.ts";
import { enoughCover, minuteMs, type Shape, wholeMinutes } from "./shape.ts";
import type { Window } from "./window.ts";

const blockMinutes = 60;
/** A deviation that is smaller than this share of the mean is what is left of rounding. */
const noise = 1e-12;

export function momentsWindow(fn: "avgOver" | "stddevOver" | "zscore", shape: Shape): Window {
  const { byMinute, staleAfterMs } = shape;
  const deviates = fn !== "avgOver";
  const edge = byMinute ? wholeMinutes(shape.edge) : shape.edge;
  const pieces = new Pieces(shape);
  const { samples } = pieces;
  const blockMs = byMinute ? blockMinutes * minuteMs : minuteMs;
  const blocks = new Map<number, Moments>();
  /** All but the newest sample, as it was worked out last. */
  const settled = new Moments(deviates);
  let settledFrom = Number.NaN;
  let settledLast = -1;
  let version = -1;
  /** The first sample behind the edge. */
  let known = -1;
  const total = new Moments(deviates);

  const head: Moments[] = [];
  let headKey = Number.NaN;
  let headFirst = 0;
  const middle = new Moments(deviates);
  let middleFrom = Number.NaN;
  let middleUntil = Number.NaN;
  const tail = new Moments(deviates);
  let tailKey = Number.NaN;
  let tailUntil = 0;

  const whole = (index: number, into: Moments): void =>
    pieces.weigh(index, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, into);

  const block = (key: number, index: number, end: number): Moments => {
    const known = blocks.get(key);
    if (known !== undefined) return known;
    const made = new Moments(deviates);
    for (let i = index; i < end; i++) whole(i, made);
    blocks.set(key, made);
    return made;
  };

  const settle = (from: number, last: number): void => {
    if (version !== pieces.version) {
      blocks.clear();
      headKey = middleFrom = tailKey = settledFrom = Number.NaN;
      version = pieces.version;
    } else if (from === settledFrom && last === settledLast) return;
    const before = settledFrom;
    settledFrom = from;
    settledLast = last;
    settled.clear();
    const lastMs = samples.timeAt(last);
    // The edge moves on by a sample or two at a time.
    let first = from >= before && known >= samples.first && known <= last ? known : samples.above(from - 1);
    while (first < last && samples.timeAt(first) < from) first++;
    known = first;
    if (first > samples.first) pieces.weigh(first - 1, from, lastMs, settled);
    const fromKey = Math.floor(from / blockMs);
    const lastKey = Math.floor(lastMs / blockMs);
    if (fromKey >= lastKey) {
      for (let i = first; i < last; i++) pieces.weigh(i, from, lastMs, settled);
      return;
    }
    const isWhole = fromKey * blockMs === from;
    if (!isWhole) addHead(fromKey, first);
    addMiddle(isWhole ? fromKey : fromKey + 1, lastKey);
    addTail(lastKey, last);
  };

  /** What of its block lies behind the edge: summed up from the block's end, so that the edge can move through it. */
  const addHead = (key: number, first: number): void => {
    if (headKey !== key || first < headFirst) {
      headKey = key;
      headFirst = first;
      head.length = 0;
      let rest: Moments | null = null;
      for (let i = samples.above((key + 1) * blockMs - 1) - 1; i >= first; i--) {
        const moments: Moments = new Moments(deviates);
        whole(i, moments);
        if (rest !== null) moments.merge(rest);
        rest = moments;
        head.unshift(moments);
      }
    }
    const moments = head[first - headFirst];
    if (moments !== undefined) settled.merge(moments);
  };

  /** The blocks that lie in the window as a whole. */
  const addMiddle = (fromKey: number, untilKey: number): void => {
    if (middleFrom !== fromKey || middleUntil !== untilKey) {
      middleFrom = fromKey;
      middleUntil = untilKey;
      middle.clear();
      let i = samples.above(fromKey * blockMs - 1);
      while (i < samples.end) {
        const key = Math.floor(samples.timeAt(i) / blockMs);
        if (key >= untilKey) break;
        const end = samples.above((key + 1) * blockMs - 1);
        middle.merge(block(key, i, end));
        i = end;
      }
      for (const key of blocks.keys()) if (key < fromKey) blocks.delete(key);
    }
    settled.merge(middle);
  };

  /** What has settled of the newest block. */
  const addTail = (key: number, last: number): void => {
    if (tailKey !== key || last < tailUntil) {
      tailKey = key;
      tail.clear();
      tailUntil = samples.above(key * blockMs - 1);
    }
    while (tailUntil < last) whole(tailUntil++, tail);
    settled.merge(tail);
  };

  /** @returns the share of the window that was watched; the figures are in `total` then. */
  const weigh = (nowMs: number): number => {
    const last = samples.end - 1;
    if (last < samples.first) {
      total.clear();
      return 0;
    }
    const from = edge.at(nowMs);
    // The newest sample may lie before the window.
    if (samples.timeAt(last) < from) total.clear();
    else {
      settle(from, last);
      total.set(settled);
    }
    pieces.weigh(last, from, nowMs, total);
    return nowMs > from ? total.ms / (nowMs - from) : 0;
  };

  const figure = (): number => {
    const mean = total.sum / total.ms;
    if (fn === "avgOver") return mean;
    const deviation = Math.sqrt(total.squares / total.ms);
    const known = deviation > Math.abs(mean) * noise ? deviation : Number.isNaN(deviation) ? deviation : 0;
    if (fn === "stddevOver") return known;
    const apart = pieces.newest - mean;
    return (known === 0 && Math.abs(apart) <= Math.abs(mean) * noise ? 0 : apart) / known;
  };

  const forget = (atMs: number) => {
    const from = edge.at(atMs);
    // The one before the edge may reach in over it.
    while (samples.first + 1 < samples.end && samples.timeAt(samples.first + 1) < from)
      pieces.forgetUntil(samples.first + 1);
  };

  return {
    push(atMs, value) {
      if (Number.isNaN(value)) return;
      pieces.push(atMs, value);
      forget(atMs);
    },
    pushBucket: byMinutes((atMs, stats) => {
      pieces.pushMinute(atMs, stats);
      forget(stats.lastMs);
    }),
    read(nowMs) {
      if (fn === "zscore" && nowMs - pieces.newestMs > staleAfterMs && samples.first !== samples.end)
        return new Unknown("stale", null, "the newest sample is too old");
      const watched = weigh(nowMs);
      if (watched < enoughCover) return notCovered(watched);
      const result = figure();
      return Number.isNaN(result) ? new Unknown("nan", null, noAnswer[fn]) : result;
    },
    coverage: weigh,
    nextEdgeMs: (nowMs) => (samples.first === samples.end ? null : nowMs + fineStep(edge)),
    clear() {
      pieces.clear();
    },
  };
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

  merge(other: Moments): void {
    if (other.ms === 0) return;
    if (this.#deviates && this.ms > 0) {
      const apart = other.sum / other.ms - this.sum / this.ms;
      this.squares += (apart * apart * this.ms * other.ms) / (this.ms + other.ms);
    }
    this.squares += other.squares;
    this.ms += other.ms;
    this.sum += other.sum;
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
