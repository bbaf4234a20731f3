/** Funding of a wallet by the hour. */
import { endpoints, nextPage } from "../../contract/index.ts";
import type { WalletCollector } from "../collector.ts";
import { fundingOf } from "../translate/history.ts";
import { type HistoryParts, historyCollector } from "./history.ts";

/**
 * Name of the stored count. Rows with the same natural key are distinguished by their order. If a page ends between
 * them the next one continues the count, so the count of its last hour is stored with the place where it ended.
 */
const metBefore = "metBefore";

function metAt(timestamp: number | undefined, met: ReadonlyMap<string, number>): string {
  return JSON.stringify([...met].filter(([place]) => place.endsWith(` ${timestamp}`)));
}

export function fundingCollector(shared: HistoryParts): WalletCollector {
  return historyCollector(shared, {
    source: "funding",
    endpoint: "fundingHourly",
    pastMs: 365 * 86_400_000,
    parts: ({ wallet }, onUnknown) =>
      wallet.pdaIndices.map((pdaIndex) => ({
        name: String(pdaIndex),
        pdaIndex,
        page: async (run, place, catchUp, call) => {
          const limit = catchUp ? 200 : 50;
          const { [metBefore]: before, ...older } = place ?? {};
          const page = await run.client.fundingHourly(
            { authority: wallet.authority, traderPdaIndex: pdaIndex, limit, ...older },
            call,
          );
          const seenMs = run.nowMs();
          const met = new Map<string, number>(before === undefined ? [] : JSON.parse(before));
          const next = nextPage(endpoints.fundingHourly, page, "older");
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
            older: next && { ...next, [metBefore]: metAt(page.events.at(-1)?.timestamp, met) },
          };
        },
      })),
  });
}
