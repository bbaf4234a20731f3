/**
 * Enforces margin on accounts, worst first, by the account's tier:
 *
 *   cancellable            its orders that increase risk are cancelled
 *   liquidatable           one tranche of its largest position is sold near the mark
 *   backstopLiquidatable   its largest position goes to the backstop liquidator, with a haircut
 *   highRisk               its largest position is closed against a profitable one of the other side
 *
 * One action for each account and step; the account is checked again in the next step. The house is liquidator,
 * backstop and caller.
 */
import type { AccountTotals } from "../../margin/model.ts";
import { abs, max, min, sign } from "../decimals.ts";
import { type Transaction, transact } from "../ledger/transaction.ts";
import { dropOrder } from "../markets/book.ts";
import type { Account, Liquidation, Market, World } from "../state.ts";
import { sweep } from "./collateral.ts";
import { eventNotification } from "./inbox.ts";
import { tradeAmounts, tradeData } from "./orders.ts";
import type { Position } from "./position.ts";
import { assess, totals } from "./risk.ts";
import { perLot, setPosition, settleFunding, totalsOf, trade } from "./trade.ts";

/** Share of the position's notional; less if the account has less. */
const haircutBps = 100n;

/**
 * Checks one account and takes the action of its tier.
 * @returns true if a position was changed
 */
export function enforceMargin(world: World, account: Account): boolean {
  if (account === world.house || (account.positions.size === 0 && account.orders.size === 0)) return false;
  let sums = totals(world, account);
  if (sums.riskTier === "safe" || sums.riskTier === "atRisk") return false;
  if (cancelRiskyOrders(world, account)) sums = totals(world, account);
  const market = largestMarket(world, account);
  const position = market && account.positions.get(market.spec.symbol);
  if (!market || !position) return false;
  switch (sums.riskTier) {
    case "liquidatable":
      transact(world, (tx) => sellTranche(world, tx, market, account, position));
      break;
    case "backstopLiquidatable":
      transact(world, (tx) => handToBackstop(world, tx, market, account, position));
      break;
    case "highRisk":
      transact(world, (tx) => deleverage(world, tx, market, account, position, sums));
      break;
    default:
      return false;
  }
  sweep(world, account);
  return true;
}

/** @returns true if an order was cancelled */
function cancelRiskyOrders(world: World, account: Account): boolean {
  let any = false;
  for (const order of [...account.orders]) {
    const market = world.markets.get(order.symbol);
    if (order.reduceOnly || !market) continue;
    any = true;
    transact(world, (tx) => {
      const released = order.remainingLots;
      dropOrder(tx, market, order, "cancelled");
      const { symbol, side } = order;
      eventNotification(world, tx, account, tx.next(), "risk_engine_cancel_order", {
        data: {
          symbol,
          orderSequenceNumber: order.sequence,
          side,
          trader: account.address,
          priceInTicks: String(order.priceTicks),
          baseLotsReleased: released.toString(),
          quoteLotsReleased: (released * perLot(market, order.priceTicks)).toString(),
          baseLotsRemaining: "0",
          orderbookSequenceNumber: String(market.orderSequence + market.tradeSequence),
          reason: "riskEngine",
        },
        details: { type: "riskEngineCancelOrder", symbol, side, baseLotsReleased: Number(released) },
      });
    });
  }
  return any;
}

/** The market with the largest margin requirement. */
function largestMarket(world: World, account: Account): Market | undefined {
  let largest: string | undefined;
  let most = -1;
  for (const leg of assess(world, account, false).markets) {
    const margin = Number(leg.figures?.maintenanceMarginQuoteLots ?? 0);
    if (leg.baseLots !== 0 && margin > most) {
      most = margin;
      largest = leg.symbol;
    }
  }
  return largest === undefined ? undefined : world.markets.get(largest);
}

function sellTranche(
  world: World,
  tx: Transaction,
  market: Market,
  account: Account,
  position: Position,
): void {
  const { symbol, maxLiquidationSizeBaseLots } = market.spec;
  const long = position.baseLots > 0n;
  const size = min(abs(position.baseLots), maxLiquidationSizeBaseLots);
  const slip = Math.max(1, Math.round(market.markTicks * 0.0005));
  const price = Math.max(1, market.markTicks + (long ? -slip : slip));
  const fill = trade(world, tx, market, account, long ? -size : size, price, {
    liquidity: "taker",
    tradeType: "liquidation",
    instructionType: "Liquidate",
  });
  const side = long ? "ask" : "bid";
  note(account, {
    ...fill,
    account,
    symbol,
    role: "liquidatee",
    detail: {
      kind: "market_order",
      liquidatee: account.address,
      liquidator: world.house.address,
      side: long ? "LONG" : "SHORT",
      lots: size,
      quoteLots: abs(fill.quoteLots),
      positionClosed: fill.baseLotsAfter === 0n,
    },
  });
  eventNotification(world, tx, account, fill, "liquidation", {
    data: tradeData(market, account, side, fill.baseLots, fill.quoteLots, fill.fee),
    details: {
      type: "liquidation",
      symbol,
      side,
      ...tradeAmounts(market, fill.baseLots, fill.quoteLots),
    },
  });
}

/**
 * Transfers a position with its quote side; the account pays its loss and a haircut to the receiver. Both collateral
 * changes are the same amount.
 */
function handToBackstop(
  world: World,
  tx: Transaction,
  market: Market,
  account: Account,
  position: Position,
): void {
  const { symbol, assetId } = market.spec;
  const { house } = world;
  settleFunding(tx, market, account);
  settleFunding(tx, market, house);
  const { baseLots, virtualQuoteLots } = position;
  const notional = abs(baseLots) * perLot(market, market.markTicks);
  const unrealized = virtualQuoteLots + baseLots * perLot(market, market.markTicks);
  const equity = account.collateral + unrealized;
  const haircut = max(0n, min((notional * haircutBps) / 10_000n, equity));
  const change = unrealized - haircut;
  const held = house.positions.get(symbol);
  setPosition(
    tx,
    market,
    house,
    (held?.baseLots ?? 0n) + baseLots,
    (held?.virtualQuoteLots ?? 0n) + virtualQuoteLots,
  );
  removePosition(tx, market, account);
  account.collateral += change;
  totalsOf(account, symbol).realizedPnl += change;
  house.collateral -= change;
  const place = tx.next();
  const haircutRateBps = Number((haircut * 10_000n) / notional);
  const detail = {
    kind: "backstop",
    liquidatee: account.address,
    liquidator: house.address,
    lots: abs(baseLots),
    quoteLots: abs(virtualQuoteLots),
    haircutRateBps,
    liquidateeChange: change,
    liquidatorChange: -change,
  } as const;
  note(account, { ...place, account, symbol, role: "backstop_liquidatee", detail });
  eventNotification(world, tx, account, place, "backstop_liquidation", {
    data: {
      assetId: String(assetId),
      liquidatee: account.address,
      liquidator: house.address,
      baseLotsTransferred: baseLots.toString(),
      virtualQuoteLotsTransferred: virtualQuoteLots.toString(),
      haircutRate: haircutRateBps,
      liquidateeCollateralChange: change.toString(),
      liquidatorCollateralChange: (-change).toString(),
    },
    details: {
      type: "backstopLiquidation",
      assetId,
      baseLotsTransferred: Number(baseLots),
      virtualQuoteLotsTransferred: Number(virtualQuoteLots),
      haircutRate: haircutRateBps,
    },
  });
}

/** Removes a position without closing its quote side into collateral. */
function removePosition(tx: Transaction, market: Market, account: Account): void {
  const position = account.positions.get(market.spec.symbol);
  if (!position) return;
  position.virtualQuoteLots = 0n;
  setPosition(tx, market, account, 0n, 0n);
}

/**
 * Closes against the most profitable position of the other side: at the mark, or, if the account cannot pay that, at
 * the value at which nothing is left of it; the profitable side bears the difference.
 */
function deleverage(
  world: World,
  tx: Transaction,
  market: Market,
  account: Account,
  position: Position,
  sums: AccountTotals,
): void {
  const { symbol, assetId } = market.spec;
  const long = position.baseLots > 0n;
  const other = mostProfitable(world, market, account, !long) ?? world.house;
  const held = other === world.house ? abs(position.baseLots) : abs(other.positions.get(symbol)!.baseLots);
  const lots = min(abs(position.baseLots), held);
  const atMark = lots * perLot(market, market.markTicks);
  const shortfall = max(0n, -BigInt(sums.effectiveCollateralQuoteLots));
  const loss = (shortfall * lots) / abs(position.baseLots) + (shortfall > 0n ? 1n : 0n);
  const value = max(1n, long ? atMark + loss : atMark - loss);
  const before = { account: account.collateral, other: other.collateral };
  const terms = {
    liquidity: "taker",
    tradeType: "adl",
    instructionType: "CloseMatchedPositions",
    value,
    free: true,
  } as const;
  const fill = trade(
    world,
    tx,
    market,
    account,
    -sign(position.baseLots) * lots,
    market.markTicks,
    terms,
    other,
  );
  const atLossChange = account.collateral - before.account;
  const inProfitChange = other.collateral - before.other;
  const detail = {
    kind: "adl",
    caller: world.house.address,
    closedShort: (long ? other : account).address,
    closedLong: (long ? account : other).address,
    inProfit: other.address,
    lots,
    closeValue: value,
    atLossChange,
    inProfitChange,
  } as const;
  const { slot, slotIndex, eventIndex, instructionIndex, atMs } = fill;
  const place = { slot, slotIndex, eventIndex, instructionIndex, atMs };
  note(account, {
    ...place,
    account,
    symbol,
    role: long ? "adl_closed_long" : "adl_closed_short",
    detail,
  });
  if (other !== world.house) {
    note(other, { ...place, account: other, symbol, role: "adl_in_profit", detail });
  }
  note(world.house, { ...place, account: null, symbol, role: "adl_caller", detail });
  const body = {
    data: {
      assetId: String(assetId),
      caller: detail.caller,
      closedShort: detail.closedShort,
      closedLong: detail.closedLong,
      inProfitAccount: detail.inProfit,
      baseLotsClosed: lots.toString(),
      atLossCloseValue: value.toString(),
      inProfitCloseValue: value.toString(),
      atLossCollateralChange: atLossChange.toString(),
      inProfitCollateralChange: inProfitChange.toString(),
    },
    details: { type: "adl", assetId, baseLotsClosed: Number(lots) },
  };
  eventNotification(world, tx, account, place, "adl", body, 0);
  eventNotification(world, tx, other, place, "adl", body, 1);
}

function mostProfitable(world: World, market: Market, not: Account, long: boolean): Account | undefined {
  let best: Account | undefined;
  let most = 0n;
  for (const account of market.holders) {
    const position = account.positions.get(market.spec.symbol);
    if (!position || account === not || account === world.house || position.baseLots > 0n !== long) continue;
    const profit = position.virtualQuoteLots + position.baseLots * perLot(market, market.markTicks);
    if (profit > most) {
      most = profit;
      best = account;
    }
  }
  return best;
}

function note(account: Account, liquidation: Liquidation): void {
  const { slot, slotIndex, eventIndex, instructionIndex, atMs, symbol, role, detail } = liquidation;
  account.wallet.liquidations.push({
    slot,
    slotIndex,
    eventIndex,
    instructionIndex,
    atMs,
    account: liquidation.account,
    symbol,
    role,
    detail,
  });
}
