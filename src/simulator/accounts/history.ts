/**
 * The state of an account at any time, the source of profit, equity and returns over time.
 *
 * An account changes only by transactions; a market's mark and funding index are recorded by the minute. The past is
 * kept as these changes, and a past figure is computed on request. All series, of any resolution, by account or by
 * market, use the same data and cannot disagree.
 */

import type { Account, Market, MarketMoment, World } from "../state.ts";
import type { AccountSample, AccountVersion } from "./position.ts";
import { spotMarket, spotNotional } from "./spot.ts";

/** Interval between two records of a market that moves by itself, ms. */
export const momentMs = 60_000;
const maxMoments = 60_000;
const maxVersions = 5_000;

/** Records the state of a market, unless it is unchanged. */
export function noteMoment(market: Market, atMs: number): void {
  const last = market.moments.at(-1);
  const { markTicks, fundingIndex } = market;
  if (last?.markTicks === markTicks && last.fundingIndex === fundingIndex) return;
  market.moments.push({ atMs, markTicks, fundingIndex });
  if (market.moments.length > maxMoments * 1.1) market.moments.splice(0, market.moments.length - maxMoments);
}

/**
 * Returns true if money and positions equal those of the version; accrued funding follows from the market's funding
 * index.
 */
function isUnchanged(version: AccountVersion | undefined, account: Account): boolean {
  if (version?.collateral !== account.collateral || version.netDeposits !== account.netDeposits) return false;
  if (version.spot !== account.spot) return false;
  if (version.positions.length !== account.positions.size) return false;
  return version.positions.every(({ symbol, baseLots, virtualQuoteLots, fundingIndex }) => {
    const it = account.positions.get(symbol);
    return (
      it?.baseLots === baseLots &&
      it.virtualQuoteLots === virtualQuoteLots &&
      it.fundingIndex === fundingIndex
    );
  });
}

/** Records the state of an account, unless it is unchanged. The past of the house is not needed. */
export function recordVersion(world: World, account: Account): void {
  if (account === world.house || isUnchanged(account.versions.at(-1), account)) return;
  account.versions.push({
    atMs: world.nowMs,
    collateral: account.collateral,
    spot: account.spot,
    netDeposits: account.netDeposits,
    positions: [...account.positions].map(([symbol, it]) => ({
      symbol,
      baseLots: it.baseLots,
      virtualQuoteLots: it.virtualQuoteLots,
      fundingIndex: it.fundingIndex,
    })),
    totals: new Map([...account.totals].map(([symbol, totals]) => [symbol, { ...totals }])),
  });
  if (account.versions.length > maxVersions * 1.1)
    account.versions.splice(0, account.versions.length - maxVersions);
}

/** Index of the last entry that is not later than a time; −1: all are later. */
export function lastNotAfter(entries: readonly { readonly atMs: number }[], ms: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle]!.atMs <= ms) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The state of a market at a time; the present one for other times than past ones. */
export function momentAt(world: World, market: Market, ms: number): MarketMoment {
  if (ms >= world.nowMs) return { atMs: ms, markTicks: market.markTicks, fundingIndex: market.fundingIndex };
  return market.moments[Math.max(0, lastNotAfter(market.moments, ms))]!;
}

/** The first time with a known state. */
export function firstKnownMs(world: World, account: Account): number {
  let from = account.versions[0]?.atMs ?? world.nowMs;
  for (const market of world.markets.values()) from = Math.max(from, market.moments[0]!.atMs);
  return from;
}

/** An account at a time (after all its changes at that time); undefined before it was opened. */
export function sampleAt(world: World, account: Account, ms: number): AccountSample | undefined {
  const version = account.versions[lastNotAfter(account.versions, ms)];
  return version && valueVersion(world, version, ms);
}

/** Quote lots; the past mark replaces the oracle price, which is not kept. */
function spotValueAt(world: World, spot: bigint | null, ms: number): bigint {
  const market = world.markets.get(spotMarket);
  return market && spot ? spotNotional(market, spot, momentAt(world, market, ms).markTicks) : 0n;
}

/** A version valued at the marks of a time. Accrued funding counts. */
export function valueVersion(world: World, version: AccountVersion, ms: number): AccountSample {
  let unrealizedPnl = 0n;
  let unsettledFunding = 0n;
  const positions = version.positions.map(({ symbol, baseLots, virtualQuoteLots, fundingIndex }) => {
    const market = world.markets.get(symbol)!;
    const moment = momentAt(world, market, ms);
    const unsettled = -(moment.fundingIndex - fundingIndex) * baseLots;
    unrealizedPnl += virtualQuoteLots + baseLots * BigInt(moment.markTicks) * market.tickSize;
    unsettledFunding += unsettled;
    const { markTicks } = moment;
    return { symbol, baseLots, virtualQuoteLots, unsettledFunding: unsettled, markTicks };
  });
  const { collateral, netDeposits, totals } = version;
  const portfolioValue = collateral + unrealizedPnl + unsettledFunding + spotValueAt(world, version.spot, ms);
  return {
    atMs: ms,
    collateral,
    netDeposits,
    portfolioValue,
    unrealizedPnl,
    unsettledFunding,
    positions,
    totals,
  };
}
