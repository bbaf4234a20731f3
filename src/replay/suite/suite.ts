/** A parsed and checked file of rule tests, with line numbers. */
import type { RemindSettings } from "../../alerts/reminders/remind.ts";
import type { Routing } from "../../alerts/routing/route.ts";
import type { AlertChange, Ending, Severity } from "../../domain/alerts/alert.ts";
import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { Scope } from "../../domain/subject.ts";
import type { Field } from "../../rules/index.ts";
import type { WatchedPair, WatchedWallet } from "../../state/wallets/watched.ts";
import type { Step } from "./notation.ts";

export interface Suite {
  readonly file: string;
  /** Rule files by the names in the suite, each with its line. */
  readonly rules: readonly { readonly name: string; readonly line: number }[];
  readonly intervalMs: number;
  /** The beginning of each test, ms since the epoch. */
  readonly startMs: number;
  readonly timezone: string;
  readonly wallets: readonly WatchedWallet[];
  readonly pairs: readonly WatchedPair[];
  readonly overrides: Readonly<Record<string, unknown>>;
  readonly routing: Routing;
  readonly remind: RemindSettings;
  /** Schedules that differ from the default. */
  readonly scheduleMs: Partial<Readonly<Record<Source, number>>>;
  readonly tests: readonly RuleTest[];
}

export interface RuleTest {
  readonly name: string;
  readonly line: number;
  readonly series: readonly TestSeries[];
  readonly events: readonly { readonly atMs: number; readonly event: Event }[];
  readonly failed: readonly TestFailure[];
  readonly restarts: readonly { readonly atMs: number; readonly downMs: number }[];
  readonly acknowledged: readonly TestAcknowledgement[];
  readonly expects: readonly Expectation[];
  /** No alert may fire and no message may be sent until the end; null: not checked. */
  readonly nothing: ExpectedNothing | null;
}

export interface ExpectedNothing {
  readonly line: number;
  /** Null: to the end of the series. */
  readonly untilMs: number | null;
  /** Rules that have to be judged; null: those that the test concerns. */
  readonly judged: readonly string[] | null;
}

/** One field of one subject over time. The last step is repeated. */
export interface TestSeries {
  readonly owner: string;
  readonly scope: Scope;
  readonly field: Field;
  readonly steps: readonly Step[];
}

/** In [fromMs, toMs) reads of this source fail; `wallet` null: for all wallets. */
export interface TestFailure {
  readonly fromMs: number;
  readonly toMs: number;
  readonly source: Source;
  readonly wallet: string | null;
}

export interface TestAcknowledgement {
  readonly atMs: number;
  readonly rule: string;
  readonly subject: string | null;
  readonly by: string;
  readonly line: number;
}

/** Times are since the beginning of the test, ms. */
export interface Expectation {
  readonly atMs: number;
  readonly line: number;
  /** Compares only these rules; null: all rules of the files. */
  readonly rules: readonly string[] | null;
  /** Exactly these alerts; null: not compared. */
  readonly alerts: readonly ExpectedAlert[] | null;
  /** Exactly these messages since the previous expectation; null: not compared. */
  readonly messages: readonly ExpectedMessage[] | null;
}

export type AlertStateName = "pending" | "firing" | "ended" | "event";
export type DataStateName = "ok" | "noData" | "error";

/** An expected alert; absent fields are not compared. */
export interface ExpectedAlert {
  readonly line: number;
  readonly rule: string;
  readonly subject: string | null;
  readonly state: AlertStateName | null;
  readonly severity: Severity | null;
  readonly ending: Ending | null;
  readonly dataState: DataStateName | null;
  readonly value: number | null;
  readonly alreadySo: boolean | null;
  readonly acknowledged: boolean | null;
  readonly summary: string | null;
  readonly description: string | null;
  readonly labels: Readonly<Record<string, string>> | null;
}

export interface ExpectedMessage {
  readonly line: number;
  readonly to: string | null;
  /** `FIRING critical`, `RESOLVED`, …: of its first change. */
  readonly lead: string | null;
  readonly title: string | null;
  readonly rule: string | null;
  readonly subject: string | null;
  readonly severity: Severity | null;
  readonly summary: string | null;
  readonly description: string | null;
}

/** The texts of messages that channels make; injected by the caller. */
export interface Wording {
  readonly lead: (change: AlertChange) => string;
}
