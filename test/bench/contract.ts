/**
 * Measures the cost of reading a reply: JSON.parse, parseJson and the schema, in µs a reply, the best of five rounds. Run by
 * hand: node test/bench/contract.ts
 */
import { endpoints } from "../../src/contract/endpoints.ts";
import { parseJson } from "../../src/contract/json.ts";
import { parseReply } from "../../src/contract/reply.ts";
import { encodeRequest } from "../../src/contract/request.ts";
import { example } from "../contract/example.ts";

function microseconds(work: () => unknown): number {
  for (let i = 0; i < 20_000; i++) work();
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    for (let i = 0; i < 5000; i++) work();
    best = Math.min(best, (performance.now() - start) / 5);
  }
  return best;
}

const stats = example("market-stats-latest") as object;
const cases = {
  traderState: [endpoints.traderState, example("trader-state-snapshot")],
  traderView: [endpoints.traderView, example("trader-view")],
  "latestMarketsStats, 30 markets": [
    endpoints.latestMarketsStats,
    { markets: Array.from({ length: 30 }, (_, i) => ({ ...stats, symbol: `M${i}` })) },
  ],
  notifications: [endpoints.notifications, example("notifications")],
  markets: [endpoints.markets, example("exchange-markets")],
} as const;

const rows: Record<string, object> = {};
for (const [name, [endpoint, json]] of Object.entries(cases)) {
  const text = JSON.stringify(json);
  const parsed = parseReply<unknown>(endpoint, json);
  if (!parsed.ok || parsed.rejected.length > 0) throw new Error(`${name} does not fit`);
  rows[name] = {
    bytes: text.length,
    "JSON.parse µs": Number(microseconds(() => JSON.parse(text)).toFixed(2)),
    "parseJson µs": Number(microseconds(() => parseJson(text)).toFixed(2)),
    "parseReply µs": Number(microseconds(() => parseReply<unknown>(endpoint, json)).toFixed(2)),
  };
}
console.table(rows);
const args = { authority: "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD" };
console.log(
  `encodeRequest(traderState): ${microseconds(() => encodeRequest(endpoints.traderState, args)).toFixed(2)} µs`,
);
