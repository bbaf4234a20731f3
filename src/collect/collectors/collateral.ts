/** Deposits, withdrawals and transfers of a wallet. */
import { endpoints, nextPage } from "../../contract/index.ts";
import type { WalletCollector } from "../collector.ts";
import { collateralEvents } from "../translate/collateral.ts";
import { type HistoryParts, historyCollector } from "./history.ts";

export function collateralCollector(shared: HistoryParts): WalletCollector {
  return historyCollector(shared, {
    source: "collateral",
    endpoint: "userCollateralHistory",
    pastMs: 365 * 86_400_000,
    parts: ({ wallet }, onUnknown) => [
      {
        name: "all",
        page: async (run, older, catchUp, call) => {
          const limit = catchUp ? 1_000 : 50;
          const page = await run.client.userCollateralHistory(
            { authority: wallet.authority, limit, ...older },
            call,
          );
          const events = collateralEvents(page.data, wallet, run.nowMs(), onUnknown);
          return {
            // Rows of unwatched accounts give no event; the row counts as known.
            rows: page.data.map((row, index) => {
              const event = events[index] ?? null;
              return { atMs: row.timestamp, events: event === null ? [] : [event] };
            }),
            older: nextPage(endpoints.userCollateralHistory, page, "older"),
          };
        },
      },
    ],
  });
}
