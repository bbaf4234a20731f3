/** The fields of `event`, by kind. Optional ones may be missing: unknown in conditions, "–" in templates. */

import { capabilityNames, capabilityWords, sides } from "./account.ts";
import { group } from "./field.ts";
import type { Field, RuleEventKind } from "./field-types.ts";

/** Fields of events have no sources, since an event does not become stale. */
const { number, boolean, text, oneOf, duration, time, map } = group([]);

const bookSide = oneOf("side", [...sides, "bid", "ask"], "side, where the record has one", true);

function withCommon(kind: RuleEventKind, own: readonly Field[]): readonly Field[] {
  const common = [
    oneOf("kind", [kind], "the kind of event", true),
    time("at", "when it happened at the exchange"),
    duration("age", "time since it happened", "age"),
    text("symbol", "the market; missing where it has none"),
    text("id", "of a notification: the id that the exchange gives it; else its natural key"),
  ];
  return [...common.filter((field) => !own.some((other) => other.name === field.name)), ...own];
}

const notificationTypes = [
  "order_filled",
  "liquidation",
  "backstop_liquidation",
  "adl",
  "risk_engine_cancel_order",
  "stop_loss_executed",
  "conditional_order_executed",
  "stop_loss_order_placed",
  "spot_collateral_liquidation",
];

/** The fields whose changes are reported as market events. */
export const marketChangeFields = [
  "status",
  "sessionState",
  "commodityStatus",
  "maxLeverage",
  "leverageTiers",
  "maintenanceFactor",
  "cancelFactor",
  "backstopFactor",
  "highRiskFactor",
  "profitFactor",
  "withdrawalProfitFactor",
  "takerFee",
  "makerFee",
  "fundingInterval",
  "maxFundingRate",
  "openInterestCap",
  "maxLiquidationSize",
  "isolatedOnly",
];

export const eventFields: Readonly<Record<RuleEventKind, readonly Field[]>> = {
  notification: withCommon("notification", [
    oneOf(
      "source",
      ["event", "admin", "general"],
      "who speaks: the ledger, the exchange to all, to this user",
    ),
    oneOf("type", notificationTypes, "its notificationType; the exchange may add others", true),
    bookSide,
    number("size", "units", "base units, positive"),
    number("price", "price", "price"),
    text("title", "title of an announcement"),
    text("body", "text of an announcement"),
    map("data", "texts", "its raw data as text, by name: event.data.reason", "missing"),
  ]),
  liquidation: withCommon("liquidation", [
    oneOf(
      "kind",
      ["market", "backstop", "adl"],
      "sold on the book, taken over by the backstop, auto-deleveraged",
    ),
    oneOf("role", ["liquidatee", "adl_counterparty"], "whose loss it was: ours, or that of our counterparty"),
    oneOf("side", sides, "side of the position"),
    number("size", "units", "base units, positive"),
    number("price", "price", "price"),
    number("notional", "usd", "size × price"),
    number("collateralChange", "usd", "what it did to the collateral, signed"),
    boolean("positionClosed", "nothing of the position is left"),
  ]),
  funding: withCommon("funding", [
    number("payment", "usd", "positive: received, negative: paid"),
    number("rate", "rate", "a fraction an hour"),
    number("size", "units", "size of the position"),
    oneOf("side", [...sides, "flat"], "side of the position"),
  ]),
  collateral: withCommon("collateral", [
    oneOf("eventType", ["deposit", "withdrawal", "transfer"], "what moved it"),
    number("amountUsd", "usd", "signed: positive came in"),
    number("after", "usd", "collateral after it"),
  ]),
  order: withCommon("order", [
    oneOf("status", ["active", "filled", "cancelled", "expired"], "what became of it"),
    bookSide,
    number("price", "price", "limit price"),
    number("size", "units", "as placed"),
    number("filledRatio", "ratio", "share of it that was filled, 0–1"),
    duration("placedAgo", "time since it was placed"),
  ]),
  fill: withCommon("fill", [
    bookSide,
    number("price", "price", "price"),
    number("size", "units", "base units, positive"),
    number("notional", "usd", "size × price"),
    number("fee", "usd", "positive: paid"),
    number("realizedPnl", "usd", "positive is profit"),
    oneOf("liquidity", ["maker", "taker"], "which side of the trade"),
    oneOf("tradeType", ["limit", "market", "liquidation", "adl"], "how it came about"),
  ]),
  exchangeStatus: withCommon("exchangeStatus", [
    boolean("active", "trading is on"),
    boolean("gated", "access is restricted"),
    boolean("withdrawalsAvailable", "collateral can be withdrawn"),
    boolean("wasActive", "what `active` was"),
    boolean("wasGated", "what `gated` was"),
    boolean("wereWithdrawalsAvailable", "what `withdrawalsAvailable` was"),
  ]),
  marketChange: withCommon("marketChange", [
    oneOf("field", marketChangeFields, "what changed", true),
    text("before", "what it was, as text"),
    text("after", "what it is, as text"),
  ]),
  capability: withCommon("capability", [
    oneOf("field", capabilityNames, "which right changed", true),
    oneOf("before", capabilityWords, "what it was: yes, no, or only by being made active again"),
    oneOf("after", capabilityWords, "what it is"),
  ]),
};
