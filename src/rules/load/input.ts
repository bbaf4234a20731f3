/** The input and output of loading. */
import type { Limits } from "../../domain/limits.ts";
import type { Source } from "../../domain/sources.ts";
import type { RuleProblem } from "../problem.ts";
import type { RuleSet } from "../rule.ts";

export interface LoadInput {
  /** Every rule file: its name as people know it, and its text. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** `ruleOverrides:` of the configuration, by rule name. */
  readonly overrides: Readonly<Record<string, unknown>>;
  /** The interval at which each source is asked: three times that is the default of `staleAfter`. */
  readonly scheduleMs: Readonly<Record<Source, number>>;
  /** The default of `staleAfter` of sources that are asked less often than that at present, ms. */
  readonly stretchedAgesMs?: Partial<Readonly<Record<Source, number>>>;
  readonly wallets: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    /** Has no session: what notifications tell does not reach it. */
    readonly watchOnly: boolean;
    /** As `limitsOf` keeps them. Left out: not known here. */
    readonly limits?: Limits;
  }[];
  /** The time for which history is kept in any form (the longest of samples, minutes, hours), ms; left out: not known here. */
  readonly retentionMs?: number;
  /** The declared pairs; left out: not known here. */
  readonly pairs?: readonly { readonly name: string }[];
  /** The time zone of "today", an IANA name. */
  readonly timezone: string;
}

export type Loaded =
  | { readonly ruleSet: RuleSet; readonly warnings: readonly RuleProblem[] }
  | {
      /** All mistakes of all files, in their order. */
      readonly problems: readonly RuleProblem[];
      /** The names of the rules, those with mistakes among them. */
      readonly names: readonly string[];
      /** False where a file could not be read so far that all its names are among them. */
      readonly hasAllNames: boolean;
    };
