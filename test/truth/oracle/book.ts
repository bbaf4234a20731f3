/** The order book of the simulated exchange, from what outsiders quote around the mark and the orders that rest there. */
import { tickUsd } from "./margin.ts";
import type { Depth } from "./seen-markets.ts";
import { type AccountTruth, at, between, type MarketRules, type MarketTruth, type Truth } from "./truth.ts";

/** Outsiders quote so many levels on each side, the market maker the first of them. */
const levels = 20;
const makerLevels = 10;
const reach = 0.005;

/** The depth within 50 bps of the middle, at each moment of a time, the newest first. */
export function* depthsAt(truth: Truth, symbol: string, fromMs: number, toMs: number): Generator<Depth> {
  const markets = truth.markets.get(symbol) ?? [];
  const accounts = [...truth.accounts.values()];
  const rules = truth.rules.get(symbol)!;
  const moments = [
    ...between(markets, fromMs, toMs).map(({ atMs }) => atMs),
    ...accounts.flatMap((states) => between(states, fromMs, toMs).map(({ atMs }) => atMs)),
  ];
  for (const ms of [...new Set(moments)].sort((a, b) => b - a)) {
    const market = at(markets, ms);
    const now = accounts.flatMap((states) => at(states, ms) ?? []);
    if (market) yield depthOf(rules, market, now);
    if (ms < fromMs) return;
  }
}

function depthOf(rules: MarketRules, market: MarketTruth, accounts: readonly AccountTruth[]): Depth {
  const { markTicks, crowdUnits } = market;
  const gap = Math.max(1, Math.round(markTicks * 0.0001));
  const crowd = crowdUnits * 10 ** rules.baseLotsDecimals;
  const orders = accounts.flatMap((one) => one.orders.filter(({ symbol }) => symbol === rules.symbol));
  const side = (name: "bid" | "ask"): readonly (readonly [ticks: number, lots: number])[] => {
    const direction = name === "bid" ? -1 : 1;
    const quoted = Array.from({ length: levels }, (_, i) => {
      const maker = i < makerLevels ? Math.max(1, Math.round(crowd * 0.5)) : 0;
      const lots = Math.max(1, Math.round(crowd * (0.2 + 0.1 * i))) + maker;
      return [markTicks + direction * gap * (i + 1), lots] as const;
    });
    const resting = orders
      .filter((one) => one.side === name)
      .map(({ priceTicks, lots }) => [priceTicks, Number(lots)] as const);
    return [...quoted, ...resting].filter(([ticks]) => ticks >= 1);
  };
  const [bids, asks] = [side("bid"), side("ask")];
  const bid = Math.max(...bids.map(([ticks]) => ticks));
  const ask = Math.min(...asks.map(([ticks]) => ticks));
  const middle = (bid + ask) / 2;
  const usd = (all: typeof bids): number =>
    all
      .filter(([ticks]) => Math.abs(ticks - middle) <= middle * reach * (1 + 1e-9))
      .reduce(
        (sum, [ticks, lots]) => sum + (ticks * tickUsd(rules) * lots) / 10 ** rules.baseLotsDecimals,
        0,
      );
  return { bid: usd(bids), ask: usd(asks), bestBid: bid * tickUsd(rules), bestAsk: ask * tickUsd(rules) };
}
