/** Times for which a message waits for missing data, ms. */

/**
 * A subject first seen later than this after a start may have appeared since the start: its earlier state is unknown.
 */
export const firstLookMs = 60_000;
/** Time for which a new alert waits for figures in its texts that were not read since the start. */
export const textPatienceMs = 5_000;
/** Time without data, beyond `staleAfter`, after which it is reported, ms. */
export const noDataForMs = 30_000;
/** More wallets without data than this are one alert. */
export const groupedFromWallets = 3;
/** Maximum time for which the end of a position waits for a report of a liquidation, before it counts as closed. */
export const endingPatienceMs = 60_000;
