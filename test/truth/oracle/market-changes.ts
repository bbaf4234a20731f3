/** Changes of market parameters, from one list of the markets that the daemon read to the next one, over all its lives. */
import type { MarketConfig } from "../../../src/domain/account.ts";
import type { Outcome } from "../scenario.ts";
import type { Happened } from "./happened.ts";
import { livesOf } from "./lives.ts";
import { claimsOf } from "./predicate.ts";

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

/** Times of which nobody knows the lists: from the beginning of each gap to the next list; the daemon's clock. */
export function unknownLists({
  log,
}: Outcome): readonly { readonly fromMs: number; readonly toMs: number }[] {
  const spans: { readonly fromMs: number; readonly toMs: number }[] = [];
  let fromMs: number | null = null;
  for (const one of livesOf(log).flatMap(({ told }) => told)) {
    if (one.observation === null) fromMs ??= one.fromMs;
    else if (one.observation.kind === "marketConfig" && fromMs !== null) {
      spans.push({ fromMs, toMs: one.observation.atMs });
      fromMs = null;
    }
  }
  return fromMs === null ? spans : [...spans, { fromMs, toMs: Number.POSITIVE_INFINITY }];
}

export function changesOfMarkets({ log }: Outcome): readonly Happened[] {
  const known = new Map<string, MarketConfig>();
  return livesOf(log)
    .flatMap((life) => life.told)
    .flatMap((one) => {
      // An answer within a gap may be another list.
      if (one.observation === null) {
        known.clear();
        return [];
      }
      if (one.observation.kind !== "marketConfig") return [];
      const { observation, committedMs } = one;
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
              // Its very summary tells which change it is.
              claims: (text) =>
                claimsOf(text, [["change", /^\w+: .* changed (.*)$/, `from ${was} to ${is}`]]),
            },
          ];
        });
      });
    });
}
