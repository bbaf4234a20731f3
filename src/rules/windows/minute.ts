/** Minutes, the resolution of long windows. */

export const minuteMs = 60_000;

/** @returns the beginning of the minute of a time, ms */
export const minuteOf = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs;
