/** The explanation of a rule's judgement of a subject now: what `perpwatch rules explain` shows. */

import type { Source } from "../sources.ts";
import type { LevelState, Severity } from "./alert.ts";
import type { EndingWait } from "./ending-wait.ts";

/** A part of one of the rule's expressions, with its value. */
export interface ExplainedPart {
  /** The label of its expression: `value`, `when`, `critical: resolveWhen`. */
  readonly label: string;
  /** The number of parts around it; 0: the expression itself. */
  readonly depth: number;
  readonly text: string;
  /** The value as text; null: not known. */
  readonly value: string | null;
  readonly unknown: {
    readonly reason: string;
    readonly source: Source | null;
    /** The wallet whose data are missing, if it is not the subject's own wallet. */
    readonly wallet: string | null;
    readonly detail: string;
  } | null;
  /** The age of the oldest figure that it names, ms; null: nothing of it has an age. */
  readonly ageMs: number | null;
  /** The figure it names that is nearest to being too old; null: nothing of it has an age. */
  readonly nearestToStale: { readonly source: Source; readonly ageMs: number } | null;
}

/** One source that the rule reads. */
export interface ExplainedInput {
  /** A scope, or a market by name. */
  readonly whose: string;
  readonly source: Source;
  /** Null: not seen since the start. */
  readonly ageMs: number | null;
  readonly staleAfterMs: number;
  readonly stale: boolean;
}

export interface Explanation {
  readonly rule: string;
  readonly subject: string;
  readonly atMs: number;
  readonly mode: "live" | "shadow";
  readonly state: "inactive" | "pending" | "firing";
  /** The time since which it holds, ms; null: it does not hold. */
  readonly sinceMs: number | null;
  /** The severity of the firing alert, if any. */
  readonly severity: Severity | null;
  /** Null also for a past time at which no alert fired, as rules may have been others. */
  readonly alertId: number | null;
  /** The reason why it cannot be judged now; null: it can be. */
  readonly unknown: string | null;
  /**
   * A change of collateral that no history explains yet, for people; null: there is none, or the rule does not depend on it.
   * Parts that depend on it have two values: that without the change as profit or loss, and that with it.
   */
  readonly unexplained: string | null;
  readonly forMs: number;
  readonly keepFiringForMs: number;
  /**
   * Only for an alert that fires although no `when` holds: the time at which it ends unless one holds again, ms; null: a
   * `resolveWhen` does not hold yet. Absent: a `when` holds, or it is not known.
   */
  readonly gone?: { readonly endsMs: number | null };
  /** Only for an alert, `alertId`, that no longer holds and whose end waits, whether the condition is pending again or not. */
  readonly endingWait?: EndingWait;
  readonly levels: readonly LevelState[];
  readonly parts: readonly ExplainedPart[];
  readonly inputs: readonly ExplainedInput[];
  /**
   * The things that hold its notifications now (a silence, a mute time, an alert that it follows from), for people; empty:
   * nothing does.
   */
  readonly held: readonly string[];
  /** The receivers at its severity, or at its highest level while it does not fire. */
  readonly receivers: readonly string[];
}

/** The meaning of an alert that no rule raises, and those of it that fire. */
export interface BuiltInExplanation {
  readonly rule: string;
  readonly builtIn: true;
  readonly meaning: string;
  readonly alerts: readonly {
    readonly id: number;
    readonly subject: string;
    readonly severity: Severity;
    readonly summary: string;
  }[];
}

export type ExplainAnswer =
  | { readonly kind: "builtIn"; readonly explanation: BuiltInExplanation }
  | { readonly kind: "explained"; readonly explanation: Explanation }
  /** `known`: the existing ones. */
  | { readonly kind: "noRule"; readonly known: readonly string[] }
  | { readonly kind: "noSubject"; readonly known: readonly string[] }
  /** Events are judged once, when they happen. */
  | { readonly kind: "eventRule" };
