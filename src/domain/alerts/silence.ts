/** A silence: a person's request not to be notified of some alerts for a time. */
import type { Severity } from "./alert.ts";

/** The requirement for one label: equal to one of these values or to none, or matched by a pattern or not. */
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
  /** The worst level that it holds: alerts above it are still notified. */
  readonly upTo: Severity;
  readonly author: string;
  readonly comment: string;
  readonly startsMs: number;
  readonly endsMs: number;
  readonly createdMs: number;
}

/** A silence as a person asks for it. */
export interface SilenceWish {
  /** Matchers as text: `wallet=main`, `severity=warning,info`, `rule!=Blind`, `wallet=~mm-.*`. */
  readonly matchers: readonly string[];
  /** Left out: warning. */
  readonly upTo?: Severity;
  readonly author: string;
  readonly comment: string;
  /** Left out: now. */
  readonly startsMs?: number;
  readonly endsMs: number;
}
