/** The names of the exchange's sources, in words for people who do not know the names of schedules. */
import { formatDurationMs } from "./duration.ts";
import type { Source } from "./observation.ts";
import type { StretchedSource } from "./status.ts";

/** Fits after "no": `no prices`. */
export const sourceWords: Readonly<Record<Source, string>> = {
  traderState: "positions and balances",
  markets: "prices",
  traderView: "risk figures of the exchange's own",
  notifications: "notifications",
  liquidations: "liquidation history",
  funding: "funding payments",
  fundingRates: "funding rates",
  collateral: "deposits and withdrawals",
  orders: "order history",
  fills: "fills",
  pnl: "profit history",
  portfolio: "portfolio values",
  marketConfig: "market rules",
  exchangeStatus: "status of the exchange",
  orderbook: "order books",
  calendars: "trading hours",
  candles: "candles",
};

/** One line about sources that are read less often than configured. */
export function stretchedText(stretched: readonly StretchedSource[]): string {
  const parts = stretched.map(
    ({ source, staleAfterMs, usuallyMs }) =>
      `${sourceWords[source]} after ${formatDurationMs(staleAfterMs)} (${formatDurationMs(usuallyMs)} as configured)`,
  );
  return `fewer requests are granted than the schedules take, so data count as too old later: ${parts.join(", ")}`;
}
