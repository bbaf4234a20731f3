/** Random actions of traders: trades, limit orders and their cancellation, transfers. */

import { abs, max } from "../decimals.ts";
import { transact } from "../ledger/transaction.ts";
import { dropOrder, placeOrder } from "../markets/book.ts";
import type { Account, Market, World } from "../state.ts";
import { moveExternally, transfer } from "./collateral.ts";
import { setTriggers, triggerFor } from "./orders.ts";
import { totals } from "./risk.ts";
import { perLot, trade } from "./trade.ts";

/** Mean time between two actions of a trader, ms. */
const meanPauseMs = 1_200_000;
const usd = 1_000_000n;

export function traderActions(world: World, stepMs: number): void {
  for (const wallet of world.wallets.values()) {
    if (!wallet.acts || world.random() >= stepMs / meanPauseMs) continue;
    const account = wallet.accounts.get("0.0");
    if (account) actOnce(world, account);
  }
}

function actOnce(world: World, account: Account): void {
  const free = BigInt(totals(world, account).freeCollateralQuoteLots);
  const market = pick(
    world,
    [...world.markets.values()].filter((it) => !it.spec.isolatedOnly),
  );
  const roll = world.random();
  if (roll < 0.35) quote(world, account, market, free);
  else if (roll < 0.55) marketOrder(world, account, market, free);
  else if (roll < 0.75) cancelOldest(world, account);
  else if (roll < 0.85)
    transact(world, (tx) => moveExternally(world, tx, account, someUsd(world, 100, 2_000)));
  else if (roll < 0.95) withdraw(world, account);
  else moveToIsolated(world, account, free);
}

/** Places an order 0.2 to 2 % away from the mark, of at most a tenth of the free collateral. */
function quote(world: World, account: Account, market: Market, free: bigint): void {
  const lots = affordableLots(world, market, free / 10n);
  if (lots === 0n || account.orders.size >= 6) return;
  const side = world.random() < 0.5 ? "bid" : "ask";
  const away = 0.002 + 0.018 * world.random();
  const priceTicks = Math.max(1, Math.round(market.markTicks * (side === "bid" ? 1 - away : 1 + away)));
  transact(world, (tx) => placeOrder(tx, market, account, { side, priceTicks, lots }));
}

/** Reduces its position half of the time, otherwise increases it a little; then sets a stop loss. */
function marketOrder(world: World, account: Account, market: Market, free: bigint): void {
  const held = account.positions.get(market.spec.symbol)?.baseLots ?? 0n;
  let lots: bigint;
  if (held !== 0n && world.random() < 0.5) lots = -held / (world.random() < 0.3 ? 1n : 2n);
  else lots = affordableLots(world, market, free / 8n) * (world.random() < 0.5 ? 1n : -1n);
  if (lots === 0n) return;
  const ticks = market.markTicks;
  const price = Math.max(1, Math.round(ticks * (lots > 0n ? 1.0002 : 0.9998)));
  transact(world, (tx) => {
    trade(world, tx, market, account, lots, price, {
      liquidity: "taker",
      tradeType: "market",
      instructionType: "PlaceMarketOrder",
    });
    const now = account.positions.get(market.spec.symbol);
    if (now && now.triggers.length === 0) {
      const stop = Math.max(1, Math.round(ticks * (now.baseLots > 0n ? 0.94 : 1.06)));
      setTriggers(tx, market, account, [triggerFor("stopLoss", now.baseLots, stop)]);
    }
  });
}

function cancelOldest(world: World, account: Account): void {
  const [order] = account.orders;
  const market = order && world.markets.get(order.symbol);
  if (order && market) transact(world, (tx) => dropOrder(tx, market, order, "cancelled"));
}

/** Withdraws a part of what the stricter requirements of withdrawals leave free. */
function withdraw(world: World, account: Account): void {
  const sums = totals(world, account);
  const free =
    BigInt(sums.effectiveCollateralForWithdrawalsQuoteLots) -
    BigInt(sums.initialMarginForWithdrawalsQuoteLots);
  const amount = max(0n, free) / 10n;
  if (amount < usd || amount > account.collateral || !world.exchange.withdrawalsAvailable) return;
  transact(world, (tx) => moveExternally(world, tx, account, -amount));
}

/** Transfers money to an isolated subaccount with a position. */
function moveToIsolated(world: World, account: Account, free: bigint): void {
  const isolated = [...account.wallet.accounts.values()].find(
    (it) => it.subaccount > 0 && it.positions.size > 0,
  );
  const amount = someUsd(world, 20, 200);
  if (!isolated || amount > free / 4n) return;
  transact(world, (tx) => transfer(tx, account, isolated, amount));
}

/** Lots with an initial margin of about `margin`. */
function affordableLots(world: World, market: Market, margin: bigint): bigint {
  const leverage = BigInt(Math.max(1, Math.floor(market.spec.leverageTiers[0]!.maxLeverage / 4)));
  const share = BigInt(1 + Math.floor(world.random() * 100));
  return abs((max(0n, margin) * leverage * share) / 100n) / perLot(market, market.markTicks);
}

function someUsd(world: World, from: number, to: number): bigint {
  return BigInt(Math.round(from + (to - from) * world.random())) * usd;
}

function pick<T>(world: World, items: readonly T[]): T {
  return items[Math.floor(world.random() * items.length)] as T;
}
