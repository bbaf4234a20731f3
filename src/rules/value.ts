/**
 * The input of expressions: values, the facts that they are read from, and *unknown*.
 *
 * Unknown is neither an error nor `false`: it is a result of its own, with a reason. Operators pass it on, `&&` and `||` ignore it
 * if the other side decides, and an unknown judgement changes no alert.
 */
import type { Source } from "../domain/sources.ts";

export type UnknownReason =
  /** Older than `staleAfter`. */
  | "stale"
  /** A window that history does not cover. */
  | "uncovered"
  /** Arithmetic without a result, such as 0/0. */
  | "nan"
  /** Never read, or an optional field that this event lacks. */
  | "missing"
  /** The owner does not exist: no such position, no unambiguous account, no such market. */
  | "absent"
  /** The configuration names something that does not exist: a market that the exchange does not list, a limit that is not set. */
  | "unset"
  /** A failed operation: a conversion, an index out of range, the maximum of an empty list. */
  | "error";

export class Unknown {
  readonly unknown: UnknownReason;
  /** The source whose data are missing, if there is one. */
  readonly source: Source | null;
  /** Text for display: the path and the problem. */
  readonly detail: string;
  /** The wallet whose data are missing, if it is not the subject's own wallet; null: no particular wallet. */
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

/** Durations are ms, times are ms since the epoch, ratios are fractions, amounts of money are USD. */
export type FactScalar = number | boolean | string;
export type FactRecord = Readonly<Record<string, FactScalar>>;
export type FactValue = FactScalar | FactRecord | readonly FactRecord[];
export type Value = FactValue | readonly FactScalar[];

/**
 * The known state of one subject, updated in place by the watch. An absent key is *missing*. A market, position, … that does not
 * exist has no `Facts`.
 */
export interface Facts {
  readonly values: Record<string, FactValue>;
  /** The time at which each source last answered about this subject, ms. A field is as old as the oldest of its sources. */
  readonly seenMs: Partial<Record<Source, number>>;
  /**
   * For aggregates over several wallets, whose `seenMs` is the oldest of theirs: the wallets that a source has not reported since
   * `sinceMs`.
   */
  readonly silent?: (source: Source, sinceMs: number) => readonly string[];
  /** For aggregates: the wallets whose part of a figure is not known. */
  readonly missingMembers?: (field: string) => readonly string[];
}

/** Computes the least amounts with which a condition would hold for the account of a subject. */
export interface Suppose {
  /** USD; 0: it holds already, +∞: no amount is enough. */
  deposit(env: Env, condition: (supposed: Env) => Value | Unknown): number | Unknown;
  /** The change of the position's size, base units, negative: sell; 0: it holds already, infinite: closing it is not enough. */
  reduce(env: Env, condition: (supposed: Env) => Value | Unknown): number | Unknown;
}

/** All inputs of one judgement. The judge sets `value`. */
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
  /** For templates of channels: the alert and the message. */
  alert?: Facts | undefined;
  message?: Facts | undefined;
  /** A market by its symbol, for `market("BTC")`. */
  markets: (symbol: string) => Facts | undefined;
  /** Absent: hypothetical amounts are not available here. */
  suppose?: Suppose | undefined;
  /** True if the markets' list and their figures were read: a market that is not listed does not exist. */
  listed?: () => boolean;
  /** The result of the rule's window of this index, for this subject. */
  window: (index: number) => number | Unknown;
  value?: number | Unknown | undefined;
  /** Set by the judge while it runs, if all inputs of the rule were found fresh at once; internal. */
  allFresh?: boolean;
  /** Holdings of accounts count as fresh, whatever their age: their newest reading is used at the current marks. */
  oldAccounts?: boolean;
  /** Set by the judge: time until which the inputs that are fresh now stay fresh without a new answer, ms; +∞: there are none. */
  freshUntilMs?: number;
}
