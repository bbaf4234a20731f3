/** The beginning of a window: a fixed time ago, or midnight of today in a time zone. */
import { Zone } from "../../domain/zone.ts";
import { minuteMs, minuteOf } from "./minute.ts";

const dayMs = 86_400_000;

type DayOf = ReturnType<typeof dayOf>;

/** Every window asks for it with every look: edges of all kinds are one class, so that asking is nearly nothing. */
export class Edge {
  /** The longest that the window can be, ms. */
  readonly longestMs: number;
  readonly #day: DayOf | null;
  readonly #whole: boolean;

  /** @param day of `today`. @param whole see `wholeMinutes` */
  constructor(longestMs: number, day: DayOf | null, whole: boolean) {
    this.longestMs = longestMs;
    this.#day = day;
    this.#whole = whole;
  }

  /** @returns the first instant that belongs to the window as of `nowMs`. */
  at(nowMs: number): number {
    const fromMs = this.#day === null ? nowMs - this.longestMs : this.#day(nowMs).startMs;
    return this.#whole ? minuteOf(fromMs) : fromMs;
  }

  /** @returns until when, not including it, `at` surely gives the `fromMs` that it gives at `nowMs`. */
  staysUntil(fromMs: number, nowMs: number): number {
    if (this.#day !== null) return this.#day(nowMs).endMs;
    return this.#whole ? fromMs + minuteMs + this.longestMs : nowMs;
  }

  /** @returns when something seen until `lastMs` falls out of a window that it is in at `nowMs`. */
  leavesAt(lastMs: number, nowMs: number): number {
    return this.#day === null ? lastMs + this.longestMs + 1 : this.#day(nowMs).endMs;
  }

  /** This one at the beginning of the minute that it lies in: what is kept by the minute enters and leaves whole. */
  wholeMinutes(): Edge {
    return new Edge(this.longestMs, this.#day, true);
  }

  /** A hundredth of the window, between a second and a minute: how finely a figure that moves all the time is followed. */
  get fineStepMs(): number {
    return Math.min(Math.max(this.longestMs / 100, 1_000), minuteMs);
  }
}

export function rollingEdge(windowMs: number): Edge {
  return new Edge(windowMs, null, false);
}

export function todayEdge(timezone: string): Edge {
  return new Edge(25 * 3_600_000, dayOf(timezone), false);
}

/**
 * @returns a function that gives the calendar day around an instant: its first ms, and that of the next day. A day begins with
 * its midnight, where the clocks jump over that at the jump. Where they go back over midnight the new day has begun.
 */
export function dayOf(timezone: string): (nowMs: number) => { startMs: number; endMs: number } {
  const zone = new Zone(timezone);
  const firstOf = (day: number) => zone.instants(day * dayMs)[0]!;
  let cached = { startMs: 0, endMs: 0 };
  return (nowMs) => {
    if (nowMs < cached.startMs || nowMs >= cached.endMs) {
      // Days since 1970 on the wall.
      let day = Math.floor((nowMs + zone.offsetMs(nowMs)) / dayMs);
      while (firstOf(day + 1) <= nowMs) day++;
      cached = { startMs: firstOf(day), endMs: firstOf(day + 1) };
    }
    return cached;
  };
}
