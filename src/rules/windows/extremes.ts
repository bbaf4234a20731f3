/**
 * `minOver`, `maxOver` and `drawdown`: a monotonic queue. Only samples that can still become the extreme are kept:
 * each is beaten by none that is newer, so the first is the answer and reading is O(1). A late sample finds its place
 * by the same rule, which makes the queue a function of the set of samples and not of their order.
 */
import { Unknown } from "../value.ts";
import { byMinutes } from "./buckets.ts";
import { Cover } from "./cover.ts";
import type { Edge } from "./edge.ts";
import { Samples } from "./samples.ts";
import { enoughCover, minuteMs, type Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

export function extremeWindow(fn: "minOver" | "maxOver" | "drawdown", shape: Shape): Window {
  const { edge, staleAfterMs, byMinute } = shape;
  // A minimum is the maximum of the negated values.
  const sign = fn === "minOver" ? -1 : 1;
  const width = byMinute ? minuteMs : 1;
  const queue = new Samples(fn === "drawdown" ? "withExtra" : "valueOnly");
  const cover = new Cover();
  let newestMs = Number.NEGATIVE_INFINITY;
  let newest = 0;

  const forget = (nowMs: number) => {
    const from = edge.at(nowMs);
    let first = queue.first;
    while (first < queue.end && queue.timeAt(first) + width - 1 < from) first++;
    if (first !== queue.first) queue.forgetUntil(first);
    cover.forgetBefore(from);
  };

  const coverage = (nowMs: number) => shareWatched(cover, edge, nowMs);

  /** @param coverFromMs since when it counts as watched, from the sample or from the beginning of its minute */
  const take = (atMs: number, value: number, coverFromMs: number): void => {
    cover.add(coverFromMs, atMs + staleAfterMs);
    if (atMs >= newestMs) {
      newestMs = atMs;
      newest = value;
    }
  };

  /** Puts a height where it can still become the extreme. */
  const place = (time: number, height: number, companion: number): void => {
    const at = queue.above(time);
    // Beaten by a newer one, or by a higher one of the same instant.
    if (at < queue.end && queue.valueAt(at) >= height) return;
    if (at > queue.first && queue.timeAt(at - 1) === time && queue.valueAt(at - 1) > height) return;
    let beaten = at;
    while (beaten > queue.first && queue.valueAt(beaten - 1) <= height) beaten--;
    if (beaten < at) queue.remove(beaten, at - beaten);
    queue.insert(beaten, time, height, companion);
  };

  /** By the minute, what stands behind a peak is what stood there at the end of its minute: that a roll-up knows, too. */
  const behind = (minute: number, companion: number): void => {
    const at = queue.above(minute) - 1;
    if (at >= queue.first && queue.timeAt(at) === minute) queue.set(at, minute, queue.valueAt(at), companion);
  };

  const minuteOf = (ms: number) => Math.floor(ms / minuteMs) * minuteMs;

  return {
    push(atMs, value, companion) {
      if (Number.isNaN(value)) return;
      const isNewest = atMs >= newestMs;
      const time = byMinute ? minuteOf(atMs) : atMs;
      take(atMs, value, time);
      place(time, sign * value, companion ?? value);
      // A fall that is measured against the peak itself needs no more than the peak.
      if (byMinute && fn === "drawdown" && isNewest && companion !== undefined) behind(time, companion);
      if (isNewest) forget(atMs);
    },
    pushBucket: byMinutes((atMs, stats: BucketStats, companion: BucketStats | undefined) => {
      const isNewest = stats.lastMs >= newestMs;
      take(stats.lastMs, stats.last, minuteOf(atMs));
      place(
        byMinute ? minuteOf(atMs) : stats.lastMs,
        sign * (sign < 0 ? stats.min : stats.max),
        companion === undefined ? stats.max : companion.last,
      );
      if (isNewest) forget(stats.lastMs);
    }),
    read(nowMs) {
      forget(nowMs);
      if (queue.first === queue.end) return new Unknown("uncovered", null, "no sample in the window yet");
      const peak = queue.valueAt(queue.first);
      if (fn === "drawdown") return drawdown(peak, newest, queue.extraAt(queue.first));
      if (fn === "minOver" && coverage(nowMs) < enoughCover) return notCovered(coverage(nowMs));
      return sign * peak;
    },
    coverage,
    nextEdgeMs(nowMs) {
      forget(nowMs);
      if (queue.first === queue.end) return null;
      const leaves = edge.leavesAt(queue.timeAt(queue.first) + width - 1, nowMs);
      if (fn !== "minOver") return leaves;
      return Math.min(leaves, nextCoverChange(cover, edge, nowMs));
    },
    clear() {
      queue.clear();
      cover.clear();
      newestMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Share of the window that was watched. */
export function shareWatched(cover: Cover, edge: Edge, nowMs: number): number {
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
  const from = edge.at(nowMs);
  const whole = cover.within(from, nowMs) >= nowMs - from;
  // Fully watched: nothing changes before the newest sample gets stale. With gaps, the share moves all the time.
  return whole && cover.endMs > nowMs ? cover.endMs : nowMs + fineStep(edge);
}

/** From the peak to now, as a share of what stood behind it. Behind nothing, any fall is endless. */
function drawdown(peak: number, newest: number, behind: number): number | Unknown {
  const fall = peak - newest;
  if (!(fall > 0)) return fall <= 0 ? 0 : new Unknown("nan", null, "drawdown of an infinite series");
  if (!(behind > 0)) return Number.POSITIVE_INFINITY;
  const share = fall / behind;
  return Number.isNaN(share) ? new Unknown("nan", null, "drawdown of an infinite series") : share;
}
