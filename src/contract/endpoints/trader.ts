/** Trader accounts: state, risk and series. */
import { get, group } from "../endpoint.ts";
import { path, query } from "../params.ts";
import { marketPnlSeries, pnlPoint, portfolioValuePoint, timeWeightedReturns } from "../records/series.ts";
import { traderCapabilitiesMetadata, traderState, traderView } from "../records/trader.ts";
import { one, rowsOf } from "../reply.ts";
import { ONE_YEAR_MS } from "../time.ts";

const year = [{ kind: "range", from: "startTime", to: "endTime", maxMs: ONE_YEAR_MS }] as const;
const times = {
  startTime: query.ms("First instant."),
  endTime: query.ms("Last instant."),
};
const extremes = {
  includeEarliest: query.boolean("Add the earliest point."),
  includeLatest: query.boolean("Add the latest point."),
};
const traderPubkey = path.key("The trader account.", { wire: "trader_pubkey" });
const pnl = {
  resolution: query.choice("Length of a bucket.", ["1m", "1d"], { required: true }),
  ...times,
  limit: query.integer("Most points.", { min: 1, max: 1440, default: 1000 }),
  ...extremes,
};

export const traderEndpoints = group("trader", {
  traderState: get("/v1/trader/state/{authority_pubkey}", {
    summary: "All subaccounts of one wallet under one PDA index: collateral, positions, orders, triggers.",
    notes: [
      "Without risk figures: those are computed, or read from traderView a subaccount.",
      "A wallet that never traded has an empty account in state `cold`.",
    ],
    params: {
      authority: path.key("The wallet.", { wire: "authority_pubkey" }),
      traderPdaIndex: query.integer("Which of the wallet's account families.", {
        min: 0,
        max: 255,
        default: 0,
      }),
    },
    reply: one(traderState),
  }),
  traderView: get("/v1/view/trader/{pubkey}", {
    summary: "One subaccount with its margin, risk tier and liquidation prices.",
    params: {
      traderPubkey: path.key("The trader account (a derived address, not the wallet).", { wire: "pubkey" }),
    },
    reply: one(traderView),
    errors: [400, 500],
  }),
  traderCapabilities: get("/v1/view/trader-capabilities", {
    summary: "Names and descriptions of what a trader account may do.",
    reply: one(traderCapabilitiesMetadata),
    errors: [500],
  }),
  userPnl: get("/v1/users/{user_pubkey}/pnl", {
    summary: "Profit and loss of one wallet over time.",
    params: { authority: path.key("The wallet.", { wire: "user_pubkey" }), ...pnl },
    constraints: year,
    reply: rowsOf(pnlPoint),
    order: "oldestFirst",
  }),
  traderPnl: get("/v1/traders/{trader_pubkey}/pnl", {
    summary: "Profit and loss of one trader account over time.",
    params: { traderPubkey, ...pnl },
    constraints: year,
    reply: rowsOf(pnlPoint),
    order: "oldestFirst",
  }),
  portfolioValues: get("/v1/traders/{trader_pubkey}/portfolio-values", {
    summary: "Equity of one trader account over time.",
    params: {
      traderPubkey,
      resolution: query.choice(
        "Length of a bucket (1m is for testing).",
        ["1m", "15m", "30m", "1h", "4h", "1d", "1w", "1M"],
        { required: true },
      ),
      ...times,
      limit: query.integer("Most points.", { min: 1, max: 2000, default: 1440 }),
      ...extremes,
    },
    constraints: year,
    reply: rowsOf(portfolioValuePoint),
    order: "oldestFirst",
  }),
  marketPnl: get("/v1/traders/{trader_pubkey}/pnl/markets", {
    summary: "Profit and loss of one trader account by market.",
    params: {
      traderPubkey,
      resolution: query.choice("Length of a bucket.", ["1m", "5m", "15m", "1h", "4h", "1d"], {
        required: true,
      }),
      ...times,
      limit: query.integer("Most points a market.", { min: 1, max: 1000, default: 1000 }),
      symbols: query.list("Markets.", { defaultNote: "all" }),
    },
    constraints: year,
    reply: rowsOf(marketPnlSeries),
    order: "oldestFirst",
    weight: 2,
  }),
  timeWeightedReturns: get("/v1/traders/{trader_pubkey}/time-weighted-returns", {
    summary: "Returns of one trader account that deposits and withdrawals do not distort.",
    params: {
      traderPubkey,
      resolution: query.choice("Length of a bucket.", ["5m", "15m", "1h", "4h", "1d", "1w", "1M"], {
        required: true,
      }),
      ...times,
      limit: query.integer("Most points.", { min: 1 }),
    },
    constraints: [{ kind: "range", from: "startTime", to: "endTime", maxMs: null }],
    reply: one(timeWeightedReturns),
    order: "oldestFirst",
  }),
});
