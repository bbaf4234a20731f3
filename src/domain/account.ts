/**
 * The state of a wallet's trader accounts and of the markets, in perpwatch's own terms. Exact integers stay exact:
 * lots, quote lots (micro-dollars) and ticks are bigints; `…Usd` and `…Units` are doubles for ratios and display.
 */

export interface Capability {
  readonly immediate: boolean;
  readonly viaColdActivation: boolean;
}

/** `uninitialized cold active reduceOnly frozen`; open on the wire, so a string. */
export type TraderLifecycle = string;

export interface TriggerState {
  readonly kind: "stopLoss" | "takeProfit";
  readonly id: string;
  readonly triggerPriceTicks: bigint;
  readonly executionPriceTicks: bigint;
  /** Side of the closing order: `bid` closes a short. */
  readonly side: "bid" | "ask";
  /** Largest size it closes in base lots; null: the whole position. */
  readonly maxSizeLots: bigint | null;
  /** Percent of the position it closes (0–100) when the exchange expresses it so; else null. */
  readonly percent: number | null;
  readonly status: string;
}

export interface PositionState {
  readonly symbol: string;
  /** Signed: negative is short. Never 0 in a position that is listed. */
  readonly baseLots: bigint;
  /** Quote side in quote lots, opposite in sign to `baseLots`. */
  readonly virtualQuoteLots: bigint;
  /** Positive: will be received. */
  readonly unsettledFundingQuoteLots: bigint;
  readonly accumulatedFundingQuoteLots: bigint;
  /** Changes when a position is closed and opened again. */
  readonly sequence: string;
  readonly triggers: readonly TriggerState[];
}

export interface OrderState {
  readonly symbol: string;
  readonly sequence: string;
  readonly side: "bid" | "ask";
  readonly kind: string;
  readonly priceTicks: bigint;
  readonly remainingLots: bigint;
  readonly initialLots: bigint;
  readonly reduceOnly: boolean;
  readonly stopLoss: boolean;
  /** Only `active` orders count for margin. */
  readonly status: string;
}

/** The key that distinguishes orders of one wallet. */
export function orderName(symbol: string, sequence: string, side: string): string {
  return `${symbol.toUpperCase()}:${sequence}:${side}`;
}

export interface SpotCollateralState {
  readonly assetIndex: number;
  readonly symbol: string;
  readonly balance: bigint;
  readonly decimals: number;
}

export interface SubaccountState {
  readonly subaccount: number;
  /** The exchange's watermark of this subaccount: an answer with a lower one is older. */
  readonly sequence: number;
  readonly collateralQuoteLots: bigint;
  readonly spotCollaterals: readonly SpotCollateralState[];
  readonly lifecycle: TraderLifecycle;
  readonly capabilities: Readonly<Record<string, Capability>>;
  readonly positions: readonly PositionState[];
  readonly orders: readonly OrderState[];
}

export interface LeverageTier {
  readonly maxLeverage: number;
  readonly maxSizeBaseLots: bigint;
  readonly limitOrderRiskFactorBps: number;
}

/** Market configuration: the margin parameters, and settings whose changes are reported. */
export interface MarketConfig {
  readonly symbol: string;
  readonly assetId: number;
  readonly status: string;
  /** Quote lots per base lot per tick. */
  readonly tickSize: number;
  /** One base unit is 10^this base lots; may be negative. */
  readonly baseLotsDecimals: number;
  readonly takerFee: number;
  readonly makerFee: number;
  readonly leverageTiers: readonly LeverageTier[];
  /** All in bps. */
  readonly riskFactors: {
    readonly maintenance: number;
    readonly backstop: number;
    readonly highRisk: number;
    readonly upnl: number;
    readonly upnlForWithdrawals: number;
    readonly cancelOrder: number;
  };
  readonly fundingIntervalSeconds: number;
  readonly openInterestCapBaseLots: bigint;
  readonly isolatedOnly: boolean;
  /** Largest size that one liquidation takes; null: not known. */
  readonly maxLiquidationSizeBaseLots: bigint | null;
  /** The maximum cost of a funding interval, in percent of the notional; null: not stated. */
  readonly maxFundingRatePercent: number | null;
  /** `active`, `afterHours`, `reopen`, open on the wire; null: no commodity. */
  readonly commodityStatus: string | null;
}

/** An asset that may be deposited as collateral beside the quote token, and how it counts. */
export interface CollateralAsset {
  readonly assetIndex: number;
  readonly symbol: string;
  /** One unit is 10^this native units. */
  readonly decimals: number;
  /** `assetId` of the market whose index price values it; null: it does not count as collateral. */
  readonly perpAssetId: number | null;
  /** Native units. */
  readonly maxGlobalBalance: bigint;
  readonly minMarginDiscountBps: number;
  readonly maxMarginDiscountBps: number;
}

/** Live figures of one market. Rates are fractions an hour. */
export interface MarketPrices {
  readonly symbol: string;
  /** The exchange's own time of these figures, ms. */
  readonly exchangeMs: number;
  readonly markPriceUsd: number;
  readonly oraclePriceUsd: number;
  readonly openInterestUnits: number;
  readonly dayVolumeUsd: number;
  readonly prevDayMarkPriceUsd: number;
  /**
   * The rate of the running hour as stated: a fraction or a percentage an hour, which the watch decides
   * (`state/markets/funding-unit.ts`).
   */
  readonly statedFundingRate: number;
}

/** The exchange's own risk figures of one subaccount: only compared with ours. */
export interface TraderViewState {
  readonly pdaIndex: number;
  readonly subaccount: number;
  readonly slot: number;
  readonly effectiveCollateralUsd: number;
  readonly portfolioValueUsd: number;
  readonly initialMarginUsd: number;
  readonly maintenanceMarginUsd: number;
  /** Collateral in other assets at the index price, in full and as it counts; null where there is none. */
  readonly spotNotionalUsd: number | null;
  readonly spotDiscountedUsd: number | null;
  readonly riskState: string;
  readonly riskTier: string;
  /** 0 when there is none. */
  readonly positions: readonly {
    readonly symbol: string;
    readonly sizeUnits: number;
    readonly markPriceUsd: number;
    readonly liquidationPriceUsd: number;
  }[];
}
