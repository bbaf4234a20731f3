/** Reads whether trading is on, admission gated, withdrawals possible. */
import type { ExchangeCollector } from "../collector.ts";
import type { StreamFeed } from "../stream-feed.ts";

/** An answer to a question from before the stream told otherwise is asked for anew, so many times. */
const MOST_TRIES = 3;

/** @param live knows whether the stream told of it meanwhile */
export function exchangeStatusCollector(
  live: Pick<StreamFeed, "elapsedMs" | "toldStatusSince"> | null = null,
): ExchangeCollector {
  return {
    source: "exchangeStatus",
    scope: "exchange",
    async run({ client, call, nowMs, observe }) {
      for (let tries = 1; ; tries++) {
        const askedMs = live?.elapsedMs() ?? 0;
        const { active, gated, withdrawalsAvailable } = await client.exchangeStatus({}, call());
        if (live?.toldStatusSince(askedMs) && tries < MOST_TRIES) continue;
        await observe({ kind: "exchangeStatus", atMs: nowMs(), active, gated, withdrawalsAvailable });
        return "done";
      }
    },
  };
}
