/** The beginning of a window: a fixed time ago, or midnight of today in a time zone. */
import { Zone } from "../../domain/text/zone.ts";
import { minuteMs, minuteOf } from "./minute.ts";

const dayMs = 86_400_000;

type DayOf = ReturnType<typeof dayOf>;

/** Used at every reading of a window. A single class for all kinds of edges, so that calls stay monomorphic and cheap. */
export class Edge {
  /** The maximum length of the window, ms. */
  readonly spanMs: number;
  readonly #day: DayOf | null;
  readonly #whole: boolean;

  /** @param day calendar day, for `today`  @param whole see `wholeMinutes` */
  constructor(spanMs: number, day: DayOf | null, whole: boolean) {
    this.spanMs = spanMs;
    this.#day = day;
    this.#whole = whole;
  }

  /** @returns the first millisecond that belongs to the window at `nowMs` */
  at(nowMs: number): number {
    const fromMs = this.#day === null ? nowMs - this.spanMs : this.#day(nowMs).startMs;
    return this.#whole ? minuteOf(fromMs) : fromMs;
  }

  /** @returns the time until which (exclusive) `at` is certain to return the `fromMs` that it returns at `nowMs` */
  staysUntil(fromMs: number, nowMs: number): number {
    if (this.#day !== null) return this.#day(nowMs).endMs;
    return this.#whole ? fromMs + minuteMs + this.spanMs : nowMs;
  }

  /** @returns the time at which samples up to `lastMs`, which are in the window at `nowMs`, leave it */
  leavesAt(lastMs: number, nowMs: number): number {
    return this.#day === null ? lastMs + this.spanMs + 1 : this.#day(nowMs).endMs;
  }

  /** The edge rounded down to whole minutes: minutes enter and leave a window as a whole. */
  wholeMinutes(): Edge {
    return new Edge(this.spanMs, this.#day, true);
  }

  /** A hundredth of the window, between a second and a minute: the resolution at which a continuously changing figure is followed. */
  get fineStepMs(): number {
    return Math.min(Math.max(this.spanMs / 100, 1_000), minuteMs);
  }
}

export function rollingEdge(windowMs: number): Edge {
  return new Edge(windowMs, null, false);
}

export function todayEdge(timezone: string): Edge {
  return new Edge(25 * 3_600_000, dayOf(timezone), false);
}

/**
 * @returns a function that gives the calendar day of a time: its first ms, and that of the next day. A day begins at midnight; if
 * clocks skip midnight, at the skip; if they are set back over midnight, at the first midnight.
 */
export function dayOf(timezone: string): (nowMs: number) => { startMs: number; endMs: number } {
  const zone = new Zone(timezone);
  const firstOf = (day: number) => zone.instants(day * dayMs)[0]!;
  let cached = { startMs: 0, endMs: 0 };
  return (nowMs) => {
    if (nowMs < cached.startMs || nowMs >= cached.endMs) {
      // Days since 1970 by local time.
      let day = Math.floor((nowMs + zone.offsetMs(nowMs)) / dayMs);
      while (firstOf(day + 1) <= nowMs) day++;
      cached = { startMs: firstOf(day), endMs: firstOf(day + 1) };
    }
    return cached;
  };
}
