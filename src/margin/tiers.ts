/**
 * Leverage and order factor by size: steps joined by straight lines.
 *
 * The interpolation is in doubles, as in the exchange's own calculator, which truncates: a line through an integer can give
 * one less than it. An exact fraction would differ there.
 */

import type { Int, LeverageTier } from "./model.ts";

/** Leverage allowed at a size in base lots: at least 1, and 1 above the last tier. */
export function leverageAt(tiers: readonly LeverageTier[], sizeBaseLots: Int): number {
  const i = tierOf(tiers, sizeBaseLots);
  if (i === tiers.length) return 1;
  const tier = tiers[i]!;
  if (i === 0) return Math.max(1, Math.trunc(tier.maxLeverage));
  const below = tiers[i - 1]!;
  return Math.max(1, between(below, below.maxLeverage, tier, tier.maxLeverage, sizeBaseLots));
}

/** Part of the incremental margin that orders reserve at a size in base lots, in bps; all above the last tier. */
export function limitOrderFactorAt(tiers: readonly LeverageTier[], sizeBaseLots: Int): number {
  const i = tierOf(tiers, sizeBaseLots);
  if (i === tiers.length) return 10_000;
  const tier = tiers[i]!;
  if (i === 0) return Math.trunc(tier.limitOrderRiskFactorBps);
  const below = tiers[i - 1]!;
  return between(below, below.limitOrderRiskFactorBps, tier, tier.limitOrderRiskFactorBps, sizeBaseLots);
}

function tierOf(tiers: readonly LeverageTier[], size: Int): number {
  let i = 0;
  while (i < tiers.length && size > tiers[i]!.maxSizeBaseLots) i += 1;
  return i;
}

function between(low: LeverageTier, lowY: number, high: LeverageTier, highY: number, size: Int): number {
  const from = Number(low.maxSizeBaseLots);
  const range = Number(high.maxSizeBaseLots) - from;
  if (range <= 0 || lowY === highY) return Math.trunc(lowY);
  const share = Math.min(Math.max((Number(size) - from) / range, 0), 1);
  return Math.trunc(lowY + share * (highY - lowY));
}
