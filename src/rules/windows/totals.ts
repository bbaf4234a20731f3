/** `sumOver` and `countOver`: events of the window, added up. By the minute, each minute keeps its total. */
import { Samples } from "./samples.ts";
import { minuteMs, type Shape } from "./shape.ts";
import type { Window } from "./window.ts";

export function totalWindow({ edge, byMinute }: Shape): Window {
  const samples = new Samples();
  const width = byMinute ? minuteMs : 1;
  const forget = (nowMs: number) => {
    const keep = samples.above(edge.at(nowMs) - width);
    if (keep > samples.first) samples.forgetUntil(keep);
  };
  return {
    push(atMs, value) {
      if (Number.isNaN(value)) return;
      const time = Math.floor(atMs / width) * width;
      const index = samples.above(time);
      if (byMinute && index > samples.first && samples.timeAt(index - 1) === time)
        samples.set(index - 1, time, samples.valueAt(index - 1) + value, 0);
      else samples.insert(index, time, value, 0);
      if (index >= samples.end - 1) forget(atMs);
    },
    read(nowMs) {
      forget(nowMs);
      let sum = 0;
      for (let i = samples.first; i < samples.end; i++) sum += samples.valueAt(i);
      return sum;
    },
    // Events are read back page by page after downtime: their past has no gaps that this window could know of.
    coverage: () => 1,
    nextEdgeMs(nowMs) {
      forget(nowMs);
      if (samples.first === samples.end) return null;
      return edge.leavesAt(samples.timeAt(samples.first) + width - 1, nowMs);
    },
    clear: () => samples.clear(),
  };
}
