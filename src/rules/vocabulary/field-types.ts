/** The kinds of fields that an expression can name, and the scopes and events that have them. */

import type { EventKind } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { Scope } from "../../domain/subject.ts";

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
