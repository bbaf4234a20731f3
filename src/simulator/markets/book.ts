/** Resting orders: put on the book, taken off it. */

import type { Side } from "../accounts/position.ts";
import { noteHolder, type Transaction } from "../ledger/transaction.ts";
import type { Account, Market, Order } from "../state.ts";
import { slotAt } from "../time.ts";

export interface OrderTerms {
  readonly side: Side;
  readonly priceTicks: number;
  readonly lots: bigint;
  readonly reduceOnly?: boolean;
  /** Age of the order before it entered the history of orders, ms. */
  readonly restedMs?: number;
}

const sequenceTop = 2n ** 64n - 1n;

export function placeOrder(tx: Transaction, market: Market, account: Account, terms: OrderTerms): Order {
  market.orderSequence += 1;
  const number = BigInt(market.orderSequence);
  const place = tx.next();
  const { restedMs = 0 } = terms;
  const placedMs = tx.atMs - restedMs;
  const order: Order = {
    account,
    symbol: market.spec.symbol,
    sequence: (terms.side === "bid" ? sequenceTop - number : number).toString(),
    side: terms.side,
    priceTicks: terms.priceTicks,
    initialLots: terms.lots,
    remainingLots: terms.lots,
    filledLots: 0n,
    reduceOnly: terms.reduceOnly ?? false,
    status: "active",
    place: restedMs === 0 ? place : { ...place, slot: slotAt(placedMs), atMs: placedMs },
    completedMs: null,
  };
  account.orders.add(order);
  market.orders.add(order);
  market.bookSequence += 1;
  account.wallet.orders.push(order);
  account.wallet.sent.push(order);
  noteHolder(market, account);
  tx.touch(account).orders.set(order, place);
  return order;
}

/** Removes an order from the book. */
export function dropOrder(
  tx: Transaction,
  market: Market,
  order: Order,
  status: "filled" | "cancelled",
): void {
  order.status = status;
  order.completedMs = tx.atMs;
  order.account.orders.delete(order);
  market.orders.delete(order);
  market.bookSequence += 1;
  noteHolder(market, order.account);
  tx.touch(order.account).orders.set(order, tx.next());
}
