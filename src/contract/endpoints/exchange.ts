/** The exchange itself: status, keys, markets, snapshot. */
import { get, group } from "../endpoint.ts";
import { path } from "../params.ts";
import {
  collateralAssets,
  exchangeKeys,
  exchangeSnapshot,
  exchangeStatus,
  exchangeView,
  marketConfig,
} from "../records/exchange.ts";
import { one, rowsOf } from "../reply.ts";

export const exchangeEndpoints = group("exchange", {
  exchange: get("/v1/view/exchange", {
    summary: "Keys and markets of the exchange in one reply.",
    reply: one(exchangeView),
    errors: [500],
    weight: 2,
  }),
  exchangeKeys: get("/v1/view/exchange/keys", {
    summary: "Accounts of the exchange on the ledger and the authorities over it.",
    reply: one(exchangeKeys),
    errors: [500],
  }),
  markets: get("/v1/view/exchange/markets", {
    summary: "Configuration of every market.",
    reply: rowsOf(marketConfig),
  }),
  market: get("/v1/view/exchange/market/{symbol}", {
    summary: "Configuration of one market.",
    params: { symbol: path.string("The market's symbol, as the market list spells it.") },
    reply: one(marketConfig),
    errors: [404, 500],
  }),
  exchangeStatus: get("/v1/view/exchange/status", {
    summary: "Whether trading is on, admission is gated and withdrawals are possible.",
    reply: one(exchangeStatus),
    errors: [500],
  }),
  exchangeSnapshot: get("/v1/exchange/snapshot", {
    summary: "Everything about the exchange and its markets at one slot.",
    notes: ["`limitOrderRiskFactor` is in bps here and in percent in the market list."],
    reply: one(exchangeSnapshot),
    weight: 3,
  }),
  collateralAssets: get("/v1/collateral/assets", {
    summary: "Assets that may stand as collateral beside the quote currency, with their limits.",
    reply: one(collateralAssets),
  }),
});
