/**
 * `perpwatch/margin`: margin, risk and liquidation prices of an account, and of the account as it would be. Pure arithmetic: no
 * clock, no I/O. docs/library.md has the example.
 *
 * Amounts are integers of the exchange: quote lots (10⁻⁶ USD), base lots, ticks, bps. The conversions are here as well.
 */
import type { Int, MarketRisk, PositionRisk } from "../margin/model.ts";
import { baseLotsFromUnits, quoteLotsFromUsd } from "../margin/units.ts";

export { type AssessOptions, assessAccount } from "../margin/assess.ts";
export { adverseMarks, type Reduction, withDeposit, withReduction } from "../margin/hypothetical.ts";
export {
  type AccountFigures,
  type AccountRisk,
  type AccountTotals,
  type Assessment,
  type Int,
  type LeverageTier,
  type Liquidation,
  type MarketAssessment,
  type MarketFigures,
  type MarketRisk,
  type Markets,
  type MarkTicks,
  type OrderRisk,
  type PositionRisk,
  type Requirements,
  type RiskFactors,
  type RiskState,
  type RiskTier,
  riskTiers,
  type Side,
  type SpotRepricing,
  type SpotRisk,
  type UnknownInput,
} from "../margin/model.ts";
export { type Moves, movesToLiquidation } from "../margin/moves.ts";
export { priceSpot, type SpotAsset } from "../margin/spot.ts";
export {
  baseLotsFromUnits,
  entryPriceUsd,
  quoteLotsFromUsd,
  ticksFromUsd,
  unitsFromBaseLots,
  usdFromQuoteLots,
  usdFromTicks,
} from "../margin/units.ts";

/** A position in human numbers. */
export interface HumanPosition {
  /** Units of the asset; negative is short. */
  readonly size: number;
  readonly entryPriceUsd: number;
  /** Positive will be received. Default 0. */
  readonly unsettledFundingUsd?: number;
}

/** A position in the exchange's integers, each rounded to the nearest. */
export function positionOf(
  market: Pick<MarketRisk, "symbol" | "baseLotsDecimals">,
  { size, entryPriceUsd, unsettledFundingUsd = 0 }: HumanPosition,
): PositionRisk {
  const virtualQuoteLots: Int = -quoteLotsFromUsd(size * entryPriceUsd);
  return {
    symbol: market.symbol,
    baseLots: baseLotsFromUnits(size, market),
    virtualQuoteLots,
    unsettledFundingQuoteLots: quoteLotsFromUsd(unsettledFundingUsd),
  };
}
