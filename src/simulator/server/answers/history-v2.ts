/** The second version of the histories: by trader account, with intended, placed and filled amounts. */
import type { Handlers, WireFor } from "../../../contract/index.ts";
import type { Place } from "../../accounts/position.ts";
import { perLot } from "../../accounts/trade.ts";
import { abs, writeDecimal } from "../../decimals.ts";
import type { Account, Fill, Order, World } from "../../state.ts";
import { accountOf, type Context, iso, walletOf } from "./context.ts";
import { cursors, defaultLimit, fillRow, fits, journalOf, unitPrice, units, usd } from "./history.ts";
import { ticksText } from "./trader.ts";

type OrderRow = NonNullable<WireFor<"ordersV2">["data"]>[number];

interface Filter {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly marketSymbol?: string | undefined;
}

/** Parses a cursor: that of the last page, or a place on the ledger, `slot` or `slot,slot_index`, for older rows. */
function placeOf(cursor: string | undefined): ((it: Place) => boolean) | null {
  const parts = /^(\d{1,15})(?:,(\d{1,15}))?$/.exec(cursor ?? "");
  if (!parts) return null;
  const slot = Number(parts[1]);
  const slotIndex = parts[2] === undefined ? 0 : Number(parts[2]);
  return (it) => it.slot < slot || (it.slot === slot && it.slotIndex < slotIndex);
}

function trades(
  world: World,
  wallet: Account["wallet"] | undefined,
  args: Filter,
  of: (it: Account) => boolean,
) {
  const older = placeOf(args.cursor);
  const page = journalOf(wallet?.fills).page({
    limit: args.limit ?? defaultLimit,
    cursor: older ? undefined : args.cursor,
    where: (it) => fits(args.marketSymbol, it.symbol) && of(it.account) && (older?.(it) ?? true),
  });
  return { data: page.rows.map((it) => fillRow(world, it)), ...cursors(page) };
}

const isOrder = (it: Order | Fill): it is Order => "side" in it;
const placed = (it: Order | Fill): Place => (isOrder(it) ? it.place : it);
/** Writes sequences up to 2^64 as JSON numbers. */
const literal = (sequence: string): number =>
  (JSON as unknown as { rawJSON(text: string): number }).rawJSON(sequence);

function orderRow(world: World, it: Order | Fill): OrderRow {
  const { account, symbol } = it;
  const { slot, slotIndex, instructionIndex, eventIndex, atMs } = placed(it);
  const flags = {
    isReduceOnly: isOrder(it) && it.reduceOnly,
    isStopLoss: !isOrder(it) && it.instructionType === "ExecuteStopLoss",
    isStopLossDirection: false,
    isConditionalOrder: false,
  };
  return {
    userId: account.wallet.userId,
    traderId: account.traderId,
    traderPdaIndex: account.pdaIndex,
    traderSubaccountIndex: account.subaccount,
    slot,
    slotIndex,
    instructionIndex,
    eventIndex,
    marketSymbol: symbol,
    createdAt: iso(atMs),
    ...flags,
    ...(isOrder(it) ? restingOrderRow(world, it, flags) : filledOrderRow(world, it, flags)),
  };
}

type Flags = Pick<
  OrderRow["intended"],
  "isReduceOnly" | "isStopLoss" | "isStopLossDirection" | "isConditionalOrder"
>;

const unlimited = {
  quoteLotBudget: null,
  matchLimit: null,
  lastValidSlot: null,
  clientOrderId: null,
  cancelExisting: false,
} as const;
const reduceOnlyFlag = 128;

/** An order that rested on the book. */
function restingOrderRow(world: World, it: Order, flags: Flags) {
  const market = world.markets.get(it.symbol)!;
  const size = (lots: bigint) => units(world, it.symbol, lots);
  const price = ticksText(market, it.priceTicks);
  const placedAt = iso(it.place.atMs);
  const endedAt = it.completedMs === null ? null : iso(it.completedMs);
  const orderFlags = it.reduceOnly ? reduceOnlyFlag : 0;
  const sequence = literal(it.sequence);
  return {
    instructionType: "PlaceLimitOrder",
    orderType: "limit",
    price,
    intended: {
      orderKind: "limit",
      side: it.side,
      priceInTicks: it.priceTicks,
      priceUsd: price,
      hasPriceLimit: true,
      baseLots: Number(it.initialLots),
      baseQty: size(it.initialLots),
      ...unlimited,
      orderFlags,
      ...flags,
      isPostOnly: false,
      isTakeOnly: false,
    },
    fillBeforePlacement: null,
    placedOrder: {
      orderSequenceNumber: sequence,
      eventIndex: it.place.eventIndex,
      side: it.side,
      price,
      baseQty: size(it.initialLots),
      lastValidSlot: null,
      initialSlot: it.place.slot,
      orderFlags,
      clientOrderId: null,
      transactionTimestamp: placedAt,
    },
    currentOrderState: {
      orderSequenceNumber: sequence,
      side: it.side,
      price,
      baseQty: size(it.initialLots),
      remainingBaseQty: size(it.status === "active" ? it.remainingLots : 0n),
      filledBaseQty: size(it.filledLots),
      releasedBaseQty: size(it.status === "cancelled" ? it.initialLots - it.filledLots : 0n),
      orderStatus: it.status,
      placedAt,
      cancelledAt: it.status === "cancelled" ? endedAt : null,
      lastFillAt: it.filledLots > 0n ? endedAt : null,
    },
    status: it.status,
  };
}

/** An order that was filled at once. */
function filledOrderRow(world: World, it: Fill, flags: Flags) {
  const market = world.markets.get(it.symbol)!;
  const lots = abs(it.baseLots);
  const price = unitPrice(world, it.symbol, it.baseLots, it.quoteLots);
  const ticks = Number(abs(it.quoteLots) / (lots * perLot(market, 1)));
  return {
    instructionType: it.instructionType,
    orderType: "market",
    price,
    intended: {
      orderKind: "ioc",
      side: it.baseLots > 0n ? "bid" : "ask",
      priceInTicks: ticks,
      priceUsd: ticksText(market, ticks),
      hasPriceLimit: false,
      baseLots: Number(lots),
      baseQty: units(world, it.symbol, lots),
      ...unlimited,
      orderFlags: 0,
      ...flags,
      isPostOnly: false,
      isTakeOnly: true,
    },
    fillBeforePlacement: {
      totalBaseQtyFilled: units(world, it.symbol, lots),
      totalQuoteQtyFilled: usd(abs(it.quoteLots)),
      totalTakerFee: writeDecimal(it.fee, 6),
      totalNumFills: 1,
      numTrades: 1,
    },
    placedOrder: null,
    currentOrderState: null,
    status: "filled",
  };
}

export const historyV2Answers = {
  tradesV2: (args, { world }) => {
    const account = accountOf(world, args.traderPubkey);
    return trades(world, account.wallet, args, (it) => it === account);
  },
  userTradesV2: (args, { world }) =>
    trades(
      world,
      walletOf(world, args.authority),
      args,
      (it) => args.traderPdaIndex === undefined || it.pdaIndex === args.traderPdaIndex,
    ),
  ordersV2: (args, { world }) => {
    const account = accountOf(world, args.traderPubkey);
    const { startTime, endTime } = args;
    const page = account.wallet.sent.page({
      limit: args.limit,
      cursor: args.cursor,
      where: (it) =>
        it.account === account &&
        fits(args.marketSymbol, it.symbol) &&
        (startTime === undefined || placed(it).atMs >= startTime) &&
        (endTime === undefined || placed(it).atMs <= endTime),
    });
    return { data: page.rows.map((it) => orderRow(world, it)), ...cursors(page) };
  },
} satisfies Partial<Handlers<Context>>;
