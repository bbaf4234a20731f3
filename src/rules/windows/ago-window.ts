/**
 * `ago`, `change` and `changeRatio`: the value at the window's beginning is the last sample at or before it, unless that was stale by
 * then. Long windows keep the last sample of each minute.
 */
import { Unknown } from "../value.ts";
import { pushMinutes } from "./buckets.ts";
import { minuteMs, minuteOf } from "./minute.ts";
import { Samples, TIME, VALUE } from "./samples.ts";
import type { Layout, Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

/** Data shared by the windows of one specification. */
interface Kind {
  readonly fn: "ago" | "change" | "changeRatio";
  readonly shape: Shape;
  readonly layout: Layout;
}

export function agoKind(fn: Kind["fn"], shape: Shape): Kind {
  return { fn, shape, layout: { head: 1, stride: 2, maxSamples: shape.maxSamples } };
}

/** Offset of a number before the samples: the minute of the edge at the last search. */
const MINUTE = 0;

export class AgoWindow implements Window {
  readonly #kind: Kind;
  readonly #samples: Samples;
  /** The sample that counted at the edge then. */
  #counts = -1;

  constructor(kind: Kind) {
    this.#kind = kind;
    this.#samples = new Samples(kind.layout);
    this.#samples.setHead(MINUTE, Number.NaN);
  }

  push(atMs: number, value: number): boolean {
    if (Number.isNaN(value)) return false;
    const samples = this.#samples;
    const index = samples.above(atMs);
    if (this.#kind.shape.byMinute) {
      const minute = minuteOf(atMs);
      if (index < samples.end && minuteOf(samples.timeAt(index)) === minute) return false;
      if (index > samples.first && samples.timeAt(index - 1) >= minute) {
        samples.set(index - 1, atMs, value);
        return true;
      }
    }
    // A late sample may be before the one that counted.
    if (index < samples.end) samples.setHead(MINUTE, Number.NaN);
    samples.insert(index, atMs, value);
    this.#forget(samples.timeAt(samples.end - 1));
    return true;
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(_: number, { last, lastMs }: BucketStats): void {
    this.push(lastMs, last);
  }

  read(nowMs: number): number | Unknown {
    const samples = this.#samples;
    const { fn, shape } = this.#kind;
    const then = this.#then(nowMs);
    if (then < 0) return new Unknown("uncovered", null, "nothing was seen at the beginning of the window");
    const { ring } = samples;
    const before = ring[samples.offset(then) + VALUE]!;
    if (fn === "ago") return before;
    const newest = samples.offset(samples.end - 1);
    if (nowMs - ring[newest + TIME]! > shape.staleAfterMs)
      return new Unknown("stale", null, "the newest sample is too old");
    return this.#change(before, ring[newest + VALUE]!);
  }

  readWith(nowMs: number, value: number): number | Unknown {
    const before = this.#kind.fn === "ago" ? undefined : this.#then(nowMs);
    if (before === undefined || before < 0) return this.read(nowMs);
    return this.#change(this.#samples.valueAt(before), value);
  }

  #change(before: number, now: number): number | Unknown {
    const change = now - before;
    const result = this.#kind.fn === "change" ? change : change / Math.abs(before);
    return Number.isNaN(result) ? new Unknown("nan", null, "change of an infinite or zero value") : result;
  }

  coverage(nowMs: number): number {
    return this.#then(nowMs) < 0 ? 0 : 1;
  }

  nextEdgeMs(nowMs: number): number | null {
    const samples = this.#samples;
    const { edge, staleAfterMs, byMinute } = this.#kind.shape;
    if (samples.first === samples.end) return null;
    const next = samples.above(this.#lastInstant(nowMs));
    let first = Number.POSITIVE_INFINITY;
    if (next < samples.end) {
      const at = samples.timeAt(next);
      const enters = edge.leavesAt((byMinute ? minuteOf(at) : at) - 1, nowMs);
      if (enters > nowMs) first = enters;
    }
    if (next - 1 >= samples.first) {
      const stale = edge.leavesAt(samples.timeAt(next - 1) + staleAfterMs, nowMs);
      if (stale > nowMs && stale < first) first = stale;
    }
    if (this.#kind.fn !== "ago") {
      const stale = samples.timeAt(samples.end - 1) + staleAfterMs + 1;
      if (stale > nowMs && stale < first) first = stale;
    }
    return first === Number.POSITIVE_INFINITY ? null : first;
  }

  holdsUntilMs(nowMs: number): number {
    return (this.nextEdgeMs(nowMs) ?? nowMs) - 1;
  }

  clear(): void {
    this.#samples.clear();
    this.#samples.setHead(MINUTE, Number.NaN);
  }

  /** Drops samples before the one that counts at the edge; older ones can never count. */
  #forget(nowMs: number): void {
    const samples = this.#samples;
    const keep = samples.above(this.#lastInstant(nowMs)) - 1;
    if (keep > samples.first) samples.forgetUntil(keep);
  }

  #instantOf(from: number): number {
    return this.#kind.shape.byMinute ? minuteOf(from) + minuteMs - 1 : from;
  }

  #lastInstant(nowMs: number): number {
    return this.#instantOf(this.#kind.shape.edge.at(nowMs));
  }

  /** @returns the index of the sample that counts at the edge; -1: none */
  #then(nowMs: number): number {
    const samples = this.#samples;
    const { edge, byMinute, staleAfterMs } = this.#kind.shape;
    const fromMs = edge.at(nowMs);
    let index = this.#counts;
    const minute = samples.head(MINUTE);
    // In long windows it is the same one for a minute.
    if (!(byMinute && fromMs >= minute && fromMs < minute + minuteMs && index >= samples.first)) {
      index = samples.above(this.#instantOf(fromMs)) - 1;
      this.#counts = index;
      // After the newest there may be another one in that minute.
      samples.setHead(MINUTE, index < samples.end - 1 ? minuteOf(fromMs) : Number.NaN);
    }
    return index < samples.first || fromMs - samples.timeAt(index) > staleAfterMs ? -1 : index;
  }
}
