/**
 * `minOver`, `maxOver` and `drawdown`: a monotonic queue. Only samples that can still become the extreme are kept: no newer sample
 * exceeds them, so the first is the result and reading is O(1). A late sample is inserted by the same rule, so the queue depends
 * on the set of samples, and not on their order.
 */
import { Unknown } from "../value.ts";
import { pushMinutes } from "./buckets.ts";
import { Cover, notCovered, overlap } from "./cover.ts";
import { minuteMs, minuteOf } from "./minute.ts";
import { Samples } from "./samples.ts";
import { enoughCover, type Layout, type Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

/** Data shared by the windows of one specification. */
interface Kind {
  readonly fn: "minOver" | "maxOver" | "drawdown";
  readonly shape: Shape;
  /** A minimum is the maximum of the negated values. */
  readonly sign: 1 | -1;
  /** The time for which a sample is valid, ms. */
  readonly width: number;
  readonly layout: Layout;
}

export function extremeKind(fn: Kind["fn"], shape: Shape): Kind {
  const falls = fn === "drawdown";
  return {
    fn,
    shape,
    sign: fn === "minOver" ? -1 : 1,
    width: shape.byMinute ? minuteMs : 1,
    layout: { head: falls ? 5 : 4, stride: falls ? 3 : 2, maxSamples: shape.maxSamples },
  };
}

/**
 * Offsets of numbers before the samples: the time of the newest sample; the time since which there are data without a gap; time and
 * height at the end of the queue; and, for a drawdown, the newest value. Most samples need only these.
 */
const [NEWEST_MS, WATCHED_MS, END_TIME, END_HEIGHT, NEWEST] = [0, 1, 2, 3, 4] as const;

export class ExtremeWindow implements Window {
  readonly #kind: Kind;
  readonly #queue: Samples;
  /** The cover before the last gap. */
  #earlier: Cover | null = null;

  constructor(kind: Kind) {
    this.#kind = kind;
    this.#queue = new Samples(kind.layout);
    this.#begin();
  }

  push(atMs: number, value: number, companion?: number): boolean {
    if (Number.isNaN(value)) return false;
    const { fn, sign, shape } = this.#kind;
    const { byMinute } = shape;
    const queue = this.#queue;
    if (byMinute && fn !== "drawdown" && queue.head(END_HEIGHT) > sign * value) {
      // Its minute has a higher sample, and has data.
      const sinceMs = queue.head(END_TIME);
      if (atMs >= queue.head(NEWEST_MS) && atMs >= sinceMs && atMs < sinceMs + minuteMs) {
        queue.setHead(NEWEST_MS, atMs);
        return false;
      }
    }
    const time = byMinute ? minuteOf(atMs) : atMs;
    const isNewest = this.#take(atMs, value, time);
    const place = this.#place(time, sign * value, companion ?? value);
    const falls = fn === "drawdown";
    if (place < 0) return falls || !isNewest;
    const isFirst = place === queue.first;
    if (isNewest) this.#forget(atMs);
    return falls || isFirst || !isNewest;
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(atMs: number, stats: BucketStats, companion: BucketStats | undefined): void {
    const { sign, shape } = this.#kind;
    const isNewest = this.#take(stats.lastMs, stats.last, minuteOf(atMs));
    this.#place(
      shape.byMinute ? minuteOf(atMs) : stats.lastMs,
      sign * (sign < 0 ? stats.min : stats.max),
      companion === undefined ? stats.max : behindPeak(stats, companion),
    );
    if (isNewest) this.#forget(stats.lastMs);
  }

  read(nowMs: number): number | Unknown {
    const queue = this.#queue;
    const { fn, sign, shape } = this.#kind;
    const fromMs = shape.edge.at(nowMs);
    this.#forgetBefore(fromMs);
    const { first } = queue;
    if (first === queue.end) return new Unknown("uncovered", null, "no sample in the window yet");
    const peak = queue.valueAt(first);
    if (fn === "drawdown") return drawdown(peak, queue.head(NEWEST), queue.moreAt(first, 0));
    if (fn === "minOver" && !this.#isWhole(fromMs, nowMs)) {
      const share = this.coverage(nowMs);
      if (share < enoughCover) return notCovered(share);
    }
    return sign * peak;
  }

  readWith(nowMs: number, value: number, companion = value): number | Unknown {
    const queue = this.#queue;
    const { fn, sign } = this.#kind;
    const reading = this.read(nowMs);
    if (typeof reading !== "number" && queue.first === queue.end) return reading;
    if (fn !== "drawdown")
      return typeof reading === "number" ? sign * Math.max(sign * reading, sign * value) : reading;
    const peak = queue.valueAt(queue.first);
    return value >= peak
      ? drawdown(value, value, companion)
      : drawdown(peak, value, queue.moreAt(queue.first, 0));
  }

  /** Share of the window for which there are data. */
  coverage(nowMs: number): number {
    const queue = this.#queue;
    const { edge, staleAfterMs } = this.#kind.shape;
    const fromMs = edge.at(nowMs);
    if (!(nowMs > fromMs)) return 0;
    const now = overlap(queue.head(WATCHED_MS), queue.head(NEWEST_MS) + staleAfterMs, fromMs, nowMs);
    return (now + (this.#earlier?.within(fromMs, nowMs) ?? 0)) / (nowMs - fromMs);
  }

  nextEdgeMs(nowMs: number): number | null {
    const queue = this.#queue;
    const { fn, width, shape } = this.#kind;
    const { edge, staleAfterMs } = shape;
    const fromMs = edge.at(nowMs);
    this.#forgetBefore(fromMs);
    if (queue.first === queue.end) return null;
    const leaves = edge.leavesAt(queue.timeAt(queue.first) + width - 1, nowMs);
    if (fn !== "minOver") return leaves;
    // Without gaps nothing changes before the newest sample becomes stale. With gaps the share changes all the time.
    const whole = this.#isWhole(fromMs, nowMs);
    return Math.min(leaves, whole ? queue.head(NEWEST_MS) + staleAfterMs : nowMs + edge.fineStepMs);
  }

  holdsUntilMs(nowMs: number): number {
    const { fn, shape } = this.#kind;
    // With gaps the share changes all the time, and with each sample, even at the same time.
    if (fn === "minOver" && !this.#isWhole(shape.edge.at(nowMs), nowMs)) return nowMs - 1;
    return (this.nextEdgeMs(nowMs) ?? nowMs) - 1;
  }

  clear(): void {
    this.#queue.clear();
    this.#earlier = null;
    this.#begin();
  }

  #begin(): void {
    this.#queue.setHead(NEWEST_MS, Number.NEGATIVE_INFINITY);
    this.#queue.setHead(WATCHED_MS, Number.NEGATIVE_INFINITY);
    this.#queue.setHead(END_HEIGHT, Number.NEGATIVE_INFINITY);
  }

  #isWhole(fromMs: number, nowMs: number): boolean {
    const queue = this.#queue;
    return queue.head(WATCHED_MS) <= fromMs && queue.head(NEWEST_MS) + this.#kind.shape.staleAfterMs > nowMs;
  }

  #forget(nowMs: number): void {
    this.#forgetBefore(this.#kind.shape.edge.at(nowMs));
  }

  #forgetBefore(fromMs: number): void {
    const queue = this.#queue;
    const { width } = this.#kind;
    let { first } = queue;
    while (first < queue.end && queue.timeAt(first) + width - 1 < fromMs) first++;
    if (first !== queue.first) queue.forgetUntil(first);
    if (this.#earlier !== null) {
      this.#earlier.forgetBefore(fromMs);
      if (this.#earlier.isEmpty) this.#earlier = null;
    }
  }

  /**
   * @param watchedMs time since which there are data: that of the sample, or the beginning of its minute
   * @returns true if no sample is newer
   */
  #take(atMs: number, value: number, watchedMs: number): boolean {
    const queue = this.#queue;
    const { fn, shape } = this.#kind;
    const newestMs = queue.head(NEWEST_MS);
    const sinceMs = queue.head(WATCHED_MS);
    const isNewest = atMs >= newestMs;
    if (isNewest) {
      queue.setHead(NEWEST_MS, atMs);
      if (fn === "drawdown") queue.setHead(NEWEST, value);
    }
    if (watchedMs < sinceMs || watchedMs > newestMs + shape.staleAfterMs)
      this.#takeApart(watchedMs, atMs, sinceMs, newestMs);
    return isNewest;
  }

  /** Takes a sample before the newest span, or after it with a gap. */
  #takeApart(watchedMs: number, atMs: number, sinceMs: number, newestMs: number): void {
    const { staleAfterMs } = this.#kind.shape;
    const cover = this.#earlier ?? new Cover();
    // Past samples that are loaded later are all before the first sample.
    if (atMs + staleAfterMs < sinceMs) {
      cover.add(watchedMs, atMs + staleAfterMs);
      this.#earlier = cover;
      return;
    }
    if (newestMs !== Number.NEGATIVE_INFINITY) cover.add(sinceMs, newestMs + staleAfterMs);
    cover.add(watchedMs, atMs + staleAfterMs);
    this.#queue.setHead(WATCHED_MS, cover.pop());
    this.#earlier = cover.isEmpty ? null : cover;
  }

  /** Inserts a height if it can still become the extreme. @returns its index; -1: it cannot */
  #place(time: number, height: number, companion: number): number {
    const queue = this.#queue;
    const at = queue.above(time);
    // Exceeded by a newer one, or by a higher one of the same time.
    if (at < queue.end && queue.valueAt(at) >= height) return -1;
    if (at > queue.first && queue.timeAt(at - 1) === time && queue.valueAt(at - 1) > height) return -1;
    let beaten = at;
    while (beaten > queue.first && queue.valueAt(beaten - 1) <= height) beaten--;
    if (beaten < at) queue.remove(beaten, at - beaten);
    queue.insert(beaten, time, height, companion);
    if (beaten === queue.end - 1) {
      queue.setHead(END_TIME, time);
      queue.setHead(END_HEIGHT, height);
    }
    return beaten;
  }
}

/**
 * The companion's value at the highest value of a period of which only the roll-up is known. Equity and profit change together except
 * for deposits and withdrawals: exact unless one happened within the period.
 */
function behindPeak(stats: BucketStats, companion: BucketStats): number {
  const shifted = companion.last + (stats.max - stats.last);
  return Math.min(Math.max(shifted, companion.min), companion.max);
}

/** The fall from the peak until now, as a share of the companion at the peak. If that is not positive, any fall is infinite. */
function drawdown(peak: number, newest: number, behind: number): number | Unknown {
  const fall = peak - newest;
  if (!(fall > 0)) return fall <= 0 ? 0 : new Unknown("nan", null, "drawdown of an infinite series");
  if (!(behind > 0)) return Number.POSITIVE_INFINITY;
  const share = fall / behind;
  return Number.isNaN(share) ? new Unknown("nan", null, "drawdown of an infinite series") : share;
}
