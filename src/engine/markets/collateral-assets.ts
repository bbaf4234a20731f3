/** Takes the list of collateral assets, and requests it if an account holds one that it lacks. */

import type { Observation } from "../../domain/observation.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { AccountEntry } from "../../state/accounts/account-entry.ts";
import { hasSpot } from "../../state/markets/spot-collateral.ts";
import type { World } from "../../state/world.ts";
import type { Aggregates } from "../aggregates/aggregates.ts";
import type { MarketReaders } from "./market-readers.ts";

export class CollateralAssets {
  readonly #world: World;
  readonly #readers: MarketReaders;
  readonly #aggregates: Aggregates;
  /** Assets for which the list was requested because it did not name them. */
  readonly #wantedAssets: Set<number>;

  /** @param before the assets of the watch that is replaced at a reload */
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

  /** Takes the collateral assets other than the quote token. */
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

  /** Requests the list of assets once if it does not name one that an account holds. */
  want({ state }: AccountEntry, builder: ChangesBuilder): void {
    for (const { assetIndex, balance } of state.spotCollaterals) {
      if (balance <= 0n || this.#world.markets.assets?.has(assetIndex) || this.#wantedAssets.has(assetIndex))
        continue;
      this.#wantedAssets.add(assetIndex);
      builder.ask("marketConfig", null);
    }
  }
}
