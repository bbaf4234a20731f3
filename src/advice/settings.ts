/** The settings of advice. */
import { type Clearing, clearings } from "../domain/what-if.ts";

export interface AdviceSettings {
  /** The kinds of advice, in order of preference (least harm first); empty: none. */
  readonly order: readonly Clearing[];
  /** The adverse move that a cleared account has to withstand, as a share of a market's daily move. */
  readonly headroom: number;
}

export const usualAdvice: AdviceSettings = { order: clearings, headroom: 0.5 };
