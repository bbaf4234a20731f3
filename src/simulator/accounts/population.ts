/** The first traders of a world: `main`, who is always the same, and others that depend on the seed. */

import { transact } from "../ledger/transaction.ts";
import { placeOrder } from "../markets/book.ts";
import type { Account, Wallet, World } from "../state.ts";
import { openAccount } from "../world.ts";
import { moveExternally, transfer } from "./collateral.ts";
import { setTriggers, triggerFor } from "./orders.ts";
import { perLot, trade } from "./trade.ts";

const usd = 1_000_000n;

/** Names in order: main, trader-2, trader-3, … */
export function traderName(index: number): string {
  return index === 0 ? "main" : `trader-${index + 1}`;
}

/** Gives a new wallet its money, positions, orders and stop losses. */
export function populate(world: World, wallet: Wallet, index: number): void {
  if (index === 0) populateMain(world, wallet);
  else settleBySeed(world, wallet, index);
}

/** A long, a hedging short with a stop loss, two orders; gold in an isolated subaccount. No position is in danger. */
function populateMain(world: World, wallet: Wallet): void {
  const cross = openAccount(world, wallet, 0, 0);
  deposit(world, cross, 12_000n * usd);
  open(world, cross, "BTC", 2_500n);
  open(world, cross, "SOL", -9_000n, 1.12);
  rest(world, cross, "ETH", "bid", 0.93, 1_500n, false);
  rest(world, cross, "SOL", "bid", 0.85, 9_000n, true);
  isolate(world, wallet, 4_000n, 4_000n * usd);
}

function settleBySeed(world: World, wallet: Wallet, index: number): void {
  const { random } = world;
  const cross = openAccount(world, wallet, 0, 0);
  const dollars = Math.round(3_000 + 40_000 * random() * random());
  deposit(world, cross, BigInt(dollars) * usd);
  const symbols = ["BTC", "SOL", "ETH"].filter(() => random() < 0.6);
  for (const symbol of symbols.length > 0 ? symbols : ["SOL"]) {
    const market = world.markets.get(symbol)!;
    // In total at most four times the deposit.
    const notional = (dollars * (0.3 + 3.7 * random())) / 3;
    const lots = BigInt(Math.max(1, Math.round((notional * 1e6) / Number(perLot(market, market.markTicks)))));
    const long = random() < 0.5;
    open(world, cross, symbol, long ? lots : -lots, random() < 0.5 ? (long ? 0.92 : 1.08) : undefined);
    if (random() < 0.5)
      rest(world, cross, symbol, long ? "bid" : "ask", long ? 0.985 : 1.015, lots / 4n, false);
  }
  if (index % 3 === 0) isolate(world, wallet, 1_000n + BigInt(index % 7) * 250n, 1_500n * usd);
}

function deposit(world: World, account: Account, amount: bigint): void {
  transact(world, (tx) => moveExternally(world, tx, account, amount));
}

/** @param stop stop loss as a factor of the mark */
function open(world: World, account: Account, symbol: string, lots: bigint, stop?: number): void {
  const market = world.markets.get(symbol)!;
  transact(world, (tx) => {
    trade(world, tx, market, account, lots, market.markTicks, {
      liquidity: "taker",
      tradeType: "market",
      instructionType: "PlaceMarketOrder",
    });
    if (stop === undefined) return;
    const trigger = triggerFor("stopLoss", lots, Math.round(market.markTicks * stop));
    setTriggers(tx, market, account, [trigger]);
  });
}

function rest(
  world: World,
  account: Account,
  symbol: string,
  side: "bid" | "ask",
  factor: number,
  lots: bigint,
  reduceOnly: boolean,
): void {
  const market = world.markets.get(symbol)!;
  if (lots <= 0n) return;
  const priceTicks = Math.round(market.markTicks * factor);
  transact(world, (tx) => placeOrder(tx, market, account, { side, priceTicks, lots, reduceOnly }));
}

/** Gold in subaccount 1, with money transferred from the cross account. */
function isolate(world: World, wallet: Wallet, lots: bigint, amount: bigint): void {
  const cross = openAccount(world, wallet, 0, 0);
  const isolated = openAccount(world, wallet, 0, 1);
  transact(world, (tx) => transfer(tx, cross, isolated, amount));
  open(world, isolated, "GOLD", lots, 0.93);
}
