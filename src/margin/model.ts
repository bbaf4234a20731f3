/**
 * The input and output of the margin arithmetic.
 *
 * All amounts are integers in the exchange's own units: quote lots (10⁻⁶ USD), base lots, ticks, bps. An integer is an `Int`: a
 * JavaScript number while that is exact, a bigint beyond 2^53. Conversions to USD and to units of the asset are in `units.ts`.
 *
 * An account here is one subaccount: cross subaccount 0 with all its positions, or an isolated one. The inputs are the parts of
 * `domain/account.ts` that margin depends on, so that a `SubaccountState` and a `MarketConfig` can be passed directly.
 */

/** An integer: a safe number, or a bigint if a number cannot represent it. Results are numbers if possible. */
export type Int = number | bigint;

export type Side = "bid" | "ask";

/** The part of a market's configuration that margin depends on. Symbols are case-sensitive. */
export interface MarketRisk {
  readonly symbol: string;
  /** Quote lots per base lot per tick. */
  readonly tickSize: number;
  /** Base lots per unit = 10 to the power of this; may be negative. */
  readonly baseLotsDecimals: number;
  /** Ascending by `maxSizeBaseLots`. */
  readonly leverageTiers: readonly LeverageTier[];
  /** In bps. */
  readonly riskFactors: RiskFactors;
}

export interface LeverageTier {
  /** Upper bound, inclusive, of the sizes in this tier. */
  readonly maxSizeBaseLots: Int;
  readonly maxLeverage: number;
  /** Part of the incremental margin that resting orders reserve, in bps. */
  readonly limitOrderRiskFactorBps: number;
}

/** All in bps. The first four are shares of the initial margin; the `upnl` ones are the part of a profit that counts. */
export interface RiskFactors {
  readonly maintenance: number;
  readonly cancelOrder: number;
  readonly backstop: number;
  readonly highRisk: number;
  readonly upnl: number;
  readonly upnlForWithdrawals: number;
}

export interface PositionRisk {
  readonly symbol: string;
  /** Signed: negative is short. */
  readonly baseLots: Int;
  /** The quote side, of the opposite sign: negative for a long. */
  readonly virtualQuoteLots: Int;
  /** Positive: will be received. */
  readonly unsettledFundingQuoteLots: Int;
}

/** A resting order. A resting stop loss counts like any other order. */
export interface OrderRisk {
  readonly symbol: string;
  readonly side: Side;
  readonly priceTicks: Int;
  readonly remainingLots: Int;
  readonly reduceOnly: boolean;
  /** Only `active` orders count. Absent: active. */
  readonly status?: string | undefined;
}

/** Priced spot collateral: see `spot.ts`. */
export interface SpotRisk {
  readonly notionalQuoteLots: Int;
  readonly discountedQuoteLots: Int;
  /**
   * The market that prices this asset. A move of that market's mark also changes the collateral in the liquidation price, as in
   * the exchange's estimate. Absent: the collateral stays unchanged.
   */
  readonly repricing?: SpotRepricing | undefined;
}

export interface SpotRepricing {
  readonly symbol: string;
  /** Native units of the asset. */
  readonly balance: Int;
  /** Native units per base lot of the pricing market. */
  readonly unitsPerLot: Int;
  readonly retainedBps: number;
}

export interface AccountRisk {
  readonly collateralQuoteLots: Int;
  readonly positions: readonly PositionRisk[];
  readonly orders: readonly OrderRisk[];
  readonly spot?: readonly SpotRisk[] | undefined;
}

export type Markets = ReadonlyMap<string, MarketRisk>;

/** Mark prices in whole ticks, by symbol. */
export type MarkTicks = ReadonlyMap<string, number>;

/** `safe` is best, `highRisk` worst. */
export const riskTiers = [
  "safe",
  "atRisk",
  "cancellable",
  "liquidatable",
  "backstopLiquidatable",
  "highRisk",
] as const;
export type RiskTier = (typeof riskTiers)[number];

export type RiskState = "healthy" | "unhealthy" | "underwater" | "zeroCollateralNoPositions";

/** Requirements of one market or of the whole account, in quote lots. */
export interface Requirements<N = Int> {
  readonly initialMarginQuoteLots: N;
  /** Without the discount on resting orders. */
  readonly initialMarginForWithdrawalsQuoteLots: N;
  readonly cancelMarginQuoteLots: N;
  readonly maintenanceMarginQuoteLots: N;
  readonly backstopMarginQuoteLots: N;
  readonly highRiskMarginQuoteLots: N;
}

/** The contribution of one market: its position and its resting orders. */
export interface MarketFigures<N = Int> extends Requirements<N> {
  /** Signed like the position. */
  readonly positionValueQuoteLots: N;
  readonly unrealizedQuoteLots: N;
  readonly discountedQuoteLots: N;
  readonly discountedForWithdrawalsQuoteLots: N;
  /** The margin of the position alone. */
  readonly positionInitialMarginQuoteLots: N;
  /** Added by resting orders. */
  readonly limitOrderMarginQuoteLots: N;
}

/** Sums over the account, in quote lots. */
export interface AccountFigures<N = Int> extends Requirements<N> {
  readonly effectiveCollateralQuoteLots: N;
  readonly effectiveCollateralForWithdrawalsQuoteLots: N;
  readonly portfolioValueQuoteLots: N;
  readonly unrealizedQuoteLots: N;
  readonly discountedQuoteLots: N;
  readonly limitOrderMarginQuoteLots: N;
  /** Effective collateral above the initial margin, never below 0. */
  readonly freeCollateralQuoteLots: N;
  /** Sum of the absolute position values. */
  readonly grossNotionalQuoteLots: N;
  /** Sum of the signed position values. */
  readonly netNotionalQuoteLots: N;
}

/** The account's sums, and the ratios and tier derived from them. */
export interface AccountTotals extends AccountFigures {
  readonly riskState: RiskState;
  readonly riskTier: RiskTier;
  /** Maintenance margin / effective collateral: 0 no risk, 1 liquidation begins, +∞ no collateral. */
  readonly marginRatio: number;
  /** Initial margin / effective collateral; above 1 the account is at risk. */
  readonly initialRatio: number;
  /** Gross notional / effective collateral; +∞ if there are positions and no collateral. */
  readonly leverage: number;
}

export type Liquidation =
  /** `distance` is |mark − price| / mark; 0 if the account is liquidatable now. */
  | { readonly kind: "price"; readonly ticks: number; readonly usd: number; readonly distance: number }
  /** No mark of this market liquidates the account, or there is no position in it. */
  | { readonly kind: "none" }
  /** A mark or a market that the result depends on is not known. */
  | { readonly kind: "unknown" };

/** One market of an account with a position or resting orders. */
export interface MarketAssessment {
  readonly symbol: string;
  /** The position's, signed; 0 if there are only orders. */
  readonly baseLots: Int;
  readonly unsettledFundingQuoteLots: Int;
  /** |virtual quote| / |size|; undefined without a position or without the market's configuration. */
  readonly entryPriceUsd: number | undefined;
  readonly markTicks: number | undefined;
  /** Undefined: market or mark is unknown. */
  readonly figures: MarketFigures | undefined;
  readonly liquidation: Liquidation;
}

/** The reason why something could not be computed. */
export interface UnknownInput {
  /** Empty for an amount of the account itself. */
  readonly symbol: string;
  /** `badMarket`: margin cannot be computed from its configuration. */
  readonly reason: "noMarket" | "badMarket" | "noMark" | "notAnInteger";
}

export interface Assessment {
  readonly collateralQuoteLots: Int;
  readonly unsettledFundingQuoteLots: Int;
  /** In the order of the account's positions, then markets with orders only. */
  readonly markets: readonly MarketAssessment[];
  /** Undefined if any market of the account is unknown: a sum without it would be wrong. */
  readonly totals: AccountTotals | undefined;
  readonly unknown: readonly UnknownInput[];
}
