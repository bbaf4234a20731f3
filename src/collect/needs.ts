/** The reads that rules need beyond the regular ones. */

/** Called each time, since rules may be reloaded. */
export interface CollectNeeds {
  /** Returns true if the ages of resting orders are needed. */
  orderAges(): boolean;
  /** Returns true if the computed equity is compared with the exchange's. */
  equityCheck(): boolean;
  /** Returns the midnight for which a wallet's equity has to come from the exchange, ms; else null. */
  midnightMs(wallet: string): number | null;
}

export const noNeeds: CollectNeeds = {
  orderAges: () => false,
  equityCheck: () => false,
  midnightMs: () => null,
};
