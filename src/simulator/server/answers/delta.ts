/** The changes of one account by a transaction, in the stream's form. */
import type { MessageWireFor } from "../../../contract/stream/stream-channels.ts";
import type { Place } from "../../accounts/position.ts";
import { capabilitiesOf } from "../../accounts/rights.ts";
import { spotBalances } from "../../accounts/spot.ts";
import { abs, microPerUnit, writeDecimal } from "../../decimals.ts";
import type { Account, AccountChange, Fill, Order, World } from "../../state.ts";
import { seconds } from "./context.ts";
import { fillNames } from "./history.ts";
import { orderRow, positionRow, ticksText, triggerRow } from "./trader.ts";

export type Delta = NonNullable<MessageWireFor<"traderState">["deltas"]>[number];

export function deltaOf(world: World, account: Account, change: AccountChange): Delta {
  const orders = new Map<string, Order[]>();
  for (const order of change.orders.keys()) {
    const group = orders.get(order.symbol);
    if (group) group.push(order);
    else orders.set(order.symbol, [order]);
  }
  return {
    subaccountIndex: account.subaccount,
    sequence: account.sequence,
    collateral: account.collateral.toString(),
    ...(change.rights ? { capabilities: capabilitiesOf(account) } : {}),
    ...(account.spot === null ? {} : { spotCollaterals: spotBalances(account) }),
    positions: [...change.positions].map((symbol) => {
      const position = account.positions.get(symbol);
      if (!position) return { symbol, change: "closed" };
      return { symbol, change: "updated", position: positionRow(world.markets.get(symbol)!, position) };
    }),
    triggers: [...change.triggers].map((symbol) => {
      const position = account.positions.get(symbol);
      if (!position || position.triggers.length === 0) return { symbol, change: "closed" };
      return { symbol, change: "updated", triggers: triggerRow(position) };
    }),
    orders: [...orders].map(([symbol, rows]) => ({
      symbol,
      orders: rows.map((order) => ({
        ...orderRow(world.markets.get(symbol)!, order),
        change: order.status === "active" ? "updated" : "closed",
      })),
    })),
    splines: [],
    tradeHistory: change.fills.map((fill) => tradeRow(world, fill)),
    orderHistory: [...change.orders].map(([order, place]) => historyRow(world, order, place)),
  };
}

function placeOf({ slot, slotIndex, instructionIndex, eventIndex, atMs }: Place) {
  return { timestamp: seconds(atMs), slot, slotIndex, instructionIndex, eventIndex };
}

function tradeRow(world: World, it: Fill) {
  const decimals = world.markets.get(it.symbol)!.spec.baseLotsDecimals;
  const size = (lots: bigint) => writeDecimal(lots, decimals);
  return {
    ...placeOf(it),
    market: it.symbol,
    instructionType: it.instructionType,
    tradeType: it.tradeType,
    baseQtyBefore: size(it.baseLotsBefore),
    baseQtyAfter: size(it.baseLotsAfter),
    size: size(abs(it.baseLots)),
    liquidity: it.liquidity,
    price: writeDecimal(microPerUnit(it.quoteLots, it.baseLots, decimals), 6),
    fee: writeDecimal(it.fee, 6),
    realizedPnl: writeDecimal(it.realizedPnl, 6),
    ...fillNames(world, it),
  };
}

function historyRow(world: World, order: Order, place: Place) {
  const market = world.markets.get(order.symbol)!;
  const size = (lots: bigint) => writeDecimal(lots, market.spec.baseLotsDecimals);
  return {
    ...placeOf(place),
    market: order.symbol,
    instructionType: order.status === "cancelled" ? "CancelOrdersById" : "PlaceLimitOrder",
    orderType: "limit",
    status: order.status,
    size: size(order.initialLots),
    price: ticksText(market, order.priceTicks),
    filledSize: size(order.filledLots),
  };
}
