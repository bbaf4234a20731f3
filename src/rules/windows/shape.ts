/** The parts that all windows share. */

import type { Edge } from "./edge.ts";

/** A window is covered when this share of it is. */
export const enoughCover = 0.9;

/**
 * Up to this length samples are kept as they came; above it by the minute, which bounds memory: an hour of samples at 5 s
 * takes twelve times what its minutes do, and thousands of subjects have one.
 */
export const rawUpToMs = 600_000;

/** No window is longer: 32 days of minutes are half a megabyte. */
export const maxWindowMs = 32 * 86_400_000;

/** Shared by the windows that one specification makes, of which there may be one for each of thousands of subjects. */
export interface Shape {
  readonly edge: Edge;
  readonly staleAfterMs: number;
  /** Kept by the minute: both ends of the window are then exact to one minute. */
  readonly byMinute: boolean;
  /** The approximate maximum number of samples: room is made for no more unless there are. */
  readonly most: number;
}

/** The layout of samples in memory. */
export interface Layout {
  /** Numbers of the window itself in front of them, up to 5. */
  readonly head: number;
  /** Numbers of each: time, value, and up to three more. */
  readonly stride: number;
  /** The usual maximum number of samples: room is made up to that at first. */
  readonly most: number;
}
