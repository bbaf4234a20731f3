/** Figures of accounts at regular moments, from which portfolio values and profit are told over time. */
import type { Account, AccountSample, World } from "./state.ts";
import { perLot, unsettledFunding } from "./trade.ts";

/** Between two samples. */
export const sampleMs = 900_000;
const mostSamples = 3_000;

/** An account at the world's present. Funding counts when it is accrued. */
export function sampleOf(world: World, account: Account): AccountSample {
  let unrealizedPnl = 0n;
  let unsettled = 0n;
  const positions: AccountSample["positions"][number][] = [];
  for (const [symbol, position] of account.positions) {
    const market = world.markets.get(symbol);
    if (!market) continue;
    const value = position.baseLots * perLot(market, market.markTicks);
    unrealizedPnl += position.virtualQuoteLots + value;
    unsettled += unsettledFunding(market, position);
    positions.push({
      symbol,
      baseLots: position.baseLots,
      virtualQuoteLots: position.virtualQuoteLots,
      unsettledFunding: unsettledFunding(market, position),
      markTicks: market.markTicks,
    });
  }
  return {
    atMs: world.nowMs,
    portfolioValue: account.collateral + unrealizedPnl + unsettled,
    unrealizedPnl,
    unsettledFunding: unsettled,
    positions,
    totals: new Map([...account.totals].map(([symbol, totals]) => [symbol, { ...totals }])),
  };
}

export function keepSample(world: World, account: Account): void {
  if (account === world.house) return;
  account.samples.push(sampleOf(world, account));
  if (account.samples.length > mostSamples * 1.1)
    account.samples.splice(0, account.samples.length - mostSamples);
}
