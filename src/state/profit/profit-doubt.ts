/** Profit that is known between two ends only. */
import type { OpenRange } from "./changes/open-range.ts";

/** Two ends between which profit lies while a change of collateral is not explained. */
export interface Doubt extends OpenRange {
  /** Sets the figures to one end. @param high what came in is profit, and what went out was paid out; else the other way */
  assume(high: boolean): void;
  /** Removes those again that are not known. */
  leave(): void;
}
