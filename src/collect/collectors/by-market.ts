/** Sources that are read market by market: their markets, and the handling of failures of single markets. */
import type { MarketRead } from "../../domain/sources.ts";
import { ExchangeError, failureOf } from "../../exchange/index.ts";
import type { Run } from "../collector.ts";
import type { MarketBook } from "../market-book.ts";

/** Symbols in capitals, or all markets. */
export type WantedMarkets = ReadonlySet<string> | "all";

export interface MarketReadParts {
  readonly book: MarketBook;
  /** Returns the markets for which this source is needed now. */
  readonly wanted: (source: MarketRead) => WantedMarkets;
}

/** Returns true if a source is needed for any market. */
export function isWanted({ wanted }: MarketReadParts, source: MarketRead): boolean {
  const which = wanted(source);
  return which === "all" || which.size > 0;
}

/** @returns the listed markets among the needed ones; null: some are needed, and the list is not known yet */
export function marketsToRead(parts: MarketReadParts, source: MarketRead): readonly string[] | null {
  const { book, wanted } = parts;
  if (!isWanted(parts, source)) return [];
  if (!book.known) return null;
  const which = wanted(source);
  return book.symbols.filter((symbol) => which === "all" || which.has(symbol.toUpperCase()));
}

/**
 * Reads one market after the other. A failure of one does not affect the others; a failing exchange ends the round, and
 * so does a round in which nothing could be read.
 */
export async function eachMarket(
  { nowMs, observe }: Run,
  source: MarketRead | "fundingRates",
  symbols: readonly string[],
  read: (symbol: string) => Promise<void>,
): Promise<void> {
  let answered = 0;
  let failure: unknown = null;
  for (const symbol of symbols) {
    try {
      await read(symbol);
      answered++;
    } catch (error) {
      if (!(error instanceof ExchangeError) || error.retryable) throw error;
      failure = error;
      await observe({ kind: "failed", source, wallet: null, symbol, atMs: nowMs(), ...failureOf(error) });
    }
  }
  if (answered === 0 && failure !== null) throw failure;
}
