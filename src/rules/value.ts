/**
 * The input of expressions: values, the facts that they are read from, and *unknown*.
 *
 * Unknown is no error page and no `false`: it is an answer of its own, with its reason. Operators hand it on, `&&` and
 * `||` absorb it where the other side decides, and a judgement that comes out unknown moves nothing.
 */
import type { Source } from "../domain/sources.ts";

export type UnknownReason =
  /** Older than `staleAfter`. */
  | "stale"
  /** A window that history does not reach. */
  | "uncovered"
  /** Arithmetic without an answer, such as 0/0. */
  | "nan"
  /** Never seen, or an optional field that this event has not. */
  | "missing"
  /** Its owner does not exist: no such position, no account that could be told apart, no such market. */
  | "absent"
  /** The configuration names what is not there: a market that the exchange does not list, a limit that nobody set. */
  | "unset"
  /** An operation that failed: a conversion, an index out of range, the largest of an empty list. */
  | "error";

export class Unknown {
  readonly unknown: UnknownReason;
  /** The source whose silence is the cause, where there is one. */
  readonly source: Source | null;
  /** For people: which path, and what is the matter with it. */
  readonly detail: string;
  /** The wallet whose data are missing, where that is not the subject's own wallet; null: nobody in particular. */
  readonly wallet: string | null;
  constructor(reason: UnknownReason, source: Source | null, detail: string, wallet: string | null = null) {
    this.unknown = reason;
    this.source = source;
    this.detail = detail;
    this.wallet = wallet;
    Object.freeze(this);
  }
}

export function isUnknown(value: unknown): value is Unknown {
  return value instanceof Unknown;
}

/** Durations are ms, times are ms since the epoch, ratios are fractions, money is USD. */
export type FactScalar = number | boolean | string;
export type FactRecord = Readonly<Record<string, FactScalar>>;
export type FactValue = FactScalar | FactRecord | readonly FactRecord[];
export type Value = FactValue | readonly FactScalar[];

/**
 * The known state of one subject, kept and changed in place by the watch. An absent key is *missing*. A market, position, …
 * that does not exist (any more) is an absent `Facts`.
 */
export interface Facts {
  readonly values: Record<string, FactValue>;
  /** The time at which each source last answered about this subject, ms. The oldest of a field's sources is the field's age. */
  readonly seenMs: Partial<Record<Source, number>>;
  /**
   * For what several wallets make up together, whose `seenMs` is the oldest of theirs: the wallets of which a source told
   * nothing since `sinceMs`.
   */
  readonly silent?: (source: Source, sinceMs: number) => readonly string[];
  /** For the same: the wallets whose part of a figure is not known. */
  readonly untold?: (field: string) => readonly string[];
}

/** Answers with which least amounts a condition would hold of the account around a subject. */
export interface Suppose {
  /** USD; 0: it holds as it is, +∞: no amount is enough. */
  deposit(env: Env, condition: (supposed: Env) => Value | Unknown): number | Unknown;
  /** The change of the size of the position, base units, negative to sell; 0 as above, infinite: closing all of it is not enough. */
  reduce(env: Env, condition: (supposed: Env) => Value | Unknown): number | Unknown;
}

/** Everything that one judgement may look at. `value` is set by the judge itself. */
export interface Env {
  nowMs: number;
  position?: Facts | undefined;
  trader?: Facts | undefined;
  wallet?: Facts | undefined;
  market?: Facts | undefined;
  exchange: Facts;
  daemon: Facts;
  book?: Facts | undefined;
  pair?: Facts | undefined;
  event?: Facts | undefined;
  /** For templates of channels: what is told, and in which message. */
  alert?: Facts | undefined;
  message?: Facts | undefined;
  /** Any market by its symbol, for `market("BTC")`. */
  markets: (symbol: string) => Facts | undefined;
  /** Left out: nothing can be supposed here. */
  suppose?: Suppose | undefined;
  /** True if the markets' list and their figures were read: a market that is not among them does not exist. */
  listed?: () => boolean;
  /** The reading of the rule's window of this index, for this subject. */
  window: (index: number) => number | Unknown;
  value?: number | Unknown | undefined;
  /** Set by the judge while it runs, when all inputs of the rule were found fresh at once; leave it alone. */
  allFresh?: boolean;
  /** Holdings of accounts count as fresh, however old: the newest reading of it, at the current marks. */
  oldAccounts?: boolean;
  /** Set by the judge: until when those inputs that are fresh now stay so without a new answer, ms; +∞ without any. */
  freshUntilMs?: number;
}
