/** Liquidations, takeovers and auto-deleveraging of a wallet, from the permanent history. */
import { endpoints, nextPage } from "../../contract/index.ts";
import type { AccountBook } from "../accounts.ts";
import type { WalletCollector } from "../collector.ts";
import { liquidationOfHistory } from "../translate/liquidation.ts";
import { type HistoryParts, historyCollector } from "./history.ts";

export function liquidationsCollector(shared: HistoryParts, accounts: AccountBook): WalletCollector {
  return historyCollector(shared, {
    source: "liquidations",
    endpoint: "liquidationHistory",
    pastMs: 365 * 86_400_000,
    parts: ({ wallet }) =>
      wallet.pdaIndices.map((pdaIndex) => ({
        name: String(pdaIndex),
        pdaIndex,
        page: async (run, older, catchUp, call) => {
          const limit = catchUp ? 100 : 25;
          const page = await run.client.liquidationHistory(
            { authority: wallet.authority, pdaIndex, limit, ...older },
            call,
          );
          const seenMs = run.nowMs();
          const known = accounts.of(wallet.name);
          return {
            rows: page.data.map((row) => {
              const event = liquidationOfHistory(row, wallet, known, pdaIndex, seenMs);
              return { atMs: row.timestamp, events: event === null ? [] : [event] };
            }),
            older: nextPage(endpoints.liquidationHistory, page, "older"),
          };
        },
      })),
  });
}
