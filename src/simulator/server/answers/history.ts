/** Paged histories of wallets, newest first. Cursors stay valid while rows are added. */
import { createHash } from "node:crypto";
import type { Handlers, WireFor } from "../../../contract/index.ts";
import { tradeAmounts } from "../../accounts/orders.ts";
import { feeOf } from "../../accounts/trade.ts";
import { abs, microPerUnit, writeDecimal } from "../../decimals.ts";
import { Journal, type Page } from "../../journal.ts";
import { signatureAt } from "../../ledger/transaction.ts";
import type {
  Account,
  CollateralMove,
  Fill,
  FundingRow,
  Liquidation,
  Market,
  Order,
  PublicFill,
  World,
} from "../../state.ts";
import { accountOf, type Context, iso, marketOf, seconds, walletOf } from "./context.ts";
import { ticksText } from "./trader.ts";

/** The contract does not state the default `limit` of the trade history. */
export const defaultLimit = 100;

type Row<N extends keyof Rows> = Rows[N];
interface Rows {
  collateral: NonNullable<WireFor<"userCollateralHistory">["data"]>[number];
  liquidation: NonNullable<WireFor<"liquidationHistory">["data"]>[number];
  funding: NonNullable<WireFor<"fundingHourly">["events"]>[number];
  order: NonNullable<WireFor<"orderHistory">["data"]>[number];
  fill: NonNullable<WireFor<"tradesHistory">["data"]>[number];
}

export const usd = (quoteLots: bigint): string => writeDecimal(quoteLots, 6);
export const cursors = ({ nextCursor, prevCursor, hasMore }: Page<unknown>) => ({
  nextCursor,
  prevCursor,
  hasMore,
});

/** An unknown wallet has empty histories. */
export function journalOf<T>(journal: Journal<T> | undefined): Journal<T> {
  return journal ?? new Journal<T>(1);
}

export function units(world: World, symbol: string, lots: bigint): string {
  return writeDecimal(lots, world.markets.get(symbol)!.spec.baseLotsDecimals);
}

/** Micro-dollars of one unit, if `lots` have the value `quote` in quote lots. */
export function unitPrice(world: World, symbol: string, lots: bigint, quote: bigint): string {
  return usd(microPerUnit(quote, lots, world.markets.get(symbol)!.spec.baseLotsDecimals));
}

function collateralRow(it: CollateralMove): Row<"collateral"> {
  return {
    slot: it.slot,
    slotIndex: it.slotIndex,
    eventIndex: it.eventIndex,
    traderPdaIndex: it.account.pdaIndex,
    traderSubaccountIndex: it.account.subaccount,
    eventType: it.type,
    amount: Number(it.amount),
    collateralAfter: Number(it.collateralAfter),
    timestamp: iso(it.atMs),
  };
}

function liquidationRow(world: World, it: Liquidation): Row<"liquidation"> {
  const { detail, symbol } = it;
  const common = {
    role: it.role,
    slot: it.slot,
    slotIndex: it.slotIndex,
    eventIndex: it.eventIndex,
    timestamp: seconds(it.atMs),
    signature: signatureAt(it),
    symbol,
    market: symbol,
    subaccountIndex: it.account?.subaccount ?? null,
    size: units(world, symbol, detail.lots),
  };
  switch (detail.kind) {
    case "market_order":
      return {
        kind: "market_order",
        type: "market",
        ixName: "Liquidate",
        ...common,
        liquidatee: detail.liquidatee,
        liquidator: detail.liquidator,
        side: detail.side,
        price: unitPrice(world, symbol, detail.lots, detail.quoteLots),
        positionClosed: detail.positionClosed,
        baseLotsFilled: detail.lots.toString(),
        quoteLotsFilled: detail.quoteLots.toString(),
      };
    case "backstop":
      return {
        kind: "backstop",
        type: "backstop",
        ixName: "BackstopLiquidate",
        ...common,
        liquidatee: detail.liquidatee,
        liquidator: detail.liquidator,
        quoteSize: usd(detail.quoteLots),
        haircutRateBps: detail.haircutRateBps,
        liquidateeCollateralChange: usd(detail.liquidateeChange),
        liquidatorCollateralChange: usd(detail.liquidatorChange),
      };
    case "adl":
      return {
        kind: "adl",
        type: "adl",
        ixName: "CloseMatchedPositions",
        ...common,
        caller: detail.caller,
        closedShort: detail.closedShort,
        closedLong: detail.closedLong,
        inProfitAccount: detail.inProfit,
        atLossCloseValue: usd(detail.closeValue),
        inProfitCloseValue: usd(detail.closeValue),
        atLossCollateralChange: usd(detail.atLossChange),
        inProfitCollateralChange: usd(detail.inProfitChange),
      };
  }
}

function fundingRow(world: World, it: FundingRow): Row<"funding"> {
  return {
    timestamp: seconds(it.atMs),
    symbol: it.symbol,
    fundingPayment: usd(it.payment),
    fundingRatePercentage: it.ratePercentage,
    positionSize: units(world, it.symbol, abs(it.baseLots)),
    positionSide: it.baseLots > 0n ? "Long" : "Short",
  };
}

function orderRow(world: World, it: Order): Row<"order"> {
  const size = (lots: bigint) => units(world, it.symbol, lots);
  return {
    orderSequenceNumber: it.sequence,
    marketSymbol: it.symbol,
    status: it.status,
    side: it.side,
    isReduceOnly: it.reduceOnly,
    isStopLoss: false,
    isStopLossDirection: false,
    isConditionalOrder: false,
    price: ticksText(world.markets.get(it.symbol)!, it.priceTicks),
    baseQty: size(it.initialLots),
    remainingBaseQty: size(it.status === "active" ? it.remainingLots : 0n),
    filledBaseQty: size(it.filledLots),
    placedAt: iso(it.place.atMs),
    completedAt: it.completedMs === null ? null : iso(it.completedMs),
  };
}

/** The names of a fill. For parts of an order over time, the live exchange states only their order. */
export function fillNames(world: World, it: Fill) {
  const { parentTwapId } = it;
  return parentTwapId !== null && world.observed
    ? { signature: null, fillId: null, parentTwapId }
    : { signature: signatureAt(it), fillId: fillId(it) };
}

/** A name-based UUID (version 5 form) of a place and an account. */
function fillId(fill: Fill): string {
  const name = `${fill.slot} ${fill.slotIndex} ${fill.eventIndex} ${fill.account.address}`;
  const h = createHash("sha1").update(name).digest("hex");
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-5${h.slice(13, 16)}-a${h.slice(17, 20)}-${h.slice(20, 32)}`;
}

export function fillRow(world: World, it: Fill): Row<"fill"> {
  const size = (lots: bigint) => units(world, it.symbol, lots);
  return {
    userId: it.account.wallet.userId,
    traderId: it.account.traderId,
    traderPdaIndex: it.account.pdaIndex,
    subaccountIndex: it.account.subaccount,
    marketSymbol: it.symbol,
    ...fillNames(world, it),
    timestamp: iso(it.atMs),
    slot: it.slot,
    slotIndex: it.slotIndex,
    eventIndex: it.eventIndex,
    instructionIndex: it.instructionIndex,
    instructionType: it.instructionType,
    baseLotsBefore: size(it.baseLotsBefore),
    baseLotsAfter: size(it.baseLotsAfter),
    baseLotsDelta: size(it.baseLots),
    virtualQuoteLotsBefore: usd(it.virtualQuoteLotsBefore),
    virtualQuoteLotsAfter: usd(it.virtualQuoteLotsAfter),
    virtualQuoteLotsDelta: usd(it.virtualQuoteLotsAfter - it.virtualQuoteLotsBefore),
    price: unitPrice(world, it.symbol, it.baseLots, it.quoteLots),
    realizedPnl: usd(it.realizedPnl),
    fees: usd(it.fee),
    liquidity: it.liquidity,
    orderSequenceNumber: it.orderSequence,
    splineSequenceNumber: null,
    tradeType: it.tradeType,
  };
}

export function publicFill(world: World, symbol: string, it: PublicFill) {
  return {
    marketSymbol: symbol,
    baseQty: units(world, symbol, it.baseLots),
    quoteQty: usd(it.quoteLots),
    price: unitPrice(world, symbol, it.baseLots, it.quoteLots),
    timestamp: iso(it.atMs),
    transactionSignature: signatureAt(it),
    instructionType: it.instructionType,
  };
}

/** A trade of the stream. Trades of outsiders pay the general fee. */
export function publicTrade(world: World, symbol: string, it: PublicFill) {
  const market = world.markets.get(symbol)!;
  return {
    slot: String(it.slot),
    slotIndex: it.slotIndex,
    timestamp: String(seconds(it.atMs)),
    symbol,
    taker: world.house.address,
    tradeSequenceNumber: `${it.slot}${it.eventIndex}`,
    side: it.baseLots > 0n ? "bid" : "ask",
    baseLotsFilled: abs(it.baseLots).toString(),
    quoteLotsFilled: abs(it.quoteLots).toString(),
    feeInQuoteLots: feeOf(market, abs(it.quoteLots), "taker").toString(),
    ...tradeAmounts(market, it.baseLots, it.quoteLots),
    numFills: 1,
  };
}

interface CollateralArgs {
  readonly limit: number;
  readonly nextCursor?: string | undefined;
  readonly prevCursor?: string | undefined;
  readonly cursor?: string | undefined;
}

function collateral(
  journal: Journal<CollateralMove> | undefined,
  args: CollateralArgs,
  of?: (it: Account) => boolean,
) {
  const cursor = args.nextCursor ?? args.prevCursor ?? args.cursor;
  const page = journalOf(journal).page({
    limit: args.limit,
    cursor,
    direction: args.prevCursor === undefined ? "older" : "newer",
    where: (it) => of?.(it.account) ?? true,
  });
  return { data: page.rows.map(collateralRow), ...cursors(page) };
}

/** Filters by symbol; an unknown symbol matches nothing. */
export const fits = (symbol: string | undefined, row: string): boolean =>
  symbol === undefined || symbol.toUpperCase() === row;

export const historyAnswers = {
  userCollateralHistory: (args, { world }) => collateral(walletOf(world, args.authority)?.collateral, args),
  authorityCollateralHistory: (args, { world }) =>
    collateral(
      walletOf(world, args.authority)?.collateral,
      args,
      (it) => args.pdaIndex === undefined || it.pdaIndex === args.pdaIndex,
    ),
  traderCollateralHistory: (args, { world }) => {
    const account = accountOf(world, args.traderPubkey);
    return collateral(account.wallet.collateral, args, (it) => it === account);
  },
  liquidationHistory: (args, { world }) => {
    const page = journalOf(walletOf(world, args.authority)?.liquidations).page({
      limit: args.limit,
      cursor: args.cursor,
      where: (it) =>
        fits(args.symbol, it.symbol) &&
        (it.account === null || it.account.pdaIndex === args.pdaIndex) &&
        (args.subaccountIndex === undefined || it.account?.subaccount === args.subaccountIndex),
    });
    return { data: page.rows.map((it) => liquidationRow(world, it)), ...cursors(page) };
  },
  fundingHistory: (args, { world }) => {
    const { startTime, endTime, traderPdaIndex } = args;
    const page = journalOf(walletOf(world, args.authority)?.funding).page({
      limit: args.limit,
      cursor: args.cursor,
      where: (it) =>
        fits(args.symbol, it.symbol) &&
        (traderPdaIndex === undefined || it.account.pdaIndex === traderPdaIndex) &&
        (startTime === undefined || it.atMs >= startTime) &&
        (endTime === undefined || it.atMs <= endTime),
    });
    return { events: page.rows.map((it) => fundingRow(world, it)), ...cursors(page) };
  },
  fundingHourly: (args, { world }) => {
    const page = journalOf(walletOf(world, args.authority)?.funding).page({
      limit: args.limit,
      cursor: args.cursor,
      where: (it) => fits(args.symbol, it.symbol) && it.account.pdaIndex === args.traderPdaIndex,
    });
    return { events: page.rows.map((it) => fundingRow(world, it)), ...cursors(page) };
  },
  orderHistory: (args, { world }) => {
    const status = args.orderStatus?.toLowerCase();
    const page = journalOf(walletOf(world, args.authority)?.orders).page({
      limit: args.limit,
      cursor: args.cursor,
      where: (it) =>
        fits(args.marketSymbol, it.symbol) &&
        (args.traderPdaIndex === undefined || it.account.pdaIndex === args.traderPdaIndex) &&
        (status === undefined || it.status === (status === "open" ? "active" : status)),
    });
    return { data: page.rows.map((it) => orderRow(world, it)), ...cursors(page) };
  },
  tradesHistory: (args, { world }) => {
    const page = journalOf(walletOf(world, args.authority)?.fills).page({
      limit: args.limit ?? defaultLimit,
      cursor: args.cursor,
      where: (it) =>
        fits(args.marketSymbol, it.symbol) &&
        (args.pdaIndex === undefined || it.account.pdaIndex === args.pdaIndex),
    });
    return { data: page.rows.map((it) => fillRow(world, it)), ...cursors(page) };
  },
  marketFills: (args, { world }) => {
    const market: Market = marketOf(world, args.symbol);
    const { startTime, endTime } = args;
    const page = market.fills.page({
      limit: args.limit,
      cursor: args.cursor,
      where: (it) =>
        (startTime === undefined || it.atMs >= startTime) && (endTime === undefined || it.atMs < endTime),
    });
    const { symbol } = market.spec;
    const data = page.rows.map((it) => publicFill(world, symbol, it));
    return { data, ...cursors(page) };
  },
} satisfies Partial<Handlers<Context>>;
