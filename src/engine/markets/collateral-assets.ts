/** Takes the list of the assets that may be collateral, and asks for it where an account holds one that it lacks. */

import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Observation } from "../../domain/observation.ts";
import type { AccountEntry } from "../../state/accounts/account-entry.ts";
import { hasSpot } from "../../state/markets/spot-collateral.ts";
import type { World } from "../../state/world.ts";
import type { Aggregates } from "../aggregates/aggregates.ts";
import type { MarketReaders } from "./market-readers.ts";

export class CollateralAssets {
  readonly #world: World;
  readonly #readers: MarketReaders;
  readonly #aggregates: Aggregates;
  /** Assets that were asked for because no list named them. */
  readonly #wantedAssets: Set<number>;

  /** @param before those of the watch that is replaced at a reload */
  constructor(
    world: World,
    readers: MarketReaders,
    aggregates: Aggregates,
    before: CollateralAssets | undefined,
  ) {
    this.#world = world;
    this.#readers = readers;
    this.#aggregates = aggregates;
    this.#wantedAssets = before ? before.#wantedAssets : new Set();
  }

  /** The assets that may be collateral beside the quote token. */
  take({ assets }: Observation & { readonly kind: "collateralAssets" }, builder: ChangesBuilder): void {
    this.#world.markets.takeAssets(assets, builder.atMs);
    const touched = new Set<string>();
    for (const account of this.#world.accounts.all()) {
      if (!hasSpot(account.state)) continue;
      this.#readers.configured(account, builder);
      touched.add(account.ref.wallet);
    }
    this.#readers.walletsChanged(touched, "marketConfig", builder);
    if (touched.size > 0) this.#aggregates.manyChanged(touched, "marketConfig", false, builder);
  }

  /** Asks once for the list of assets where it does not name one that an account holds. */
  want({ state }: AccountEntry, builder: ChangesBuilder): void {
    for (const { assetIndex, balance } of state.spotCollaterals) {
      if (balance <= 0n || this.#world.markets.assets?.has(assetIndex) || this.#wantedAssets.has(assetIndex))
        continue;
      this.#wantedAssets.add(assetIndex);
      builder.ask("marketConfig", null);
    }
  }
}
