/** The list of markets from the newest configuration: symbols by asset id, lots and ticks in human units. */
import type { MarketConfig } from "../domain/account.ts";
import { unitsFromBaseLots, usdFromTicks } from "../domain/market-scale.ts";

export class MarketBook {
  #bySymbol = new Map<string, MarketConfig>();
  #byAsset = new Map<number, MarketConfig>();
  /** Symbols missing in the newest list and present in the one before. */
  #leftOut: ReadonlySet<string> = new Set();

  /**
   * Takes a list. A market missing in one list may be in an unreadable row: it is removed once the next list omits it
   * too. An empty list after a non-empty one is ignored.
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

/** Returns a size in base lots as units of the asset; null without a market. */
export function unitsOf(lots: bigint, market: MarketConfig | undefined): number | null {
  return market === undefined ? null : unitsFromBaseLots(lots, market);
}

/** Returns a price in ticks as USD; null without a market. */
export function usdOfTicks(ticks: bigint, market: MarketConfig | undefined): number | null {
  return market === undefined ? null : usdFromTicks(ticks, market);
}

export function usdOfQuoteLots(quoteLots: bigint): number {
  return Number(quoteLots) / 1e6;
}
