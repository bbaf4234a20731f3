/** Profit that is known only as a range. */
import type { OpenRange } from "./changes/open-range.ts";

/** The range of profit while a change of collateral is not explained. */
export interface Doubt extends OpenRange {
  /** Sets the figures to one end of the range. @param high true: money in is profit, money out was withdrawn; false: the reverse */
  assume(high: boolean): void;
  /** Removes the figures that are unknown. */
  leave(): void;
}
