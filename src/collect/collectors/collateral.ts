/** Deposits, withdrawals and transfers of a wallet. */
import { endpoints, nextPage } from "../../contract/index.ts";
import type { WalletCollector } from "../collector.ts";
import { collateralOf } from "../translate/history.ts";
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
          const seenMs = run.nowMs();
          return {
            rows: page.data.map((row) => ({
              atMs: row.timestamp,
              // Accounts that are not watched are not told of; the row counts as known.
              events: wallet.pdaIndices.includes(row.traderPdaIndex)
                ? [collateralOf(row, wallet, seenMs, onUnknown)]
                : [],
            })),
            older: nextPage(endpoints.userCollateralHistory, page, "older"),
          };
        },
      },
    ],
  });
}
