/** A look back over one series of one subject, for one function. */
import type { Unknown } from "../value.ts";

export interface Window {
  /**
   * Takes one sample or event.
   * @param atMs when it was seen (samples) or happened (events). Late ones are taken in at their own time.
   * @param value of the series; 1 for `countOver`. NaN is ignored.
   * @param companion of `drawdown`: what the fall is measured against; default the value itself.
   */
  push(atMs: number, value: number, companion?: number): void;
  /** @returns the figure over [now − window, now], or why there is none. */
  read(nowMs: number): number | Unknown;
  /** Share of the window that was watched, 0–1. */
  coverage(nowMs: number): number;
  /** The next time at which the figure can change without a push, ms; null: never. */
  nextEdgeMs(nowMs: number): number | null;
  /** Forgets everything: the subject is a new one. */
  clear(): void;
}
