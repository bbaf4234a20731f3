/** Removes the markets that the exchange no longer lists. */

import type { AlertBook } from "../../alerts/alert-book.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Conditions } from "../../evaluate/conditions/conditions.ts";
import type { World } from "../../state/world.ts";
import type { Restoring } from "../restore.ts";

export interface UnlistedMarketsParts {
  readonly world: World;
  readonly alerts: AlertBook;
  readonly conditions: Conditions;
  readonly restoring: Restoring;
}

export class UnlistedMarkets {
  readonly #parts: UnlistedMarketsParts;
  /** Markets missing in the newest list. */
  #leftOut = new Set<string>();

  constructor(parts: UnlistedMarketsParts) {
    this.#parts = parts;
  }

  /**
   * Removes markets that two lists in a row do not name, that have no price in the newest answer and that nobody holds.
   * An empty list is ignored. A market with an invalid row still has its price, or is in the next list.
   */
  drop(listed: ReadonlySet<string>, builder: ChangesBuilder): void {
    const { markets, nodes, accounts } = this.#parts.world;
    if (listed.size === 0 || markets.pricesAtMs === null) return;
    const before = this.#leftOut;
    this.#leftOut = new Set();
    for (const { symbol, facts } of [...markets.entries.values()]) {
      if (listed.has(symbol) || (facts.seenMs.markets ?? 0) >= markets.pricesAtMs || accounts.anyIn(symbol))
        continue;
      if (!before.has(symbol)) {
        this.#leftOut.add(symbol);
        continue;
      }
      const node = nodes.get(`market/${symbol}`);
      nodes.delete(`market/${symbol}`);
      markets.remove(symbol);
      if (!node) continue;
      this.#parts.conditions.detach(node, builder, (_, live, row) => {
        this.#parts.alerts.end(builder, live, "noLongerWatched", null);
        this.#parts.conditions.rows.released(row, builder);
      });
    }
    this.#parts.restoring.endUnlisted(listed, builder);
  }
}
