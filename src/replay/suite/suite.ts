/** A file of rule tests as it is after reading: checked, with its places. */
import type { RemindSettings } from "../../alerts/reminders/remind.ts";
import type { Routing } from "../../alerts/routing/route.ts";
import type { AlertChange, Ending, Severity } from "../../domain/alert.ts";
import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { Scope } from "../../domain/subject.ts";
import type { Field } from "../../rules/index.ts";
import type { WatchedPair, WatchedWallet } from "../../state/watched.ts";
import type { Step } from "./notation.ts";

export interface Suite {
  readonly file: string;
  /** Rule files as they are named there, each with its line. */
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
  /** The differences from the usual. */
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
  /** Nothing may become an alert and nobody may be told anything from the beginning to the end; its line. */
  readonly nothing: ExpectedNothing | null;
}

export interface ExpectedNothing {
  readonly line: number;
  /** Null: to the end of the series. */
  readonly untilMs: number | null;
  /** Rules that have to be judged; null: those that the test concerns. */
  readonly judged: readonly string[] | null;
}

/** One field of one subject against time. After the last step it goes on as that one. */
export interface TestSeries {
  readonly owner: string;
  readonly scope: Scope;
  readonly field: Field;
  readonly steps: readonly Step[];
}

/** Within [fromMs, toMs) this source answers nobody, or not this wallet. */
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
  /** Only these rules are looked at; null: all of the files. */
  readonly rules: readonly string[] | null;
  /** Exactly these; null: not looked at. */
  readonly alerts: readonly ExpectedAlert[] | null;
  /** Exactly these since the expectation before; null: not looked at. */
  readonly messages: readonly ExpectedMessage[] | null;
}

export type AlertStateWord = "pending" | "firing" | "ended" | "event";
export type DataStateWord = "ok" | "noData" | "error";

/** An expected alert; fields that are left out are not compared. */
export interface ExpectedAlert {
  readonly line: number;
  readonly rule: string;
  readonly subject: string | null;
  readonly state: AlertStateWord | null;
  readonly severity: Severity | null;
  readonly ending: Ending | null;
  readonly dataState: DataStateWord | null;
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
  /** `FIRING critical`, `RESOLVED`, …: of its only change. */
  readonly lead: string | null;
  readonly title: string | null;
  readonly rule: string | null;
  readonly subject: string | null;
  readonly severity: Severity | null;
  readonly summary: string | null;
  readonly description: string | null;
}

/** Words messages: the rooms that send them know, and whoever runs a test hands it in. */
export interface Wording {
  readonly lead: (change: AlertChange) => string;
}
