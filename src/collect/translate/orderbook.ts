/** An order book as what can be traded at once: its best prices, and the volume near the middle. */
import type { Orderbook } from "../../contract/index.ts";

/** 50 bps of the middle, either way. */
const depthShare = 0.005;
/** Prices come as decimals in doubles: a level at exactly 50 bps must not be excluded by the last bit. */
const ROUNDING = 1e-9;

export interface Depth {
  /** USD; 0 if there are no bids. */
  readonly bid: number;
  /** USD; +∞ if there are no asks. */
  readonly ask: number;
  /** USD of notional, price × size of every level within 50 bps of the middle. */
  readonly bidDepth50BpsUsd: number;
  readonly askDepth50BpsUsd: number;
}

/**
 * Computes the depth around the middle. The middle is that of the best bid and the best ask of the levels; if one side
 * is empty it is the exchange's own `mid`, and without it the best price of the other side. A level counts in full if
 * its price is within reach: all listed levels count as tradable, including requested market makers' curves. Levels
 * without size or with a price of 0 or less are ignored. The order of levels does not matter.
 *
 * @returns the error if the book is unusable: its sides overlap, so that one of them is outdated
 */
export function depthOf(
  book: Pick<Orderbook, "bids" | "asks" | "mid">,
): Depth | { readonly problem: string } {
  const bids = book.bids.filter(isLevel);
  const asks = book.asks.filter(isLevel);
  const bid = bids.reduce((best, [price]) => Math.max(best, price), 0);
  const ask = asks.reduce((best, [price]) => Math.min(best, price), Number.POSITIVE_INFINITY);
  if (bid >= ask) return { problem: `the book is crossed: a bid of ${bid} over an ask of ${ask}` };
  const middle = middleOf(bid, ask, book.mid);
  const reach = middle * depthShare * (1 + ROUNDING);
  const near = ([price]: readonly [number, number]): boolean => Math.abs(price - middle) <= reach;
  return {
    bid,
    ask,
    bidDepth50BpsUsd: notional(bids.filter(near)),
    askDepth50BpsUsd: notional(asks.filter(near)),
  };
}

function middleOf(bid: number, ask: number, stated: number | null): number {
  if (bid > 0 && Number.isFinite(ask)) return (bid + ask) / 2;
  if (stated !== null && stated > 0) return stated;
  return bid > 0 ? bid : ask;
}

function isLevel([price, size]: readonly [number, number]): boolean {
  return price > 0 && size > 0;
}

function notional(levels: readonly (readonly [number, number])[]): number {
  return levels.reduce((sum, [price, size]) => sum + price * size, 0);
}
