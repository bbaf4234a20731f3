/** Times for which a message waits for what is not known yet, ms. */

/** A subject first seen later than this after a start may have come about since, so that nobody can say it was so then. */
export const firstLookMs = 60_000;
/** Time for which a new alert waits for figures that its texts name and that were not read since the start. */
export const textPatienceMs = 5_000;
/** Time without data, beyond `staleAfter`, after which it is reported, ms. */
export const noDataForMs = 30_000;
/** More wallets without data than this are one alert. */
export const groupedFromWallets = 3;
/** Maximum time for which the end of a position waits for a report of a liquidation, before it counts as closed. */
export const endingPatienceMs = 60_000;
