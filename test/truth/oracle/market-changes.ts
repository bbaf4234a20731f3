/** Changes of market parameters, from one list of the markets that the daemon read to the next one, over all its lives. */
import type { MarketConfig } from "../../../src/domain/account.ts";
import type { Outcome } from "../scenario.ts";
import type { Happened } from "./happened.ts";
import { livesOf } from "./lives.ts";

export const marketRule = "MarketRulesChanged";

/** The fields that may change in a scenario, as texts tell them. */
const told: readonly (readonly [field: string, words: string, text: (market: MarketConfig) => string])[] = [
  ["status", "status", ({ status }) => status],
  ["takerFee", "taker fee", ({ takerFee }) => `${Number((takerFee * 10_000).toPrecision(10))} bps`],
  [
    "openInterestCap",
    "open interest cap",
    ({ openInterestCapBaseLots, baseLotsDecimals, symbol }) =>
      `${(Number(openInterestCapBaseLots) / 10 ** baseLotsDecimals).toLocaleString("en-US")} ${symbol}`,
  ],
];

export function changesOfMarkets({ log }: Outcome): readonly Happened[] {
  const known = new Map<string, MarketConfig>();
  return livesOf(log)
    .flatMap((life) => life.told)
    .flatMap(({ observation, committedMs }) => {
      if (observation.kind !== "marketConfig") return [];
      return observation.markets.flatMap((market): Happened[] => {
        const before = known.get(market.symbol);
        known.set(market.symbol, market);
        if (!before) return [];
        return told.flatMap(([field, words, text]): Happened[] => {
          const [was, is] = [text(before), text(market)];
          if (was === is) return [];
          const key = `${market.symbol}:${field}:${observation.atMs}`;
          return [
            {
              rule: marketRule,
              wallet: null,
              subject: `market/${market.symbol}`,
              atMs: committedMs,
              isObserved: true,
              what: `${words} of ${market.symbol}`,
              isIn: ({ eventKey, summary }) =>
                eventKey === `marketChange:${key}` &&
                summary === `${market.symbol}: ${words} changed from ${was} to ${is}`,
              claims: () => [],
            },
          ];
        });
      });
    });
}
