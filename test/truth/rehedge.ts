/** Trades that have the legs of a pair cancel out again. */
import { moveExternally } from "../../src/simulator/accounts/collateral.ts";
import { perLot } from "../../src/simulator/accounts/trade.ts";
import { transact } from "../../src/simulator/ledger/transaction.ts";
import type { Account, Market, World } from "../../src/simulator/state.ts";
import type { PairPlan } from "./deeds-hedges.ts";

/** Signed lots that the legs of a pair are together. */
export function nakedLots(world: World, { symbol, legs }: PairPlan): bigint {
  let lots = 0n;
  for (const { wallet, account } of legs)
    for (const one of [...world.wallets.values()].find(({ name }) => name === wallet)!.accounts.values())
      if (account === null || (account.pdaIndex === one.pdaIndex && account.subaccount === one.subaccount))
        lots += one.positions.get(symbol)?.baseLots ?? 0n;
  return lots;
}

/** Leverage above which nobody trades with what is left of a collateral. */
const maxLeverage = 5n;

/** Pays in what a trade would lack. */
export function fund(world: World, account: Account, market: Market, lots: bigint): void {
  const held = (account.positions.get(market.spec.symbol)?.baseLots ?? 0n) + lots;
  const needed = ((held < 0n ? -held : held) * perLot(market, market.markTicks)) / maxLeverage;
  if (account.collateral < needed)
    transact(world, (tx) => moveExternally(world, tx, account, needed - account.collateral));
}
