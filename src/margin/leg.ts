/** The position and the resting orders of an account in one market, as its margin counts them. */

import { exactFigures, exactMarket } from "./exact.ts";
import { type FastMarket, fastFigures, fastLimit, fastMarket, isActive } from "./fast.ts";
import type {
  Int,
  MarketFigures,
  MarketRisk,
  Markets,
  MarkTicks,
  OrderRisk,
  PositionRisk,
  UnknownInput,
} from "./model.ts";
import { hasIntegers, isInteger, isSound } from "./sound-inputs.ts";
import { entryPriceUsd as entryPrice, shrink } from "./units.ts";

/** Intermediate results for one market of the account. */
export interface Leg {
  readonly symbol: string;
  readonly baseLots: Int;
  readonly virtualQuoteLots: Int;
  readonly unsettledFundingQuoteLots: Int;
  readonly orders: readonly OrderRisk[] | undefined;
  readonly market: MarketRisk | undefined;
  readonly markTicks: number | undefined;
  /** In doubles, if they are exact. */
  readonly fast: FastMarket | undefined;
  readonly figures: MarketFigures | undefined;
}

export interface Inputs {
  readonly markets: Markets;
  readonly marks: MarkTicks;
  readonly exactOnly: boolean;
  /** Filled during the computation. */
  readonly unknown: UnknownInput[];
}

/** The orders that count, by symbol. */
export function activeOrders(orders: readonly OrderRisk[]): Map<string, OrderRisk[]> {
  const bySymbol = new Map<string, OrderRisk[]>();
  for (const order of orders) {
    if (!isActive(order)) continue;
    const group = bySymbol.get(order.symbol);
    if (group === undefined) bySymbol.set(order.symbol, [order]);
    else group.push(order);
  }
  return bySymbol;
}

export function legOf(position: PositionRisk, orders: readonly OrderRisk[] | undefined, inputs: Inputs): Leg {
  const { markets, marks, exactOnly, unknown } = inputs;
  const { symbol } = position;
  const baseLots = shrink(position.baseLots);
  const virtualQuoteLots = shrink(position.virtualQuoteLots);
  const unsettledFundingQuoteLots = shrink(position.unsettledFundingQuoteLots);
  const market = markets.get(symbol);
  const mark = marks.get(symbol);
  const markTicks = mark !== undefined && Number.isSafeInteger(mark) && mark > 0 ? mark : undefined;
  let fast: FastMarket | undefined;
  let figures: MarketFigures | undefined;
  if (market === undefined) {
    unknown.push({ symbol, reason: "noMarket" });
  } else if (!isSound(market)) {
    unknown.push({ symbol, reason: "badMarket" });
  } else if (markTicks === undefined) {
    unknown.push({ symbol, reason: "noMark" });
  } else if (
    !isInteger(baseLots) ||
    !isInteger(virtualQuoteLots) ||
    !isInteger(unsettledFundingQuoteLots) ||
    (orders !== undefined && !orders.every(hasIntegers))
  ) {
    unknown.push({ symbol, reason: "notAnInteger" });
  } else {
    if (!exactOnly && typeof baseLots === "number" && typeof virtualQuoteLots === "number") {
      const candidate = fastMarket(market, baseLots, virtualQuoteLots, orders, markTicks);
      if (candidate.bound <= fastLimit) fast = candidate;
    }
    figures =
      fast === undefined
        ? shrunk(
            exactFigures(
              exactMarket(market, baseLots, virtualQuoteLots, orders ?? [], markTicks),
              BigInt(markTicks),
            ),
          )
        : fastFigures(fast, market, markTicks);
  }
  return {
    symbol,
    baseLots,
    virtualQuoteLots,
    unsettledFundingQuoteLots,
    orders,
    market,
    markTicks,
    fast,
    figures,
  };
}

export function entryPriceUsd(leg: Leg): number | undefined {
  if (leg.market === undefined || leg.baseLots === 0) return undefined;
  return entryPrice(leg.baseLots, leg.virtualQuoteLots, leg.market);
}

function shrunk(figures: MarketFigures<bigint>): MarketFigures {
  return {
    positionValueQuoteLots: shrink(figures.positionValueQuoteLots),
    unrealizedQuoteLots: shrink(figures.unrealizedQuoteLots),
    discountedQuoteLots: shrink(figures.discountedQuoteLots),
    discountedForWithdrawalsQuoteLots: shrink(figures.discountedForWithdrawalsQuoteLots),
    positionInitialMarginQuoteLots: shrink(figures.positionInitialMarginQuoteLots),
    limitOrderMarginQuoteLots: shrink(figures.limitOrderMarginQuoteLots),
    initialMarginQuoteLots: shrink(figures.initialMarginQuoteLots),
    initialMarginForWithdrawalsQuoteLots: shrink(figures.initialMarginForWithdrawalsQuoteLots),
    cancelMarginQuoteLots: shrink(figures.cancelMarginQuoteLots),
    maintenanceMarginQuoteLots: shrink(figures.maintenanceMarginQuoteLots),
    backstopMarginQuoteLots: shrink(figures.backstopMarginQuoteLots),
    highRiskMarginQuoteLots: shrink(figures.highRiskMarginQuoteLots),
  };
}
