/** `sumOver` and `countOver`: events of the window, added up. By the minute, each minute keeps its total. */
import { byMinutes } from "./buckets.ts";
import { Samples } from "./samples.ts";
import { minuteMs, type Shape } from "./shape.ts";
import type { Window } from "./window.ts";

export function totalWindow({ edge, byMinute }: Shape): Window {
  const samples = new Samples("valueOnly");
  const width = byMinute ? minuteMs : 1;
  const forget = (nowMs: number) => {
    const keep = samples.above(edge.at(nowMs) - width);
    if (keep > samples.first) samples.forgetUntil(keep);
  };
  /** Taken afresh when something came or went: a running sum would drift. */
  let sum: number | null = null;
  let summedFrom = 0;
  const push = (atMs: number, value: number): void => {
    if (Number.isNaN(value)) return;
    sum = null;
    const time = Math.floor(atMs / width) * width;
    const index = samples.above(time);
    if (byMinute && index > samples.first && samples.timeAt(index - 1) === time)
      samples.set(index - 1, time, samples.valueAt(index - 1) + value, 0);
    else samples.insert(index, time, value, 0);
    if (index >= samples.end - 1) forget(atMs);
  };
  return {
    push,
    pushBucket: byMinutes((atMs, stats) => push(atMs, stats.sum)),
    read(nowMs) {
      forget(nowMs);
      if (sum === null || summedFrom !== samples.first) {
        sum = 0;
        summedFrom = samples.first;
        for (let i = samples.first; i < samples.end; i++) sum += samples.valueAt(i);
      }
      return sum;
    },
    // Events are read back page by page after downtime: their past has no gaps that this window could know of.
    coverage: () => 1,
    nextEdgeMs(nowMs) {
      forget(nowMs);
      if (samples.first === samples.end) return null;
      return edge.leavesAt(samples.timeAt(samples.first) + width - 1, nowMs);
    },
    clear() {
      samples.clear();
      sum = null;
    },
  };
}
