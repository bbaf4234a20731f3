/** Whether trading is on, admission gated, withdrawals possible. */
import type { ExchangeCollector } from "../collector.ts";

export function exchangeStatusCollector(): ExchangeCollector {
  return {
    source: "exchangeStatus",
    scope: "exchange",
    async run({ client, call, nowMs, observe }) {
      const { active, gated, withdrawalsAvailable } = await client.exchangeStatus({}, call());
      await observe({ kind: "exchangeStatus", atMs: nowMs(), active, gated, withdrawalsAvailable });
      return "done";
    },
  };
}
