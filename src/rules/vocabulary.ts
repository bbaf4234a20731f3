/**
 * All names that an expression can use, as one typed table. The reference page is generated from it, the checker of expressions
 * gets its types from it, the watch supplies exactly its fields, and the judge gets the age of a figure from its `sources`.
 */

import type { Source } from "../domain/sources.ts";
import type { Scope } from "../domain/subject.ts";
import { accountFields } from "./vocabulary/account.ts";
import { aggregateFields } from "./vocabulary/books.ts";
import { eventFields, marketChangeFields } from "./vocabulary/events.ts";
import type { Field, RuleEventKind } from "./vocabulary/field-types.ts";
import { worldFields } from "./vocabulary/world.ts";

/** By scope, then by name. */
export const vocabulary: Readonly<Record<Scope, readonly Field[]>> = {
  ...accountFields,
  ...worldFields,
  ...aggregateFields,
};
/** Fields of `event` by kind, including those that all kinds have. */
export const eventVocabulary: Readonly<Record<RuleEventKind, readonly Field[]>> = eventFields;

export { marketChangeFields };

/** The scopes that a rule of each scope can read: itself and its ancestors. A book of one market can read that market. */
export const visibleScopes: Readonly<Record<Scope, readonly Scope[]>> = {
  position: ["position", "trader", "wallet", "market", "exchange"],
  trader: ["trader", "wallet", "exchange"],
  wallet: ["wallet", "exchange"],
  market: ["market", "exchange"],
  exchange: ["exchange"],
  daemon: ["daemon"],
  book: ["book", "market", "exchange"],
  pair: ["pair", "exchange"],
};

/**
 * The scopes that a rule on this kind of event can read besides `event`. For an event without a symbol, `market` and `position`
 * are unknown.
 */
export const visibleToEvents: Readonly<Record<RuleEventKind, readonly Scope[]>> = {
  notification: ["position", "trader", "wallet", "market", "exchange"],
  liquidation: ["position", "trader", "wallet", "market", "exchange"],
  funding: ["position", "trader", "wallet", "market", "exchange"],
  collateral: ["trader", "wallet", "exchange"],
  order: ["position", "trader", "wallet", "market", "exchange"],
  fill: ["position", "trader", "wallet", "market", "exchange"],
  exchangeStatus: ["exchange"],
  marketChange: ["market", "exchange"],
  capability: ["trader", "wallet", "exchange"],
};

/** The events of subjects of each scope, for `sumOver` and `countOver`. */
export const countableEvents: Readonly<Record<Scope, readonly RuleEventKind[]>> = {
  position: ["notification", "liquidation", "funding", "order", "fill"],
  trader: ["notification", "liquidation", "funding", "collateral", "order", "fill", "capability"],
  wallet: ["notification", "liquidation", "funding", "collateral", "order", "fill", "capability"],
  market: ["marketChange"],
  exchange: ["exchangeStatus"],
  daemon: [],
  book: ["funding", "collateral", "fill"],
  pair: [],
};

/** The source of events of each kind. */
export const eventSources: Readonly<Record<RuleEventKind, Source>> = {
  notification: "notifications",
  liquidation: "liquidations",
  funding: "funding",
  collateral: "collateral",
  order: "orders",
  fill: "fills",
  exchangeStatus: "exchangeStatus",
  marketChange: "marketConfig",
  capability: "traderState",
};
