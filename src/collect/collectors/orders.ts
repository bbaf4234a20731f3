/**
 * Orders of a wallet and what became of them. The list is in order of placing, and rows change while an order lives: deep
 * readings reach back to the oldest order that was seen open.
 */
import { endpoints, nextPage, orderKey } from "../../contract/index.ts";
import type { WalletCollector } from "../collector.ts";
import { orderOf } from "../translate/history.ts";
import { type HistoryParts, historyCollector } from "./history.ts";

export function ordersCollector(shared: HistoryParts): WalletCollector {
  return historyCollector(shared, {
    source: "orders",
    endpoint: "orderHistory",
    pastMs: 7 * 86_400_000,
    parts: ({ wallet }, onUnknown) => {
      const openSince = new Map<string, number>();
      return [
        {
          name: "all",
          openSinceMs: () => (openSince.size === 0 ? null : Math.min(...openSince.values())),
          page: async (run, older, catchUp, call) => {
            const limit = catchUp ? 1_000 : 50;
            const page = await run.client.orderHistory(
              { authority: wallet.authority, limit, ...older },
              call,
            );
            const seenMs = run.nowMs();
            return {
              rows: page.data.map((row) => {
                const placedMs = row.placedAt ?? row.completedAt ?? seenMs;
                if (row.status === "active") openSince.set(orderKey(row), placedMs);
                else openSince.delete(orderKey(row));
                return { atMs: placedMs, events: [orderOf(row, wallet, seenMs, onUnknown)] };
              }),
              older: nextPage(endpoints.orderHistory, page, "older"),
            };
          },
        },
      ];
    },
  });
}
