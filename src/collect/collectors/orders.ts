/**
 * Orders of a wallet and their outcomes. The list is in order of placing, and rows change while an order is open: deep
 * readings go back to the oldest order that was seen open.
 */
import { endpoints, nextPage, orderKey } from "../../contract/index.ts";
import { orderName } from "../../domain/account.ts";
import type { WalletCollector, WalletRun } from "../collector.ts";
import { orderOf } from "../translate/history.ts";
import { type HistoryParts, historyCollector } from "./history.ts";

/** @param asksAges returns true if a rule uses the age of resting orders */
export function ordersCollector(
  shared: HistoryParts,
  asksAges: () => boolean = () => false,
): WalletCollector {
  const history = ordersHistory(shared);
  return {
    ...history,
    async run(run) {
      // Earlier resting orders are stored already and not published again: their age would be unknown after a start.
      if (!run.catchUp && run.gap && asksAges()) await publishResting(run);
      return history.run(run);
    },
  };
}

/** Reports the resting orders and their times, in one request. */
async function publishResting(run: WalletRun): Promise<void> {
  const { authority, name } = run.wallet;
  const page = await run.client.orderHistory({ authority, limit: 1_000, orderStatus: "active" }, run.call());
  const resting = page.data.flatMap(({ status, placedAt, marketSymbol, orderSequenceNumber, side }) =>
    status === "active" && placedAt !== null
      ? [{ order: orderName(marketSymbol, orderSequenceNumber, side), placedMs: placedAt }]
      : [],
  );
  const atMs = run.nowMs();
  await run.observe({
    kind: "events",
    source: "orders",
    wallet: name,
    atMs,
    events: [],
    live: true,
    resting,
  });
}

function ordersHistory(shared: HistoryParts): WalletCollector {
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
