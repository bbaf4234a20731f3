/** Where a window begins: a fixed time ago, or midnight of today in a time zone. */

export interface Edge {
  /** @returns the first instant that belongs to the window as of `nowMs`. */
  at(nowMs: number): number;
  /** @returns when something seen until `lastMs` falls out of a window that it is in at `nowMs`. */
  leavesAt(lastMs: number, nowMs: number): number;
  /** The longest that the window can be, ms. */
  readonly longestMs: number;
}

export function rollingEdge(windowMs: number): Edge {
  return {
    at: (nowMs) => nowMs - windowMs,
    leavesAt: (lastMs) => lastMs + windowMs + 1,
    longestMs: windowMs,
  };
}

export function todayEdge(timezone: string): Edge {
  const day = dayOf(timezone);
  return {
    at: (nowMs) => day(nowMs).startMs,
    leavesAt: (_, nowMs) => day(nowMs).endMs,
    longestMs: 25 * 3_600_000,
  };
}

/** @returns a function that gives the calendar day around an instant: its first ms, and that of the next day. */
export function dayOf(timezone: string): (nowMs: number) => { startMs: number; endMs: number } {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const wall = (ms: number) => {
    const parts: Record<string, number> = {};
    for (const part of format.formatToParts(ms)) parts[part.type] = Number(part.value);
    return parts as {
      year: number;
      month: number;
      day: number;
      hour: number;
      minute: number;
      second: number;
    };
  };
  const offsetAt = (ms: number) => {
    const { year, month, day, hour, minute, second } = wall(ms);
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1_000) * 1_000;
  };
  // A zone's offset at midnight is not its offset now on the two days when the clock is changed: ask again there.
  const midnight = (year: number, month: number, day: number) => {
    const utc = Date.UTC(year, month - 1, day);
    return utc - offsetAt(utc - offsetAt(utc));
  };
  let cached = { startMs: 0, endMs: 0 };
  return (nowMs) => {
    if (nowMs < cached.startMs || nowMs >= cached.endMs) {
      const { year, month, day } = wall(nowMs);
      cached = { startMs: midnight(year, month, day), endMs: midnight(year, month, day + 1) };
    }
    return cached;
  };
}
