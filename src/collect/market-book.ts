/** The list of markets, as the newest configuration says: symbols by asset id, lots and ticks in human units. */
import type { MarketConfig } from "../domain/account.ts";
import { unitsFromBaseLots, usdFromTicks } from "../domain/market-scale.ts";

export class MarketBook {
  #bySymbol = new Map<string, MarketConfig>();
  #byAsset = new Map<number, MarketConfig>();

  /** An empty list is no list of an exchange that had markets: what was known stays. */
  take(markets: readonly MarketConfig[]): void {
    if (markets.length === 0) return;
    this.#bySymbol = new Map(markets.map((market) => [market.symbol.toUpperCase(), market]));
    this.#byAsset = new Map(markets.map((market) => [market.assetId, market]));
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
