/** Orders over time: market orders traded in equal parts at equal intervals. */

import { sweep } from "../accounts/collateral.ts";
import type { Side } from "../accounts/position.ts";
import { trade } from "../accounts/trade.ts";
import { abs, min, sign } from "../decimals.ts";
import { transact } from "../ledger/transaction.ts";
import type { Account, Market, Twap, World } from "../state.ts";

export interface TwapTerms {
  readonly side: Side;
  readonly lots: bigint;
  readonly parts: number;
  readonly everyMs: number;
  readonly reduceOnly: boolean;
}

/** Begins an order over time; its first part is due at once. */
export function beginTwap(world: World, market: Market, account: Account, terms: TwapTerms): Twap {
  const { side, lots, parts, everyMs, reduceOnly } = terms;
  const twap: Twap = {
    id: `${account.address}:${world.nextTwap++}`,
    account,
    symbol: market.spec.symbol,
    side,
    everyMs,
    reduceOnly,
    remainingLots: lots,
    remainingParts: parts,
    nextMs: world.nowMs,
  };
  world.twaps.add(twap);
  return twap;
}

/** Trades each part that is due, at about the present mark. */
export function workTwaps(world: World): void {
  for (const twap of world.twaps)
    while (world.twaps.has(twap) && twap.nextMs <= world.nowMs) tradePart(world, twap);
}

function tradePart(world: World, twap: Twap): void {
  const { account, symbol, side, reduceOnly } = twap;
  const market = world.markets.get(symbol)!;
  const part = twap.remainingLots / BigInt(twap.remainingParts);
  const held = account.positions.get(symbol)?.baseLots ?? 0n;
  const direction = side === "bid" ? 1n : -1n;
  const room = sign(held) === -direction ? abs(held) : 0n;
  const lots = reduceOnly ? min(part, room) : part;
  twap.remainingLots -= part;
  twap.remainingParts -= 1;
  twap.nextMs += twap.everyMs;
  if (twap.remainingParts === 0 || lots === 0n) world.twaps.delete(twap);
  if (lots === 0n) return;
  const ticks = Math.max(1, Math.round(market.markTicks * (side === "bid" ? 1.0002 : 0.9998)));
  transact(world, (tx) =>
    trade(world, tx, market, account, direction * lots, ticks, {
      liquidity: "taker",
      tradeType: "market",
      instructionType: "PlaceMarketOrder",
      parentTwapId: twap.id,
    }),
  );
  sweep(world, account);
}
