/**
 * Detects an exchange that repeats one old answer: a stale cache or replica. A working exchange changes a time or
 * figure of some market with each answer, even if most markets are quiet.
 */
import type { MarketPrices } from "../../domain/account.ts";

/** Time with identical times and figures of all markets after which answers count as one old answer, ms. */
const maxUnchangedMs = 2 * 60_000;

export class RepeatedPrices {
  #rows: readonly MarketPrices[] = [];
  /** The time at which the answer was first seen, monotonic ms. */
  #sinceMs = 0;

  /** @returns the exchange's newest time in an answer that was repeated for too long, ms; null: it was not */
  take(rows: readonly MarketPrices[], elapsedMs: number): number | null {
    if (rows.length === 0 || !isSame(rows, this.#rows)) {
      this.#rows = rows;
      this.#sinceMs = elapsedMs;
      return null;
    }
    if (elapsedMs - this.#sinceMs < maxUnchangedMs) return null;
    return rows.reduce((newest, { exchangeMs }) => Math.max(newest, exchangeMs), 0);
  }
}

function isSame(rows: readonly MarketPrices[], before: readonly MarketPrices[]): boolean {
  if (rows.length !== before.length) return false;
  for (const [i, row] of rows.entries()) {
    const other = before[i]!;
    if (
      row.exchangeMs !== other.exchangeMs ||
      row.symbol !== other.symbol ||
      row.markPriceUsd !== other.markPriceUsd ||
      row.oraclePriceUsd !== other.oraclePriceUsd ||
      row.openInterestUnits !== other.openInterestUnits ||
      row.dayVolumeUsd !== other.dayVolumeUsd
    )
      return false;
  }
  return true;
}
