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
  const edge = byMinute ? wholeMinutes(shape.edge) : shape.edge;
  const pieces = new Pieces(shape);
  const { samples } = pieces;
  const blockMs = byMinute ? blockMinutes * minuteMs : minuteMs;
  const blocks = new Map<number, Moments>();
  /** All but the newest sample, as it was worked out last. */
  const settled = new Moments();
  let settledFrom = Number.NaN;
  let settledLast = -1;
  let version = -1;
  const total = new Moments();

  const block = (key: number, index: number, end: number): Moments => {
    const known = blocks.get(key);
    if (known !== undefined) return known;
    const made = new Moments();
    for (let i = index; i < end; i++)
      pieces.weigh(i, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, made);
    blocks.set(key, made);
    return made;
  };

  const settle = (from: number, last: number): void => {
    if (version !== pieces.version) {
      blocks.clear();
      version = pieces.version;
    } else if (from === settledFrom && last === settledLast) return;
    settledFrom = from;
    settledLast = last;
    settled.clear();
    const lastMs = samples.timeAt(last);
    let i = samples.above(from - 1);
    if (i > samples.first) pieces.weigh(i - 1, from, lastMs, settled);
    while (i < last) {
      const key = Math.floor(samples.timeAt(i) / blockMs);
      const ends = (key + 1) * blockMs;
      if (key * blockMs < from || ends > lastMs) pieces.weigh(i++, from, lastMs, settled);
      else {
        const end = samples.above(ends - 1);
        settled.merge(block(key, i, end));
        i = end;
      }
    }
    for (const key of blocks.keys()) {
      if (key * blockMs >= from) break;
      blocks.delete(key);
    }
  };

  const weigh = (nowMs: number): Moments => {
    const last = samples.end - 1;
    if (last < samples.first) {
      total.clear();
      return total;
    }
    const from = edge.at(nowMs);
    // The newest sample may lie before the window.
    if (samples.timeAt(last) < from) total.clear();
    else {
      settle(from, last);
      total.set(settled);
    }
    pieces.weigh(last, from, nowMs, total);
    return total;
  };

  const share = (nowMs: number, { ms }: Moments) => {
    const length = nowMs - edge.at(nowMs);
    return length > 0 ? ms / length : 0;
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
    const keep = samples.above(edge.at(atMs)) - 1;
    if (keep > samples.first) pieces.forgetUntil(keep);
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
      const watched = share(nowMs, weigh(nowMs));
      if (watched < enoughCover) return notCovered(watched);
      const result = figure();
      return Number.isNaN(result) ? new Unknown("nan", null, noAnswer[fn]) : result;
    },
    coverage: (nowMs) => share(nowMs, weigh(nowMs)),
    nextEdgeMs: (nowMs) => (samples.first === samples.end ? null : nowMs + fineStep(edge)),
    clear() {
      pieces.clear();
      blocks.clear();
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

  add(ms: number, value: number, variance: number): void {
    if (this.ms > 0) {
      const apart = value - this.sum / this.ms;
      this.squares += (apart * apart * this.ms * ms) / (this.ms + ms);
    }
    this.squares += variance * ms;
    this.ms += ms;
    this.sum += value * ms;
  }

  merge(other: Moments): void {
    if (other.ms === 0) return;
    if (this.ms > 0) {
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
