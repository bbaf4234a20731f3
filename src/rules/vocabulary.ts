/**
 * Everything that an expression can name: one typed table. The reference page is printed from it, the expression
 * checker reads its types from it, the watch supplies exactly its fields, the judge takes a figure's age from its
 * `sources`.
 */
import type { EventKind } from "../domain/event.ts";
import type { Source } from "../domain/observation.ts";
import type { Scope } from "../domain/subject.ts";
import { accountFields } from "./vocabulary/account.ts";
import { togetherFields } from "./vocabulary/books.ts";
import { eventFields, marketChangeFields } from "./vocabulary/events.ts";
import { worldFields } from "./vocabulary/world.ts";

/**
 * Types as rules see them. `duration` is kept in ms, `time` in ms since the epoch. `enum` is text with known members.
 * A `texts` map answers `""` for a missing key, a `numbers` map answers unknown.
 */
export type FieldType =
  | "number"
  | "boolean"
  | "text"
  | "enum"
  | "duration"
  | "time"
  | "texts"
  | "numbers"
  | "positions"
  | "orders"
  | "capabilities";

/** The units of numbers, and how they are printed. `ratio` is a fraction; `rate` a fraction an hour, `yearlyRate` a year. */
export const units = [
  "usd",
  "price",
  "units",
  "ratio",
  "rate",
  "yearlyRate",
  "times",
  "count",
  "bytes",
  "duration",
  "time",
  "none",
] as const;
export type Unit = (typeof units)[number];

/** The numbers with which a figure is sensibly compared, both ends among them. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly unit: Unit;
  /** Its meaning, with its sign. */
  readonly meaning: string;
  /** A figure is as old as the oldest of these; none: it has no age. */
  readonly sources: readonly Source[];
  /** Brings what is missing while all sources have answered; asked for where a rule reads this. Its age is no matter. */
  readonly awaits?: Source;
  /** Members of an enum. An open one takes other words too, with a warning. */
  readonly members?: readonly string[];
  readonly open?: boolean;
  /** The value that stands for "there is none", as text for people. */
  readonly absent?: string;
  /** Left out: any number. A comparison with one outside of it is a warning. */
  readonly plausible?: Range;
  /** Not supplied by the watch but worked out from its times. */
  readonly derived?: "age" | "dataAge" | "staleWallets" | "lopsidedFor";
}

export const scopes: readonly Scope[] = [
  "position",
  "trader",
  "wallet",
  "market",
  "exchange",
  "daemon",
  "book",
  "pair",
];

/** The event kinds that rules can be written for. */
export const eventKinds = [
  "notification",
  "liquidation",
  "funding",
  "collateral",
  "order",
  "fill",
  "exchangeStatus",
  "marketChange",
  "capability",
] as const satisfies readonly EventKind[];
export type RuleEventKind = (typeof eventKinds)[number];

/** By scope, then by name. */
export const vocabulary: Readonly<Record<Scope, readonly Field[]>> = {
  ...accountFields,
  ...worldFields,
  ...togetherFields,
};
/** Fields of `event` by its kind, those that all kinds have among them. */
export const eventVocabulary: Readonly<Record<RuleEventKind, readonly Field[]>> = eventFields;

export { marketChangeFields };

/** The scopes that a rule of each scope sees: itself and what owns it. Of books, those of one market see it. */
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
 * The scopes that a rule on this kind of event sees beside `event`. Of an event without a symbol, `market` and `position`
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

/** The events that belong to a subject of this scope, for `sumOver` and `countOver`. */
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

/** The source that brings events of this kind. */
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
