/**
 * Prices of markets as the stream and the polls tell them, so that neither takes the other back. The stream states whole
 * seconds; within one, what arrived later is the newer.
 */
import type { MarketPrices } from "../domain/account.ts";

interface Known {
  readonly prices: MarketPrices;
  /** Monotonic. */
  readonly arrivedMs: number;
}

export class LivePrices {
  readonly #told = new Map<string, Known>();
  /** Exchange's second of what either way told last and was taken. */
  readonly #seconds = new Map<string, number>();
  /** Second of the newest poll that was older than what the stream told; gone as soon as the stream tells more. */
  readonly #behind = new Map<string, number>();

  /** @returns whether the stream's row is as new as what is known */
  takeLive(prices: MarketPrices, arrivedMs: number): boolean {
    const key = prices.symbol.toUpperCase();
    const second = secondOf(prices);
    if (second < (this.#seconds.get(key) ?? Number.NEGATIVE_INFINITY)) return false;
    this.#seconds.set(key, second);
    this.#told.set(key, { prices, arrivedMs });
    this.#behind.delete(key);
    return true;
  }

  /**
   * The rows of a poll with what the stream told while it was under way; rows that are older than what the stream told
   * before are left out, and so do not make anything look fresh. The second such in a row is believed when it is newer
   * than the first and the stream told nothing in between: what it told was ahead of its time.
   */
  takePoll(rows: readonly MarketPrices[], askedMs: number): MarketPrices[] {
    const newest: MarketPrices[] = [];
    for (const row of rows) {
      const key = row.symbol.toUpperCase();
      const told = this.#told.get(key);
      const second = secondOf(row);
      const known = told === undefined ? Number.NEGATIVE_INFINITY : secondOf(told.prices);
      if (told !== undefined && told.arrivedMs >= askedMs && known >= second) {
        newest.push(told.prices);
        continue;
      }
      if (second < known) {
        const behind = this.#behind.get(key);
        this.#behind.set(key, Math.max(second, behind ?? second));
        if (behind === undefined || second <= behind) continue;
        this.#told.delete(key);
      }
      this.#behind.delete(key);
      newest.push(row);
      // Not the latest of all polls: one that was ahead of its time would silence the stream until then.
      this.#seconds.set(key, second);
    }
    return newest;
  }

  /** True if a poll shows a mark that the stream should have sent: of a market that it told of before. */
  movedSince(rows: readonly MarketPrices[]): boolean {
    return rows.some((row) => {
      const told = this.#told.get(row.symbol.toUpperCase())?.prices;
      return told !== undefined && told.markPriceUsd !== row.markPriceUsd && secondOf(row) > secondOf(told);
    });
  }
}

function secondOf(prices: MarketPrices): number {
  return Math.floor(prices.exchangeMs / 1_000);
}
