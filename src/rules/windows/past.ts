/**
 * `ago`, `change` and `changeRatio`: the value at the window's beginning is the last sample at or before it, unless
 * that was stale by then. By the minute, each minute keeps its last sample.
 */
import { Unknown } from "../value.ts";
import { byMinutes } from "./buckets.ts";
import { Samples } from "./samples.ts";
import { minuteMs, type Shape } from "./shape.ts";
import type { Window } from "./window.ts";

export function pastWindow(fn: "ago" | "change" | "changeRatio", shape: Shape): Window {
  const { edge, staleAfterMs, byMinute } = shape;
  const samples = new Samples("valueOnly");
  const minuteOf = (ms: number) => Math.floor(ms / minuteMs);

  const forget = (nowMs: number) => {
    // Everything before the sample that counts at the edge; what is staler than that can never count.
    const keep = samples.above(lastInstant(nowMs)) - 1;
    if (keep > samples.first) samples.forgetUntil(keep);
  };
  const instantOf = (from: number) => (byMinute ? minuteOf(from) * minuteMs + minuteMs - 1 : from);
  const lastInstant = (nowMs: number) => instantOf(edge.at(nowMs));
  const then = (nowMs: number): number | Unknown => {
    const from = edge.at(nowMs);
    const index = samples.above(instantOf(from)) - 1;
    if (index < samples.first || from - samples.timeAt(index) > staleAfterMs)
      return new Unknown("uncovered", null, "nothing was seen at the beginning of the window");
    return samples.valueAt(index);
  };

  const push = (atMs: number, value: number): void => {
    if (Number.isNaN(value)) return;
    const index = samples.above(atMs);
    if (byMinute) {
      if (index < samples.end && minuteOf(samples.timeAt(index)) === minuteOf(atMs)) return;
      if (index > samples.first && minuteOf(samples.timeAt(index - 1)) === minuteOf(atMs)) {
        samples.set(index - 1, atMs, value, 0);
        return;
      }
    }
    samples.insert(index, atMs, value, 0);
    forget(samples.timeAt(samples.end - 1));
  };

  return {
    push,
    pushBucket: byMinutes((_, { last, lastMs }) => push(lastMs, last)),
    read(nowMs) {
      const before = then(nowMs);
      if (fn === "ago" || typeof before !== "number") return before;
      const last = samples.end - 1;
      if (nowMs - samples.timeAt(last) > staleAfterMs)
        return new Unknown("stale", null, "the newest sample is too old");
      const change = samples.valueAt(last) - before;
      const result = fn === "change" ? change : change / Math.abs(before);
      return Number.isNaN(result) ? new Unknown("nan", null, "change of an infinite or zero value") : result;
    },
    coverage: (nowMs) => (then(nowMs) instanceof Unknown ? 0 : 1),
    nextEdgeMs(nowMs) {
      if (samples.first === samples.end) return null;
      const next = samples.above(lastInstant(nowMs));
      const turns: number[] = [];
      if (next < samples.end) {
        const at = samples.timeAt(next);
        turns.push(edge.leavesAt((byMinute ? minuteOf(at) * minuteMs : at) - 1, nowMs));
      }
      if (next - 1 >= samples.first)
        turns.push(edge.leavesAt(samples.timeAt(next - 1) + staleAfterMs, nowMs));
      if (fn !== "ago") turns.push(samples.timeAt(samples.end - 1) + staleAfterMs + 1);
      const ahead = turns.filter((turn) => turn > nowMs);
      return ahead.length === 0 ? null : Math.min(...ahead);
    },
    clear: () => samples.clear(),
  };
}
