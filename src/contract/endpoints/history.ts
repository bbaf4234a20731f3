/** Paged histories of wallets and trader accounts. Newest first; `nextCursor` leads to older rows. */
import { get, group, type Paging } from "../endpoint.ts";
import { path, query } from "../params.ts";
import {
  collateralEvent,
  fill,
  fundingEvent,
  liquidation,
  orderHistoryItem,
  orderHistoryV2Item,
} from "../records/history.ts";
import { eventsPageOf, pageOf } from "../reply.ts";
import { ONE_YEAR_MS } from "../time.ts";

const wallet = (wire: string | null = null) => path.key("The wallet.", wire === null ? {} : { wire });
const traderPubkey = path.key("The trader account.", { wire: "trader_pubkey" });
const cursor = query.string("Where to go on: a cursor of the last page, which carries its direction.");
const symbol = query.string("Only this market.");
const privyId = query.string("For users of an embedded-wallet provider.");

/** Both cursors of the reply go back in `cursor`. */
const oneCursor: Paging = {
  older: { field: "nextCursor", argument: "cursor" },
  newer: { field: "prevCursor", argument: "cursor" },
};
/** Collateral alone has an argument for each direction. */
const twoCursors: Paging = {
  older: { field: "nextCursor", argument: "nextCursor" },
  newer: { field: "prevCursor", argument: "prevCursor" },
};
const collateralPaging = {
  limit: query.integer("Most rows.", { min: 1, max: 1000, required: true }),
  nextCursor: query.string("Where to go on towards older rows."),
  prevCursor: query.string("Where to go on towards newer rows."),
  cursor: query.string("Where to go on towards older rows.", { deprecated: "use nextCursor" }),
};
const oneDirection = [{ kind: "exclusive", params: ["nextCursor", "prevCursor", "cursor"] }] as const;

const tradesV2 = {
  marketSymbol: query.string("Only this market.", { wire: "market_symbol" }),
  limit: query.integer("Most rows.", { min: 1, max: 1000 }),
  cursor: query.string("Where to go on: `slot` or `slot,slot_index`, or a cursor of the last page."),
  privyId: query.string("For users of an embedded-wallet provider.", { wire: "privy_id" }),
};

export const historyEndpoints = group("history", {
  userCollateralHistory: get("/v1/users/{user_pubkey}/collateral-history", {
    summary: "Deposits, withdrawals and transfers of one wallet.",
    params: { authority: wallet("user_pubkey"), ...collateralPaging },
    constraints: oneDirection,
    reply: pageOf(collateralEvent),
    paging: twoCursors,
    order: "newestFirst",
  }),
  authorityCollateralHistory: get("/v1/trader/{authority}/collateral-history", {
    summary: "Deposits, withdrawals and transfers of one wallet, by PDA index.",
    params: {
      authority: wallet(),
      pdaIndex: query.integer("Only this PDA index.", { min: 0, max: 255 }),
      ...collateralPaging,
    },
    constraints: oneDirection,
    reply: pageOf(collateralEvent),
    paging: twoCursors,
    order: "newestFirst",
  }),
  traderCollateralHistory: get("/v1/traders/{trader_pubkey}/collateral-history", {
    summary: "Deposits, withdrawals and transfers of one trader account.",
    params: { traderPubkey, ...collateralPaging },
    constraints: oneDirection,
    reply: pageOf(collateralEvent),
    paging: twoCursors,
    order: "newestFirst",
  }),
  liquidationHistory: get("/v1/users/{user_pubkey}/liquidation-history", {
    summary: "Liquidations, takeovers and auto-deleveraging that concern one wallet.",
    params: {
      authority: wallet("user_pubkey"),
      pdaIndex: query.integer("Which of the wallet's account families.", { min: 0, max: 255, default: 0 }),
      subaccountIndex: query.integer("Only this subaccount.", { min: 0, max: 255, defaultNote: "all" }),
      symbol,
      limit: query.integer("Most rows.", { min: 1, max: 100, default: 100 }),
      cursor,
    },
    reply: pageOf(liquidation),
    paging: oneCursor,
    order: "newestFirst",
  }),
  fundingHistory: get("/v1/trader/{authority}/funding-history", {
    summary: "Funding that one wallet paid and received.",
    params: {
      authority: wallet(),
      traderPdaIndex: query.integer("Only this PDA index.", { min: 0, max: 255 }),
      symbol,
      startTime: query.ms("First instant."),
      endTime: query.ms("Last instant."),
      limit: query.integer("Most rows.", { min: 1, max: 1000, default: 100 }),
      cursor,
      resolution: query.string("What it takes is not stated: leave it out."),
    },
    constraints: [
      { kind: "exclusive", params: ["startTime", "cursor"] },
      { kind: "range", from: "startTime", to: "endTime", maxMs: ONE_YEAR_MS },
    ],
    reply: eventsPageOf(fundingEvent),
    paging: oneCursor,
    order: "newestFirst",
  }),
  fundingHourly: get("/v1/users/{user_pubkey}/funding-hourly", {
    summary: "Funding that one wallet paid and received, by the hour.",
    notes: ["It is accrual; settlement into collateral comes when a position changes or the period ends."],
    params: {
      authority: wallet("user_pubkey"),
      traderPdaIndex: query.integer("Which of the wallet's account families.", {
        min: 0,
        max: 255,
        default: 0,
      }),
      symbol,
      limit: query.integer("Most rows.", { min: 1, max: 200, default: 50 }),
      cursor,
    },
    reply: eventsPageOf(fundingEvent),
    paging: oneCursor,
    order: "newestFirst",
  }),
  orderHistory: get("/v1/trader/{authority}/order-history", {
    summary: "Orders of one wallet and what became of them.",
    params: {
      authority: wallet(),
      traderPdaIndex: query.integer("Only this PDA index.", { min: 0, max: 255 }),
      marketSymbol: symbol,
      limit: query.integer("Most rows.", { min: 1, max: 1000, required: true }),
      cursor,
      privyId,
      orderStatus: query.string("Only orders in this status: active, filled, cancelled, expired."),
    },
    reply: pageOf(orderHistoryItem),
    paging: oneCursor,
    order: "newestFirst",
  }),
  tradesHistory: get("/v1/trader/{authority}/trades-history", {
    summary: "Fills of one wallet.",
    params: {
      authority: wallet(),
      pdaIndex: query.integer("Only this PDA index.", { min: 0, max: 255 }),
      marketSymbol: symbol,
      limit: query.integer("Most rows.", { min: 1, max: 1000 }),
      cursor,
      privyId,
    },
    reply: pageOf(fill),
    paging: oneCursor,
    order: "newestFirst",
  }),
  tradesV2: get("/v1/traders/{trader_pubkey}/trades_v2", {
    summary: "Fills of one trader account.",
    params: { traderPubkey, ...tradesV2 },
    reply: pageOf(fill),
    paging: oneCursor,
    order: "newestFirst",
  }),
  userTradesV2: get("/v1/users/{user_pubkey}/trades_v2", {
    summary: "Fills of one wallet over its accounts.",
    params: {
      authority: wallet("user_pubkey"),
      traderPdaIndex: query.integer("Only this PDA index.", { min: 0, max: 255, wire: "trader_pda_index" }),
      ...tradesV2,
    },
    reply: pageOf(fill),
    paging: oneCursor,
    order: "newestFirst",
  }),
  ordersV2: get("/v1/traders/{trader_pubkey}/orders_v2", {
    summary: "Orders of one trader account with what was intended, placed and filled.",
    params: {
      traderPubkey,
      marketSymbol: query.string("Only this market.", { wire: "market_symbol" }),
      limit: query.integer("Most rows.", { min: 1, max: 1000, required: true }),
      cursor,
      startTime: query.iso("First instant.", { wire: "start_time" }),
      endTime: query.iso("Last instant.", { wire: "end_time" }),
    },
    constraints: [{ kind: "range", from: "startTime", to: "endTime", maxMs: null }],
    reply: pageOf(orderHistoryV2Item),
    paging: oneCursor,
    order: "newestFirst",
  }),
});
