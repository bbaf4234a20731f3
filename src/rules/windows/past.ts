/**
 * `ago`, `change` and `changeRatio`: the value at the window's beginning is the last sample at or before it, unless
 * that was stale by then. By the minute, each minute keeps its last sample.
 */
import { Unknown } from "../value.ts";
import { pushMinutes } from "./buckets.ts";
import { Samples } from "./samples.ts";
import { minuteMs, type Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

export class PastWindow implements Window {
  readonly #fn: "ago" | "change" | "changeRatio";
  readonly #shape: Shape;
  readonly #samples: Samples;

  constructor(fn: "ago" | "change" | "changeRatio", shape: Shape) {
    this.#fn = fn;
    this.#shape = shape;
    this.#samples = new Samples(0, shape.most);
  }

  push(atMs: number, value: number): void {
    if (Number.isNaN(value)) return;
    const samples = this.#samples;
    const index = samples.above(atMs);
    if (this.#shape.byMinute) {
      if (index < samples.end && minuteOf(samples.timeAt(index)) === minuteOf(atMs)) return;
      if (index > samples.first && minuteOf(samples.timeAt(index - 1)) === minuteOf(atMs)) {
        samples.set(index - 1, atMs, value);
        return;
      }
    }
    samples.insert(index, atMs, value);
    this.#forget(samples.timeAt(samples.end - 1));
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(_: number, { last, lastMs }: BucketStats): void {
    this.push(lastMs, last);
  }

  read(nowMs: number): number | Unknown {
    const before = this.#then(nowMs);
    if (this.#fn === "ago" || typeof before !== "number") return before;
    const samples = this.#samples;
    const last = samples.end - 1;
    if (nowMs - samples.timeAt(last) > this.#shape.staleAfterMs)
      return new Unknown("stale", null, "the newest sample is too old");
    const change = samples.valueAt(last) - before;
    const result = this.#fn === "change" ? change : change / Math.abs(before);
    return Number.isNaN(result) ? new Unknown("nan", null, "change of an infinite or zero value") : result;
  }

  coverage(nowMs: number): number {
    return this.#then(nowMs) instanceof Unknown ? 0 : 1;
  }

  nextEdgeMs(nowMs: number): number | null {
    const samples = this.#samples;
    const { edge, staleAfterMs, byMinute } = this.#shape;
    if (samples.first === samples.end) return null;
    const next = samples.above(this.#lastInstant(nowMs));
    let first = Number.POSITIVE_INFINITY;
    if (next < samples.end) {
      const at = samples.timeAt(next);
      const enters = edge.leavesAt((byMinute ? minuteOf(at) * minuteMs : at) - 1, nowMs);
      if (enters > nowMs) first = enters;
    }
    if (next - 1 >= samples.first) {
      const stale = edge.leavesAt(samples.timeAt(next - 1) + staleAfterMs, nowMs);
      if (stale > nowMs && stale < first) first = stale;
    }
    if (this.#fn !== "ago") {
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
  }

  /** Everything before the sample that counts at the edge; what is staler than that can never count. */
  #forget(nowMs: number): void {
    const samples = this.#samples;
    const keep = samples.above(this.#lastInstant(nowMs)) - 1;
    if (keep > samples.first) samples.forgetUntil(keep);
  }

  #instantOf(from: number): number {
    return this.#shape.byMinute ? minuteOf(from) * minuteMs + minuteMs - 1 : from;
  }

  #lastInstant(nowMs: number): number {
    return this.#instantOf(this.#shape.edge.at(nowMs));
  }

  #then(nowMs: number): number | Unknown {
    const samples = this.#samples;
    const from = this.#shape.edge.at(nowMs);
    const index = samples.above(this.#instantOf(from)) - 1;
    if (index < samples.first || from - samples.timeAt(index) > this.#shape.staleAfterMs)
      return new Unknown("uncovered", null, "nothing was seen at the beginning of the window");
    return samples.valueAt(index);
  }
}

const minuteOf = (ms: number): number => Math.floor(ms / minuteMs);
