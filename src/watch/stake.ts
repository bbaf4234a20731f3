/** The last readings of what wallets had at stake, and marks since: their nearest position to liquidation, in daily moves. */
import type { Source } from "../domain/observation.ts";
import type { Facts } from "../rules/index.ts";
import type { PositionEntry } from "./accounts.ts";
import { hasSpot } from "./spot-collateral.ts";
import { wholeSeenMs } from "./wallets.ts";
import type { World } from "./world.ts";

/** A position is near from this many daily moves of its market on. */
export const nearMoves = 3;
/** The daily move of a market whose volatility is not known, a fraction. */
const unknownDailyMove = 0.1;
/** A market that stood still lately is not taken to move less than this in a day, a fraction. */
const minDailyMove = 0.01;

/** A smaller change of a mark that no longer comes is not worth a word, a fraction. */
const leastShare = 0.001;

const liquidatableTiers: ReadonlySet<unknown> = new Set(["liquidatable", "backstopLiquidatable", "highRisk"]);

/** A change of price since a reading, by a source that still answers, else by the newest mark. */
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
  /** At the last reading, a fraction; NaN: not known. */
  readonly distance: number;
  /** By that, or by the least distance at a mark since then, in daily moves; not positive where it is not known. */
  readonly moves: number;
  /** Age of the older one of positions and price. */
  readonly readMs: number;
  readonly moved: Moved | null;
}

export interface Stake {
  /** A part of these wallets was not read since the start. */
  readonly unread: boolean;
  /** A position was within three daily moves of liquidation then, or at a mark since, or an account could be liquidated already. */
  readonly isNear: boolean;
  /** Null: no position, or none that can be liquidated. */
  readonly nearest: NearPosition | null;
}

/** @param stillFromMs the time since when a source of prices has to have answered to answer still, ms */
export function stakeOf(
  world: World,
  wallets: Iterable<string>,
  nowMs: number,
  stillFromMs: (source: Source) => number,
): Stake {
  let unread = false;
  let liquidatable = false;
  let nearest: Omit<NearPosition, "moved"> | null = null;
  let of: PositionEntry | null = null;
  for (const wallet of wallets) {
    const entry = world.wallets.get(wallet);
    if (entry === undefined) continue;
    if (wholeSeenMs(entry) === null) unread = true;
    for (const account of world.accounts.ofWallet(wallet)) {
      // One that owes money and has nothing to sell is liquidatable in name only.
      const isSellable = account.positions.size > 0 || hasSpot(account.state) || account.given;
      if (isSellable && liquidatableTiers.has(account.node.facts.values.riskTier)) liquidatable = true;
      for (const [symbol, position] of account.positions) {
        const market = world.markets.entries.get(symbol)?.facts;
        const distance = distanceOf(position);
        if (distance === Number.POSITIVE_INFINITY) continue;
        // Without a price of its market comes before without that of another one of the account.
        const unknown = world.markets.markTicks.has(symbol) ? 0 : -1;
        // A mark that went back has shown how far prices go: what is told rises with it, and does not fall.
        const least = Number.isNaN(position.leastDistance) ? distance : position.leastDistance;
        const moves = Number.isNaN(distance) ? unknown : least / dailyMoveOf(market);
        if (nearest !== null && moves >= nearest.moves) continue;
        const { values, seenMs } = position.node.facts;
        const readMs = Math.min(seenMs.traderState ?? nowMs, market?.seenMs.markets ?? nowMs);
        nearest = { wallet, symbol, side: String(values.side ?? ""), distance, moves, readMs };
        of = position;
      }
    }
  }
  if (nearest === null || of === null) return { unread, isNear: liquidatable, nearest: null };
  const market = world.markets.entries.get(nearest.symbol)?.facts;
  const moved = market ? movedSince(market, markOf(of), nearest.readMs, stillFromMs) : null;
  return { unread, isNear: liquidatable || nearest.moves <= nearMoves, nearest: { ...nearest, moved } };
}

function distanceOf({ readDistance, node }: PositionEntry): number {
  return Number.isNaN(readDistance) ? numberOf(node.facts.values.liquidationDistance) : readDistance;
}

function markOf({ readMark, node }: PositionEntry): number {
  return Number.isNaN(readMark) ? numberOf(node.facts.values.markPrice) : readMark;
}

function dailyMoveOf(market: Facts | undefined): number {
  const daily = numberOf(market?.values.dailyVolatility);
  return daily >= 0 ? Math.max(daily, minDailyMove) : unknownDailyMove;
}

/**
 * The price of a source that answers still, the mark before others, held against the mark of an older reading; else the newest mark, where
 * it is newer than those and has moved.
 */
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
    if (isLast && (by !== "mark" || Math.abs(share) < leastShare)) continue;
    newest = { share, by, isLast };
    newestMs = seen;
    if (by === "mark" && !isLast) break;
  }
  return newest;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}
