/** Minutes, by which long windows keep their samples. */

export const minuteMs = 60_000;

/** @returns when the minute began that an instant lies in, ms. */
export const minuteOf = (ms: number): number => Math.floor(ms / minuteMs) * minuteMs;
