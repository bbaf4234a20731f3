/** Data that all kinds of windows share. */

import type { Edge } from "./edge.ts";

/** Minimum share of a window with data for a known result. */
export const enoughCover = 0.9;

/**
 * Maximum length of windows that keep single samples, ms; longer ones keep minutes, which limits memory: an hour of samples at 5 s
 * takes twelve times as much as its minutes, and thousands of subjects have one.
 */
export const rawUpToMs = 600_000;

/** Maximum length of a window, ms: 32 days of minutes take half a megabyte. */
export const maxWindowMs = 32 * 86_400_000;

/** Shared by the windows of one specification, of which each of thousands of subjects may have one. */
export interface Shape {
  readonly edge: Edge;
  readonly staleAfterMs: number;
  /** True: minutes are kept, and both ends of the window are exact to one minute. */
  readonly byMinute: boolean;
  /** The approximate maximum number of samples, which limits spare capacity. */
  readonly maxSamples: number;
}

/** The layout of samples in memory. */
export interface Layout {
  /** Count of the window's own numbers before the samples, up to 5. */
  readonly head: number;
  /** Count of numbers per sample: time, value, and up to three more. */
  readonly stride: number;
  /** The usual maximum number of samples, which limits spare capacity at first. */
  readonly maxSamples: number;
}
