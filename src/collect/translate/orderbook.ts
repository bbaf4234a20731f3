/** An order book as what can be traded at once: its best prices, and how much rests near the middle. */
import type { Orderbook } from "../../contract/index.ts";

/** 50 bps of the middle, either way. */
const REACH = 0.005;
/** Prices come as decimals in doubles: a level at exactly 50 bps must not fall out by the last bit. */
const ROUNDING = 1e-9;

export interface Depth {
  /** USD; 0 where nobody bids. */
  readonly bid: number;
  /** USD; +∞ where nobody offers. */
  readonly ask: number;
  /** USD of notional, price × size of every level within 50 bps of the middle. */
  readonly bidDepth50BpsUsd: number;
  readonly askDepth50BpsUsd: number;
}

/**
 * The middle is that of the best bid and the best ask, which the levels themselves prove; the exchange's own `mid` stands
 * in where one side is empty, and without it the best price of the other side. A level counts whole when its price is
 * within reach: what the exchange lists is taken for what it would trade, market makers' curves included where they were
 * asked for. Levels of no size or without a price above 0 are none. Their order is not relied on.
 *
 * @returns what is the matter where the book says nothing: its sides overlap, so that one of them is not true any more
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
  const reach = middle * REACH * (1 + ROUNDING);
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
