/** A request of a person to hear nothing of some alerts for a while. */
import type { Severity } from "./alert.ts";

/** The requirement for one label: one of these, none of these, or covered by a pattern, or not. */
export type Matcher =
  | { readonly in: readonly string[] }
  | { readonly notIn: readonly string[] }
  | { readonly matches: string }
  | { readonly notMatches: string };

export interface Silence {
  /** Grows by one; what people type. */
  readonly id: number;
  /** By label; all have to match. */
  readonly match: Readonly<Record<string, Matcher>>;
  /** The worst level that it holds: what rises above is told all the same. */
  readonly upTo: Severity;
  readonly author: string;
  readonly comment: string;
  readonly startsMs: number;
  readonly endsMs: number;
  readonly createdMs: number;
}

/** A silence as a person asks for it. */
export interface SilenceWish {
  /** As people type them: `wallet=main`, `severity=warning,info`, `rule!=Blind`, `wallet=~mm-.*`. */
  readonly matchers: readonly string[];
  /** Left out: warning. */
  readonly upTo?: Severity;
  readonly author: string;
  readonly comment: string;
  /** Left out: now. */
  readonly startsMs?: number;
  readonly endsMs: number;
}
