/** The part of the configuration that says which advice is given. */
import { type Clearing, clearings } from "../domain/what-if.ts";

export interface AdviceSettings {
  /** The kinds that are advised, the one that does the least harm first; empty: none. */
  readonly order: readonly Clearing[];
  /** The share of a market's daily move against each position for which what clears an account has to hold. */
  readonly headroom: number;
}

export const usualAdvice: AdviceSettings = { order: clearings, headroom: 0.5 };
