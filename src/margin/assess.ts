/**
 * Margin, risk and liquidation prices of one account, from its state, the markets' configuration and the marks.
 *
 *   AccountRisk + markets + marks ──► per market: figures ──► sums, tier, ratios ──► per position: liquidation
 *
 * Pure and total: a market or mark that is missing, or an amount that is no integer, makes unknown what depends
 * on it (its own figures, the sums, every liquidation price of the account) and is named; it never throws.
 */

import {
  type ExactMarket,
  exactFigures,
  exactLiquidationTicks,
  exactMarket,
  highestBelow,
  liquidatableAt,
  lowestAbove,
} from "./exact.ts";
import { type FastMarket, fastExcess, fastFigures, fastLimit, fastMarket, isActive } from "./fast.ts";
import type {
  AccountFigures,
  AccountRisk,
  AccountTotals,
  Assessment,
  Int,
  Liquidation,
  MarketAssessment,
  MarketFigures,
  MarketRisk,
  Markets,
  MarkTicks,
  OrderRisk,
  PositionRisk,
  RiskState,
  RiskTier,
  UnknownInput,
} from "./model.ts";
import { entryPriceUsd as entryPrice, shrink, usdFromTicks } from "./units.ts";

export interface AssessOptions {
  /** Leave out the liquidation prices, which cost most of the time; they read `unknown`. */
  readonly liquidation?: boolean;
  /** Take bigints throughout. For tests: the answer is the same. */
  readonly arithmetic?: "auto" | "exact";
}

/** One market of the account on its way through. */
interface Leg {
  readonly symbol: string;
  readonly baseLots: Int;
  readonly virtualQuoteLots: Int;
  readonly unsettledFundingQuoteLots: Int;
  readonly orders: readonly OrderRisk[] | undefined;
  readonly market: MarketRisk | undefined;
  readonly markTicks: number | undefined;
  /** In doubles where they are exact. */
  readonly fast: FastMarket | undefined;
  readonly figures: MarketFigures | undefined;
}

export function assessAccount(
  account: AccountRisk,
  markets: Markets,
  marks: MarkTicks,
  options: AssessOptions = {},
): Assessment {
  const unknown: UnknownInput[] = [];
  const inputs: Inputs = { markets, marks, exactOnly: options.arithmetic === "exact", unknown };
  const collateral = shrink(account.collateralQuoteLots);
  const orders = activeOrders(account.orders);
  const legs = account.positions.map((position) => legOf(position, orders.get(position.symbol), inputs));
  for (const [symbol, resting] of orders) {
    if (account.positions.some((position) => position.symbol === symbol)) continue;
    legs.push(legOf({ symbol, ...nothingHeld }, resting, inputs));
  }
  if (!areIntegers(account)) unknown.push({ symbol: "", reason: "notAnInteger" });

  let funding: Int = 0;
  for (const leg of legs) funding = add(funding, leg.unsettledFundingQuoteLots);
  const sums = unknown.length === 0 ? sumOf(account, collateral, legs, funding) : undefined;
  const withPrices = sums !== undefined && options.liquidation !== false;
  return {
    collateralQuoteLots: collateral,
    unsettledFundingQuoteLots: funding,
    markets: legs.map(
      (leg): MarketAssessment => ({
        symbol: leg.symbol,
        baseLots: leg.baseLots,
        unsettledFundingQuoteLots: leg.unsettledFundingQuoteLots,
        entryPriceUsd: entryPriceUsd(leg),
        markTicks: leg.markTicks,
        figures: leg.figures,
        liquidation: withPrices ? liquidationOf(account, leg, sums, funding) : notKnown,
      }),
    ),
    totals: sums === undefined ? undefined : totalsOf(sums),
    unknown,
  };
}

/** Worst first; the first that holds. */
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

/** Maintenance margin / effective collateral and its like: 0 when nothing is required, +∞ when nothing is left. */
export function ratioOf(required: Int, effectiveCollateral: Int): number {
  if (!(required > 0)) return 0;
  return effectiveCollateral > 0 ? Number(required) / Number(effectiveCollateral) : Number.POSITIVE_INFINITY;
}

interface Inputs {
  readonly markets: Markets;
  readonly marks: MarkTicks;
  readonly exactOnly: boolean;
  /** Filled on the way. */
  readonly unknown: UnknownInput[];
}

const nothingHeld = { baseLots: 0, virtualQuoteLots: 0, unsettledFundingQuoteLots: 0 };

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

function legOf(position: PositionRisk, orders: readonly OrderRisk[] | undefined, inputs: Inputs): Leg {
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

function sumOf(account: AccountRisk, collateral: Int, legs: readonly Leg[], funding: Int): AccountFigures {
  let unrealized: Int = 0;
  let discounted: Int = 0;
  let discountedForWithdrawals: Int = 0;
  let limitOrder: Int = 0;
  let initial: Int = 0;
  let initialForWithdrawals: Int = 0;
  let cancel: Int = 0;
  let maintenance: Int = 0;
  let backstop: Int = 0;
  let highRisk: Int = 0;
  let gross: Int = 0;
  let net: Int = 0;
  for (const leg of legs) {
    const figures = leg.figures!;
    unrealized = add(unrealized, figures.unrealizedQuoteLots);
    discounted = add(discounted, figures.discountedQuoteLots);
    discountedForWithdrawals = add(discountedForWithdrawals, figures.discountedForWithdrawalsQuoteLots);
    limitOrder = add(limitOrder, figures.limitOrderMarginQuoteLots);
    initial = add(initial, figures.initialMarginQuoteLots);
    initialForWithdrawals = add(initialForWithdrawals, figures.initialMarginForWithdrawalsQuoteLots);
    cancel = add(cancel, figures.cancelMarginQuoteLots);
    maintenance = add(maintenance, figures.maintenanceMarginQuoteLots);
    backstop = add(backstop, figures.backstopMarginQuoteLots);
    highRisk = add(highRisk, figures.highRiskMarginQuoteLots);
    const value = figures.positionValueQuoteLots;
    gross = add(gross, value < 0 ? -value : value);
    net = add(net, value);
  }
  let spotNotional: Int = 0;
  let spotDiscounted: Int = 0;
  for (const spot of account.spot ?? []) {
    spotNotional = add(spotNotional, spot.notionalQuoteLots);
    spotDiscounted = add(spotDiscounted, spot.discountedQuoteLots);
  }
  const settled = add(collateral, funding);
  const effective = add(add(settled, discounted), spotDiscounted);
  return {
    effectiveCollateralQuoteLots: effective,
    effectiveCollateralForWithdrawalsQuoteLots: add(settled, discountedForWithdrawals),
    portfolioValueQuoteLots: add(add(settled, unrealized), spotNotional),
    unrealizedQuoteLots: unrealized,
    discountedQuoteLots: discounted,
    limitOrderMarginQuoteLots: limitOrder,
    freeCollateralQuoteLots: effective > initial ? subtract(effective, initial) : 0,
    grossNotionalQuoteLots: gross,
    netNotionalQuoteLots: net,
    initialMarginQuoteLots: initial,
    initialMarginForWithdrawalsQuoteLots: initialForWithdrawals,
    cancelMarginQuoteLots: cancel,
    maintenanceMarginQuoteLots: maintenance,
    backstopMarginQuoteLots: backstop,
    highRiskMarginQuoteLots: highRisk,
  };
}

function totalsOf(sums: AccountFigures): AccountTotals {
  const effective = sums.effectiveCollateralQuoteLots;
  return {
    ...sums,
    riskState: riskStateOf(effective, sums.initialMarginQuoteLots),
    riskTier: riskTierOf(sums),
    marginRatio: ratioOf(sums.maintenanceMarginQuoteLots, effective),
    initialRatio: ratioOf(sums.initialMarginQuoteLots, effective),
    leverage: ratioOf(sums.grossNotionalQuoteLots, effective),
  };
}

const notKnown: Liquidation = { kind: "unknown" };
const none: Liquidation = { kind: "none" };

function liquidationOf(account: AccountRisk, leg: Leg, sums: AccountFigures, funding: Int): Liquidation {
  const market = leg.market!;
  const mark = leg.markTicks!;
  if (leg.baseLots === 0) return none;
  const ticks = liquidationTicks(account, leg, sums, funding);
  if (ticks === undefined) return none;
  return { kind: "price", ticks, usd: usdFromTicks(ticks, market), distance: Math.abs(mark - ticks) / mark };
}

/**
 * The pure bisection of `exact.ts`, step for step, so that its answer is met exactly even where rounding makes
 * the boundary ragged; only the question at each step is answered in doubles while that is beyond doubt.
 */
function liquidationTicks(
  account: AccountRisk,
  leg: Leg,
  sums: AccountFigures,
  funding: Int,
): number | undefined {
  const { fast, figures } = leg;
  const mark = leg.markTicks!;
  const spots = account.spot ?? [];
  const moving = spots.filter((spot) => spot.repricing?.symbol === leg.symbol);
  let collateral = add(
    add(account.collateralQuoteLots, funding),
    subtract(sums.discountedQuoteLots, figures!.discountedQuoteLots),
  );
  for (const spot of spots) {
    if (!moving.includes(spot)) collateral = add(collateral, spot.discountedQuoteLots);
  }
  const maintenance = subtract(sums.maintenanceMarginQuoteLots, figures!.maintenanceMarginQuoteLots);
  const rest = subtract(collateral, maintenance);

  let exact: ExactMarket | undefined;
  const exactly = (): ExactMarket =>
    (exact ??= exactMarket(leg.market!, leg.baseLots, leg.virtualQuoteLots, leg.orders ?? [], mark));
  const exactRest = () => ({
    collateral: BigInt(collateral),
    maintenance: BigInt(maintenance),
    spot: moving,
  });
  const restBound = typeof rest === "number" ? Math.abs(rest) : Number.POSITIVE_INFINITY;
  if (fast === undefined || moving.length > 0 || fast.bound + restBound > fastLimit) {
    return exactLiquidationTicks(exactly(), exactRest(), mark);
  }

  const restNumber = rest as number;
  // Up to here doubles are exact. Beyond, each of a few dozen roundings errs by less than 2^-52 of the bound.
  const exactUpTo = mark + Math.floor((fastLimit - fast.bound - restBound) / Math.max(fast.growth, 1));
  const hit = (ticks: number): boolean => {
    const excess = fastExcess(fast, restNumber, ticks);
    if (ticks <= exactUpTo) return excess < 0;
    const doubt = (fast.bound + restBound + fast.growth * ticks) * 2 ** -44 + 16;
    if (Math.abs(excess) > doubt) return excess < 0;
    return liquidatableAt(exactly(), exactRest(), BigInt(ticks));
  };
  if (hit(mark)) return mark;
  return fast.size > 0 ? highestBelow(mark, hit) : lowestAbove(mark, hit);
}

function entryPriceUsd(leg: Leg): number | undefined {
  if (leg.market === undefined || leg.baseLots === 0) return undefined;
  return entryPrice(leg.baseLots, leg.virtualQuoteLots, leg.market);
}

function add(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
    // An amount that is no integer stays NaN; it has been reported.
    if (!isInteger(a) || !isInteger(b)) return Number.NaN;
  }
  if (!isInteger(a) || !isInteger(b)) return Number.NaN;
  return shrink(BigInt(a) + BigInt(b));
}

function subtract(a: Int, b: Int): Int {
  return add(a, -b);
}

const soundMarkets = new WeakSet<MarketRisk>();
/** Leverage and order factor of a tier are at most this: the lines between tiers are computed in doubles. */
const maxTierValue = 1e6;

/**
 * True if margin can be computed from a market's configuration. Looks at each once: they change rarely and are asked for
 * with every mark.
 */
export function isSound(market: MarketRisk): boolean {
  if (soundMarkets.has(market)) return true;
  const { riskFactors: factors } = market;
  const sound =
    Number.isSafeInteger(market.tickSize) &&
    market.tickSize > 0 &&
    Number.isSafeInteger(market.baseLotsDecimals) &&
    [
      factors.maintenance,
      factors.cancelOrder,
      factors.backstop,
      factors.highRisk,
      factors.upnl,
      factors.upnlForWithdrawals,
    ].every((bps) => Number.isSafeInteger(bps) && bps >= 0) &&
    market.leverageTiers.every(
      (tier) =>
        isInteger(tier.maxSizeBaseLots) &&
        isWithin(tier.maxLeverage, maxTierValue) &&
        isWithin(tier.limitOrderRiskFactorBps, maxTierValue),
    );
  if (sound) soundMarkets.add(market);
  return sound;
}

function isInteger(value: Int): boolean {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

function isWithin(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}

/** True if an order has a size and a price: integers, not negative. */
function hasIntegers({ remainingLots, priceTicks }: OrderRisk): boolean {
  return isInteger(remainingLots) && isInteger(priceTicks) && remainingLots >= 0 && priceTicks >= 0;
}

function areIntegers(account: AccountRisk): boolean {
  return (
    isInteger(account.collateralQuoteLots) &&
    (account.spot ?? []).every(
      (spot) => isInteger(spot.notionalQuoteLots) && isInteger(spot.discountedQuoteLots),
    )
  );
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
