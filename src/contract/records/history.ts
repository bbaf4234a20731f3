/** Paged histories: funding, liquidations, collateral, orders, fills. Each row has a natural key (natural-keys.ts). */
import {
  dec,
  flag,
  int,
  key,
  listOf,
  lots,
  lowerWord,
  maybe,
  type Output,
  orElse,
  record,
  sequence,
  side,
  slot,
  text,
  time,
  word,
} from "../fields.ts";
import { TRADE_TYPES } from "./trader.ts";

/** A market's funding rate over one interval, in **percent** of notional ("0.0019" is 0.0019 %). */
export const fundingRate = record({ timestamp: time, fundingRatePercentage: dec });
export type FundingRate = Output<typeof fundingRate>;
export const fundingRatesHead = { marketId: int, symbol: text };

/** Funding of every market at once; here the rate is a **fraction**. */
export const fundingOverview = record({
  series: listOf(
    record({
      marketId: int,
      symbol: text,
      points: listOf(
        record({
          timestamp: time,
          /** USD per base unit. */
          fundingAmountPerUnit: dec,
          markPrice: dec,
          fundingRate: dec,
        }),
      ),
    }),
  ),
});
export type FundingOverview = Output<typeof fundingOverview>;

/** Funding of one wallet and market in one hour. It does not contain the subaccount of the position. */
export const fundingEvent = record({
  /** End of the hour. */
  timestamp: time,
  symbol: text,
  /** USDC; negative: paid, positive: received. */
  fundingPayment: dec,
  fundingRatePercentage: dec,
  positionSize: dec,
  positionSide: lowerWord(["long", "short", "flat"]),
});
export type FundingEvent = Output<typeof fundingEvent>;

/**
 * A liquidation of a wallet's history; `kind` selects the further fields that are present (the others are null).
 *  - `market_order`: the risk engine closed (part of) the position on the book;
 *  - `backstop`: the whole position was transferred to a backstop liquidator at a haircut;
 *  - `adl`: opposing positions were closed against each other. An `adl_caller` only called it.
 */
export const liquidation = record({
  kind: word(["market_order", "backstop", "adl"]),
  type: word(["market", "backstop", "adl"]),
  ixName: text,
  role: word([
    "liquidatee",
    "backstop_liquidatee",
    "adl_closed_short",
    "adl_closed_long",
    "adl_in_profit",
    "adl_caller",
  ]),
  slot,
  slotIndex: int,
  eventIndex: int,
  timestamp: time,
  signature: maybe(text),
  symbol: text,
  market: text,
  subaccountIndex: maybe(int),
  /** Base units. */
  size: maybe(dec),
  // market_order and backstop
  liquidatee: maybe(key),
  liquidator: maybe(key),
  // market_order
  /** The side of the position. */
  side: maybe(lowerWord(["long", "short"])),
  price: maybe(dec),
  positionClosed: maybe(flag),
  baseLotsFilled: maybe(lots),
  quoteLotsFilled: maybe(lots),
  // backstop; changes in USD
  quoteSize: maybe(dec),
  haircutRateBps: maybe(int),
  liquidateeCollateralChange: maybe(dec),
  liquidatorCollateralChange: maybe(dec),
  // adl; values and changes in USD
  caller: maybe(key),
  closedShort: maybe(key),
  closedLong: maybe(key),
  inProfitAccount: maybe(key),
  atLossCloseValue: maybe(dec),
  inProfitCloseValue: maybe(dec),
  atLossCollateralChange: maybe(dec),
  inProfitCollateralChange: maybe(dec),
});
export type Liquidation = Output<typeof liquidation>;

export const collateralEvent = record({
  slot,
  slotIndex: int,
  eventIndex: int,
  traderPdaIndex: int,
  traderSubaccountIndex: int,
  eventType: lowerWord(["deposit", "withdrawal", "transfer"]),
  /** Quote lots; the type has the direction. */
  amount: lots,
  /** Quote lots. */
  collateralAfter: lots,
  timestamp: time,
});
export type CollateralEvent = Output<typeof collateralEvent>;

export const ORDER_STATUSES = ["active", "filled", "cancelled", "expired"] as const;

/** An order with its outcome; the row changes while the order is open. */
export const orderHistoryItem = record({
  orderSequenceNumber: sequence,
  marketSymbol: text,
  status: lowerWord(ORDER_STATUSES, { open: "active" }),
  side,
  isReduceOnly: orElse(flag, false),
  isStopLoss: orElse(flag, false),
  isStopLossDirection: orElse(flag, false),
  isConditionalOrder: orElse(flag, false),
  price: dec,
  baseQty: dec,
  remainingBaseQty: dec,
  filledBaseQty: dec,
  placedAt: maybe(time),
  completedAt: maybe(time),
});
export type OrderHistoryItem = Output<typeof orderHistoryItem>;

/** A fill of a trader. The …Lots fields hold human decimals, despite their names. */
export const fill = record({
  userId: int,
  traderId: int,
  traderPdaIndex: int,
  subaccountIndex: int,
  marketSymbol: text,
  signature: maybe(text),
  /** A name-based UUID: stable. */
  fillId: maybe(text),
  /** `trader:number` of the order over time that it belongs to. */
  parentTwapId: maybe(text),
  timestamp: time,
  slot,
  slotIndex: int,
  eventIndex: int,
  instructionIndex: int,
  instructionType: text,
  baseLotsBefore: dec,
  baseLotsAfter: dec,
  baseLotsDelta: dec,
  virtualQuoteLotsBefore: dec,
  virtualQuoteLotsAfter: dec,
  virtualQuoteLotsDelta: dec,
  price: dec,
  realizedPnl: dec,
  fees: dec,
  liquidity: lowerWord(["maker", "taker"]),
  orderSequenceNumber: maybe(sequence),
  splineSequenceNumber: maybe(sequence),
  tradeType: lowerWord(TRADE_TYPES),
});
export type Fill = Output<typeof fill>;

/** A public fill of a market. */
export const marketFill = record({
  marketSymbol: text,
  baseQty: dec,
  /** Opposite sign to baseQty. */
  quoteQty: dec,
  price: dec,
  timestamp: time,
  transactionSignature: text,
  instructionType: text,
});
export type MarketFill = Output<typeof marketFill>;

const orderFlags = {
  isReduceOnly: flag,
  isStopLoss: flag,
  isStopLossDirection: orElse(flag, false),
  isConditionalOrder: orElse(flag, false),
};

/** An order with its request, its immediate fills, the placed part and its state. */
export const orderHistoryV2Item = record({
  userId: int,
  traderId: int,
  traderPdaIndex: int,
  traderSubaccountIndex: int,
  slot,
  slotIndex: int,
  instructionIndex: int,
  eventIndex: int,
  marketSymbol: text,
  instructionType: text,
  orderType: text,
  createdAt: time,
  price: maybe(dec),
  intended: record({
    orderKind: text,
    side,
    priceInTicks: maybe(lots),
    priceUsd: maybe(dec),
    hasPriceLimit: flag,
    baseLots: lots,
    baseQty: dec,
    quoteLotBudget: maybe(lots),
    matchLimit: maybe(lots),
    lastValidSlot: maybe(sequence),
    clientOrderId: maybe(sequence),
    orderFlags: int,
    ...orderFlags,
    isPostOnly: flag,
    isTakeOnly: flag,
    cancelExisting: flag,
  }),
  fillBeforePlacement: maybe(
    record({
      totalBaseQtyFilled: dec,
      totalQuoteQtyFilled: dec,
      totalTakerFee: dec,
      totalNumFills: int,
      numTrades: int,
    }),
  ),
  placedOrder: maybe(
    record({
      orderSequenceNumber: sequence,
      eventIndex: int,
      side,
      price: dec,
      baseQty: dec,
      lastValidSlot: maybe(sequence),
      initialSlot: maybe(sequence),
      orderFlags: maybe(int),
      clientOrderId: maybe(sequence),
      transactionTimestamp: maybe(time),
    }),
  ),
  currentOrderState: maybe(
    record({
      orderSequenceNumber: sequence,
      side,
      price: dec,
      baseQty: dec,
      remainingBaseQty: dec,
      filledBaseQty: dec,
      releasedBaseQty: dec,
      orderStatus: lowerWord(ORDER_STATUSES, { open: "active" }),
      placedAt: maybe(time),
      cancelledAt: maybe(time),
      lastFillAt: maybe(time),
    }),
  ),
  ...orderFlags,
  status: lowerWord(ORDER_STATUSES, { open: "active" }),
});
export type OrderHistoryV2Item = Output<typeof orderHistoryV2Item>;
