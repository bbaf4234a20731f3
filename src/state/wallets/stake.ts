/** The distance of wallets to liquidation at their last reading and at later prices, in daily moves of the market. */
import type { Source } from "../../domain/sources.ts";
import type { Facts } from "../../rules/index.ts";
import type { PositionEntry } from "../accounts/account-entry.ts";
import { dailyMoveOf } from "../markets/daily-move.ts";
import { hasSpot } from "../markets/spot-collateral.ts";
import type { World } from "../world.ts";
import { wholeSeenMs } from "./wallets.ts";

/** A position is near liquidation if it is within this many daily moves of its market. */
export const nearMoves = 3;
/** The daily move of a market whose volatility is not known, a fraction. */
const unknownDailyMove = 0.1;

/** Minimum change of a mark that is no longer updated to be reported, a fraction. */
const leastShare = 0.001;

const liquidatableTiers: ReadonlySet<unknown> = new Set(["liquidatable", "backstopLiquidatable", "highRisk"]);

/** Change of price since a reading: of the mark if it is still updated or has moved, else of the newest other price that is. */
export interface Moved {
  /** A fraction, signed. */
  readonly share: number;
  readonly by: "mark" | "order book" | "other venues";
  /** Marks came after the reading, but are no longer updated. */
  readonly isLast: boolean;
}

export interface NearPosition {
  readonly wallet: string;
  readonly symbol: string;
  readonly side: string;
  /** At the last reading, a fraction; infinite: cannot be liquidated; NaN: not known. */
  readonly distance: number;
  /** The least distance at that reading and at later prices, a fraction; special values as above. */
  readonly least: number;
  /** The least distance in daily moves; not positive if not known. */
  readonly moves: number;
  /** True if only a price since the reading was near. */
  readonly isNearSince: boolean;
  /** Age of the older of positions and price, ms. */
  readonly readMs: number;
  readonly moved: Moved | null;
}

export interface Stake {
  /** Part of these wallets was not read since the start. */
  readonly unread: boolean;
  /**
   * The readings of accounts that had a position within `nearMoves` daily moves of liquidation then or at a later price, or that
   * could be liquidated already.
   */
  readonly near: readonly string[];
  /** Null: there is no position that can be liquidated. */
  readonly nearest: NearPosition | null;
}

/**
 * @param stillFromMs a source of prices counts as still updated if it answered since this time, ms
 * @param wasNear `Stake.near` of the call before: a price that recovered still counts for these readings
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
      // An account with debt and nothing to sell is only nominally liquidatable.
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
  // The account is recomputed at new marks; another kind of price moves only its own market.
  const other = moved === null || moved.by === "mark" ? Number.NaN : distanceAt(distance, side, moved.share);
  const least = leastOf(distance, position.leastDistance, other);
  // A position whose own market has no price sorts before one that lacks the price of another market of its account.
  const unknown = world.markets.markTicks.has(symbol) ? 0 : -1;
  const known = dailyMoveOf(market);
  const daily = Number.isNaN(known) ? unknownDailyMove : known;
  const moves = Number.isNaN(least) ? unknown : least / daily;
  const isNearSince = moves <= nearMoves && distance / daily > nearMoves;
  return { wallet, symbol, side, distance, least, moves, isNearSince, readMs, moved };
}

/** Returns the least of the known values; NaN if the first is not known. */
function leastOf(distance: number, ...since: readonly number[]): number {
  if (Number.isNaN(distance)) return distance;
  return Math.min(distance, ...since.filter((one) => !Number.isNaN(one)));
}

/** Returns the distance to liquidation after a change of price, all else unchanged, a fraction. */
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

/** Returns the change since an older reading: of the mark if it has moved or is still updated, else of another price that is. */
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
