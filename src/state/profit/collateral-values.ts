/** Values of trades and of collateral in other assets, by the present markets and assets. */

import type { SpotCollateralState } from "../../domain/account.ts";
import { unitsFromBaseLots } from "../../margin/units.ts";
import type { AccountEntry } from "../accounts/account-entry.ts";
import type { Markets } from "../markets/markets.ts";
import { hasSpot } from "../markets/spot-collateral.ts";
import type { WalletEntry } from "../wallets/wallets.ts";
import {
  type Balance,
  noSpotChange,
  type Pricing,
  type SpotChange,
  spotChange,
} from "./changes/balance-change.ts";

export class CollateralValues {
  readonly #markets: Markets;

  constructor(markets: Markets) {
    this.#markets = markets;
  }

  readonly pricingOf = (symbol: string): Pricing | undefined => {
    const market = this.#markets.risk.get(symbol);
    if (market === undefined) return undefined;
    const markUsd = this.#markets.entries.get(symbol)?.prices?.markPriceUsd;
    return {
      unitsPerLot: unitsFromBaseLots(1, market),
      markUsd,
      ratePerHour: this.#markets.rates.get(symbol),
    };
  };

  readonly #unitUsdOf = ({ assetIndex, decimals }: SpotCollateralState): number | undefined => {
    const asset = this.#markets.assets?.get(assetIndex);
    if (asset === undefined) return undefined;
    // As in equity, an asset without a market has a value of 0.
    if (this.#markets.countsForNothing(asset)) return 0;
    const symbol = this.#markets.symbolOfAsset(assetIndex);
    const indexUsd =
      symbol === undefined ? undefined : this.#markets.entries.get(symbol)?.prices?.oraclePriceUsd;
    return indexUsd === undefined ? undefined : indexUsd / 10 ** decimals;
  };

  /**
   * True once the data that value these accounts, and the wallet's earlier ones, were read. Before that, trades cannot be told
   * apart from flows, and equity is incomplete.
   */
  isReady({ profit: { changes } }: WalletEntry, listed: readonly AccountEntry[], first: boolean): boolean {
    const { configAtMs, pricesAtMs, assets } = this.#markets;
    if (configAtMs === null || pricesAtMs === null) return false;
    if (assets !== null) return true;
    for (let i = 0; i < listed.length; i++) if (hasSpot(listed[i]!.state)) return false;
    // After that, all of them were read since the start.
    if (!first) return true;
    for (const account of changes.states.accounts())
      if (hasSpot(changes.states.seen(account)!.balance)) return false;
    return true;
  }

  /** Returns the change of the collateral in other assets; null if it cannot be valued. */
  spotChange({ profit }: WalletEntry, account: string, after: Balance): SpotChange | null {
    const before = profit.changes.states.before(account);
    return before === undefined ? noSpotChange : spotChange(before, after, this.#unitUsdOf);
  }
}
