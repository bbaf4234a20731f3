/**
 * Trades in whose estimates a flow may be hidden, until their fills tell that none is, or the collateral history was read long enough
 * after each. The profit that is known meanwhile may be too high by what was paid in. Pure.
 */

import { z } from "zod";
import { keptNumber } from "../../domain/kept.ts";
import type { Proof } from "./changes/rough-changes.ts";

export interface HeldTrades {
  /** The times at which the first and the newest of them were seen, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  /** So much may be hidden in them, USD. */
  readonly usd: number;
  /** The part of it of trades whose fills are not known, USD. Absent: all. */
  readonly roughUsd?: number;
}

export const heldTrades: z.ZodType<HeldTrades> = z.object({
  fromMs: keptNumber,
  toMs: keptNumber,
  usd: keptNumber,
  roughUsd: keptNumber.exactOptional(),
});

interface Trades extends HeldTrades {
  toMs: number;
  usd: number;
  roughUsd: number;
  /** The highest profit since then, up to the next ones, USD; -∞: none. */
  mostUsd: number;
}

/** The history tells of a flow so long after a state that shows it, ms. */
const readAfterMs = 20_000;
/** A trade is let go of after this where the history is not read, ms. */
const unreadAfterMs = 60_000;
/** The same where the fills of a trade are not known, as histories may be late then, ms. */
const roughReadAfterMs = 125_000;
const roughAfterMs = 180_000;
/** Fills leave nothing of it, USD: a millionth is the least amount. */
const nothingUsd = 1e-6;
/** The history is read so long after the newest trade as well, in case it tells of a flow early; the least pause between readings, ms. */
const earlyMs = 5_000;
/** Trades within so long of each other are one entry, ms. */
const togetherMs = 5_000;

export class HeldProfit {
  readonly #trades: Trades[] = [];

  /** Since when profit may be too high, ms; ∞: it is not. */
  get sinceMs(): number {
    return this.#trades[0]?.fromMs ?? Number.POSITIVE_INFINITY;
  }

  get isEmpty(): boolean {
    return this.#trades.length === 0;
  }

  /** True if the fills of some trade are not known. */
  get isRough(): boolean {
    return this.#trades.some(isRough);
  }

  /** By so much profit may be too high, USD. */
  get usd(): number {
    return this.#trades.reduce((sum, { usd }) => sum + usd, 0);
  }

  /** A trade was seen in which up to so much may be hidden. */
  add(atMs: number, usd: number): void {
    const newest = this.#trades.at(-1);
    if (newest === undefined || atMs - newest.fromMs >= togetherMs)
      this.#trades.push({
        fromMs: atMs,
        toMs: atMs,
        usd,
        roughUsd: usd,
        mostUsd: Number.NEGATIVE_INFINITY,
      });
    else {
      newest.toMs = atMs;
      newest.usd += usd;
      newest.roughUsd += usd;
    }
  }

  /** Fills tell of a trade. */
  prove({ atMs, fromUsd, toUsd }: Proof): void {
    const trades = this.#trades.find(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs);
    if (trades === undefined) return;
    trades.usd += toUsd - fromUsd;
    trades.roughUsd -= fromUsd;
  }

  /** The part that is kept over a restart. */
  get kept(): readonly HeldTrades[] {
    return this.#trades.map(({ mostUsd: _, ...one }) => ({ ...one }));
  }

  restore(kept: readonly HeldTrades[]): void {
    for (const one of kept)
      this.#trades.push({ roughUsd: one.usd, ...one, mostUsd: Number.NEGATIVE_INFINITY });
  }

  /** The time at which the collateral history is to be read next, ms; ∞: no more. */
  nextReadMs(nowMs: number): number {
    const newest = this.#trades.at(-1);
    if (newest === undefined) return Number.POSITIVE_INFINITY;
    const { toMs } = newest;
    // By then those before it are read as well.
    const rough = this.#trades.findLast(isRough);
    const dueMs = [toMs + earlyMs, toMs + readAfterMs];
    if (rough !== undefined) dueMs.push(rough.toMs + roughReadAfterMs);
    const nextMs = dueMs.find((ms) => ms > nowMs);
    // While one trade follows the other the pause between readings stays the same.
    return Math.max(nowMs + earlyMs, nextMs ?? Number.POSITIVE_INFINITY);
  }

  /** Takes a profit that may be too high. */
  take(profitUsd: number): void {
    const newest = this.#trades.at(-1);
    if (newest !== undefined && profitUsd > newest.mostUsd) newest.mostUsd = profitUsd;
  }

  /** A record tells of what was paid in. Since which trade it was part of the profit is not looked up: it is taken off all. */
  paidIn(usd: number): void {
    for (const one of this.#trades) one.mostUsd -= usd;
  }

  /**
   * Lets go of the trades that hide nothing, or whose time has passed.
   * @param isRead the collateral history was read just now
   * @param limitUsd so much does not matter where fills are known
   * @returns the highest profit of theirs, USD; -∞: none
   */
  release(atMs: number, isRead: boolean, limitUsd: number): number {
    let mostUsd = Number.NEGATIVE_INFINITY;
    for (let oldest = this.#trades[0]; oldest !== undefined; oldest = this.#trades[0]) {
      const ageMs = atMs - oldest.toMs;
      const rough = isRough(oldest);
      const isKnown = !rough && oldest.usd <= limitUsd;
      const isOver =
        ageMs >= (rough ? roughAfterMs : unreadAfterMs) ||
        (isRead && ageMs >= (rough ? roughReadAfterMs : readAfterMs));
      if (!isKnown && !isOver) break;
      mostUsd = Math.max(mostUsd, oldest.mostUsd);
      this.#trades.shift();
    }
    return mostUsd;
  }
}

function isRough({ roughUsd }: Trades): boolean {
  return roughUsd > nothingUsd;
}
