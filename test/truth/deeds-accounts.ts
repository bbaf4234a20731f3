/**
 * Deeds about accounts beside their trades: rights that the exchange takes away, orders that are taken back, spot collateral that
 * it sells, and triggers of which the inbox tells when they are placed or executed. `plan-accounts.ts` plans them.
 */

import { sweep } from "../../src/simulator/accounts/collateral.ts";
import { eventNotification } from "../../src/simulator/accounts/inbox.ts";
import { setTriggers, tradeData, triggerFor } from "../../src/simulator/accounts/orders.ts";
import type { Right } from "../../src/simulator/accounts/right.ts";
import { spotNotional } from "../../src/simulator/accounts/spot.ts";
import { trade } from "../../src/simulator/accounts/trade.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { noteHolder, transact } from "../../src/simulator/ledger/transaction.ts";
import { dropOrder } from "../../src/simulator/markets/book.ts";
import { ticksText } from "../../src/simulator/server/answers/trader.ts";
import type { Account, Market, World } from "../../src/simulator/state.ts";
import { follow } from "../../src/simulator/world.ts";
import { nameOf } from "./names.ts";
import type { Deed } from "./world.ts";

/** Times are ms after the beginning. */
export type AccountDeed = { readonly atMs: number; readonly account: number } & (
  | /** The exchange took these away; all others are there. */
  { readonly kind: "rights"; readonly lost: readonly Right[] }
  /** The oldest resting order is taken back, or all are. */
  | { readonly kind: "cancel"; readonly all: boolean }
  /** The exchange sells a share of the spot collateral. */
  | { readonly kind: "sell spot"; readonly share: number }
  /** A trigger of the position is placed, and the inbox tells of it. */
  | {
      readonly kind: "place";
      readonly symbol: string;
      readonly trigger: "stopLoss" | "takeProfit";
      readonly distance: number;
    }
  /** A conditional order closes a share of the position. */
  | { readonly kind: "execute"; readonly symbol: string; readonly share: number }
);

const kinds: readonly AccountDeed["kind"][] = ["rights", "cancel", "sell spot", "place", "execute"];

export const isOfAccount = (deed: Deed): deed is AccountDeed =>
  (kinds as readonly string[]).includes(deed.kind);

/** True if the exchange took away a right that a trader needs for it. */
export function isForbidden({ lostRights }: Account, deed: Deed): boolean {
  const needs = (): readonly Right[] => {
    switch (deed.kind) {
      case "trade":
        return ["placeMarketOrder", "riskIncreasingTrade"];
      case "close":
        return ["placeMarketOrder", deed.share > 1 ? "riskIncreasingTrade" : "riskReducingTrade"];
      case "order":
        return ["placeLimitOrder", deed.reduceOnly ? "riskReducingTrade" : "riskIncreasingTrade"];
      case "money":
        return [deed.share > 0 ? "depositCollateral" : "withdrawCollateral"];
      default:
        return [];
    }
  };
  return needs().some((right) => lostRights.has(right));
}

/** Does it, now. @returns it in words; null where nothing was there to be done */
export async function performOnAccount(
  simulator: Simulator,
  account: Account,
  deed: AccountDeed,
): Promise<string | null> {
  const { world } = simulator;
  const name = nameOf(account);
  /** All that follows at this instant, and word of it on the stream. */
  const after = async (...moved: readonly Market[]): Promise<void> => {
    follow(world, moved);
    await simulator.call("advance", { ms: 0 });
  };
  switch (deed.kind) {
    case "rights": {
      const { wallet, pdaIndex, subaccount } = account;
      const place = { trader: wallet.name, pdaIndex, subaccountIndex: subaccount };
      await simulator.call("rights", { ...place, lost: deed.lost });
      return `${name}: without the rights ${deed.lost.join(", ") || "(none)"}`;
    }
    case "cancel": {
      const orders = [...account.orders].slice(0, deed.all ? undefined : 1);
      if (orders.length === 0) return null;
      transact(world, (tx) => {
        for (const order of orders) dropOrder(tx, world.markets.get(order.symbol)!, order, "cancelled");
      });
      sweep(world, account);
      await after();
      return `${name}: ${orders.length} orders cancelled`;
    }
    case "sell spot": {
      const sold = sellSpot(world, account, deed.share);
      if (sold === null) return null;
      await after();
      return `${name}: the exchange sells ${sold} of spot collateral`;
    }
    case "place": {
      const market = world.markets.get(deed.symbol)!;
      const ticks = placeTrigger(world, market, account, deed);
      if (ticks === null) return null;
      await after(market);
      return `${name}/${deed.symbol}: ${deed.trigger} placed at ${ticksText(market, ticks)}`;
    }
    case "execute": {
      const market = world.markets.get(deed.symbol)!;
      const held = account.positions.get(deed.symbol)?.baseLots ?? 0n;
      const lots = (-held * BigInt(Math.round(deed.share * 100))) / 100n;
      if (lots === 0n) return null;
      executeConditional(world, market, account, lots);
      sweep(world, account);
      await after(market);
      return `${name}/${deed.symbol}: a conditional order trades ${lots} lots`;
    }
  }
}

/** The house buys a share of it at 1 % less than the oracle price. @returns native units; null: there is nothing to sell */
function sellSpot(world: World, account: Account, share: number): bigint | null {
  const { house } = world;
  const units = ((account.spot ?? 0n) * BigInt(Math.round(share * 100))) / 100n;
  if (units === 0n) return null;
  const market = world.markets.get("SOL")!;
  const paid = (spotNotional(market, units, market.oracleTicks) * 99n) / 100n;
  transact(world, (tx) => {
    account.spot! -= units;
    account.collateral += paid;
    house.collateral -= paid;
    noteHolder(market, account);
    tx.touch(account);
    tx.touch(house);
    eventNotification(world, tx, account, tx.next(), "spot_collateral_liquidation", {
      data: {
        liquidator: house.address,
        liquidatedTrader: account.address,
        assetIndex: spotAssetIndex,
        liquidationSize: units.toString(),
        quoteLotsDeposited: paid.toString(),
      },
      details: null,
    });
  });
  return units;
}

const spotAssetIndex = 4_294_901_760;

/** @returns the ticks at which it triggers; null: there is no position */
function placeTrigger(
  world: World,
  market: Market,
  account: Account,
  { symbol, trigger, distance }: AccountDeed & { readonly kind: "place" },
): number | null {
  const position = account.positions.get(symbol);
  if (!position) return null;
  const away = position.baseLots > 0n === (trigger === "takeProfit") ? distance : -distance;
  const ticks = Math.max(1, Math.round(market.markTicks * (1 + away)));
  const placed = triggerFor(trigger, position.baseLots, ticks);
  const others = position.triggers.filter(({ kind }) => kind !== trigger);
  transact(world, (tx) => {
    setTriggers(tx, market, account, [...others, placed]);
    market.orderSequence += 1;
    const { side } = placed;
    eventNotification(world, tx, account, tx.next(), "stop_loss_order_placed", {
      data: { symbol, side, orderSequenceNumber: String(market.orderSequence), trader: account.address },
      details: null,
    });
  });
  return ticks;
}

function executeConditional(world: World, market: Market, account: Account, lots: bigint): void {
  transact(world, (tx) => {
    const fill = trade(world, tx, market, account, lots, market.markTicks, {
      ...{ liquidity: "taker", tradeType: "market", instructionType: "ExecuteConditionalOrder" },
    });
    const side = lots > 0n ? "bid" : "ask";
    eventNotification(world, tx, account, fill, "conditional_order_executed", {
      data: tradeData(market, account, side, fill.baseLots, fill.quoteLots, fill.fee),
      details: null,
    });
  });
}
