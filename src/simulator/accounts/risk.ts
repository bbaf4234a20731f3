/** Converts an account for the margin arithmetic. */
import { assessAccount } from "../../margin/assess.ts";
import type { AccountRisk, AccountTotals, Assessment, PositionRisk } from "../../margin/model.ts";
import type { Account, World } from "../state.ts";
import { spotRisk } from "./spot.ts";
import { unsettledFunding } from "./trade.ts";

export function riskOfAccount(world: World, account: Account): AccountRisk {
  const positions: PositionRisk[] = [];
  for (const [symbol, position] of account.positions) {
    const market = world.markets.get(symbol);
    if (!market) continue;
    positions.push({
      symbol,
      baseLots: position.baseLots,
      virtualQuoteLots: position.virtualQuoteLots,
      unsettledFundingQuoteLots: unsettledFunding(market, position),
    });
  }
  const spot = spotRisk(world, account);
  return {
    collateralQuoteLots: account.collateral,
    positions,
    orders: [...account.orders],
    ...(spot ? { spot: [spot] } : {}),
  };
}

export function assess(world: World, account: Account, liquidation: boolean): Assessment {
  return assessAccount(riskOfAccount(world, account), world.risks, world.marks, { liquidation });
}

/** Sums of an account. Every market is known, so they always exist. */
export function totals(world: World, account: Account): AccountTotals {
  const sums = assess(world, account, false).totals;
  if (!sums) throw new Error(`no margin figures for ${account.address}`);
  return sums;
}
