/**
 * `minOver`, `maxOver` and `drawdown`: a monotonic queue. Only samples that can still become the extreme are kept:
 * each is beaten by none that is newer, so the first is the answer and reading is O(1). A late sample finds its place
 * by the same rule, which makes the queue a function of the set of samples and not of their order.
 */
import { Unknown } from "../value.ts";
import { pushMinutes } from "./buckets.ts";
import { Cover } from "./cover.ts";
import type { Edge } from "./edge.ts";
import { Samples } from "./samples.ts";
import { enoughCover, minuteMs, type Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

/** What the windows of one specification share. */
interface Kind {
  readonly fn: "minOver" | "maxOver" | "drawdown";
  readonly shape: Shape;
  /** A minimum is the maximum of the negated values. */
  readonly sign: 1 | -1;
  /** Of what a sample stands for, ms. */
  readonly width: number;
}

export function extremeKind(fn: Kind["fn"], shape: Shape): Kind {
  return { fn, shape, sign: fn === "minOver" ? -1 : 1, width: shape.byMinute ? minuteMs : 1 };
}

export class ExtremeWindow implements Window {
  readonly #kind: Kind;
  readonly #queue: Samples;
  readonly #cover = new Cover();
  #newestMs = Number.NEGATIVE_INFINITY;
  #newest = Number.NaN;

  constructor(kind: Kind) {
    this.#kind = kind;
    this.#queue = new Samples(kind.fn === "drawdown" ? 1 : 0, kind.shape.most);
  }

  push(atMs: number, value: number, companion?: number): void {
    if (Number.isNaN(value)) return;
    const { fn, sign, shape } = this.#kind;
    const { byMinute } = shape;
    const isNewest = atMs >= this.#newestMs;
    const time = byMinute ? minuteOf(atMs) : atMs;
    this.#take(atMs, value, time);
    this.#place(time, sign * value, companion ?? value);
    // A fall that is measured against the peak itself needs no more than the peak.
    if (byMinute && fn === "drawdown" && isNewest && companion !== undefined) this.#behind(time, companion);
    if (isNewest) this.#forget(atMs);
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(atMs: number, stats: BucketStats, companion: BucketStats | undefined): void {
    const { sign, shape } = this.#kind;
    const isNewest = stats.lastMs >= this.#newestMs;
    this.#take(stats.lastMs, stats.last, minuteOf(atMs));
    this.#place(
      shape.byMinute ? minuteOf(atMs) : stats.lastMs,
      sign * (sign < 0 ? stats.min : stats.max),
      companion === undefined ? stats.max : companion.last,
    );
    if (isNewest) this.#forget(stats.lastMs);
  }

  read(nowMs: number): number | Unknown {
    const queue = this.#queue;
    const { fn, sign } = this.#kind;
    this.#forget(nowMs);
    if (queue.first === queue.end) return new Unknown("uncovered", null, "no sample in the window yet");
    const peak = queue.valueAt(queue.first);
    if (fn === "drawdown") return drawdown(peak, this.#newest, queue.moreAt(queue.first, 0));
    if (fn === "minOver") {
      const share = this.coverage(nowMs);
      if (share < enoughCover) return notCovered(share);
    }
    return sign * peak;
  }

  coverage(nowMs: number): number {
    return shareWatched(this.#cover, this.#kind.shape.edge, nowMs);
  }

  nextEdgeMs(nowMs: number): number | null {
    const queue = this.#queue;
    const { fn, width, shape } = this.#kind;
    this.#forget(nowMs);
    if (queue.first === queue.end) return null;
    const leaves = shape.edge.leavesAt(queue.timeAt(queue.first) + width - 1, nowMs);
    if (fn !== "minOver") return leaves;
    return Math.min(leaves, nextCoverChange(this.#cover, shape.edge, nowMs));
  }

  holdsUntilMs(nowMs: number): number {
    const { fn, shape } = this.#kind;
    // With gaps, the share that was watched moves all the time.
    if (fn === "minOver" && !isWhole(this.#cover, shape.edge, nowMs)) return nowMs;
    return (this.nextEdgeMs(nowMs) ?? nowMs) - 1;
  }

  clear(): void {
    this.#queue.clear();
    this.#cover.clear();
    this.#newestMs = Number.NEGATIVE_INFINITY;
  }

  #forget(nowMs: number): void {
    const queue = this.#queue;
    const { shape, width } = this.#kind;
    const from = shape.edge.at(nowMs);
    let first = queue.first;
    while (first < queue.end && queue.timeAt(first) + width - 1 < from) first++;
    if (first !== queue.first) queue.forgetUntil(first);
    this.#cover.forgetBefore(from);
  }

  /** @param coverFromMs since when it counts as watched, from the sample or from the beginning of its minute */
  #take(atMs: number, value: number, coverFromMs: number): void {
    this.#cover.add(coverFromMs, atMs + this.#kind.shape.staleAfterMs);
    if (atMs >= this.#newestMs) {
      this.#newestMs = atMs;
      this.#newest = value;
    }
  }

  /** Puts a height where it can still become the extreme. */
  #place(time: number, height: number, companion: number): void {
    const queue = this.#queue;
    const at = queue.above(time);
    // Beaten by a newer one, or by a higher one of the same instant.
    if (at < queue.end && queue.valueAt(at) >= height) return;
    if (at > queue.first && queue.timeAt(at - 1) === time && queue.valueAt(at - 1) > height) return;
    let beaten = at;
    while (beaten > queue.first && queue.valueAt(beaten - 1) <= height) beaten--;
    if (beaten < at) queue.remove(beaten, at - beaten);
    queue.insert(beaten, time, height, companion);
  }

  /** By the minute, what stands behind a peak is what stood there at the end of its minute: that a roll-up knows, too. */
  #behind(minute: number, companion: number): void {
    const queue = this.#queue;
    const at = queue.above(minute) - 1;
    if (at >= queue.first && queue.timeAt(at) === minute) queue.set(at, minute, queue.valueAt(at), companion);
  }
}

const minuteOf = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs;

/** Share of the window that was watched. */
function shareWatched(cover: Cover, edge: Edge, nowMs: number): number {
  const from = edge.at(nowMs);
  return nowMs > from ? cover.within(from, nowMs) / (nowMs - from) : 0;
}

export function notCovered(share: number): Unknown {
  return new Unknown("uncovered", null, `only ${Math.floor(share * 100)} % of the window was watched`);
}

/** A hundredth of the window, between a second and a minute: how finely a figure that moves all the time is followed. */
export function fineStep(edge: Edge): number {
  return Math.min(Math.max(edge.longestMs / 100, 1_000), minuteMs);
}

function nextCoverChange(cover: Cover, edge: Edge, nowMs: number): number {
  // Fully watched: nothing changes before the newest sample gets stale. With gaps, the share moves all the time.
  return isWhole(cover, edge, nowMs) ? cover.endMs : nowMs + fineStep(edge);
}

function isWhole(cover: Cover, edge: Edge, nowMs: number): boolean {
  const from = edge.at(nowMs);
  return cover.within(from, nowMs) >= nowMs - from && cover.endMs > nowMs;
}

/** From the peak to now, as a share of what stood behind it. Behind nothing, any fall is endless. */
function drawdown(peak: number, newest: number, behind: number): number | Unknown {
  const fall = peak - newest;
  if (!(fall > 0)) return fall <= 0 ? 0 : new Unknown("nan", null, "drawdown of an infinite series");
  if (!(behind > 0)) return Number.POSITIVE_INFINITY;
  const share = fall / behind;
  return Number.isNaN(share) ? new Unknown("nan", null, "drawdown of an infinite series") : share;
}
