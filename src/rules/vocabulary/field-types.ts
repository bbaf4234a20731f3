/** Types of the fields that expressions can name, and the scopes and events that have them. */

import type { EventKind } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { Scope } from "../../domain/subject.ts";

/**
 * Types in rules. `duration` is stored in ms, `time` in ms since the epoch. `enum` is text with known members. A `texts` map
 * gives `""` for a missing key, a `numbers` map gives unknown.
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

/** The units of numbers, which determine how they are printed. `ratio` is a fraction; `rate` a fraction per hour, `yearlyRate` per year. */
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

/** The plausible values of a figure, both limits included. The names are those of `rules vocabulary --json`. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly unit: Unit;
  /** Its meaning, including its sign. */
  readonly meaning: string;
  /** Sources of a figure, which is as old as the oldest of them; empty: it has no age. */
  readonly sources: readonly Source[];
  /** Source that provides the figure if it is missing after all sources have answered; read if a rule needs it. Its age does not count. */
  readonly awaits?: Source;
  /** Members of an enum. An open enum accepts other words too, with a warning. */
  readonly members?: readonly string[];
  readonly open?: boolean;
  /** Text for the value that stands for "none". */
  readonly absent?: string;
  /** A comparison with a number outside of this range is a warning. Absent: any number is plausible. */
  readonly plausible?: Range;
  /** Computed from the times of the watch, instead of being supplied by it. */
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
