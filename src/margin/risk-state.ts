/** The tier, the state and the ratios of an account's risk, from its sums. */
import type { Int, RiskState, RiskTier } from "./model.ts";

/** Ordered from the worst tier; the first one that applies is returned. */
export function riskTierOf(of: {
  readonly effectiveCollateralQuoteLots: Int;
  readonly initialMarginQuoteLots: Int;
  readonly cancelMarginQuoteLots: Int;
  readonly maintenanceMarginQuoteLots: Int;
  readonly backstopMarginQuoteLots: Int;
  readonly highRiskMarginQuoteLots: Int;
}): RiskTier {
  const effective = of.effectiveCollateralQuoteLots;
  if (effective < 0 || effective < of.highRiskMarginQuoteLots) return "highRisk";
  if (effective < of.backstopMarginQuoteLots) return "backstopLiquidatable";
  if (effective < of.maintenanceMarginQuoteLots) return "liquidatable";
  if (effective < of.cancelMarginQuoteLots) return "cancellable";
  if (effective < of.initialMarginQuoteLots) return "atRisk";
  return "safe";
}

export function riskStateOf(effectiveCollateral: Int, initialMargin: Int): RiskState {
  if (effectiveCollateral < 0) return "underwater";
  if (effectiveCollateral > 0) return effectiveCollateral >= initialMargin ? "healthy" : "unhealthy";
  return initialMargin > 0 ? "underwater" : "zeroCollateralNoPositions";
}

/** Maintenance margin / effective collateral and similar ratios: 0 if nothing is required, +∞ if no collateral is left. */
export function ratioOf(required: Int, effectiveCollateral: Int): number {
  if (!(required > 0)) return 0;
  return effectiveCollateral > 0 ? Number(required) / Number(effectiveCollateral) : Number.POSITIVE_INFINITY;
}
