/** The needs of rules beyond what is read for everybody. */

/** Asked again each time, since rules may be loaded anew. */
export interface CollectNeeds {
  /** True if the ages of resting orders are needed. */
  orderAges(): boolean;
  /** Our equity held against the exchange's. */
  equityCheck(): boolean;
  /** The midnight for which a wallet's equity has to come from the exchange, ms; else null. */
  midnightMs(wallet: string): number | null;
}

export const noNeeds: CollectNeeds = {
  orderAges: () => false,
  equityCheck: () => false,
  midnightMs: () => null,
};
