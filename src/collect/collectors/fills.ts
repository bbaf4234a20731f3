/** Fills of a wallet. */
import { endpoints, nextPage } from "../../contract/index.ts";
import type { WalletCollector } from "../collector.ts";
import { fillOf } from "../translate/history.ts";
import { type HistoryParts, historyCollector } from "./history.ts";

export function fillsCollector(shared: HistoryParts): WalletCollector {
  return historyCollector(shared, {
    source: "fills",
    endpoint: "tradesHistory",
    pastMs: 7 * 86_400_000,
    parts: ({ wallet }, onUnknown) => [
      {
        name: "all",
        page: async (run, older, catchUp, call) => {
          const limit = catchUp ? 1_000 : 50;
          const page = await run.client.tradesHistory({ authority: wallet.authority, limit, ...older }, call);
          const seenMs = run.nowMs();
          return {
            rows: page.data.map((row) => ({
              atMs: row.timestamp,
              events: wallet.pdaIndices.includes(row.traderPdaIndex)
                ? [fillOf(row, wallet, seenMs, onUnknown)]
                : [],
            })),
            older: nextPage(endpoints.tradesHistory, page, "older"),
          };
        },
      },
    ],
  });
}
