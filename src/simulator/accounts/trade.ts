/**
 * Trades. The house is the counterparty of every trade of an account, at the same value, and receives its fee, so that
 * money is neither created nor lost. Realized profit moves exactly from the position's quote side into collateral.
 */

import { abs, divideUp, min, sign } from "../decimals.ts";
import { noteHolder, type Transaction } from "../ledger/transaction.ts";
import { dropOrder } from "../markets/book.ts";
import { recordTrade } from "../markets/prices.ts";
import type { Account, Fill, Market, World } from "../state.ts";
import type { MarketTotals, Position } from "./position.ts";

/** Quote lots of one base lot at a price in ticks. */
export function perLot(market: Market, ticks: number): bigint {
  return BigInt(ticks) * market.tickSize;
}

/** Funding accrued and not settled yet; positive: to be received. */
export function unsettledFunding(market: Market, position: Position): bigint {
  return -(market.fundingIndex - position.fundingIndex) * position.baseLots;
}

export function totalsOf(account: Account, symbol: string): MarketTotals {
  let totals = account.totals.get(symbol);
  if (!totals) {
    totals = { realizedPnl: 0n, fundingSettled: 0n, takerFees: 0n, makerFees: 0n };
    account.totals.set(symbol, totals);
  }
  return totals;
}

/** Moves accrued funding into collateral; called at every change of a position. */
export function settleFunding(tx: Transaction, market: Market, account: Account): void {
  const symbol = market.spec.symbol;
  const position = account.positions.get(symbol);
  if (!position || position.fundingIndex === market.fundingIndex) return;
  const amount = unsettledFunding(market, position);
  position.fundingIndex = market.fundingIndex;
  position.accumulatedFunding += amount;
  account.collateral += amount;
  totalsOf(account, symbol).fundingSettled += amount;
  tx.touch(account).positions.add(symbol);
}

export interface TradeTerms {
  readonly liquidity: Fill["liquidity"];
  readonly tradeType: Fill["tradeType"];
  readonly instructionType: string;
  readonly orderSequence?: string;
  readonly parentTwapId?: string;
  /** Positive quote lots of the whole trade, if they differ from lots × price. */
  readonly value?: bigint;
  readonly free?: boolean;
}

/**
 * Trades an account against another one, by default the house. Records the fills of both.
 * @param lots signed: positive buys
 */
export function trade(
  world: World,
  tx: Transaction,
  market: Market,
  account: Account,
  lots: bigint,
  priceTicks: number,
  terms: TradeTerms,
  other: Account = world.house,
): Fill {
  const value = terms.value ?? abs(lots) * perLot(market, priceTicks);
  const quote = -sign(lots) * value;
  const fee = terms.free ? 0n : feeOf(market, value, terms.liquidity);
  market.tradeSequence += 1;
  const fill = fillOne(tx, market, account, lots, quote, fee, terms);
  const otherTerms: TradeTerms = {
    ...terms,
    liquidity: terms.liquidity === "maker" ? "taker" : "maker",
  };
  const otherFill = fillOne(tx, market, other, -lots, -quote, 0n, otherTerms);
  market.fills.push(terms.liquidity === "taker" ? fill : otherFill);
  world.house.collateral += fee;
  if (fee !== 0n) tx.touch(world.house);
  if (terms.liquidity === "taker") market.takerFees += fee;
  else market.makerFees += fee;
  if (terms.tradeType === "market" && terms.liquidity === "taker") account.wallet.sent.push(fill);
  recordTrade(market, tx.atMs, abs(lots), value);
  return fill;
}

export function feeOf(market: Market, value: bigint, liquidity: Fill["liquidity"]): bigint {
  const rate = liquidity === "taker" ? market.spec.takerFeeMillionths : market.spec.makerFeeMillionths;
  return divideUp(value * rate, 1_000_000n);
}

function fillOne(
  tx: Transaction,
  market: Market,
  account: Account,
  lots: bigint,
  quote: bigint,
  fee: bigint,
  terms: TradeTerms,
): Fill {
  const symbol = market.spec.symbol;
  settleFunding(tx, market, account);
  const before = account.positions.get(symbol);
  const beforeLots = before?.baseLots ?? 0n;
  const beforeQuote = before?.virtualQuoteLots ?? 0n;
  const realized = applyFill(tx, market, account, lots, quote);
  const after = account.positions.get(symbol);
  account.collateral += realized - fee;
  const totals = totalsOf(account, symbol);
  totals.realizedPnl += realized;
  if (terms.liquidity === "taker") totals.takerFees += fee;
  else totals.makerFees += fee;
  const fill: Fill = {
    ...tx.next(),
    account,
    symbol,
    instructionType: terms.instructionType,
    baseLotsBefore: beforeLots,
    baseLotsAfter: after?.baseLots ?? 0n,
    virtualQuoteLotsBefore: beforeQuote,
    virtualQuoteLotsAfter: after?.virtualQuoteLots ?? 0n,
    baseLots: lots,
    quoteLots: quote,
    realizedPnl: realized,
    fee,
    liquidity: terms.liquidity,
    orderSequence: terms.orderSequence ?? null,
    tradeType: terms.tradeType,
    parentTwapId: terms.parentTwapId ?? null,
  };
  account.wallet.fills.push(fill);
  tx.touch(account).fills.push(fill);
  return fill;
}

/** @returns realized profit of the reduced part of the position */
function applyFill(tx: Transaction, market: Market, account: Account, lots: bigint, quote: bigint): bigint {
  const position = account.positions.get(market.spec.symbol);
  if (!position) {
    setPosition(tx, market, account, lots, quote);
    return 0n;
  }
  const { baseLots, virtualQuoteLots } = position;
  if (sign(baseLots) === sign(lots)) {
    setPosition(tx, market, account, baseLots + lots, virtualQuoteLots + quote);
    return 0n;
  }
  const reduced = min(abs(lots), abs(baseLots));
  const closedQuote = (virtualQuoteLots * reduced) / abs(baseLots);
  const closingQuote = (quote * reduced) / abs(lots);
  setPosition(tx, market, account, baseLots + lots, virtualQuoteLots - closedQuote + (quote - closingQuote));
  return closedQuote + closingQuote;
}

/**
 * Sets a position and what depends on it: a flip makes a new position, its triggers end with the old one, reduce-only
 * orders without a position to reduce are cancelled. Funding has to be settled before. The remaining quote side of an
 * exactly closed position moves to collateral.
 */
export function setPosition(
  tx: Transaction,
  market: Market,
  account: Account,
  baseLots: bigint,
  virtualQuoteLots: bigint,
): void {
  const symbol = market.spec.symbol;
  const old = account.positions.get(symbol);
  const change = tx.touch(account);
  if (old || baseLots !== 0n) change.positions.add(symbol);
  if (old && old.triggers.length > 0 && sign(old.baseLots) !== sign(baseLots)) change.triggers.add(symbol);
  market.openInterestLots += max0(baseLots) - max0(old?.baseLots ?? 0n);
  if (baseLots === 0n) {
    account.positions.delete(symbol);
    account.collateral += virtualQuoteLots;
  } else if (old && sign(old.baseLots) === sign(baseLots)) {
    old.baseLots = baseLots;
    old.virtualQuoteLots = virtualQuoteLots;
  } else {
    market.positionSequence += 1;
    totalsOf(account, symbol);
    account.positions.set(symbol, {
      sequence: market.positionSequence,
      baseLots,
      virtualQuoteLots,
      fundingIndex: market.fundingIndex,
      accumulatedFunding: 0n,
      triggers: [],
    });
  }
  for (const order of account.orders) {
    if (order.symbol !== symbol || !order.reduceOnly) continue;
    if (sign(baseLots) !== (order.side === "ask" ? 1n : -1n)) dropOrder(tx, market, order, "cancelled");
  }
  noteHolder(market, account);
}

const max0 = (value: bigint): bigint => (value > 0n ? value : 0n);
