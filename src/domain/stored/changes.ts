/**
 * The results of one step, written in one transaction or not at all. All writers of the store use it: the
 * watch (observed data and the resulting pending deliveries), the outbox (messages), the acknowledger.
 */
import type { Alert, AlertChange, RuleState } from "../alerts/alert.ts";
import type { Acknowledgement, DeliveryItem, Message } from "../alerts/delivery.ts";
import type { Event } from "../event.ts";
import type { FailureCause, FailureReason, Observation, Tick } from "../observation.ts";
import type { Source } from "../sources.ts";

export interface FailedRead {
  readonly atMs: number;
  readonly source: Source;
  readonly wallet: string | null;
  readonly symbol: string | null;
  readonly reason: FailureReason;
  readonly detail: string;
  /** Not stored with the failed read; the recording has it. */
  readonly cause?: FailureCause;
}

/** A value that is no number, or a structure, stored when it changes: `riskTier` of an account, a market's configuration. */
export interface FactChange {
  readonly atMs: number;
  /** `main/0.0`, `market/SOL`, `exchange`, … */
  readonly owner: string;
  readonly name: string;
  /** JSON text. Integers beyond 2^53 are written as strings. */
  readonly value: string;
}

/**
 * Starts, stops, rule sets and routing sets in use, each with its time. `recordingGap`: observations were judged and not
 * recorded; its value is JSON `{fromMs, toMs, lost}`.
 */
export interface Milestone {
  readonly atMs: number;
  readonly kind:
    | "started"
    | "stopped"
    | "ruleSet"
    | "routingSet"
    | "walletFirstSeen"
    | "marketFirstSeen"
    | "recordingGap";
  readonly value: string;
}

/** The raw body of an answer that did not fit the contract, kept for inspection. */
export interface KeptPayload {
  readonly atMs: number;
  readonly source: string;
  readonly wallet: string | null;
  readonly body: string;
  readonly problem: string;
}

export interface Changes {
  /** The input of the watch, in order: the recording, from which a replay gives the same alerts. Set only by ingest. */
  readonly observations: readonly Observation[];
  readonly ticks: readonly Tick[];
  readonly facts: readonly FactChange[];
  readonly events: readonly Event[];
  readonly failedReads: readonly FailedRead[];
  readonly milestones: readonly Milestone[];
  readonly payloads: readonly KeptPayload[];
  /** Whole rows; the newest wins. */
  readonly alerts: readonly Alert[];
  /** Appended. */
  readonly alertChanges: readonly AlertChange[];
  /** Whole rows by (rule, subject). */
  readonly ruleStates: readonly RuleState[];
  readonly ruleStatesGone: readonly { readonly rule: string; readonly subject: string }[];
  /** Whole rows by id. */
  readonly deliveryItems: readonly DeliveryItem[];
  readonly messages: readonly Message[];
  readonly acknowledgements: readonly Acknowledgement[];
  readonly cursors: readonly { readonly name: string; readonly value: string }[];
  /** Kept values of the watch by name (sums since watching began, throttles), JSON text; null deletes. */
  readonly keep: readonly { readonly name: string; readonly value: string | null }[];
}

/** Changes while they are collected. */
export type MutableChanges = { -readonly [K in keyof Changes]: Changes[K][number][] };

export const emptyChanges = (): MutableChanges => ({
  observations: [],
  ticks: [],
  facts: [],
  events: [],
  failedReads: [],
  milestones: [],
  payloads: [],
  alerts: [],
  alertChanges: [],
  ruleStates: [],
  ruleStatesGone: [],
  deliveryItems: [],
  messages: [],
  acknowledgements: [],
  cursors: [],
  keep: [],
});

export const noChanges: Changes = emptyChanges();

/** Returns a Changes value of the parts that are not empty. */
export function changes(parts: Partial<Changes>): Changes {
  return { ...noChanges, ...parts };
}

export function isEmpty(value: Changes): boolean {
  for (const key in value) if (value[key as keyof Changes].length > 0) return false;
  return true;
}
