/** Rules after loading: checked, compiled, ready to be judged. */
import type { Severity } from "../domain/alerts/alert.ts";
import type { AckWord } from "../domain/alerts/delivery.ts";
import type { EventKind } from "../domain/event.ts";
import type { Source } from "../domain/sources.ts";
import type { Scope } from "../domain/subject.ts";
import type { Env, Facts, Unknown, Value } from "./value.ts";
import type { Unit } from "./vocabulary/field-types.ts";

/** A part of an expression with a value of its own: its place in the text, and its closure. */
export interface Part {
  readonly start: number;
  readonly end: number;
  readonly unit: Unit;
  readonly run: (env: Env) => Value | Unknown;
  readonly reads: readonly Read[];
}

/** The smallest step of a market's price, USD. */
export type TickOf = (env: Env) => number | undefined;

/** A checked expression. */
export interface Compiled<T extends Value = Value> {
  readonly text: string;
  /** The unit in which a bare `{{ … }}` of it is printed. */
  readonly unit: Unit;
  /** True if its texts are words of a fixed list, such as `atRisk`. Absent: false. */
  readonly isWord?: boolean;
  readonly run: (env: Env) => T | Unknown;
  /** Parts that are not constant, including the whole; parts within loops have no value of their own. */
  readonly parts?: readonly Part[];
  /** For a price: the tick of its market, if there is one market and its tick is known. */
  readonly tick?: TickOf;
  /** The comparison, if the whole is one comparison with a literal number. */
  readonly bound?: Bound;
  /** Such comparisons, each of which alone makes the whole true: itself, or alternatives. Absent: none. */
  readonly sufficient?: readonly Bound[];
  /** For a condition: grows as the rule's value gets worse; NaN: not known. Absent: the value has no direction in it. */
  readonly excess?: (env: Env) => number;
}

/** A comparison with a literal number: `value < 0.1` as written, `0.1 > value` reversed. */
export interface Bound {
  /** Text of the other side. */
  readonly of: string;
  readonly operator: "<" | "<=" | ">" | ">=";
  readonly limit: number;
}

/** Text with `{{ expression }}` in it. */
export interface Template {
  readonly text: string;
  /**
   * Never throws, and returns a text within its length limit without control characters. Unknown and absent values print as "–", and as
   * nothing if the expression ends with the empty text: `{{ has(event.price) ? " at " + price(event.price) : "" }}`.
   */
  readonly render: (env: Env) => string;
}

/** `alert` and `message` exist in templates of channels only. */
export type ReadScope = Scope | "event" | "alert" | "message";

/** The sources of one subject that a condition depends on, with the maximum age of each. */
export interface Input {
  /** The owner of the facts; equal for the same subject. */
  readonly owner: string;
  readonly facts: (env: Env) => Facts | undefined;
  readonly sources: readonly Source[];
  readonly staleAfterMs: readonly number[];
}

/** A field that a rule reads, directly or through a window. `symbol`: another market by name; null: the subject's own. */
export interface Read {
  readonly scope: ReadScope;
  readonly field: string;
  readonly symbol: string | null;
  readonly sources: readonly Source[];
  /** The source that provides it if it is missing, besides those. */
  readonly awaits?: Source;
}

export type WindowFunction =
  | "ago"
  | "change"
  | "changeRatio"
  | "minOver"
  | "maxOver"
  | "avgOver"
  | "stddevOver"
  | "quantileOver"
  | "zscore"
  | "since"
  | "seriesAge"
  | "drawdown"
  | "sumOver"
  | "countOver";

/** The series of a window. */
export type WindowPath =
  /** A numeric field of the subject or of the ancestor that owns it; `symbol`: another market, else null. */
  | {
      readonly kind: "field";
      readonly scope: Scope;
      readonly field: string;
      readonly symbol: string | null;
      /** `drawdown` only: the field whose value at the peak the fall is measured against; null: the series itself. */
      readonly companion: string | null;
    }
  /** Events of the subject; `field` null: the number of events. Only events for which `filter` is true count (unknown does not). */
  | {
      readonly kind: "event";
      readonly event: EventKind;
      readonly field: string | null;
      readonly filter: Compiled<boolean> | null;
    };

export interface WindowSpec {
  /** Windows of one subject with equal keys can be shared. */
  readonly key: string;
  readonly fn: WindowFunction;
  readonly path: WindowPath;
  /** `today`: since midnight in the configured time zone. */
  readonly windowMs: number | "today";
  /** Maximum time for which a sample is valid, ms. */
  readonly staleAfterMs: number;
  /** `quantileOver` only: the share, 0–1. */
  readonly quantile?: number;
}

/** Selects subjects. Wallets are matched by name and labels, markets by symbol; all keys must match. */
export interface Select {
  readonly wallet: readonly string[] | null;
  readonly symbol: readonly string[] | null;
  readonly labels: Readonly<Record<string, readonly string[]>>;
  /** For rules over pairs, by name. Absent: all. */
  readonly pair?: readonly string[];
}

export type RuleMode = "live" | "shadow";

interface RuleBase {
  readonly name: string;
  readonly select: Select;
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: Template;
  readonly description: Template | null;
  readonly runbook: string | null;
  /** All reads of its conditions, including windows: an answer from one of their sources is a reason to judge. */
  readonly reads: readonly Read[];
  /** The same, with the reads of its messages, which have to be read from the exchange as well. */
  readonly shows: readonly Read[];
  /** The windows of conditions and of templates; `env.window(i)` returns the result of `windows[i]`. */
  readonly windows: readonly WindowSpec[];
  /** It reads data that only a session provides: it does not apply to a wallet without one. */
  readonly needsSession: boolean;
  /** The maximum age of each source's last answer. */
  readonly staleAfterMs: Readonly<Record<Source, number>>;
  /** `shadow`: judged and recorded like any other, but never reported. */
  readonly mode: RuleMode;
  /** Identifies the condition and its mode: another value under the same name means "rule changed". */
  readonly fingerprint: string;
  readonly file: string;
  readonly line: number;
}

export interface Level {
  readonly severity: Severity;
  readonly when: Compiled<boolean>;
  /** Null: as soon as `when` does not hold. */
  readonly resolveWhen: Compiled<boolean> | null;
  /** Grows as the rule's value gets worse; NaN: not known. Absent: the value has no direction at this level. */
  readonly excess?: (env: Env) => number;
  /** The value is worse further from 0, in both directions. */
  readonly isEitherSide?: true;
}

export interface ConditionRule extends RuleBase {
  readonly kind: "condition";
  readonly scope: Scope;
  /**
   * For books: `market`, one for each market that their wallets hold; `none`, one over all of them; else one over all markets
   * for each value of this label. Null: another scope.
   */
  readonly by: string | null;
  /** Ascending; one for the short form. */
  readonly levels: readonly Level[];
  readonly value: Compiled<number> | null;
  /** The worst possible value: updates are sent by the distance to it instead of the value. Null: none. */
  readonly worst: number | null;
  readonly forMs: number;
  readonly keepFiringForMs: number;
  readonly noData: "alert" | "keep";
  /** The sources of `reads`, without duplicates: the judge checks them first. */
  readonly inputs: readonly Input[];
  /** It reads `now`, an age or a data age: it changes with time alone. */
  readonly readsNow: boolean;
  /** The goal of advice, in addition to no level holding; null: none. */
  readonly target: Compiled<boolean> | null;
  /** Its value changes with time alone. */
  readonly valueReadsNow: boolean;
  /** It reads some figure at its present value, and not only through windows. */
  readonly readsPresent: boolean;
}

export interface EventRule extends RuleBase {
  readonly kind: "event";
  readonly on: EventKind;
  readonly when: Compiled<boolean>;
  readonly severity: Severity;
  readonly throttleMs: number | null;
  /** As set in the rule; null: by configuration. Only on notifications. */
  readonly acknowledge: AckWord | null;
}

/** A named figure of every subject of a scope: `value.basis` in expressions and in history. */
export interface NamedValue {
  readonly name: string;
  readonly scope: Scope;
  readonly unit: Unit;
  readonly description: string | null;
  readonly value: Compiled<number>;
  readonly reads: readonly Read[];
  /** `env.window(i)` returns the result of `windows[i]`. */
  readonly windows: readonly WindowSpec[];
  readonly file: string;
  readonly line: number;
}

export interface RuleSet {
  readonly values: readonly NamedValue[];
  readonly conditions: readonly ConditionRule[];
  readonly events: readonly EventRule[];
}

/** The conclusion of a rule about a subject. */
export type Judgement =
  | {
      readonly kind: "known";
      readonly severity: Severity | null;
      readonly value: number | null;
      /** The time of the oldest input, ms; the time of judging if the inputs have no age. */
      readonly dataAtMs: number;
    }
  | {
      readonly kind: "unknown";
      readonly unknown: Unknown;
      readonly value: number | null;
      readonly dataAtMs: number;
    };
