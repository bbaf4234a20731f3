/** The resting orders of accounts as facts, with their ages if known. */

import { type OrderState, orderName } from "../../domain/account.ts";
import { symbolKey } from "../../domain/symbol.ts";
import { unitsFromBaseLots, usdFromTicks } from "../../margin/units.ts";
import type { FactRecord } from "../../rules/index.ts";
import type { Markets } from "../markets/markets.ts";
import type { AccountEntry } from "./account-entry.ts";
import type { OrderPlacements } from "./order-placements.ts";

export class AccountOrders {
  readonly #markets: Markets;
  readonly #placements: OrderPlacements;

  constructor(markets: Markets, placements: OrderPlacements) {
    this.#markets = markets;
    this.#placements = placements;
  }

  /** @param first true for the first answer about the account: its orders were placed before */
  refresh(account: AccountEntry, atMs: number, first: boolean): void {
    const { state, node } = account;
    let unknown = false;
    const orders = state.orders.flatMap((order): FactRecord[] => {
      if (order.status.toLowerCase() !== "active") return [];
      const placedMs = this.#placedMs(account, order, atMs, first);
      const market = this.#markets.risk.get(symbolKey(order.symbol));
      if (!market) {
        unknown = true;
        return [];
      }
      const price = usdFromTicks(order.priceTicks, market);
      const size = unitsFromBaseLots(order.remainingLots, market);
      const { side, kind, reduceOnly } = order;
      const item = { symbol: order.symbol, side, price, size, notional: price * size, reduceOnly, kind };
      return [placedMs === undefined ? item : { ...item, age: Math.max(0, atMs - placedMs) }];
    });
    // A list that lacks one of them would be wrong.
    if (unknown) delete node.facts.values.orders;
    else node.facts.values.orders = orders.slice();
    if (account.placedMs.size <= state.orders.length) return;
    const resting = new Set(state.orders.map((one) => orderName(one.symbol, one.sequence, one.side)));
    for (const order of account.placedMs.keys()) if (!resting.has(order)) account.placedMs.delete(order);
  }

  /** The placement time from the order history. An order that appears while the daemon runs was placed then. */
  #placedMs(account: AccountEntry, order: OrderState, atMs: number, first: boolean): number | undefined {
    const name = orderName(order.symbol, order.sequence, order.side);
    const known = account.placedMs.get(name);
    const placedMs = this.#placements.take(account.ref.wallet, name) ?? known ?? (first ? undefined : atMs);
    if (placedMs !== undefined && placedMs !== known) account.placedMs.set(name, placedMs);
    // Not known yet. From the next answer on it no longer counts as new.
    else if (placedMs === undefined) account.placedMs.set(name, Number.NaN);
    return Number.isNaN(placedMs) ? undefined : placedMs;
  }
}
