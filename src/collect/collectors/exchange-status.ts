/** Reads if trading is on, admission gated, and withdrawals possible. */
import type { ExchangeCollector } from "../collector.ts";
import type { StreamFeed } from "../stream/feed.ts";

/** Maximum tries if the stream reported a newer status than the answer. */
const maxTries = 3;

/** @param live the stream, which may have sent a newer status meanwhile */
export function exchangeStatusCollector(
  live: Pick<StreamFeed, "elapsedMs" | "receivedStatusSince"> | null = null,
): ExchangeCollector {
  return {
    source: "exchangeStatus",
    scope: "exchange",
    async run({ client, call, nowMs, observe }) {
      for (let tries = 1; ; tries++) {
        const askedMs = live?.elapsedMs() ?? 0;
        const { active, gated, withdrawalsAvailable } = await client.exchangeStatus({}, call());
        if (live?.receivedStatusSince(askedMs) && tries < maxTries) continue;
        await observe({ kind: "exchangeStatus", atMs: nowMs(), active, gated, withdrawalsAvailable });
        return "done";
      }
    },
  };
}
