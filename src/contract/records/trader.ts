/**
 * A trader account in two forms: the **view** of one subaccount with the exchange's risk figures, and the **state** of
 * all subaccounts of (authority, PDA index) without them. The stream sends the state, and polls read it.
 */
import { tokenAmount } from "../amount.ts";
import {
  accountIndex,
  dec,
  decimalPlaces,
  flag,
  int,
  key,
  listOf,
  lots,
  lowerWord,
  mapOf,
  maybe,
  num,
  type Output,
  orElse,
  record,
  sequence,
  side,
  slot,
  text,
  time,
  uniqueListOf,
  word,
} from "../fields.ts";

export const TRADER_STATES = ["uninitialized", "cold", "active", "reduceOnly", "frozen"] as const;
export const RISK_STATES = ["healthy", "unhealthy", "underwater", "zeroCollateralNoPositions"] as const;
/** Lowest risk first. */
export const RISK_TIERS = [
  "safe",
  "atRisk",
  "cancellable",
  "liquidatable",
  "backstopLiquidatable",
  "highRisk",
] as const;
export const TRADE_TYPES = ["limit", "market", "liquidation", "adl"] as const;

const capability = record({
  immediate: flag,
  /** Allowed after the account is activated; such an action activates it. */
  viaColdActivation: orElse(flag, false),
});

export const traderCapabilities = record({
  placeLimitOrder: capability,
  placeMarketOrder: capability,
  riskIncreasingTrade: capability,
  riskReducingTrade: capability,
  depositCollateral: capability,
  withdrawCollateral: capability,
});
export type TraderCapabilities = Output<typeof traderCapabilities>;

/** Descriptions of the capabilities. */
export const traderCapabilitiesMetadata = record({
  capabilities: listOf(
    record({ key: text, displayName: text, description: text, deprecated: orElse(flag, false) }),
  ),
});
export type TraderCapabilitiesMetadata = Output<typeof traderCapabilitiesMetadata>;

/** A position with the exchange's figures. Amounts are USD with 6 decimals; positive funding was received. */
export const position = record({
  symbol: text,
  /** Base units with the market's decimals; negative is short. */
  positionSize: tokenAmount,
  /** Opposite sign to the size. */
  virtualQuotePosition: tokenAmount,
  entryPrice: tokenAmount,
  unrealizedPnl: tokenAmount,
  discountedUnrealizedPnl: maybe(tokenAmount),
  /** The position alone. */
  positionInitialMargin: tokenAmount,
  /** Added by resting orders. */
  limitOrderMargin: tokenAmount,
  /** The margin of this market, orders included. */
  initialMargin: tokenAmount,
  maintenanceMargin: tokenAmount,
  backstopMargin: tokenAmount,
  /** Notional at mark; the sign for shorts is not defined: use the absolute value. */
  positionValue: tokenAmount,
  unsettledFunding: tokenAmount,
  accumulatedFunding: tokenAmount,
  /** An estimate; 0: none. */
  liquidationPrice: tokenAmount,
  takeProfitPrice: maybe(tokenAmount),
  stopLossPrice: maybe(tokenAmount),
});
export type Position = Output<typeof position>;

export const limitOrder = record({
  price: tokenAmount,
  side,
  orderSequenceNumber: sequence,
  initialTradeSize: tokenAmount,
  tradeSizeRemaining: tokenAmount,
  marginRequirement: tokenAmount,
  /** 0.75 is 75 %. */
  marginFactor: tokenAmount,
  isReduceOnly: flag,
  isStopLoss: orElse(flag, false),
  isStopLossDirection: orElse(flag, false),
});
export type LimitOrder = Output<typeof limitOrder>;

export const spotCollateralBalance = record({
  assetIndex: int,
  symbol: text,
  /** Asset units. */
  balance: tokenAmount,
  /** Quote, at index price. */
  notional: tokenAmount,
  /** Quote; the part that counts as collateral. */
  discounted: tokenAmount,
  /** Asset units. */
  withdrawable: tokenAmount,
});
export type SpotCollateralBalance = Output<typeof spotCollateralBalance>;

/** One subaccount with risk figures. */
export const traderView = record({
  traderKey: key,
  authority: key,
  traderPdaIndex: int,
  traderSubaccountIndex: int,
  slot,
  slotIndex: int,
  flags: int,
  state: word(TRADER_STATES),
  capabilities: traderCapabilities,
  /** Deposits after realized profit, fees and funding. */
  collateralBalance: tokenAmount,
  spotCollaterals: listOf(spotCollateralBalance),
  /** The collateral used for margin. */
  effectiveCollateral: tokenAmount,
  effectiveCollateralForWithdrawals: tokenAmount,
  unrealizedPnl: tokenAmount,
  discountedUnrealizedPnl: tokenAmount,
  /** Positive: will be received. */
  unsettledFundingOwed: tokenAmount,
  accumulatedFunding: tokenAmount,
  /** Equity. */
  portfolioValue: tokenAmount,
  initialMargin: tokenAmount,
  cancelMargin: tokenAmount,
  maintenanceMargin: tokenAmount,
  initialMarginForWithdrawals: tokenAmount,
  riskState: word(RISK_STATES),
  riskTier: word(RISK_TIERS),
  positions: listOf(position),
  /** By symbol. */
  limitOrders: mapOf(listOf(limitOrder)),
  maxPositions: int,
  lastDepositSlot: orElse(int, 0),
  isInActiveTraders: flag,
  makerFeeOverrideMultiplier: orElse(num, 1),
  takerFeeOverrideMultiplier: orElse(num, 1),
  numMarketsWithSplines: maybe(int),
  withdrawableQuoteCollateral: maybe(tokenAmount),
});
export type TraderView = Output<typeof traderView>;

/** A stop loss or take profit: triggered by the mark price, reduce-only. */
export const trigger = record({
  triggerPriceTicks: lots,
  executionPriceTicks: lots,
  side,
  kind: word(["ioc", "limit"]),
});
export const conditionalTrigger = record({
  triggerPriceTicks: lots,
  executionPriceTicks: lots,
  side,
  kind: word(["ioc", "limit"]),
  attachedOrderSequenceNumber: maybe(sequence),
  maxSizeLots: lots,
  fillableSizeLots: lots,
  filledSizeLots: lots,
  usePercent: flag,
  percent: num,
});
export type Trigger = Output<typeof trigger>;
export type ConditionalTrigger = Output<typeof conditionalTrigger>;

const triggerLists = {
  takeProfitTriggers: listOf(record({ takeProfitId: text, trigger, status: text })),
  stopLossTriggers: listOf(record({ stopLossId: text, trigger, status: text })),
  conditionalTakeProfitTriggers: listOf(
    record({ conditionalTakeProfitId: text, trigger: conditionalTrigger, status: text }),
  ),
  conditionalStopLossTriggers: listOf(
    record({ conditionalStopLossId: text, trigger: conditionalTrigger, status: text }),
  ),
};
export const triggerRow = record(triggerLists);
export type TriggerRow = Output<typeof triggerRow>;

const positionFields = {
  positionSequenceNumber: sequence,
  /** Signed. */
  basePositionLots: lots,
  basePositionUnits: maybe(dec),
  entryPriceTicks: lots,
  entryPriceUsd: maybe(dec),
  /** Signed, opposite to base. */
  virtualQuotePositionLots: lots,
  /** Positive: will be received. */
  unsettledFundingQuoteLots: lots,
  accumulatedFundingQuoteLots: lots,
  /** The four lists are deprecated in favour of the subaccount's `triggers`. */
  ...triggerLists,
};
/** A position in exact lots, without figures that depend on the mark. */
export const positionRow = record(positionFields);
export type PositionRow = Output<typeof positionRow>;

const orderFields = {
  orderSequenceNumber: sequence,
  side,
  orderType: text,
  conditionalKind: maybe(text),
  priceTicks: lots,
  priceUsd: dec,
  sizeRemainingLots: lots,
  sizeRemainingUnits: maybe(dec),
  initialSizeLots: lots,
  reduceOnly: flag,
  isStopLoss: orElse(flag, false),
  isStopLossDirection: orElse(flag, false),
  isConditionalOrder: orElse(flag, false),
  /** Only `active` counts for margin. */
  status: text,
};
export const orderRow = record(orderFields);
export type OrderRow = Output<typeof orderRow>;

/** Market makers only; prices are in USD or in ticks. */
const splineRegionRow = record({
  startPriceUsd: maybe(dec),
  endPriceUsd: maybe(dec),
  startPriceTicks: maybe(lots),
  endPriceTicks: maybe(lots),
  densityLotsPerTick: lots,
  totalSizeLots: lots,
  filledSizeLots: lots,
});
const splineFields = {
  midPriceTicks: lots,
  midPriceUsd: maybe(dec),
  bidFilledAmountLots: lots,
  askFilledAmountLots: lots,
  bidRegions: listOf(splineRegionRow),
  askRegions: listOf(splineRegionRow),
};
export const splineRow = record(splineFields);
export type SplineRow = Output<typeof splineRow>;

export const stateCapabilities = record({
  flags: int,
  state: word(TRADER_STATES),
  capabilities: traderCapabilities,
});
export type StateCapabilities = Output<typeof stateCapabilities>;

const subaccountHead = {
  /** 0 cross margin, above isolated. */
  subaccountIndex: accountIndex,
  /** Increases with each change of this subaccount. */
  sequence: int,
  /** Quote lots. */
  collateral: lots,
  capabilities: maybe(stateCapabilities),
  /** Withdrawal is possible from `lastDepositSlot + cooldownPeriodInSlots` on, for the whole PDA index. */
  cooldownStatus: maybe(record({ lastDepositSlot: int, cooldownPeriodInSlots: int })),
};
const spotBalance = record({
  assetIndex: int,
  symbol: text,
  /** Native units. */
  balance: lots,
  decimals: decimalPlaces,
});

const spotBalances = uniqueListOf(spotBalance, ({ assetIndex }) => assetIndex);

export const subaccountSnapshot = record({
  ...subaccountHead,
  /** Always the full set. */
  spotCollaterals: spotBalances,
  /** One for each symbol: a second would be counted twice. */
  positions: uniqueListOf(record({ symbol: text, ...positionFields }), ({ symbol }) => symbol.toUpperCase()),
  orders: listOf(record({ symbol: text, orders: listOf(orderRow) })),
  splines: listOf(record({ symbol: text, ...splineFields })),
  triggers: listOf(record({ symbol: text, ...triggerLists })),
});
export type SubaccountSnapshot = Output<typeof subaccountSnapshot>;

export const subaccountSnapshots = uniqueListOf(subaccountSnapshot, ({ subaccountIndex }) => subaccountIndex);

/** The fields of a snapshot, over HTTP (under `snapshot`) and on the stream. */
export const stateSnapshotFields = {
  /** The version of the schema. */
  version: int,
  capabilities: stateCapabilities,
  makerFeeOverrideMultiplier: num,
  takerFeeOverrideMultiplier: num,
  subaccounts: subaccountSnapshots,
};

/** Active accounts without subaccounts occur; if some were known before, the list may be lost. */
const stateSnapshot = record(stateSnapshotFields);

/** All subaccounts of one (authority, PDA index). Never parsed in part: a missing row would look like a closed position. */
export const traderState = record({
  authority: key,
  traderPdaIndex: accountIndex,
  slot,
  slotIndex: int,
  snapshot: stateSnapshot,
});
export type TraderState = Output<typeof traderState>;

const CHANGES = ["updated", "closed"] as const;

/** A trade of the stream; `liquidation` and `adl` are the earliest sign of a liquidation. */
export const tradeRow = record({
  timestamp: time,
  slot,
  slotIndex: int,
  instructionIndex: int,
  eventIndex: int,
  market: text,
  instructionType: text,
  tradeType: lowerWord(TRADE_TYPES),
  fillId: maybe(text),
  /** `trader:number` of the order over time that it belongs to. */
  parentTwapId: maybe(text),
  baseQtyBefore: dec,
  baseQtyAfter: dec,
  size: dec,
  liquidity: lowerWord(["maker", "taker"]),
  price: dec,
  fee: dec,
  realizedPnl: dec,
  signature: maybe(text),
});
export type TradeRow = Output<typeof tradeRow>;

export const orderHistoryRow = record({
  timestamp: time,
  slot,
  slotIndex: int,
  instructionIndex: int,
  eventIndex: int,
  market: text,
  instructionType: text,
  orderType: text,
  status: text,
  size: dec,
  price: dec,
  filledSize: dec,
});
export type OrderHistoryRow = Output<typeof orderHistoryRow>;

/** The changes of one subaccount: head fields are new full values, lists hold only changed items. */
export const subaccountDelta = record({
  ...subaccountHead,
  /** The full set; null: unchanged. */
  spotCollaterals: maybe(spotBalances),
  positions: listOf(record({ symbol: text, change: word(CHANGES), position: maybe(positionRow) })),
  orders: listOf(
    record({ symbol: text, orders: listOf(record({ ...orderFields, change: maybe(word(CHANGES)) })) }),
  ),
  splines: listOf(record({ symbol: text, change: word(CHANGES), spline: maybe(splineRow) })),
  triggers: listOf(record({ symbol: text, change: word(CHANGES), triggers: maybe(triggerRow) })),
  tradeHistory: listOf(tradeRow),
  orderHistory: listOf(orderHistoryRow),
});
export type SubaccountDelta = Output<typeof subaccountDelta>;
