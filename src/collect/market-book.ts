/** The list of markets, as the newest configuration says: symbols by asset id, lots and ticks in human units. */
import type { MarketConfig } from "../domain/account.ts";
import { unitsFromBaseLots, usdFromTicks } from "../domain/market-scale.ts";

export class MarketBook {
  #bySymbol = new Map<string, MarketConfig>();
  #byAsset = new Map<number, MarketConfig>();
  /** Symbols that the newest list leaves out, and the one before it does not. */
  #leftOut: ReadonlySet<string> = new Set();

  /**
   * A market that one list leaves out may be in a row that could not be read: it is gone once the next list leaves it out, too. An
   * empty list is no list of an exchange that had markets: what was known stays.
   */
  take(markets: readonly MarketConfig[]): void {
    if (markets.length === 0) return;
    const listed = new Map(markets.map((market) => [market.symbol.toUpperCase(), market]));
    const left = [...this.#bySymbol].filter(([symbol]) => !listed.has(symbol) && !this.#leftOut.has(symbol));
    this.#leftOut = new Set(left.map(([symbol]) => symbol));
    this.#bySymbol = new Map([...left, ...listed]);
    this.#byAsset = new Map([...this.#bySymbol.values()].map((market) => [market.assetId, market]));
  }

  /** True if the configuration was read at all. */
  get known(): boolean {
    return this.#bySymbol.size > 0;
  }

  get symbols(): readonly string[] {
    return [...this.#bySymbol.values()].map((market) => market.symbol);
  }

  of(symbol: string): MarketConfig | undefined {
    return this.#bySymbol.get(symbol.toUpperCase());
  }

  ofAsset(assetId: number): MarketConfig | undefined {
    return this.#byAsset.get(assetId);
  }
}

/** A size in base lots as units of the asset; null without a market. */
export function unitsOf(lots: bigint, market: MarketConfig | undefined): number | null {
  return market === undefined ? null : unitsFromBaseLots(lots, market);
}

/** A price in ticks as USD; null without a market. */
export function usdOfTicks(ticks: bigint, market: MarketConfig | undefined): number | null {
  return market === undefined ? null : usdFromTicks(ticks, market);
}

export function usdOfQuoteLots(quoteLots: bigint): number {
  return Number(quoteLots) / 1e6;
}
