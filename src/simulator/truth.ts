/** The ground truth for tests: the real state, with the exchange's own figures of risk. */

import { assess } from "./accounts/risk.ts";
import { spotDecimals } from "./accounts/spot.ts";
import { unsettledFunding } from "./accounts/trade.ts";
import { abs, scaledRound, writeDecimal } from "./decimals.ts";
import { notificationItem } from "./server/answers/notifications.ts";
import { ticksText } from "./server/answers/trader.ts";
import type { Account, World } from "./state.ts";
import { present } from "./world.ts";

export function accountTruth(world: World, account: Account) {
  const it = assess(world, account, true);
  const usd = (value: bigint | number) => writeDecimal(BigInt(value), 6);
  return {
    wallet: account.wallet.name,
    authority: account.wallet.authority,
    traderPda: account.address,
    pdaIndex: account.pdaIndex,
    subaccountIndex: account.subaccount,
    sequence: account.sequence,
    collateral: usd(account.collateral),
    netDeposits: usd(account.netDeposits),
    spotCollateral: writeDecimal(account.spot ?? 0n, spotDecimals),
    riskTier: it.totals?.riskTier ?? null,
    effectiveCollateral: usd(it.totals?.effectiveCollateralQuoteLots ?? 0),
    maintenanceMargin: usd(it.totals?.maintenanceMarginQuoteLots ?? 0),
    portfolioValue: usd(it.totals?.portfolioValueQuoteLots ?? 0),
    positions: [...account.positions].map(([symbol, position]) => {
      const market = world.markets.get(symbol)!;
      const leg = it.markets.find((one) => one.symbol === symbol);
      const { baseLotsDecimals } = market.spec;
      const entry = scaledRound(abs(position.virtualQuoteLots), baseLotsDecimals, abs(position.baseLots));
      return {
        symbol,
        size: writeDecimal(position.baseLots, market.spec.baseLotsDecimals),
        entryPrice: usd(entry),
        unsettledFunding: usd(unsettledFunding(market, position)),
        liquidationPrice: leg?.liquidation.kind === "price" ? ticksText(market, leg.liquidation.ticks) : null,
        triggers: position.triggers.map((trigger) => ({
          kind: trigger.kind,
          price: ticksText(market, trigger.triggerTicks),
        })),
      };
    }),
    orders: [...account.orders].map((order) => {
      const market = world.markets.get(order.symbol)!;
      return {
        symbol: order.symbol,
        sequence: order.sequence,
        side: order.side,
        price: ticksText(market, order.priceTicks),
        size: writeDecimal(order.remainingLots, market.spec.baseLotsDecimals),
        reduceOnly: order.reduceOnly,
      };
    }),
  };
}

/** @param authority only this wallet; undefined: all */
export function truth(world: World, authority: string | undefined) {
  const wallets = [...world.wallets.values()].filter((it) => !authority || it.authority === authority);
  return {
    nowMs: world.nowMs,
    ...present(world),
    seed: world.seed,
    exchange: world.exchange,
    externalFlows: writeDecimal(world.externalFlows, 6),
    markets: [...world.markets.values()].map((market) => ({
      symbol: market.spec.symbol,
      markPrice: ticksText(market, market.markTicks),
      oraclePrice: ticksText(market, market.oracleTicks),
      held: market.held,
    })),
    traders: wallets.map((it) => ({ name: it.name, authority: it.authority })),
    accounts: wallets.flatMap((it) => [...it.accounts.values()].map((one) => accountTruth(world, one))),
    notifications: wallets.flatMap((it) =>
      it.notifications.all().map((one) => ({
        wallet: it.name,
        authority: it.authority,
        traderPda: one.account?.address ?? null,
        ackedMs: one.ackedMs,
        ...notificationItem(one),
      })),
    ),
  };
}
