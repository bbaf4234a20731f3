/** What all windows have in common. */
import type { Edge } from "./edge.ts";

export const minuteMs = 60_000;

/** A window is covered when this share of it is. */
export const enoughCover = 0.9;

/**
 * Up to this length samples are kept as they came; above it by the minute, which bounds memory: an hour of samples at 5 s
 * takes twelve times what its minutes do, and thousands of subjects have one.
 */
export const rawUpToMs = 600_000;

/** No window is longer: 32 days of minutes are half a megabyte. */
export const longestWindowMs = 32 * 86_400_000;

/** Shared by the windows that one specification makes, of which there may be one for each of thousands of subjects. */
export interface Shape {
  readonly edge: Edge;
  readonly staleAfterMs: number;
  /** Kept by the minute: both ends of the window are then exact to one minute. */
  readonly byMinute: boolean;
  /** How many samples there may be, about: room is made for no more unless there are. */
  readonly most: number;
}

/** An edge at the beginning of the minute that the other lies in: what is kept by the minute enters and leaves whole. */
export function wholeMinutes(edge: Edge): Edge {
  return {
    at: (nowMs) => Math.floor(edge.at(nowMs) / minuteMs) * minuteMs,
    leavesAt: (lastMs, nowMs) => edge.leavesAt(lastMs, nowMs),
    longestMs: edge.longestMs,
  };
}
