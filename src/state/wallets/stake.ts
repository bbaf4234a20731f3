/** The last readings of what wallets had at stake, and marks since: their nearest position to liquidation, in daily moves. */
import type { Source } from "../../domain/sources.ts";
import type { Facts } from "../../rules/index.ts";
import type { PositionEntry } from "../accounts/account-entry.ts";
import { dailyMoveOf } from "../markets/daily-move.ts";
import { hasSpot } from "../markets/spot-collateral.ts";
import type { World } from "../world.ts";
import { wholeSeenMs } from "./wallets.ts";

/** A position is near from this many daily moves of its market on. */
export const nearMoves = 3;
/** The daily move of a market whose volatility is not known, a fraction. */
const unknownDailyMove = 0.1;

/** A smaller change of a mark that no longer comes is not worth a word, a fraction. */
const leastShare = 0.001;

const liquidatableTiers: ReadonlySet<unknown> = new Set(["liquidatable", "backstopLiquidatable", "highRisk"]);

/** A change of price since a reading: by the mark, where it still comes or has moved, else by the newest other price that still comes. */
export interface Moved {
  /** A fraction, signed. */
  readonly share: number;
  readonly by: "mark" | "order book" | "other venues";
  /** Marks came after the reading, and none comes now. */
  readonly isLast: boolean;
}

export interface NearPosition {
  readonly wallet: string;
  readonly symbol: string;
  readonly side: string;
  /** At the last reading, a fraction; infinite: it could not be liquidated; NaN: not known. */
  readonly distance: number;
  /** The least distance at that reading and at prices since, a fraction; as above. */
  readonly least: number;
  /** By the least distance, in daily moves; not positive where it is not known. */
  readonly moves: number;
  /** True if only a price since the reading was near. */
  readonly isNearSince: boolean;
  /** Age of the older one of positions and price. */
  readonly readMs: number;
  readonly moved: Moved | null;
}

export interface Stake {
  /** A part of these wallets was not read since the start. */
  readonly unread: boolean;
  /**
   * The readings of accounts of which a position was within three daily moves of liquidation then, or at a price since, or which could
   * be liquidated already.
   */
  readonly near: readonly string[];
  /** Null: no position, or none that can be liquidated. */
  readonly nearest: NearPosition | null;
}

/**
 * @param stillFromMs the time since when a source of prices has to have answered to answer still, ms
 * @param wasNear readings of `Stake.near` before: a price that went back has shown how far prices go
 */
export function stakeOf(
  world: World,
  wallets: Iterable<string>,
  nowMs: number,
  stillFromMs: (source: Source) => number,
  wasNear: ReadonlySet<string>,
): Stake {
  let unread = false;
  const near: string[] = [];
  let nearest: NearPosition | null = null;
  for (const wallet of wallets) {
    const entry = world.wallets.get(wallet);
    if (entry === undefined) continue;
    if (wholeSeenMs(entry) === null) unread = true;
    for (const account of world.accounts.ofWallet(wallet)) {
      const { values, seenMs } = account.node.facts;
      const reading = `${account.name} ${seenMs.traderState ?? 0}`;
      // One that owes money and has nothing to sell is liquidatable in name only.
      const isSellable = account.positions.size > 0 || hasSpot(account.state) || account.injected;
      let isNear = wasNear.has(reading) || (isSellable && liquidatableTiers.has(values.riskTier));
      for (const [symbol, position] of account.positions) {
        const of = nearnessOf(world, wallet, symbol, position, nowMs, stillFromMs);
        if (of.least === Number.POSITIVE_INFINITY) continue;
        isNear ||= of.moves <= nearMoves;
        if (nearest === null || of.moves < nearest.moves) nearest = of;
      }
      if (isNear) near.push(reading);
    }
  }
  return { unread, near, nearest };
}

function nearnessOf(
  world: World,
  wallet: string,
  symbol: string,
  position: PositionEntry,
  nowMs: number,
  stillFromMs: (source: Source) => number,
): NearPosition {
  const market = world.markets.entries.get(symbol)?.facts;
  const { values, seenMs } = position.node.facts;
  const distance = distanceOf(position);
  const mark = markOf(position);
  const side = String(values.side ?? "");
  const readMs = Math.min(seenMs.traderState ?? nowMs, market?.seenMs.markets ?? nowMs);
  const moved = market ? movedSince(market, mark, readMs, stillFromMs) : null;
  // Marks count with all that they do to the account; of another price only its own market is known.
  const other = moved === null || moved.by === "mark" ? Number.NaN : distanceAt(distance, side, moved.share);
  const least = leastOf(distance, position.leastDistance, other);
  // Without a price of its market comes before without that of another one of the account.
  const unknown = world.markets.markTicks.has(symbol) ? 0 : -1;
  const known = dailyMoveOf(market);
  const daily = Number.isNaN(known) ? unknownDailyMove : known;
  const moves = Number.isNaN(least) ? unknown : least / daily;
  const isNearSince = moves <= nearMoves && distance / daily > nearMoves;
  return { wallet, symbol, side, distance, least, moves, isNearSince, readMs, moved };
}

/** The least of those that are known; NaN: the first is not. */
function leastOf(distance: number, ...since: readonly number[]): number {
  if (Number.isNaN(distance)) return distance;
  return Math.min(distance, ...since.filter((one) => !Number.isNaN(one)));
}

/** The distance to liquidation after a change of price, all else as it was, a fraction. */
function distanceAt(distance: number, side: string, share: number): number {
  const liquidation = side === "short" ? 1 + distance : 1 - distance;
  const left = (side === "short" ? liquidation - (1 + share) : 1 + share - liquidation) / (1 + share);
  return Math.max(0, left);
}

function distanceOf({ readDistance, node }: PositionEntry): number {
  return Number.isNaN(readDistance) ? numberOf(node.facts.values.liquidationDistance) : readDistance;
}

function markOf({ readMark, node }: PositionEntry): number {
  return Number.isNaN(readMark) ? numberOf(node.facts.values.markPrice) : readMark;
}

/** The change since an older reading by the newest of: the mark, if it has moved or still comes; other prices that still come. */
function movedSince(
  { values, seenMs }: Facts,
  readMark: number,
  readMs: number,
  stillFromMs: (source: Source) => number,
): Moved | null {
  const prices = [
    ["mark", values.markPrice, "markets"],
    ["order book", values.midPrice, "orderbook"],
    ["other venues", values.externalPrice, "candles"],
  ] as const;
  let newest: Moved | null = null;
  let newestMs = readMs;
  for (const [by, price, source] of prices) {
    const seen = seenMs[source];
    if (typeof price !== "number" || !(price > 0) || !(readMark > 0) || seen === undefined) continue;
    if (seen <= newestMs) continue;
    const share = price / readMark - 1;
    const isLast = seen < stillFromMs(source);
    if (isLast && by !== "mark") continue;
    newestMs = seen;
    if (isLast && Math.abs(share) < leastShare) continue;
    newest = { share, by, isLast };
    if (by === "mark" && !isLast) break;
  }
  return newest;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}
