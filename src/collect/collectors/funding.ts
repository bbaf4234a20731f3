/** Funding of a wallet by the hour. */
import { endpoints, nextPage } from "../../contract/index.ts";
import type { WalletCollector } from "../collector.ts";
import { fundingOf } from "../translate/history.ts";
import { type HistoryParts, historyCollector } from "./history.ts";

export function fundingCollector(shared: HistoryParts): WalletCollector {
  return historyCollector(shared, {
    source: "funding",
    endpoint: "fundingHourly",
    pastMs: 365 * 86_400_000,
    parts: ({ wallet }, onUnknown) =>
      wallet.pdaIndices.map((pdaIndex) => ({
        name: String(pdaIndex),
        pdaIndex,
        page: async (run, older, catchUp, call) => {
          const limit = catchUp ? 200 : 50;
          const page = await run.client.fundingHourly(
            { authority: wallet.authority, traderPdaIndex: pdaIndex, limit, ...older },
            call,
          );
          const seenMs = run.nowMs();
          const met = new Map<string, number>();
          return {
            rows: page.events.map((row) => {
              const place = `${row.symbol} ${row.timestamp}`;
              const ordinal = met.get(place) ?? 0;
              met.set(place, ordinal + 1);
              return {
                atMs: row.timestamp,
                events: [fundingOf(row, ordinal, wallet, pdaIndex, seenMs, onUnknown)],
              };
            }),
            older: nextPage(endpoints.fundingHourly, page, "older"),
          };
        },
      })),
  });
}
