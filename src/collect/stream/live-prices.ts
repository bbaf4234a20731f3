/**
 * Merges prices from the stream and from polls, so that neither replaces a newer one of the other. The stream states
 * whole seconds; within one, the later arrival is newer.
 */
import type { MarketPrices } from "../../domain/account.ts";

interface Known {
  readonly prices: MarketPrices;
  /** Monotonic. */
  readonly arrivedMs: number;
}

export class LivePrices {
  readonly #streamed = new Map<string, Known>();
  /** The exchange's second of the last accepted price, from either source. */
  readonly #seconds = new Map<string, number>();
  /** The second of the newest poll older than the stream's price; removed at the next message of the stream. */
  readonly #behind = new Map<string, number>();

  /** @returns true if the stream's row is as new as the known price */
  takeLive(prices: MarketPrices, arrivedMs: number): boolean {
    const key = prices.symbol.toUpperCase();
    const second = secondOf(prices);
    if (second < (this.#seconds.get(key) ?? Number.NEGATIVE_INFINITY)) return false;
    this.#seconds.set(key, second);
    this.#streamed.set(key, { prices, arrivedMs });
    this.#behind.delete(key);
    return true;
  }

  /**
   * Returns the rows of a poll, merged with what the stream sent while it was under way. Rows older than the stream's
   * last price are left out, so that they refresh nothing. The second such row in a row is accepted if it is newer than
   * the first and the stream sent nothing in between: its price was ahead of its time.
   */
  takePoll(rows: readonly MarketPrices[], askedMs: number): MarketPrices[] {
    const newest: MarketPrices[] = [];
    for (const row of rows) {
      const key = row.symbol.toUpperCase();
      const streamed = this.#streamed.get(key);
      const second = secondOf(row);
      const known = streamed === undefined ? Number.NEGATIVE_INFINITY : secondOf(streamed.prices);
      if (streamed !== undefined && streamed.arrivedMs >= askedMs && known >= second) {
        newest.push(streamed.prices);
        continue;
      }
      if (second < known) {
        const behind = this.#behind.get(key);
        this.#behind.set(key, Math.max(second, behind ?? second));
        if (behind === undefined || second <= behind) continue;
        this.#streamed.delete(key);
      }
      this.#behind.delete(key);
      newest.push(row);
      // Not the latest of all polls: one that was ahead of its time would suppress the stream until then.
      this.#seconds.set(key, second);
    }
    return newest;
  }

  /** Returns true if a poll shows a mark that the stream should have sent: of a market that it sent before. */
  movedSince(rows: readonly MarketPrices[]): boolean {
    return rows.some((row) => {
      const streamed = this.#streamed.get(row.symbol.toUpperCase())?.prices;
      return (
        streamed !== undefined &&
        streamed.markPriceUsd !== row.markPriceUsd &&
        secondOf(row) > secondOf(streamed)
      );
    });
  }
}

function secondOf(prices: MarketPrices): number {
  return Math.floor(prices.exchangeMs / 1_000);
}
