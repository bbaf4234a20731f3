/** The input and output of loading. */
import type { Limits } from "../../domain/limits.ts";
import type { Source } from "../../domain/sources.ts";
import type { RuleProblem } from "../problem.ts";
import type { RuleSet } from "../rule.ts";

export interface LoadInput {
  /** Every rule file: its name for display, and its text. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** `ruleOverrides:` of the configuration, by rule name. */
  readonly overrides: Readonly<Record<string, unknown>>;
  /** The interval at which each source is read: the default of `staleAfter` is three times that. */
  readonly scheduleMs: Readonly<Record<Source, number>>;
  /** The default of `staleAfter` for sources that are currently read less often than that, ms. */
  readonly stretchedAgesMs?: Partial<Readonly<Record<Source, number>>>;
  readonly wallets: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    /** True: no session, so notifications are not available. */
    readonly watchOnly: boolean;
    /** As stored by `limitsOf`. Absent: not known here. */
    readonly limits?: Limits;
  }[];
  /** The time for which history is kept in any form (the longest of samples, minutes, hours), ms. Absent: not known here. */
  readonly retentionMs?: number;
  /** The declared pairs. Absent: not known here. */
  readonly pairs?: readonly { readonly name: string }[];
  /** The time zone of "today", an IANA name. */
  readonly timezone: string;
}

export type Loaded =
  | { readonly ruleSet: RuleSet; readonly warnings: readonly RuleProblem[] }
  | {
      /** All mistakes of all files, in order. */
      readonly problems: readonly RuleProblem[];
      /** The names of all rules, including those with mistakes. */
      readonly names: readonly string[];
      /** False if a file could not be parsed far enough to find all its names. */
      readonly hasAllNames: boolean;
    };
