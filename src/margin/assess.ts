/**
 * Margin, risk and liquidation prices of one account, from its state, the markets' configuration and the marks.
 *
 *   AccountRisk + markets + marks ──► per market: figures ──► sums, tier, ratios ──► per position: liquidation
 *
 * Pure, and never throws. A missing market or mark, or an amount that is not an integer, makes the results that depend on it
 * unknown (its own figures, the sums, every liquidation price of the account), and is listed in the result.
 */

import { add, subtract } from "./exact-sum.ts";
import { activeOrders, entryPriceUsd, type Inputs, type Leg, legOf } from "./leg.ts";
import { liquidationOf } from "./liquidation-price.ts";
import type {
  AccountFigures,
  AccountRisk,
  AccountTotals,
  Assessment,
  Int,
  Liquidation,
  MarketAssessment,
  Markets,
  MarkTicks,
  UnknownInput,
} from "./model.ts";
import { ratioOf, riskStateOf, riskTierOf } from "./risk-state.ts";
import { areIntegers } from "./sound-inputs.ts";
import { shrink } from "./units.ts";

export interface AssessOptions {
  /** False: leave out the liquidation prices, which take most of the time; they are `unknown` then. */
  readonly liquidation?: boolean;
  /** `exact`: use bigints throughout, for tests; the result is the same. */
  readonly arithmetic?: "auto" | "exact";
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

const nothingHeld = { baseLots: 0, virtualQuoteLots: 0, unsettledFundingQuoteLots: 0 };

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
