/** Trader accounts in the exchange's forms: state in exact lots, view with margin and risk. */
import { type Handlers, priceText, type WireFor, writeAmount } from "../../../contract/index.ts";
import type { MarketAssessment } from "../../../margin/model.ts";
import type { Position, Trigger } from "../../accounts/position.ts";
import { capabilitiesOf, jointRights } from "../../accounts/rights.ts";
import { assess } from "../../accounts/risk.ts";
import { spotBalances, spotView } from "../../accounts/spot.ts";
import { unsettledFunding } from "../../accounts/trade.ts";
import { abs, divideRound, scaledRound, writeDecimal } from "../../decimals.ts";
import type { Account, Market, Order, Wallet, World } from "../../state.ts";
import { present } from "../../world.ts";
import { accountOf, type Context, walletOf } from "./context.ts";

type Snapshot = WireFor<"traderState">["snapshot"];
type Subaccount = NonNullable<Snapshot["subaccounts"]>[number];

const cooldownPeriodInSlots = 216_000;
const names = [
  ["placeLimitOrder", "Place limit orders", "Rest orders on the book."],
  ["placeMarketOrder", "Place market orders", "Take what rests on the book."],
  ["riskIncreasingTrade", "Increase risk", "Trades that make positions larger."],
  ["riskReducingTrade", "Reduce risk", "Trades that make positions smaller."],
  ["depositCollateral", "Deposit", "Bring collateral in."],
  ["withdrawCollateral", "Withdraw", "Take collateral out."],
] as const;

/** The part of the state that changes only with a sequence. */
export function stateSnapshot(world: World, wallet: Wallet | undefined, pdaIndex: number): Snapshot {
  const accounts = wallet ? [...wallet.accounts.values()].filter((it) => it.pdaIndex === pdaIndex) : [];
  accounts.sort((a, b) => a.subaccount - b.subaccount);
  const lastDepositSlot = Math.max(0, ...accounts.map((it) => it.lastDepositSlot));
  const registered = accounts.length > 0;
  const emptied = world.observed && lastDepositSlot > 0 && accounts.every(holdsNothing);
  const subaccounts = emptied ? [] : accounts.map((it) => subaccountRow(world, it, lastDepositSlot));
  return {
    version: 1,
    capabilities: capabilitiesOf(jointRights(accounts)),
    makerFeeOverrideMultiplier: 1,
    takerFeeOverrideMultiplier: 1,
    subaccounts: registered ? subaccounts : [emptySubaccount],
  };
}

/** The live exchange lists no empty accounts. */
const holdsNothing = ({ collateral, spot, positions, orders }: Account): boolean =>
  collateral === 0n && !spot && positions.size === 0 && orders.size === 0;

/** The state of a wallet that never traded. */
const emptySubaccount: Subaccount = {
  subaccountIndex: 0,
  sequence: 0,
  collateral: "0",
  spotCollaterals: [],
  capabilities: capabilitiesOf(jointRights([])),
  cooldownStatus: { lastDepositSlot: 0, cooldownPeriodInSlots },
  positions: [],
  orders: [],
  splines: [],
  triggers: [],
};

function subaccountRow(world: World, account: Account, lastDepositSlot: number): Subaccount {
  const positions: NonNullable<Subaccount["positions"]> = [];
  const triggers: NonNullable<Subaccount["triggers"]> = [];
  for (const [symbol, position] of account.positions) {
    const market = world.markets.get(symbol)!;
    positions.push({ symbol, ...positionRow(market, position) });
    if (position.triggers.length > 0) triggers.push({ symbol, ...triggerRow(position) });
  }
  return {
    subaccountIndex: account.subaccount,
    sequence: account.sequence,
    collateral: account.collateral.toString(),
    spotCollaterals: spotBalances(account),
    capabilities: capabilitiesOf(account),
    cooldownStatus: { lastDepositSlot, cooldownPeriodInSlots },
    positions,
    orders: [...bySymbol(account)].map(([symbol, orders]) => ({
      symbol,
      orders: orders.map((order) => orderRow(world.markets.get(symbol)!, order)),
    })),
    splines: [],
    triggers,
  };
}

export function positionRow(market: Market, position: Position) {
  const { baseLotsDecimals } = market.spec;
  const size = abs(position.baseLots);
  const quote = abs(position.virtualQuoteLots);
  return {
    positionSequenceNumber: String(position.sequence),
    basePositionLots: position.baseLots.toString(),
    basePositionUnits: writeDecimal(position.baseLots, baseLotsDecimals),
    entryPriceTicks: divideRound(quote, size * market.tickSize).toString(),
    entryPriceUsd: writeDecimal(entryPrice(market, position), 6),
    virtualQuotePositionLots: position.virtualQuoteLots.toString(),
    unsettledFundingQuoteLots: unsettledFunding(market, position).toString(),
    accumulatedFundingQuoteLots: position.accumulatedFunding.toString(),
    ...triggerRow(position),
  };
}

/** Micro-dollars of one unit. */
function entryPrice(market: Market, position: Position): bigint {
  return scaledRound(abs(position.virtualQuoteLots), market.spec.baseLotsDecimals, abs(position.baseLots));
}

export function triggerRow(position: Position) {
  const row = ({ triggerTicks, executionTicks, side }: Trigger) => ({
    triggerPriceTicks: String(triggerTicks),
    executionPriceTicks: String(executionTicks),
    side,
    kind: "ioc",
  });
  const of = (kind: Trigger["kind"]) => position.triggers.filter((it) => it.kind === kind);
  return {
    takeProfitTriggers: of("takeProfit").map((it) => ({
      takeProfitId: it.id,
      trigger: row(it),
      status: "active",
    })),
    stopLossTriggers: of("stopLoss").map((it) => ({ stopLossId: it.id, trigger: row(it), status: "active" })),
    conditionalTakeProfitTriggers: [],
    conditionalStopLossTriggers: [],
  };
}

export function orderRow(market: Market, order: Order) {
  return {
    orderSequenceNumber: order.sequence,
    side: order.side,
    orderType: "limit",
    conditionalKind: null,
    priceTicks: String(order.priceTicks),
    priceUsd: ticksText(market, order.priceTicks),
    sizeRemainingLots: order.remainingLots.toString(),
    sizeRemainingUnits: writeDecimal(order.remainingLots, market.spec.baseLotsDecimals),
    initialSizeLots: order.initialLots.toString(),
    reduceOnly: order.reduceOnly,
    isStopLoss: false,
    isStopLossDirection: false,
    isConditionalOrder: false,
    status: order.status,
  };
}

/** A price in ticks as an exact decimal in USD. */
export function ticksText(market: Market, ticks: number): string {
  return priceText(BigInt(ticks), market.spec);
}

function bySymbol(account: Account): Map<string, Order[]> {
  const groups = new Map<string, Order[]>();
  for (const order of account.orders) {
    const group = groups.get(order.symbol);
    if (group) group.push(order);
    else groups.set(order.symbol, [order]);
  }
  return groups;
}

/** Caches the text of trader states until a sequence changes: they are read often and change rarely. */
export function stateTexts(): (
  args: { authority: string; traderPdaIndex: number },
  context: Context,
) => string {
  const kept = new WeakMap<Wallet, Map<number, { version: number; text: string }>>();
  const textOf = (world: World, wallet: Wallet, pdaIndex: number): string => {
    // Sequences only increase and accounts are never removed, so the sum differs after every change.
    let version = 0;
    for (const account of wallet.accounts.values()) version += account.sequence;
    const texts = kept.get(wallet) ?? new Map<number, { version: number; text: string }>();
    kept.set(wallet, texts);
    let known = texts.get(pdaIndex);
    if (known?.version !== version) {
      const snapshot = JSON.stringify(stateSnapshot(world, wallet, pdaIndex));
      known = { version, text: `"snapshot":${snapshot}}` };
      texts.set(pdaIndex, known);
    }
    return known.text;
  };
  return ({ authority, traderPdaIndex }, { world }) => {
    const wallet = walletOf(world, authority);
    const { slot, slotIndex } = present(world);
    const text = wallet
      ? textOf(world, wallet, traderPdaIndex)
      : `"snapshot":${JSON.stringify(stateSnapshot(world, wallet, traderPdaIndex))}}`;
    return `{"authority":"${authority}","traderPdaIndex":${traderPdaIndex},"slot":${slot},"slotIndex":${slotIndex},${text}`;
  };
}

const usd = (value: bigint | number) => writeAmount(BigInt(value), 6);

function view(world: World, account: Account): WireFor<"traderView"> {
  const it = assess(world, account, true);
  const sums = it.totals!;
  let accumulated = 0n;
  for (const position of account.positions.values()) accumulated += position.accumulatedFunding;
  const legs = new Map(it.markets.map((leg) => [leg.symbol, leg]));
  return {
    traderKey: account.address,
    authority: account.wallet.authority,
    traderPdaIndex: account.pdaIndex,
    traderSubaccountIndex: account.subaccount,
    ...present(world),
    ...capabilitiesOf(account),
    collateralBalance: usd(account.collateral),
    spotCollaterals: spotView(world, account),
    effectiveCollateral: usd(sums.effectiveCollateralQuoteLots),
    effectiveCollateralForWithdrawals: usd(sums.effectiveCollateralForWithdrawalsQuoteLots),
    unrealizedPnl: usd(sums.unrealizedQuoteLots),
    discountedUnrealizedPnl: usd(sums.discountedQuoteLots),
    unsettledFundingOwed: usd(it.unsettledFundingQuoteLots),
    accumulatedFunding: usd(accumulated),
    portfolioValue: usd(sums.portfolioValueQuoteLots),
    initialMargin: usd(sums.initialMarginQuoteLots),
    cancelMargin: usd(sums.cancelMarginQuoteLots),
    maintenanceMargin: usd(sums.maintenanceMarginQuoteLots),
    initialMarginForWithdrawals: usd(sums.initialMarginForWithdrawalsQuoteLots),
    riskState: sums.riskState,
    riskTier: sums.riskTier,
    positions: [...account.positions].map(([symbol, position]) =>
      viewPosition(world.markets.get(symbol)!, position, legs.get(symbol)!),
    ),
    limitOrders: Object.fromEntries(
      [...bySymbol(account)].map(([symbol, orders]) => [
        symbol,
        orders.map((order) => viewOrder(world.markets.get(symbol)!, order, legs.get(symbol), orders)),
      ]),
    ),
    maxPositions: account.maxPositions,
    lastDepositSlot: account.lastDepositSlot,
    isInActiveTraders: account.positions.size > 0 || account.orders.size > 0,
    makerFeeOverrideMultiplier: 1,
    takerFeeOverrideMultiplier: 1,
    numMarketsWithSplines: 0,
  };
}

function viewPosition(market: Market, position: Position, leg: MarketAssessment) {
  const figures = leg.figures!;
  const price = (kind: Trigger["kind"]) => {
    const trigger = position.triggers.find((it) => it.kind === kind);
    return trigger ? priceAmount(market, trigger.triggerTicks) : null;
  };
  return {
    symbol: leg.symbol,
    positionSize: writeAmount(position.baseLots, market.spec.baseLotsDecimals),
    virtualQuotePosition: usd(position.virtualQuoteLots),
    entryPrice: usd(entryPrice(market, position)),
    unrealizedPnl: usd(figures.unrealizedQuoteLots),
    discountedUnrealizedPnl: usd(figures.discountedQuoteLots),
    positionInitialMargin: usd(figures.positionInitialMarginQuoteLots),
    limitOrderMargin: usd(figures.limitOrderMarginQuoteLots),
    initialMargin: usd(figures.initialMarginQuoteLots),
    maintenanceMargin: usd(figures.maintenanceMarginQuoteLots),
    backstopMargin: usd(figures.backstopMarginQuoteLots),
    positionValue: usd(figures.positionValueQuoteLots),
    unsettledFunding: usd(leg.unsettledFundingQuoteLots),
    accumulatedFunding: usd(position.accumulatedFunding),
    liquidationPrice: leg.liquidation.kind === "price" ? priceAmount(market, leg.liquidation.ticks) : usd(0n),
    takeProfitPrice: price("takeProfit"),
    stopLossPrice: price("stopLoss"),
  };
}

/** A market's order margin is divided among its orders by size. */
function viewOrder(market: Market, order: Order, leg: MarketAssessment | undefined, all: readonly Order[]) {
  const decimals = market.spec.baseLotsDecimals;
  const lots = all.reduce((sum, it) => sum + (it.reduceOnly ? 0n : it.remainingLots), 0n);
  const margin = BigInt(leg?.figures?.limitOrderMarginQuoteLots ?? 0);
  const part = order.reduceOnly || lots === 0n ? 0n : (margin * order.remainingLots) / lots;
  return {
    price: priceAmount(market, order.priceTicks),
    side: order.side,
    orderSequenceNumber: order.sequence,
    initialTradeSize: writeAmount(order.initialLots, decimals),
    tradeSizeRemaining: writeAmount(order.remainingLots, decimals),
    marginRequirement: usd(part),
    marginFactor: writeAmount(BigInt(market.spec.leverageTiers[0]!.limitOrderRiskFactor) * 100n, 4),
    isReduceOnly: order.reduceOnly,
    isStopLoss: false,
    isStopLossDirection: false,
  };
}

function priceAmount(market: Market, ticks: number) {
  return usd(scaledRound(BigInt(ticks) * market.tickSize, market.spec.baseLotsDecimals));
}

export const traderAnswers = {
  traderState: ({ authority, traderPdaIndex }, { world }) => ({
    authority,
    traderPdaIndex,
    ...present(world),
    snapshot: stateSnapshot(world, walletOf(world, authority), traderPdaIndex),
  }),
  traderView: ({ traderPubkey }, { world }) => view(world, accountOf(world, traderPubkey)),
  traderCapabilities: () => ({
    capabilities: names.map(([key, displayName, description]) => ({
      key,
      displayName,
      description,
      deprecated: false,
    })),
  }),
} satisfies Partial<Handlers<Context>>;
