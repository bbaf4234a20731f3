/**
 * Trades whose estimates may hide a flow, until their fills show that they hide none, or the collateral history was read long
 * enough after each. The profit of this time is held back, as it may be too high by an amount that was paid in. Pure.
 */

import { z } from "zod";
import { keptNumber } from "../../domain/stored/kept.ts";
import type { Proof } from "./changes/rough-changes.ts";

export interface HeldTrades {
  /** The times at which the first and the newest of them were seen, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  /** The amount that may be hidden in them, USD. */
  readonly usd: number;
  /** The part of it that is due to trades whose fills are not known, USD. Absent: all of it. */
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
  /** The highest profit since then, up to the next trades, USD; -∞: none. */
  maxUsd: number;
}

/** Maximum delay of a flow in the history after a state that shows it, ms. */
const readAfterMs = 20_000;
/** Time after which a trade is released if the history is not read, ms. */
const unreadAfterMs = 60_000;
/** The same two limits for a trade whose fills are not known, as histories may be late then, ms. */
const roughReadAfterMs = 125_000;
const roughAfterMs = 180_000;
/** Amount below which fills explain a trade completely, USD: the smallest amount is a millionth. */
const nothingUsd = 1e-6;
/** The history is also read this long after the newest trade, in case it contains a flow early; minimum time between readings, ms. */
const earlyMs = 5_000;
/** Trades within this time of each other are one entry, ms. */
const togetherMs = 5_000;

export class HeldProfit {
  readonly #trades: Trades[] = [];

  /** Time since which profit may be too high, ms; ∞: it is not. */
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

  /** The amount by which profit may be too high, USD. */
  get usd(): number {
    return this.#trades.reduce((sum, { usd }) => sum + usd, 0);
  }

  /** Takes a trade that may hide up to this amount. */
  add(atMs: number, usd: number): void {
    const newest = this.#trades.at(-1);
    if (newest === undefined || atMs - newest.fromMs >= togetherMs)
      this.#trades.push({
        fromMs: atMs,
        toMs: atMs,
        usd,
        roughUsd: usd,
        maxUsd: Number.NEGATIVE_INFINITY,
      });
    else {
      newest.toMs = atMs;
      newest.usd += usd;
      newest.roughUsd += usd;
    }
  }

  /** Takes the proof of a trade by its fills. */
  prove({ atMs, fromUsd, toUsd }: Proof): void {
    const trades = this.#trades.find(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs);
    if (trades === undefined) return;
    trades.usd += toUsd - fromUsd;
    trades.roughUsd -= fromUsd;
  }

  /** The part that is stored over a restart. */
  get kept(): readonly HeldTrades[] {
    return this.#trades.map(({ maxUsd: _, ...one }) => ({ ...one }));
  }

  restore(kept: readonly HeldTrades[]): void {
    for (const one of kept)
      this.#trades.push({ roughUsd: one.usd, ...one, maxUsd: Number.NEGATIVE_INFINITY });
  }

  /** The time at which the collateral history is to be read next, ms; ∞: not any more. */
  nextReadMs(nowMs: number): number {
    const newest = this.#trades.at(-1);
    if (newest === undefined) return Number.POSITIVE_INFINITY;
    const { toMs } = newest;
    // Earlier trades are read by that time as well.
    const rough = this.#trades.findLast(isRough);
    const dueMs = [toMs + earlyMs, toMs + readAfterMs];
    if (rough !== undefined) dueMs.push(rough.toMs + roughReadAfterMs);
    const nextMs = dueMs.find((ms) => ms > nowMs);
    // The pause between readings stays the same while trades follow each other.
    return Math.max(nowMs + earlyMs, nextMs ?? Number.POSITIVE_INFINITY);
  }

  /** Takes a profit that may be too high. */
  take(profitUsd: number): void {
    const newest = this.#trades.at(-1);
    if (newest !== undefined && profitUsd > newest.maxUsd) newest.maxUsd = profitUsd;
  }

  /** Takes an amount paid in. It is subtracted from the profit of all trades, as the trade that hid it is not known. */
  paidIn(usd: number): void {
    for (const one of this.#trades) one.maxUsd -= usd;
  }

  /**
   * Releases the trades that hide nothing, or whose time has passed.
   * @param isRead true if the collateral history has just been read
   * @param limitUsd amount that is ignored if fills are known
   * @returns the highest profit of the released trades, USD; -∞: none
   */
  release(atMs: number, isRead: boolean, limitUsd: number): number {
    let maxUsd = Number.NEGATIVE_INFINITY;
    for (let oldest = this.#trades[0]; oldest !== undefined; oldest = this.#trades[0]) {
      const ageMs = atMs - oldest.toMs;
      const rough = isRough(oldest);
      const isKnown = !rough && oldest.usd <= limitUsd;
      const isOver =
        ageMs >= (rough ? roughAfterMs : unreadAfterMs) ||
        (isRead && ageMs >= (rough ? roughReadAfterMs : readAfterMs));
      if (!isKnown && !isOver) break;
      maxUsd = Math.max(maxUsd, oldest.maxUsd);
      this.#trades.shift();
    }
    return maxUsd;
  }
}

function isRough({ roughUsd }: Trades): boolean {
  return roughUsd > nothingUsd;
}
