/** `since`: how long a series has had its value; `seriesAge`: how long ago it was seen last. Both look back so far only. */
import { Unknown } from "../value.ts";
import { byMinutes } from "./buckets.ts";
import type { Shape } from "./shape.ts";
import type { Window } from "./window.ts";

/**
 * The time from the first of the newest samples that are all alike, the window's length at most: so a restart, which
 * reads that much of the past, changes nothing. Gaps in between do not count against it.
 */
export function sinceWindow({ edge }: Shape): Window {
  let startMs = Number.NaN;
  let newestMs = Number.NEGATIVE_INFINITY;
  let newest = Number.NaN;
  /** Another value was seen before this one: the start is known, and not merely where the past begins. */
  let witnessed = false;

  const begin = (atMs: number, value: number) => {
    witnessed = newestMs !== Number.NEGATIVE_INFINITY;
    startMs = atMs;
    newest = value;
  };
  const push = (atMs: number, value: number): void => {
    if (Number.isNaN(value)) return;
    if (atMs >= newestMs) {
      if (value !== newest) begin(atMs, value);
      newestMs = atMs;
    } else if (value === newest) {
      if (atMs < startMs && !witnessed) startMs = atMs;
    } else if (atMs >= startMs) {
      // Which of the equal ones came after it is not kept any more: it is the next instant at the earliest.
      startMs = atMs + 1;
      witnessed = true;
    }
  };
  const length = (nowMs: number) => Math.max(0, nowMs - edge.at(nowMs));
  return {
    push,
    pushBucket: byMinutes((atMs, { min, max, last, lastMs }) => {
      if (min === max) push(Math.min(atMs, lastMs), last);
      else {
        push(atMs, last === max ? min : max);
      }
      push(lastMs, last);
    }),
    read(nowMs) {
      if (Number.isNaN(startMs)) return new Unknown("uncovered", null, "no sample yet");
      return Math.min(Math.max(nowMs - startMs, 0), length(nowMs));
    },
    coverage(nowMs) {
      if (Number.isNaN(startMs)) return 0;
      if (witnessed || length(nowMs) === 0) return 1;
      return Math.min((nowMs - startMs) / length(nowMs), 1);
    },
    nextEdgeMs: (nowMs) => (Number.isNaN(startMs) ? null : nowMs + 1_000),
    clear() {
      startMs = newest = Number.NaN;
      newestMs = Number.NEGATIVE_INFINITY;
      witnessed = false;
    },
  };
}

export function ageWindow({ edge }: Shape): Window {
  let newestMs = Number.NEGATIVE_INFINITY;
  const push = (atMs: number, value: number): void => {
    if (!Number.isNaN(value)) newestMs = Math.max(newestMs, atMs);
  };
  const inside = (nowMs: number) => newestMs >= edge.at(nowMs);
  return {
    push,
    pushBucket: byMinutes((_, { last, lastMs }) => push(lastMs, last)),
    read: (nowMs) =>
      inside(nowMs)
        ? Math.max(nowMs - newestMs, 0)
        : new Unknown("uncovered", null, "nothing was seen in as far as it looks back"),
    coverage: (nowMs) => (inside(nowMs) ? 1 : 0),
    nextEdgeMs: (nowMs) => (inside(nowMs) ? nowMs + 1_000 : null),
    clear() {
      newestMs = Number.NEGATIVE_INFINITY;
    },
  };
}
