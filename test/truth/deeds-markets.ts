/**
 * Deeds of markets beside their prices, planned from a seed: funding that settles, sessions of commodities, books that get thin,
 * other venues whose price leaves the mark, and market parameters that change.
 */

import { noteMoment } from "../../src/simulator/accounts/history.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { accrueFunding } from "../../src/simulator/markets/funding.ts";
import { ticksText } from "../../src/simulator/server/answers/trader.ts";
import type { Market } from "../../src/simulator/state.ts";
import { follow } from "../../src/simulator/world.ts";
import { Draw } from "./draw.ts";
import type { AccountPlan, Deed, WalletPlan } from "./world.ts";

/** Times are ms after the beginning. */
export type MarketDeed = { readonly atMs: number } & (
  | /** A funding interval ends at this rate, percent; the next one runs at it. */
  { readonly kind: "settle"; readonly symbol: string; readonly percent: number }
  /** The session of a commodity. `nextMs`: time until it changes; null: it stays. */
  | {
      readonly kind: "hours";
      readonly symbol: string;
      readonly session: "open" | "afterHours";
      readonly nextMs: number | null;
    }
  /** Outsiders quote so many times the usual size. */
  | { readonly kind: "book"; readonly symbol: string; readonly factor: number }
  /** Other venues trade at so many times the mark; 1: at the mark. */
  | { readonly kind: "venues"; readonly symbol: string; readonly factor: number }
  /** So many times the taker fee and the open interest cap. */
  | { readonly kind: "terms"; readonly symbol: string; readonly factor: number }
);

const coins = ["SOL", "BTC", "ETH"];
const commodity = "GOLD";
const symbols = [...coins, commodity];
/** Subaccount of the accounts that hold the commodity for the sake of its sessions. */
const goldSubaccount = 5;

/** @param first number of the accounts that are planned already */
export function planMarkets(
  seed: number,
  lengthMs: number,
  wallets: readonly WalletPlan[],
  first: number,
): { readonly accounts: readonly AccountPlan[]; readonly deeds: readonly Deed[] } {
  const draw = new Draw(seed, 5);
  const accounts: AccountPlan[] = [];
  // Rates that differ from 0, so that their unit can be told.
  const deeds: Deed[] = symbols.map((symbol) => {
    return { kind: "settle", atMs: 0, symbol, percent: draw.between(0.0005, 0.002) };
  });
  for (const { name, pdaIndices } of wallets) {
    if (!draw.chance(0.25)) continue;
    const account = first + accounts.length;
    const collateral = Math.round(10 ** draw.between(3, 4.5));
    const place = { wallet: name, pdaIndex: pdaIndices[0]!, subaccount: goldSubaccount };
    accounts.push({ ...place, symbols: [commodity], collateral, spot: 0 });
    const leverage = draw.between(2, 8.5) * (draw.chance(0.6) ? 1 : -1);
    deeds.push({ kind: "trade", atMs: 0, account, symbol: commodity, leverage });
  }
  const spans = (share: number, begin: (atMs: number) => Deed, end: (atMs: number) => Deed): void => {
    if (!draw.chance(share)) return;
    const atMs = draw.between(20_000, lengthMs * 0.6);
    deeds.push(begin(atMs), end(atMs + draw.between(60_000, 240_000)));
  };
  for (const symbol of symbols) {
    if (draw.chance(0.25)) deeds.push(...funding(draw, symbol, lengthMs));
    const factor = draw.one([0.001, 0.01, 0.1]);
    spans(
      0.2,
      (atMs) => ({ kind: "book", atMs, symbol, factor }),
      (atMs) => ({ kind: "book", atMs, symbol, factor: 1 }),
    );
    if (draw.chance(0.15))
      deeds.push({
        kind: "terms",
        atMs: draw.between(20_000, lengthMs),
        symbol,
        factor: draw.one([0.5, 2, 3]),
      });
  }
  for (const symbol of coins) {
    const factor = 1 + draw.between(0.02, 0.1) * (draw.chance(0.5) ? 1 : -1);
    spans(
      0.2,
      (atMs) => ({ kind: "venues", atMs, symbol, factor }),
      (atMs) => ({ kind: "venues", atMs, symbol, factor: 1 }),
    );
  }
  if (draw.chance(0.6)) deeds.push(...sessions(draw, lengthMs));
  const paid = new Draw(seed, 60);
  const calm = coins.filter(
    (coin) => deeds.filter((deed) => deed.kind === "settle" && deed.symbol === coin).length === 1,
  );
  if (paid.chance(0.3) && calm.length > 0) deeds.push(...paidBack(paid, paid.one(calm), lengthMs));
  return { accounts, deeds };
}

/** Funding that is dear for some intervals, and then is as usual or goes the other way. */
function funding(draw: Draw, symbol: string, lengthMs: number): readonly Deed[] {
  // Above 0.2 % an hour no market settles.
  const percent = draw.between(0.01, 0.19) * (draw.chance(0.6) ? 1 : -1);
  const intervals = draw.one([1, 2, 4, 8]);
  const back = draw.chance(0.5);
  const fromMs = draw.between(20_000, lengthMs * 0.5);
  const toMs = fromMs + draw.between(90_000, 240_000);
  // Rows of one market have different seconds.
  const times = Array.from({ length: intervals }, (_, i) => i * 3_000);
  return [
    ...times.map((ms): Deed => ({ kind: "settle", atMs: fromMs + ms, symbol, percent })),
    ...(back
      ? times.map((ms): Deed => ({ kind: "settle", atMs: toMs + ms, symbol, percent: -percent }))
      : [{ kind: "settle", atMs: toMs, symbol, percent: 0.001 } as const]),
  ];
}

/** Funding that costs an account dearly, and is paid back. */
function paidBack(draw: Draw, symbol: string, lengthMs: number): readonly Deed[] {
  const percent = draw.between(0.12, 0.19) * (draw.chance(0.5) ? 1 : -1);
  const intervals = draw.one([4, 8]);
  const fromMs = draw.between(20_000, lengthMs * 0.35);
  const toMs = fromMs + draw.between(60_000, 150_000);
  const settle = (atMs: number, share: number): readonly Deed[] =>
    Array.from({ length: intervals }, (_, i) => {
      return { kind: "settle", atMs: atMs + i * 3_000, symbol, percent: percent * share };
    });
  return [...settle(fromMs, 1), ...settle(toMs, -1)];
}

/** Sessions that end and begin, announced or not. */
function sessions(draw: Draw, lengthMs: number): readonly Deed[] {
  const deeds: Deed[] = [];
  let session: "open" | "afterHours" = "open";
  for (let atMs = draw.between(0, 60_000); atMs < lengthMs * 0.8; atMs += draw.between(40_000, 300_000)) {
    const nextMs = draw.one([null, Math.round(draw.between(20_000, 120_000)), 32 * 60_000, 3 * 3_600_000]);
    deeds.push({ kind: "hours", atMs, symbol: commodity, session, nextMs });
    session = session === "open" ? "afterHours" : "open";
  }
  return deeds;
}

/** Prices of other venues as shares of the mark, where they are apart. */
const apart = new WeakMap<Market, number>();
/** The specifications of markets as they were at the beginning. */
const usual = new WeakMap<Market, Market["spec"]>();

/** The price of other venues at a mark, USD. */
export function elsewhere(market: Market, markTicks: number): string {
  return ticksText(market, Math.max(1, Math.round(markTicks * (apart.get(market) ?? 1))));
}

/** Does it, now. @returns it in words */
export async function performOnMarket(simulator: Simulator, deed: MarketDeed): Promise<string> {
  const { world } = simulator;
  const { symbol } = deed;
  const market = world.markets.get(symbol)!;
  switch (deed.kind) {
    case "settle": {
      market.pinnedRate = deed.percent / 100;
      accrueFunding(world, market);
      noteMoment(market, world.nowMs);
      follow(world, [market]);
      await simulator.call("advance", { ms: 0 });
      return `funding of ${symbol} settles at ${deed.percent.toFixed(6)} %`;
    }
    case "hours":
      await simulator.call("market", { symbol, session: deed.session, nextTransitionMs: deed.nextMs });
      return `${symbol} is ${deed.session}${deed.nextMs === null ? "" : ` for ${deed.nextMs} ms`}`;
    case "book":
      respec(market, ({ crowdUnitsPerMinute }) => ({
        crowdUnitsPerMinute: crowdUnitsPerMinute * deed.factor,
      }));
      return `book of ${symbol}: ${deed.factor} of the usual size`;
    case "venues": {
      apart.set(market, deed.factor);
      const price = ticksText(market, market.markTicks);
      await simulator.call("mark-price", { symbol, price, oraclePrice: elsewhere(market, market.markTicks) });
      return `other venues trade ${symbol} at ${deed.factor.toFixed(4)} of its mark`;
    }
    case "terms":
      respec(market, ({ takerFeeMillionths, openInterestCapBaseLots }) => ({
        takerFeeMillionths: (takerFeeMillionths * BigInt(deed.factor * 10)) / 10n,
        openInterestCapBaseLots: (openInterestCapBaseLots * BigInt(deed.factor * 10)) / 10n,
      }));
      world.exchangeSequence += 1;
      return `fee and open interest cap of ${symbol}: ${deed.factor} times the usual`;
  }
}

/** @param change of the specification as it was at the beginning */
function respec(market: Market, change: (spec: Market["spec"]) => Partial<Market["spec"]>): void {
  const first = usual.get(market) ?? market.spec;
  usual.set(market, first);
  Object.assign(market, { spec: { ...market.spec, ...change(first) } });
}
