/** The exchange and its markets: keys, status, configuration, snapshot. */
import { tokenAmount } from "../amount.ts";
import {
  decimalPlaces,
  flag,
  int,
  key,
  listOf,
  lots,
  maybe,
  num,
  type Output,
  orElse,
  record,
  type Schema,
  scalar,
  sequence,
  text,
  time,
  type Wire,
  word,
} from "../fields.ts";

export const MARKET_STATUSES = [
  "uninitialized",
  "active",
  "postOnly",
  "paused",
  "closed",
  "tombstoned",
] as const;
export const COMMODITY_STATUSES = ["active", "afterHours", "reopen"] as const;

/** The actions allowed at the exchange as a whole. */
export const exchangeStatus = record({
  /** Trading is on. */
  active: flag,
  /** Only admitted traders may trade; reads are not restricted. */
  gated: flag,
  withdrawalsAvailable: orElse(flag, true),
});
export type ExchangeStatus = Output<typeof exchangeStatus>;

/** The keys that may act on the exchange; an unset pending one is the all-ones system key. */
export const authoritySet = record({
  rootAuthority: key,
  riskAuthority: key,
  marketAuthority: key,
  oracleAuthority: key,
  adlAuthority: maybe(key),
  cancelAuthority: maybe(key),
  backstopAuthority: maybe(key),
});
export type AuthoritySet = Output<typeof authoritySet>;

const keyFields = {
  globalConfig: key,
  currentAuthorities: authoritySet,
  canonicalMint: key,
  globalVault: key,
  perpAssetMap: key,
  globalTraderIndex: listOf(key),
  activeTraderBuffer: listOf(key),
  withdrawQueue: key,
};

/** Fields that some servers spell in snake_case, parsed under either name. */
const SNAKE_KEYS = { global_trader_index: "globalTraderIndex", active_trader_buffer: "activeTraderBuffer" };

/** A schema that parses some fields under a second spelling too. The camelCase one wins. */
function spelled<S extends Schema>(
  schema: S,
  spellings: Readonly<Record<string, string>>,
): Schema<Output<S>, Wire<S>> {
  const inner = schema._zod;
  const outer = scalar<Output<S>, Wire<S>>("an object", () => undefined);
  // The inner schema, for code that traverses schemas (shape.ts).
  Object.assign(outer._zod.def, { spells: schema });
  outer._zod.parse = (payload, context) => {
    const value = payload.value;
    if (typeof value === "object" && value !== null) {
      const copy: Record<string, unknown> = { ...value };
      for (const [other, own] of Object.entries(spellings)) {
        if (copy[other] !== undefined && copy[own] === undefined) copy[own] = copy[other];
      }
      payload.value = copy;
    }
    return inner.run(payload, context) as ReturnType<typeof outer._zod.parse>;
  };
  outer._zod.run = outer._zod.parse;
  return outer;
}

/** Accounts of the exchange on the ledger. */
export const exchangeKeys = spelled(
  record({ ...keyFields, pendingAuthorities: authoritySet, programId: maybe(key) }),
  SNAKE_KEYS,
);
export type ExchangeKeys = Output<typeof exchangeKeys>;

/** One step of maximum leverage by position size. */
export const leverageTier = record({
  maxLeverage: num,
  /** Maximum position size of this tier. */
  maxSizeBaseLots: lots,
  /** Margin that resting orders reserve: percent in the market list, **bps in the exchange snapshot**. */
  limitOrderRiskFactor: num,
  limitOrderRiskFactorBps: maybe(int),
});
export type LeverageTier = Output<typeof leverageTier>;

/** Percent. The first three and cancelOrder are of initial margin; upnl is the share of a profit that counts. */
export const riskFactors = record({
  maintenance: num,
  backstop: num,
  highRisk: num,
  upnl: num,
  upnlForWithdrawals: num,
  cancelOrder: num,
  maintenanceBps: maybe(int),
  backstopBps: maybe(int),
  highRiskBps: maybe(int),
  upnlBps: maybe(int),
  upnlForWithdrawalsBps: maybe(int),
  cancelOrderBps: maybe(int),
});
export type RiskFactors = Output<typeof riskFactors>;

/** A band of prices: `min`/`max` over HTTP, `lower`/`upper` in snapshots and on the stream. */
const priceBand = record({
  min: maybe(tokenAmount),
  max: maybe(tokenAmount),
  lower: maybe(tokenAmount),
  upper: maybe(tokenAmount),
});

export const commodityMetadata = record({
  isCommodity: flag,
  isReopen: flag,
  isAfterHours: flag,
  status: text,
  afterHoursRadius: tokenAmount,
  lastKnownIndexPrice: maybe(tokenAmount),
  markPriceBand: maybe(priceBand),
  executionPriceBand: maybe(priceBand),
  lastIndexExpiryTimestamp: maybe(time),
});
export type CommodityMetadata = Output<typeof commodityMetadata>;

/** For display. */
export const marketMetadata = record({
  name: maybe(text),
  description: maybe(text),
  logoUri: maybe(text),
  coinGeckoId: maybe(text),
  coinMarketCapId: maybe(int),
  tokensXyzAssetId: maybe(text),
  displayColor: maybe(text),
  calendar: maybe(
    record({
      id: text,
      description: text,
      calendarUri: text,
      contentSha256: text,
      nextMarketTransitionUtc: maybe(time),
    }),
  ),
});
export type MarketMetadata = Output<typeof marketMetadata>;

const marketFields = {
  symbol: text,
  /** Number of the base asset; ADL and backstop notifications name markets by it. */
  assetId: int,
  marketStatus: word(MARKET_STATUSES),
  commodityMetadata: maybe(commodityMetadata),
  metadata: maybe(marketMetadata),
  marketPubkey: key,
  splinePubkey: key,
  /** Quote lots per base lot per tick. */
  tickSize: int,
  /** Base lots per unit = 10^this; may be negative. */
  baseLotsDecimals: decimalPlaces,
  /** Fraction of notional; a maker fee may be negative. */
  takerFee: num,
  makerFee: num,
  leverageTiers: listOf(leverageTier),
  riskFactors,
  openInterestCapBaseLots: lots,
  /** Maximum size of one liquidation. */
  maxLiquidationSizeBaseLots: lots,
  /** Cannot be held in subaccount 0. */
  isolatedOnly: flag,
};

/** A market as configured, with a small live sample. */
export const marketConfig = record({
  ...marketFields,
  commodityStatus: maybe(word(COMMODITY_STATUSES)),
  fundingIntervalSeconds: int,
  /** The period of a rate and its settlement. */
  fundingPeriodSeconds: int,
  /** In the exchange's internal unit. */
  maxFundingRatePerInterval: num,
  maxFundingRatePerIntervalPercentage: maybe(num),
  statsSnapshot: maybe(
    record({
      slot: int,
      slotIndex: int,
      openInterestBaseLots: lots,
      fundingStartIntervalTimestamp: time,
      cumulativeFundingRate: lots,
    }),
  ),
});
export type MarketConfig = Output<typeof marketConfig>;

/** Keys and markets. */
export const exchangeView = record({ keys: exchangeKeys, markets: listOf(marketConfig) });
export type ExchangeView = Output<typeof exchangeView>;

/** An asset that may be collateral. Native SOL has index 4294901760. */
export const collateralAsset = record({
  assetIndex: int,
  symbol: text,
  decimals: decimalPlaces,
  spot: maybe(
    record({
      isActive: flag,
      perpAssetIndex: maybe(int),
      /** Native units. */
      maxPerTraderBalance: lots,
      maxGlobalBalance: lots,
      currGlobalBalance: lots,
      minMarginDiscountBps: int,
      maxMarginDiscountBps: int,
      maxLiquidationDiscountBps: int,
      minLiquidationSlippageBps: int,
      maxLiquidationSize: lots,
    }),
  ),
});
export type CollateralAsset = Output<typeof collateralAsset>;

export const collateralAssets = record({ assets: listOf(collateralAsset) });
export type CollateralAssets = Output<typeof collateralAssets>;

export const markPriceParameters = record({
  emaPeriodSlots: lots,
  emaDiffRadius: lots,
  bookPriceRadius: lots,
  commoditiesAfterHoursRadius: lots,
  commoditiesAfterHoursRadiusBps: maybe(lots),
  adjustedExchangeSpotPriceWeight: lots,
  bookPriceWeight: lots,
  exchangePerpPriceWeight: lots,
  spotPriceStaleThreshold: lots,
  bookPriceStaleThreshold: lots,
  perpPriceStaleThreshold: lots,
  bookHardStaleMultiplier: maybe(num),
  oracleDivergenceRadius: num,
  oracleHardStaleMultiplier: maybe(num),
  minOracleResponses: num,
  riskActionPriceValidityRules: listOf(listOf(listOf(word(["ignore", "require", "forbid"])))),
});

/** A market in the snapshot: risk factor of limit orders in **bps**, funding in its own object. */
export const marketSnapshot = record({
  ...marketFields,
  fundingConfig: record({
    fundingIntervalSeconds: int,
    fundingPeriodSeconds: int,
    maxFundingRatePerInterval: num,
  }),
  markPriceParameters,
});
export type MarketSnapshot = Output<typeof marketSnapshot>;

export const exchangeState = spelled(
  record({
    ...keyFields,
    programId: key,
    usdcMint: key,
    /** Bit 7 initialized, bit 0 active, bit 1 gated. */
    exchangeStatusBits: int,
    exchangeStatusFeatures: listOf(text),
    active: flag,
    gated: flag,
    withdrawalsAvailable: orElse(flag, true),
  }),
  SNAKE_KEYS,
);
export type ExchangeState = Output<typeof exchangeState>;

/** The complete configuration; the sequence continues on the stream's `exchange` channel. */
export const exchangeSnapshot = record({
  version: int,
  sequenceNumber: maybe(sequence),
  slot: int,
  slotIndex: int,
  exchange: exchangeState,
  markets: listOf(marketSnapshot),
  spotCollaterals: listOf(collateralAsset),
});
export type ExchangeSnapshot = Output<typeof exchangeSnapshot>;
