/**
 * A stop loss for an open position. The request is checked against the position and the mark, and the exchange's
 * instruction against the request; the transaction is assembled and simulated by the ledger. It is never sent from
 * here.
 */
import {
  type Client,
  decimalText,
  type MarketConfig,
  parseDecimal,
  priceText,
  type RecordFor,
  type StopLossOrder,
  ticksNearest,
} from "../contract/index.ts";
import { traderAddress } from "../wallet/address.ts";
import { assembleTransaction, type LedgerTransaction } from "../wallet/ledger-transaction.ts";
import { farSentence } from "./far-sentence.ts";
import { compareMarket } from "./market-account.ts";
import { type Cost, exchangeAccounts, simulateCost } from "./onboarding.ts";
import {
  checkNotOwn,
  InstructionsRefused,
  namedAccounts,
  plainInstructions,
  type Reviewed,
  reviewed,
  reviewTransaction,
} from "./review.ts";
import type { Ledger, Lifetime } from "./rpc.ts";
import { allowedStopLoss, bandOf, type StopLossRequest } from "./signing.ts";
import { BadStopLoss, checkBand, checkPrices } from "./stop-loss-band.ts";

/** The exchange and the ledger state different values about a market. Nothing is built. */
export class MarketDiffers extends Error {
  override readonly name = "MarketDiffers";
  constructor(differences: readonly string[]) {
    super(
      `one of them is wrong, so nothing is built:\n  ${differences.join("\n  ")}\n` +
        "Compare with another node of the ledger (ledger.rpcUrl), and sign nothing until they agree.",
    );
  }
}

export interface StopLossParts<Options> {
  readonly client: Pick<
    Client<Options>,
    "traderState" | "traderView" | "market" | "markPrice" | "exchangeKeys" | "placeStopLossOrder"
  >;
  /** The options of every call, with the wallet's session. */
  readonly call: Options;
  readonly ledger: Ledger;
}

export interface StopLossAsked {
  readonly authority: string;
  readonly feePayer: string;
  readonly pdaIndex: number;
  /** Null: the only subaccount that holds the position. */
  readonly subaccount: number | null;
  readonly symbol: string;
  /** USD, decimals. */
  readonly triggerPrice: string;
  /** Worst price of the closing order, USD. Null: `slippagePercent` beyond the trigger. */
  readonly executionPrice: string | null;
  readonly slippagePercent: number;
  /** Base units; null: the whole position. */
  readonly size: string | null;
  readonly kind: "ioc" | "limit";
  /** The prices are meant to be far from the mark, or beyond the liquidation price. */
  readonly far: boolean;
}

export interface StopLossPlan {
  readonly order: StopLossOrder;
  readonly market: MarketConfig;
  readonly subaccount: number;
  readonly traderAccount: string;
  readonly position: Position;
  /** USD a unit. */
  readonly mark: number;
  /** USD a unit; null: there is none. */
  readonly liquidationPrice: string | null;
  /** Trigger prices, USD, of the stop losses that it replaces. */
  readonly replaces: readonly string[];
  readonly warnings: readonly string[];
  readonly reviewed: Reviewed;
  /** The request for the signers. */
  readonly request: StopLossRequest;
  readonly cost: Cost;
  /** Not signed yet. */
  readonly transaction: LedgerTransaction;
  readonly lifetime: Lifetime;
}

type State = RecordFor<"traderState">;
type Position = State["snapshot"]["subaccounts"][number]["positions"][number];

const microUsd = 6;

/**
 * @throws {BadStopLoss} when the request does not fit the position, or its prices are not plausible
 * @throws {MarketDiffers} when the exchange and the ledger disagree about the market
 * @throws {InstructionsRefused} when the exchange returns something other than what was requested
 * @throws {LedgerError} when the ledger cannot be read, or expects a failure
 */
export async function planStopLoss<Options>(
  { client, call, ledger }: StopLossParts<Options>,
  asked: StopLossAsked,
): Promise<StopLossPlan> {
  const { authority, feePayer, pdaIndex } = asked;
  const state = await client.traderState({ authority, traderPdaIndex: pdaIndex }, call);
  const { subaccount, position } = positionOf(state, asked);
  const { symbol } = position;
  const market = await client.market({ symbol }, call);
  const { account, differences } = await compareMarket(ledger, market);
  if (differences.length > 0) throw new MarketDiffers(differences);
  const { markPrice } = await client.markPrice({ symbol }, call);
  if (markPrice === null)
    throw new BadStopLoss(`${symbol} has no mark price now, so that nothing can be checked`);
  const order = orderOf(asked, position, market);
  const mark = markPrice.price;
  checkPrices(order, { market: account, mark, far: asked.far });

  const traderAccount = traderAddress(authority, { pdaIndex, subaccount });
  const view = await client.traderView({ traderPubkey: traderAccount }, call);
  const shown = view.positions.find((it) => it.symbol === symbol)?.liquidationPrice;
  const liquidation = shown && shown.value > 0n ? shown : null;
  const liquidationWarning = liquidation === null ? null : warningOfLiquidation(order, market, liquidation);
  if (liquidationWarning !== null && !asked.far)
    throw new BadStopLoss(`${liquidationWarning}. Where that is meant: --far "${farSentence}"`);
  const accounts = await client.exchangeKeys({}, call);
  const ours = [authority, feePayer, traderAccount];
  checkNotOwn({ market: market.marketPubkey, spline: market.splinePubkey, ...namedAccounts(accounts) }, ours);
  const returned = await client.placeStopLossOrder(
    {
      authority,
      traderPdaIndex: pdaIndex,
      traderSubaccountIndex: subaccount,
      symbol,
      side: order.side,
      numBaseLots: Number(order.baseLots),
      stopLossTriggerPriceInTicks: Number(order.triggerTicks),
      stopLossExecutionPriceInTicks: Number(order.executionTicks),
      orderKind: order.kind,
      isIsolated: subaccount > 0,
      feePayer,
    },
    call,
  );
  const whole = order.baseLots === abs(position.basePositionLots);
  const request = (baseLots: bigint): StopLossRequest => ({
    ...{ authority, feePayer, pdaIndex, subaccount },
    accounts: exchangeAccounts(accounts),
    market: market.marketPubkey,
    spline: market.splinePubkey,
    assetId: account.assetId,
    known: {
      ...{ symbol: account.symbol, tickSize: account.tickSize, baseLotsDecimals: account.baseLotsDecimals },
      ...{ mark, far: asked.far },
    },
    order: { ...order, baseLots },
  });
  const reviewedOrder = reviewStopLoss(returned, request, order.baseLots, whole);

  const lifetime = await ledger.latestBlockhash();
  const transaction = assembleTransaction({
    feePayer,
    blockhash: lifetime.blockhash,
    instructions: plainInstructions(reviewedOrder.reviewed),
  });
  reviewTransaction(transaction, reviewedOrder.reviewed);
  checkBand(transaction.wire, bandOf(reviewedOrder.request));
  const [payer] = await ledger.accounts([feePayer]);
  const cost = await simulateCost(ledger, transaction.wire, feePayer, payer?.lamports ?? 0n);
  return {
    order,
    market,
    subaccount,
    traderAccount,
    position,
    mark,
    liquidationPrice: liquidation === null ? null : trimmed(liquidation.ui),
    replaces: presentTriggers(state, subaccount, position).map((ticks) => usd(market, ticks)),
    warnings: liquidationWarning === null ? [] : [liquidationWarning],
    ...reviewedOrder,
    cost,
    transaction,
    lifetime,
  };
}

/** Accepts an instruction that states the size, or 0 for the whole position where that was requested. */
function reviewStopLoss(
  returned: RecordFor<"placeStopLossOrder">,
  requestOf: (baseLots: bigint) => StopLossRequest,
  baseLots: bigint,
  whole: boolean,
): Pick<StopLossPlan, "reviewed" | "request"> {
  const attempt = (lots: bigint) => {
    const request = requestOf(lots);
    const { instructions, feePayer } = allowedStopLoss(request);
    return { request, reviewed: reviewed(returned, instructions, feePayer) };
  };
  try {
    return attempt(baseLots);
  } catch (error) {
    if (!whole || !(error instanceof InstructionsRefused)) throw error;
    try {
      return attempt(0n);
    } catch {
      throw error;
    }
  }
}

function positionOf(state: State, { symbol, subaccount }: StopLossAsked) {
  const wanted = symbol.toUpperCase();
  const all = state.snapshot.subaccounts.flatMap((it) =>
    it.positions.map((position) => ({ subaccount: it.subaccountIndex, position })),
  );
  const found = all.filter(
    (it) =>
      it.position.symbol.toUpperCase() === wanted && (subaccount === null || it.subaccount === subaccount),
  );
  const [first] = found;
  if (first === undefined) {
    const where = subaccount === null ? "" : ` in subaccount ${subaccount}`;
    const held = [...new Set(all.map((it) => it.position.symbol))].join(", ");
    throw new BadStopLoss(`there is no position in ${symbol}${where}; there are: ${held || "none"}`);
  }
  if (found.length > 1) {
    const indices = found.map((it) => it.subaccount).join(", ");
    throw new BadStopLoss(
      `${first.position.symbol} is held in subaccounts ${indices}: say which with --subaccount`,
    );
  }
  return first;
}

function orderOf(asked: StopLossAsked, position: Position, market: MarketConfig): StopLossOrder {
  const held = abs(position.basePositionLots);
  const closing = position.basePositionLots > 0n ? "ask" : "bid";
  const triggerTicks = ticksOf(market, asked.triggerPrice, "the trigger price");
  const executionTicks =
    asked.executionPrice === null
      ? pricePastTrigger(triggerTicks, closing, asked.slippagePercent)
      : ticksOf(market, asked.executionPrice, "the execution price");
  const baseLots = asked.size === null ? held : unitsOf(asked.size, market.baseLotsDecimals, "the size");
  if (baseLots > held) {
    const has = decimalText(held, market.baseLotsDecimals);
    throw new BadStopLoss(`the position has ${has} units, less than ${asked.size}`);
  }
  if (baseLots > BigInt(Number.MAX_SAFE_INTEGER))
    throw new BadStopLoss("the size is too large to be asked for");
  const direction = closing === "ask" ? "below" : "above";
  return { triggerTicks, executionTicks, baseLots, side: closing, direction, kind: asked.kind };
}

/** A price worse than the trigger by this percentage. */
function pricePastTrigger(triggerTicks: bigint, closing: "ask" | "bid", percent: number): bigint {
  const hundredths = BigInt(Math.round(percent * 100));
  const away = (triggerTicks * hundredths) / 10_000n;
  const ticks = closing === "ask" ? triggerTicks - away : triggerTicks + away;
  if (ticks < 1n) throw new BadStopLoss("the execution price would be 0");
  return ticks;
}

/** Null: the stop loss triggers before the position would be liquidated. */
function warningOfLiquidation(
  order: StopLossOrder,
  market: MarketConfig,
  liquidation: { readonly value: bigint; readonly decimals: number; readonly ui: string },
): string | null {
  const trigger = Number(usd(market, order.triggerTicks));
  const price = Number(decimalText(liquidation.value, liquidation.decimals));
  const isTooLate = order.direction === "below" ? trigger <= price : trigger >= price;
  return isTooLate
    ? `the position would be liquidated at ${trimmed(liquidation.ui)}, before this stop loss goes off at ${trigger}`
    : null;
}

/** Triggers of the position's present stop losses; an account has at most one of each. */
function presentTriggers(state: State, subaccount: number, { symbol, stopLossTriggers }: Position): bigint[] {
  const rows = state.snapshot.subaccounts.find((it) => it.subaccountIndex === subaccount)?.triggers ?? [];
  const newer = rows.filter((it) => it.symbol === symbol).flatMap((it) => it.stopLossTriggers);
  return (newer.length > 0 ? newer : stopLossTriggers).map((it) => it.trigger.triggerPriceTicks);
}

/** The nearest tick to a price. */
function ticksOf(market: MarketConfig, price: string, what: string): bigint {
  unitsOf(price, microUsd + Math.max(0, -market.baseLotsDecimals), what);
  const ticks = ticksNearest(price, market) ?? 0n;
  if (ticks < 1n || ticks > 2n ** 52n) throw new BadStopLoss(`${what} is out of range: ${price}`);
  return ticks;
}

/** Converts a price in ticks to USD per unit, exactly. */
export function usd(market: MarketConfig, ticks: bigint): string {
  return priceText(ticks, market);
}

const trimmed = (decimal: string): string => decimal.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

/**
 * Parses a decimal above 0 as an integer of 10^-decimals.
 * @throws {BadStopLoss} for other texts, and for numbers that are no whole count of those steps
 */
function unitsOf(text: string, decimals: number, what: string): bigint {
  const value = /^\d{1,15}(\.\d+)?$/.test(text) ? parseDecimal(text, decimals) : undefined;
  if (value !== undefined && value > 0n) return value;
  const wanted =
    decimals < 0
      ? `a multiple of ${10n ** BigInt(-decimals)} above 0`
      : `a number above 0 with at most ${decimals} digits behind the point`;
  throw new BadStopLoss(`${what} is ${wanted}, not ${text}`);
}

const abs = (value: bigint): bigint => (value < 0n ? -value : value);
