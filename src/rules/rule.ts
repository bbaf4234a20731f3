/** Rules as they are after loading: checked, compiled, ready to be judged. */
import type { Severity } from "../domain/alert.ts";
import type { AckWord } from "../domain/delivery.ts";
import type { EventKind } from "../domain/event.ts";
import type { Source } from "../domain/sources.ts";
import type { Scope } from "../domain/subject.ts";
import type { Env, Facts, Unknown, Value } from "./value.ts";
import type { Unit } from "./vocabulary/field-types.ts";

/** A part of an expression that has a value of its own: where it stands in the text, and what it comes to. */
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
  /** Those that depend on anything, the whole among them; what stands inside of loops has no value by itself. */
  readonly parts?: readonly Part[];
  /** For a price: the tick of the market that it is of, where that is one and known. */
  readonly tick?: TickOf;
  /** The comparison, if the whole is one comparison with a number that is written out. */
  readonly bound?: Bound;
  /** Such comparisons of which each alone makes the whole true: itself, or alternatives. Left out: there is none. */
  readonly sufficient?: readonly Bound[];
  /** For a condition: grows as the rule's value gets worse; NaN where that is not known. Left out: it gives no direction. */
  readonly excess?: (env: Env) => number;
}

/** A comparison with a number that is written out: `value < 0.1` as it is, `0.1 > value` turned around. */
export interface Bound {
  /** The other side, as it was written. */
  readonly of: string;
  readonly operator: "<" | "<=" | ">" | ">=";
  readonly limit: number;
}

/** Text with `{{ expression }}` in it. */
export interface Template {
  readonly text: string;
  /** Never throws, never longer than its bound, no control characters; what is unknown or absent prints as "–", and as nothing
   * where an expression ends with the empty text: `{{ has(event.price) ? " at " + price(event.price) : "" }}`. */
  readonly render: (env: Env) => string;
}

/** `alert` and `message` are known to templates of channels alone. */
export type ReadScope = Scope | "event" | "alert" | "message";

/** The sources of one subject that a condition rests on, and how old the last answer of each may be. */
export interface Input {
  /** The owner of the facts: equal ones are of the same subject. */
  readonly owner: string;
  readonly facts: (env: Env) => Facts | undefined;
  readonly sources: readonly Source[];
  readonly staleAfterMs: readonly number[];
}

/** A field that a rule looks at, itself or through a window. `symbol`: of another market by name; null: the subject's own. */
export interface Read {
  readonly scope: ReadScope;
  readonly field: string;
  readonly symbol: string | null;
  readonly sources: readonly Source[];
  /** The source that brings it where it is missing, beside those. */
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

/** The series that a window keeps. */
export type WindowPath =
  /** A numeric field of the subject or of the ancestor that owns it; `symbol` names another market, else null. */
  | {
      readonly kind: "field";
      readonly scope: Scope;
      readonly field: string;
      readonly symbol: string | null;
      /** `drawdown` only: the field whose value at the peak the fall is measured against; null: the series itself. */
      readonly companion: string | null;
    }
  /** Events of the subject; `field` null counts. Only events for which `filter` is true enter (unknown does not). */
  | {
      readonly kind: "event";
      readonly event: EventKind;
      readonly field: string | null;
      readonly filter: Compiled<boolean> | null;
    };

export interface WindowSpec {
  /** Equal keys may share one window for one subject. */
  readonly key: string;
  readonly fn: WindowFunction;
  readonly path: WindowPath;
  /** `today`: since midnight in the configured time zone. */
  readonly windowMs: number | "today";
  /** A sample stands for this long when no other follows. */
  readonly staleAfterMs: number;
  /** `quantileOver` only: which, 0–1. */
  readonly quantile?: number;
}

/** Selects subjects. Wallets are matched by name and labels, markets by symbol; all keys must match. */
export interface Select {
  readonly wallet: readonly string[] | null;
  readonly symbol: readonly string[] | null;
  readonly labels: Readonly<Record<string, readonly string[]>>;
  /** For rules over pairs, by name; absent: all. */
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
  /** Everything that its conditions look at, windows included: an arrival from one of the sources is a reason to judge. */
  readonly reads: readonly Read[];
  /** The same, and what its messages name beside: that has to be read from the exchange, too. */
  readonly shows: readonly Read[];
  /** `env.window(i)` answers for `windows[i]`. Those of conditions and of templates. */
  readonly windows: readonly WindowSpec[];
  /** Reads what only a session brings: it does not apply to a wallet without one. */
  readonly needsSession: boolean;
  /** The maximum age of each source's last answer. */
  readonly staleAfterMs: Readonly<Record<Source, number>>;
  /** `shadow`: judged and recorded like any other, never told to anybody. */
  readonly mode: RuleMode;
  /** Identifies the condition and its mode: another one under the same name means "rule changed". */
  readonly fingerprint: string;
  readonly file: string;
  readonly line: number;
}

export interface Level {
  readonly severity: Severity;
  readonly when: Compiled<boolean>;
  /** Null: as soon as `when` does not hold. */
  readonly resolveWhen: Compiled<boolean> | null;
  /** Grows as the rule's value gets worse; NaN where that is not known. Left out: the value has no direction at this level. */
  readonly excess?: (env: Env) => number;
  /** The value is worse further from 0, on either side. */
  readonly isEitherSide?: true;
}

export interface ConditionRule extends RuleBase {
  readonly kind: "condition";
  readonly scope: Scope;
  /**
   * For books: `market`, one for each market that their wallets hold; `none`, one over all of them; else one over all markets
   * for each value of this label. Null: it is of another scope.
   */
  readonly by: string | null;
  /** Ascending; the short form has one. */
  readonly levels: readonly Level[];
  readonly value: Compiled<number> | null;
  /** The worst that the value can be: what is left to it, and not the value, is what gets markedly worse. Null: none is named. */
  readonly worst: number | null;
  readonly forMs: number;
  readonly keepFiringForMs: number;
  readonly noData: "alert" | "keep";
  /** The sources behind `reads`, each once: what the judge looks at first. */
  readonly inputs: readonly Input[];
  /** Looks at `now`, an age or a data age: time alone moves it. */
  readonly readsNow: boolean;
  /** The state of a subject to which advice leads, beside that no level holds; null: that alone. */
  readonly target: Compiled<boolean> | null;
  /** Time alone moves its value. */
  readonly valueReadsNow: boolean;
  /** Looks at some figure as it is now, and not only through windows. */
  readonly readsPresent: boolean;
}

export interface EventRule extends RuleBase {
  readonly kind: "event";
  readonly on: EventKind;
  readonly when: Compiled<boolean>;
  readonly severity: Severity;
  readonly throttleMs: number | null;
  /** The rule's own word; null: the configuration decides. Only on notifications. */
  readonly acknowledge: AckWord | null;
}

/** A figure with a name of its own, of every subject of a scope: `value.basis` in expressions and in history. */
export interface NamedValue {
  readonly name: string;
  readonly scope: Scope;
  readonly unit: Unit;
  readonly description: string | null;
  readonly value: Compiled<number>;
  readonly reads: readonly Read[];
  /** `env.window(i)` answers for `windows[i]`. */
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
      /** The time of the oldest input, ms; the time of judging where the inputs have no age. */
      readonly dataAtMs: number;
    }
  | {
      readonly kind: "unknown";
      readonly unknown: Unknown;
      readonly value: number | null;
      readonly dataAtMs: number;
    };
