/**
 * `avgOver`, weighted by time: a sample counts for as long as it stood, at most until it was stale. Short windows keep
 * every sample; long ones keep for each minute the mean of its samples and the last of them, which stands until the
 * next minute that has one. The sum is taken afresh at each reading: a running one would drift, and two ways of
 * feeding it would differ in the last digits.
 */
import { Unknown } from "../value.ts";
import { fineStep, notCovered } from "./extremes.ts";
import { Samples } from "./samples.ts";
import { enoughCover, minuteMs, type Shape } from "./shape.ts";
import type { Window } from "./window.ts";

interface Weighed {
  readonly sum: number;
  readonly watchedMs: number;
}

/** One sample and how long it stands: what both ways of keeping come down to. */
type Weigh = (fromMs: number, toMs: number) => Weighed;

export function averageWindow(shape: Shape): Window {
  const { edge } = shape;
  const { samples, push, forgetUntil, weigh } = shape.byMinute ? byMinute(shape) : asTheyCame(shape);

  const share = (nowMs: number, watchedMs: number) => {
    const length = nowMs - edge.at(nowMs);
    return length > 0 ? watchedMs / length : 0;
  };

  return {
    push(atMs, value) {
      if (Number.isNaN(value)) return;
      push(atMs, value);
      const keep = samples.above(edge.at(atMs)) - 1;
      if (keep > samples.first) forgetUntil(keep);
    },
    read(nowMs) {
      const { sum, watchedMs } = weigh(edge.at(nowMs), nowMs);
      const watched = share(nowMs, watchedMs);
      if (watched < enoughCover) return notCovered(watched);
      const mean = sum / watchedMs;
      return Number.isNaN(mean) ? new Unknown("nan", null, "mean of infinite values") : mean;
    },
    coverage: (nowMs) => share(nowMs, weigh(edge.at(nowMs), nowMs).watchedMs),
    nextEdgeMs: (nowMs) => (samples.first === samples.end ? null : nowMs + fineStep(edge)),
    clear: () => forgetUntil(samples.end),
  };
}

interface Keeping {
  readonly samples: Samples;
  readonly push: (atMs: number, value: number) => void;
  readonly forgetUntil: (index: number) => void;
  readonly weigh: Weigh;
}

function asTheyCame({ staleAfterMs }: Shape): Keeping {
  const samples = new Samples();
  return {
    samples,
    push: (atMs, value) => samples.insert(samples.above(atMs), atMs, value, 0),
    forgetUntil: (index) => samples.forgetUntil(index),
    weigh(fromMs, toMs) {
      let sum = 0;
      let watchedMs = 0;
      const end = samples.end;
      for (let i = Math.max(samples.first, samples.above(fromMs) - 1); i < end; i++) {
        const at = samples.timeAt(i);
        const next = i + 1 < end ? samples.timeAt(i + 1) : toMs;
        const span = Math.min(next, at + staleAfterMs, toMs) - Math.max(at, fromMs);
        if (span <= 0) continue;
        sum += samples.valueAt(i) * span;
        watchedMs += span;
      }
      return { sum, watchedMs };
    },
  };
}

function byMinute({ staleAfterMs }: Shape): Keeping {
  /** time: the minute's start; value: the sum of its samples; extra: their number. */
  const samples = new Samples();
  /** The last sample of each minute, at the same indices. */
  const lasts = new Samples();
  return {
    samples,
    push(atMs, value) {
      const minute = Math.floor(atMs / minuteMs) * minuteMs;
      const index = samples.above(minute);
      if (index === samples.first || samples.timeAt(index - 1) !== minute) {
        samples.insert(index, minute, value, 1);
        lasts.insert(index, atMs, value, 0);
        return;
      }
      samples.set(index - 1, minute, samples.valueAt(index - 1) + value, samples.extraAt(index - 1) + 1);
      if (atMs >= lasts.timeAt(index - 1)) lasts.set(index - 1, atMs, value, 0);
    },
    forgetUntil(index) {
      samples.forgetUntil(index);
      lasts.forgetUntil(index);
    },
    weigh(fromMs, toMs) {
      let sum = 0;
      let watchedMs = 0;
      const end = samples.end;
      for (let i = Math.max(samples.first, samples.above(fromMs) - 1); i < end; i++) {
        const minute = samples.timeAt(i);
        const own = Math.min(minute + minuteMs, toMs) - Math.max(minute, fromMs);
        if (own > 0) {
          sum += (samples.valueAt(i) / samples.extraAt(i)) * own;
          watchedMs += own;
        }
        const next = i + 1 < end ? samples.timeAt(i + 1) : toMs;
        const held =
          Math.min(next, lasts.timeAt(i) + staleAfterMs, toMs) - Math.max(minute + minuteMs, fromMs);
        if (held > 0) {
          sum += lasts.valueAt(i) * held;
          watchedMs += held;
        }
      }
      return { sum, watchedMs };
    },
  };
}
