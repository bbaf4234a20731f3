/** Fills resting orders and fires triggers that the mark crosses. */
import { unitsFromBaseLots, usdFromTicks } from "../../margin/units.ts";
import { abs, min } from "../decimals.ts";
import { type Transaction, transact } from "../ledger/transaction.ts";
import { dropOrder } from "../markets/book.ts";
import type { Account, Market, Order, World } from "../state.ts";
import { sweep } from "./collateral.ts";
import { eventNotification } from "./inbox.ts";
import type { Side, Trigger } from "./position.ts";
import { feeOf, perLot, settleFunding, trade } from "./trade.ts";

/** Fills orders that the mark has crossed, at each order's own price. */
export function matchOrders(world: World, market: Market): void {
  for (const order of [...market.orders]) {
    const crossed =
      order.side === "bid" ? market.markTicks <= order.priceTicks : market.markTicks >= order.priceTicks;
    if (!crossed || order.status !== "active") continue;
    transact(world, (tx) => fillOrder(world, tx, market, order));
    sweep(world, order.account);
  }
}

function fillOrder(world: World, tx: Transaction, market: Market, order: Order): void {
  const { account, symbol, side } = order;
  const held = abs(account.positions.get(symbol)?.baseLots ?? 0n);
  const lots = order.reduceOnly ? min(order.remainingLots, held) : order.remainingLots;
  if (lots === 0n) {
    dropOrder(tx, market, order, "cancelled");
    return;
  }
  order.remainingLots -= lots;
  order.filledLots += lots;
  // Removed from the book before the trade, because closing the position would cancel it.
  dropOrder(tx, market, order, order.remainingLots === 0n ? "filled" : "cancelled");
  const fill = trade(world, tx, market, account, side === "bid" ? lots : -lots, order.priceTicks, {
    liquidity: "maker",
    tradeType: "limit",
    instructionType: "PlaceLimitOrder",
    orderSequence: order.sequence,
  });
  const value = lots * perLot(market, order.priceTicks);
  const price = priceUsd(market, order.priceTicks);
  eventNotification(world, tx, account, fill, "order_filled", {
    data: {
      symbol,
      maker: account.address,
      taker: world.house.address,
      orderSequenceNumber: order.sequence,
      tradeSequenceNumber: String(market.tradeSequence),
      makerFee: fill.fee.toString(),
      takerFee: feeOf(market, value, "taker").toString(),
      priceInTicks: String(order.priceTicks),
      price,
      side,
      baseLotsFilled: lots.toString(),
      quoteLotsFilled: value.toString(),
      quantityRemaining: order.remainingLots.toString(),
      orderbookSequenceNumber: String(market.orderSequence + market.tradeSequence),
    },
    details: { type: "orderFilled", symbol, side, baseLotsFilled: Number(lots), price },
  });
}

/** Replaces the triggers of a position. */
export function setTriggers(
  tx: Transaction,
  market: Market,
  account: Account,
  triggers: readonly Trigger[],
): void {
  const position = account.positions.get(market.spec.symbol);
  if (!position) return;
  position.triggers = triggers;
  const change = tx.touch(account);
  change.positions.add(market.spec.symbol);
  change.triggers.add(market.spec.symbol);
}

/**
 * A stop loss (below a long, above a short) or a take profit that closes the position at most 1 % beyond its trigger.
 */
export function triggerFor(kind: Trigger["kind"], baseLots: bigint, triggerTicks: number): Trigger {
  const side: Side = baseLots > 0n ? "ask" : "bid";
  const executionTicks = Math.max(1, Math.round(triggerTicks * (side === "ask" ? 0.99 : 1.01)));
  const prefix = kind === "stopLoss" ? "sl" : "tp";
  return { id: `${prefix}-${triggerTicks}`, kind, triggerTicks, executionTicks, side };
}

/** Executes triggers that the mark has crossed. */
export function fireTriggers(world: World, market: Market): void {
  const mark = market.markTicks;
  for (const account of [...market.holders]) {
    const position = account.positions.get(market.spec.symbol);
    if (!position || position.triggers.length === 0) continue;
    const hit = position.triggers.find((trigger) => {
      const falling = (trigger.kind === "stopLoss") === (trigger.side === "ask");
      return falling ? mark <= trigger.triggerTicks : mark >= trigger.triggerTicks;
    });
    if (!hit) continue;
    transact(world, (tx) => executeTrigger(world, tx, market, account, hit));
    sweep(world, account);
  }
}

function executeTrigger(
  world: World,
  tx: Transaction,
  market: Market,
  account: Account,
  trigger: Trigger,
): void {
  const { symbol } = market.spec;
  settleFunding(tx, market, account);
  const lots = -(account.positions.get(symbol)?.baseLots ?? 0n);
  const slipped = Math.round(market.markTicks * (lots < 0n ? 0.9995 : 1.0005));
  const price =
    lots < 0n
      ? Math.max(slipped, Math.min(trigger.executionTicks, market.markTicks))
      : Math.min(slipped, Math.max(trigger.executionTicks, market.markTicks));
  const fill = trade(world, tx, market, account, lots, price, {
    liquidity: "taker",
    tradeType: "market",
    instructionType: trigger.kind === "stopLoss" ? "ExecuteStopLoss" : "ExecuteTakeProfit",
  });
  const triggerType = trigger.kind === "stopLoss" ? "stop_loss" : "take_profit";
  const amounts = tradeAmounts(market, fill.baseLots, fill.quoteLots);
  eventNotification(world, tx, account, fill, "stop_loss_executed", {
    data: tradeData(market, account, trigger.side, fill.baseLots, fill.quoteLots, fill.fee),
    details: { type: "stopLossExecuted", symbol, side: trigger.side, ...amounts, triggerType },
  });
}

/** The `Trade` data of a notification, after its place. */
export function tradeData(
  market: Market,
  taker: Account,
  side: Side,
  baseLots: bigint,
  quoteLots: bigint,
  fee: bigint,
): Record<string, unknown> {
  return {
    symbol: market.spec.symbol,
    taker: taker.address,
    tradeSequenceNumber: String(market.tradeSequence),
    side,
    baseLotsFilled: abs(baseLots).toString(),
    quoteLotsFilled: abs(quoteLots).toString(),
    feeInQuoteLots: fee.toString(),
    ...tradeAmounts(market, baseLots, quoteLots),
    numFills: 1,
  };
}

export function tradeAmounts(market: Market, baseLots: bigint, quoteLots: bigint) {
  return {
    baseAmount: unitsFromBaseLots(abs(baseLots), market.spec),
    quoteAmount: Number(abs(quoteLots)) / 1e6,
  };
}

export function priceUsd(market: Market, ticks: number): number {
  return usdFromTicks(ticks, market.spec);
}
