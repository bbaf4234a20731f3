/**
 * Computes the figures that rules see from a trader account's state and the marks. Margin and liquidation prices come from
 * `margin/`, where they are exact integers; here they become doubles.
 */
import type { PositionState, SubaccountState, TriggerState } from "../../domain/account.ts";
import { symbolKey } from "../../domain/symbol.ts";
import type {
  AccountRisk,
  AccountTotals,
  Int,
  MarketAssessment,
  MarketFigures,
  MarketRisk,
  OrderRisk,
  PositionRisk,
  SpotRisk,
} from "../../margin/model.ts";
import {
  entryPriceUsd,
  shrink,
  unitsFromBaseLots,
  usdFromQuoteLots,
  usdFromTicks,
} from "../../margin/units.ts";
import type { Facts } from "../../rules/index.ts";

/** Reusable input object for the margin arithmetic of one account: overwritten by each answer, read at each mark. */
export class RiskInput implements AccountRisk {
  collateralQuoteLots: Int = 0;
  positions: readonly PositionInput[] = [];
  orders: readonly OrderInput[] = [];
  /** Collateral in other assets; undefined: none, or its value is not known. */
  spot: readonly SpotRisk[] | undefined = undefined;

  take(state: SubaccountState): void {
    this.collateralQuoteLots = shrink(state.collateralQuoteLots);
    if (this.positions.length !== state.positions.length)
      this.positions = inputsFor(state.positions.length, this.positions, () => new PositionInput());
    if (this.orders.length !== state.orders.length)
      this.orders = inputsFor(state.orders.length, this.orders, () => new OrderInput());
    const { positions, orders } = this;
    for (let i = 0; i < positions.length; i++) {
      const input = positions[i]!;
      const position = state.positions[i]!;
      input.symbol = symbolKey(position.symbol);
      input.baseLots = shrink(position.baseLots);
      input.virtualQuoteLots = shrink(position.virtualQuoteLots);
      input.unsettledFundingQuoteLots = shrink(position.unsettledFundingQuoteLots);
    }
    for (let i = 0; i < orders.length; i++) {
      const input = orders[i]!;
      const order = state.orders[i]!;
      input.symbol = symbolKey(order.symbol);
      input.side = order.side;
      input.priceTicks = shrink(order.priceTicks);
      input.remainingLots = shrink(order.remainingLots);
      input.reduceOnly = order.reduceOnly;
      input.status = order.status;
    }
  }
}

/** Returns `count` objects: existing ones first, then new ones. A list that grows in place would reserve 16 more slots. */
function inputsFor<Input>(count: number, known: readonly Input[], create: () => Input): readonly Input[] {
  return Array.from({ length: count }, (_, i) => known[i] ?? create());
}

class PositionInput implements PositionRisk {
  symbol = "";
  baseLots: Int = Number.NaN;
  virtualQuoteLots: Int = Number.NaN;
  unsettledFundingQuoteLots: Int = Number.NaN;
}

class OrderInput implements OrderRisk {
  symbol = "";
  side: "bid" | "ask" = "bid";
  priceTicks: Int = Number.NaN;
  remainingLots: Int = Number.NaN;
  reduceOnly = false;
  status = "";
}

/** The sums of an account that rules see. */
export type Totals = Pick<
  AccountTotals,
  | "riskState"
  | "riskTier"
  | "portfolioValueQuoteLots"
  | "effectiveCollateralQuoteLots"
  | "freeCollateralQuoteLots"
  | "unrealizedQuoteLots"
  | "initialMarginQuoteLots"
  | "maintenanceMarginQuoteLots"
  | "cancelMarginQuoteLots"
  | "marginRatio"
  | "leverage"
  | "grossNotionalQuoteLots"
  | "netNotionalQuoteLots"
>;

/** A position at the newest mark. */
export interface Marked {
  readonly markTicks: number;
  readonly figures: MarketFigures;
  /** NaN: none; undefined: not known. */
  readonly liquidationTicks: number | undefined;
  /** Its size and its quote side, if computed in doubles. */
  readonly fast?: { readonly size: number; readonly virtualQuoteLots: number };
}

/** @returns undefined if market or mark is unknown */
export function markedOf(of: MarketAssessment | undefined): Marked | undefined {
  if (of?.markTicks === undefined || of.figures === undefined) return undefined;
  const { markTicks, figures, liquidation } = of;
  const { kind } = liquidation;
  const ticks = kind === "price" ? liquidation.ticks : kind === "none" ? Number.NaN : undefined;
  return { markTicks, figures, liquidationTicks: ticks };
}

const usd = (quoteLots: Int): number => usdFromQuoteLots(quoteLots);

/** Figures that depend on the marks. All are removed if an input is unknown: a partial sum would be wrong. */
const assessedTraderFields = [
  "riskState",
  "riskTier",
  "equity",
  "effectiveCollateral",
  "freeCollateral",
  "unrealizedPnl",
  "initialMargin",
  "maintenanceMargin",
  "cancelMargin",
  "marginRatio",
  "leverage",
  "grossNotional",
  "netNotional",
  "moveToLiquidation",
  "adverseMoveToLiquidation",
] as const;

/** @param totals undefined: an input is unknown */
export function traderFacts(
  facts: Facts,
  totals: Totals | undefined,
  moves: { readonly together: number; readonly adverse: number },
): void {
  const values = facts.values;
  if (!totals) {
    for (const field of assessedTraderFields) delete values[field];
    return;
  }
  values.riskState = totals.riskState;
  values.riskTier = totals.riskTier;
  values.equity = usd(totals.portfolioValueQuoteLots);
  values.effectiveCollateral = usd(totals.effectiveCollateralQuoteLots);
  values.freeCollateral = usd(totals.freeCollateralQuoteLots);
  values.unrealizedPnl = usd(totals.unrealizedQuoteLots);
  values.initialMargin = usd(totals.initialMarginQuoteLots);
  values.maintenanceMargin = usd(totals.maintenanceMarginQuoteLots);
  values.cancelMargin = usd(totals.cancelMarginQuoteLots);
  values.marginRatio = totals.marginRatio;
  values.leverage = totals.leverage;
  values.grossNotional = usd(totals.grossNotionalQuoteLots);
  values.netNotional = usd(totals.netNotionalQuoteLots);
  values.moveToLiquidation = moves.together;
  values.adverseMoveToLiquidation = moves.adverse;
}

/** @param untilMs NaN: not known */
export function fundingFacts(facts: Facts, untilMs: number): void {
  const { values } = facts;
  if (!Number.isNaN(untilMs)) values.fundingUntilMaintenance = untilMs;
  else if (values.fundingUntilMaintenance !== undefined) delete values.fundingUntilMaintenance;
}

/** Figures of a position that come from the account alone: they change with answers, not with marks. */
export function positionStateFacts(
  facts: Facts,
  position: PositionState,
  market: MarketRisk | undefined,
): void {
  const values = facts.values;
  const long = position.baseLots > 0n;
  values.symbol = symbolKey(position.symbol);
  values.side = long ? "long" : "short";
  values.unsettledFunding = usd(shrink(position.unsettledFundingQuoteLots));
  values.accumulatedFunding = usd(shrink(position.accumulatedFundingQuoteLots));
  const { triggers } = position;
  const stops = triggers.length === 0 ? noTriggers : active(triggers, "stopLoss");
  const takes = triggers.length === 0 ? noTriggers : active(triggers, "takeProfit");
  values.hasStopLoss = stops.length > 0;
  values.hasTakeProfit = takes.length > 0;
  if (!market) return;
  values.size = unitsFromBaseLots(shrink(position.baseLots), market);
  // The trigger that the mark reaches first counts.
  const stop = nearest(stops, long ? "highest" : "lowest");
  const take = nearest(takes, long ? "lowest" : "highest");
  const price = (ticks: bigint): number => usdFromTicks(shrink(ticks), market);
  values.stopLossPrice = stop ? price(stop.triggerPriceTicks) : long ? 0 : Number.POSITIVE_INFINITY;
  values.takeProfitPrice = take ? price(take.triggerPriceTicks) : long ? Number.POSITIVE_INFINITY : 0;
  values.stopLossCoverage = coverage(stops, position.baseLots);
  if (stop && stop.triggerPriceTicks > 0n) {
    const distance = long
      ? stop.triggerPriceTicks - stop.executionPriceTicks
      : stop.executionPriceTicks - stop.triggerPriceTicks;
    values.stopLossRoom = Number(distance) / Number(stop.triggerPriceTicks);
  } else values.stopLossRoom = Number.POSITIVE_INFINITY;
}

const markedPositionFields = [
  "notional",
  "markPrice",
  "liquidationPrice",
  "liquidationDistance",
  "unrealizedPnl",
  "initialMargin",
  "maintenanceMargin",
  "leverage",
  "stopLossDistance",
] as const;

/**
 * Figures of a position that change with the marks. Unknown values are removed. Known ones are overwritten without a prior
 * delete, since V8 makes an object that loses properties permanently slow.
 */
export function positionMarkFacts(
  facts: Facts,
  position: PositionState,
  of: Marked | undefined,
  market: MarketRisk | undefined,
  effectiveCollateralUsd: number | undefined,
): void {
  const values = facts.values;
  if (market) {
    const size = of?.fast?.size ?? position.baseLots;
    const virtualQuoteLots = of?.fast?.virtualQuoteLots ?? position.virtualQuoteLots;
    values.entryPrice = entryPriceUsd(size, virtualQuoteLots, market);
  } else delete values.entryPrice;
  if (!market || !of) {
    for (const field of markedPositionFields) delete values[field];
    return;
  }
  const long = of.fast ? of.fast.size > 0 : position.baseLots > 0n;
  const mark = usdFromTicks(of.markTicks, market);
  const notional = Math.abs(usd(of.figures.positionValueQuoteLots));
  values.markPrice = mark;
  values.notional = notional;
  values.unrealizedPnl = usd(of.figures.unrealizedQuoteLots);
  values.initialMargin = usd(of.figures.initialMarginQuoteLots);
  values.maintenanceMargin = usd(of.figures.maintenanceMarginQuoteLots);
  if (effectiveCollateralUsd !== undefined) {
    values.leverage =
      effectiveCollateralUsd > 0 ? notional / effectiveCollateralUsd : Number.POSITIVE_INFINITY;
  } else delete values.leverage;
  const { liquidationTicks } = of;
  if (liquidationTicks === undefined) {
    delete values.liquidationPrice;
    delete values.liquidationDistance;
  } else if (Number.isNaN(liquidationTicks)) {
    values.liquidationPrice = long ? 0 : Number.POSITIVE_INFINITY;
    values.liquidationDistance = Number.POSITIVE_INFINITY;
  } else {
    values.liquidationPrice = usdFromTicks(liquidationTicks, market);
    values.liquidationDistance = Math.abs(of.markTicks - liquidationTicks) / of.markTicks;
  }
  const stop = values.stopLossPrice;
  if (values.hasStopLoss !== true) values.stopLossDistance = Number.POSITIVE_INFINITY;
  else if (typeof stop === "number") values.stopLossDistance = Math.abs(mark - stop) / mark;
  else delete values.stopLossDistance;
}

const noTriggers: readonly TriggerState[] = [];

function active(triggers: readonly TriggerState[], kind: TriggerState["kind"]): readonly TriggerState[] {
  return triggers.filter(
    (trigger) =>
      trigger.kind === kind && (trigger.status === "active" || trigger.status.toLowerCase() === "active"),
  );
}

function nearest(triggers: readonly TriggerState[], which: "highest" | "lowest"): TriggerState | undefined {
  let best: TriggerState | undefined;
  for (const trigger of triggers) {
    if (!best) best = trigger;
    else if (
      which === "highest"
        ? trigger.triggerPriceTicks > best.triggerPriceTicks
        : trigger.triggerPriceTicks < best.triggerPriceTicks
    ) {
      best = trigger;
    }
  }
  return best;
}

/** The share of the position that its stop losses close, 0–1. */
function coverage(stops: readonly TriggerState[], baseLots: bigint): number {
  const size = baseLots < 0n ? -baseLots : baseLots;
  if (size === 0n || stops.length === 0) return 0;
  let share = 0;
  for (const stop of stops) {
    if (stop.percent !== null) share += stop.percent / 100;
    else if (stop.maxSizeLots !== null) share += Number(stop.maxSizeLots) / Number(size);
    else share += 1;
  }
  return Math.min(1, share);
}
