/** The interfaces between folders. The composition root passes the implementations to their users. */

import type { AccessEntry } from "./access.ts";
import type { Alert, AlertChange, RuleState, Severity } from "./alerts/alert.ts";
import type { ChartSeries } from "./alerts/chart.ts";
import type {
  Acknowledgement,
  DeliveryItem,
  Message,
  MessageContent,
  SendFailure,
} from "./alerts/delivery.ts";
import type { ExplainAnswer } from "./alerts/explanation.ts";
import type { Silence, SilenceWish } from "./alerts/silence.ts";
import type { Event, EventKind } from "./event.ts";
import type { InboxAudit } from "./inbox.ts";
import type { Observation, Tick } from "./observation.ts";
import type { DaemonStatus } from "./status.ts";
import type { Changes, FactChange, Milestone } from "./stored/changes.ts";
import type { Compacted, RollUp, RollUpBlock, RollUpQuery } from "./stored/history.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "./what-if.ts";

export type CommitFailure = "full" | "busy" | "io";

/** The disk did not take a commit for a reason outside the program; what was in it can be committed again later. */
export class CommitFailed extends Error {
  readonly reason: CommitFailure;
  constructor(reason: CommitFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommitFailed";
    this.reason = reason;
  }
}

export interface TickQuery {
  readonly owner: string;
  readonly fromMs: number;
  /** Inclusive; default: the newest. */
  readonly toMs?: number;
  /** The wanted series; default all. Others may be left out of ticks, which cost less then. */
  readonly wanted?: (series: string) => boolean;
}

/** Selects a part of the recording. */
export interface RecordingQuery {
  readonly fromMs: number;
  /** Inclusive; default: the newest. */
  readonly toMs?: number;
}

/** The span of the recorded observations, ms, and the gaps in which some were discarded. */
export interface Recorded {
  readonly fromMs: number;
  readonly toMs: number;
  readonly gaps: readonly { readonly fromMs: number; readonly toMs: number }[];
}

export interface EventQuery {
  readonly kind?: EventKind;
  readonly wallet?: string | null;
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly limit?: number;
  /** Default oldest first by time of happening. */
  readonly newestFirst?: boolean;
}

/** The store: one method that writes, and the queries of its users. */
export interface Store {
  /**
   * Writes all of these in one transaction, in order. Events that are stored already are left as they are.
   * @throws {CommitFailed} when the disk is full, busy or failing: nothing was written.
   */
  commit(batch: readonly Changes[]): Promise<void>;

  /** Returns the subset of these that is stored already, as `eventName(kind, key)`. */
  knownEvents(
    keys: readonly { readonly kind: EventKind; readonly key: string }[],
  ): Promise<ReadonlySet<string>>;
  /** @returns ticks of one owner, oldest first. */
  ticks(query: TickQuery): AsyncIterable<Tick>;
  /** @returns buckets of one owner, oldest first: as far back as they are kept, which is longer than ticks are. */
  rollups(query: RollUpQuery): AsyncIterable<RollUp>;
  /** The same, many at a time. */
  rollupBlocks(query: RollUpQuery): AsyncIterable<RollUpBlock>;
  /**
   * Returns the input of the watch, in order and unchanged, from the last point at or before `fromMs` at which reading can
   * begin to before the first observation that is later than `toMs`. If no watch began at that point, the last observation of
   * each kind and owner that was not repeated for long comes first, with its own time.
   */
  recording(query: RecordingQuery): AsyncIterable<Observation>;
  /** Returns the recorded span; null: nothing is recorded. */
  recorded(): Promise<Recorded | null>;
  /** Returns every owner that has ticks. */
  tickOwners(): Promise<readonly string[]>;
  events(query: EventQuery): Promise<readonly Event[]>;
  eventByKey(kind: EventKind, key: string): Promise<Event | null>;
  /** The newest value of each (owner, name), or of one owner. */
  facts(owner?: string): Promise<readonly FactChange[]>;
  milestones(kind?: Milestone["kind"]): Promise<readonly Milestone[]>;
  ruleStates(): Promise<readonly RuleState[]>;
  alerts(query: {
    readonly state?: Alert["state"];
    readonly ids?: readonly number[];
    /** True: only those of rules in shadow mode; false: only the others. */
    readonly shadow?: boolean;
    readonly limit?: number;
  }): Promise<readonly Alert[]>;
  alertChanges(query: {
    readonly alertId?: number;
    readonly ids?: readonly number[];
  }): Promise<readonly AlertChange[]>;
  deliveryItems(query: {
    readonly open?: boolean;
    readonly alertIds?: readonly number[];
  }): Promise<readonly DeliveryItem[]>;
  messages(query: {
    readonly open?: boolean;
    readonly alertIds?: readonly number[];
    readonly ids?: readonly string[];
    /** Minimum time of finalizing, ms. */
    readonly sealedFromMs?: number;
    /** The id of the incident that the messages belong to. */
    readonly incident?: string;
    readonly severity?: Severity;
  }): Promise<readonly Message[]>;
  acknowledgements(query: {
    readonly open?: boolean;
    readonly keys?: readonly string[];
    readonly wallet?: string;
    /** Selects those that depend on one of these alerts. */
    readonly alertIds?: readonly number[];
  }): Promise<readonly Acknowledgement[]>;
  cursors(): Promise<ReadonlyMap<string, string>>;
  keep(): Promise<ReadonlyMap<string, string>>;
  /** The highest ids in use, so that the next ones follow. */
  lastIds(): Promise<{ readonly alert: number; readonly change: number; readonly item: number }>;
  /** The newest time that the daemon observed and wrote, by its corrected clock, ms; null for a new database. */
  lastAliveMs(): Promise<number | null>;
  sizeBytes(): Promise<number>;
  close(): Promise<void>;
}

/** Stored sessions: opaque encrypted bytes by wallet. Saved durably before the call returns. */
export interface SessionStore {
  load(wallet: string): Promise<Uint8Array | null>;
  save(wallet: string, sealed: Uint8Array): Promise<void>;
  remove(wallet: string): Promise<void>;
}

/** Stored sessions and tokens of the local listener. Saved and removed durably before the call returns. */
export interface AccessStore {
  /** Returns null for each entry that does not have the stored form. */
  accessEntries(): Promise<readonly (AccessEntry | null)[]>;
  /** Replaces one with the same hash. */
  saveAccess(entry: AccessEntry): Promise<void>;
  removeAccess(hash: string): Promise<void>;
}

/**
 * Receives observations. Resolves when the observation was judged and the result was committed (or is held, see degraded
 * mode).
 */
export interface Ingest {
  observe(observation: Observation): Promise<void>;
}

/** The actions that people can take from a shell, a chat or the page. */
export interface Actions {
  /**
   * @param shown number of the change that the person saw: the acknowledgement covers its level and value; left out: the
   * current ones
   * @returns `rose`: the alert is at a higher level than the one shown; nothing was acknowledged
   */
  acknowledgeAlert(
    id: number,
    by: string,
    comment: string,
    shown?: number,
  ): Promise<"done" | "unknown" | "ended" | "already" | "rose">;
  /** Returns silences, newest first, including those that ended recently. */
  silences(): readonly Silence[];
  /** @param preview true: returns what it would hold, and silences nothing */
  silence(wish: SilenceWish, preview: boolean): Promise<SilenceOutcome>;
  /** Ends a silence before its time: notifications that it held are sent. */
  expireSilence(id: number, by: string): Promise<"done" | "unknown" | "over">;
}

/** The result of a request for a silence: what it holds of the alerts that fire now, or what is wrong with it, for people. */
export type SilenceOutcome =
  | { readonly kind: "done"; readonly silence: Silence; readonly holds: readonly Alert[] }
  | { readonly kind: "wrong"; readonly problem: string };

/** Selects alerts, newest first; omitted fields select all. */
export interface AlertQuery {
  /** True: only those of rules in shadow mode; left out: none of them. */
  readonly shadow?: boolean;
  readonly state?: Alert["state"];
  readonly rule?: string;
  readonly wallet?: string;
  /** Selects alerts whose worst level it is, or that fire at it; with `state: "firing"`, those that fire at it. */
  readonly severity?: Severity;
  readonly limit: number;
}

/** One alert with all that followed from it. */
export interface AlertStory {
  readonly alert: Alert;
  /** Oldest first. */
  readonly changes: readonly AlertChange[];
  readonly owed: readonly DeliveryItem[];
  readonly messages: readonly Message[];
  /** The event, of an alert about an event. */
  readonly event?: Event | null;
  /** The acknowledgements that depend on the handling of this alert. */
  readonly acknowledgements?: readonly Acknowledgement[];
}

export interface NotificationQuery {
  readonly wallet?: string;
  /** True: only those that are not acknowledged at the exchange as far as is known here. */
  readonly unacked: boolean;
  readonly limit: number;
}

/** A notification of the exchange and the state of its acknowledgement; null: nothing was decided. */
export interface NotificationRow {
  readonly event: Event;
  readonly acknowledgement: Acknowledgement | null;
}

/** The notifications that a person acknowledges: named ones, or all of a wallet that happened up to a time (ms, inclusive). */
export type NotificationSelection = { readonly wallet: string } & (
  | { readonly keys: readonly string[] }
  | { readonly upToMs: number }
);

/** The result of a person's own acknowledgement, by keys of notifications. */
export interface ManualAcknowledgement {
  readonly confirmed: readonly string[];
  /** Recorded as confirmed before. */
  readonly already: readonly string[];
  /** Not in this wallet's history. */
  readonly unknown: readonly string[];
  readonly failed: readonly { readonly key: string; readonly detail: string }[];
}

/** The result of one attempt to send. */
export type SendOutcome =
  | { readonly kind: "delivered"; readonly receipt: string }
  | {
      readonly kind: "retry";
      readonly failure: SendFailure;
      readonly detail: string;
      readonly afterMs: number | null;
    }
  | {
      readonly kind: "refused";
      readonly failure: SendFailure;
      readonly detail: string;
      readonly channelBroken: boolean;
    };

/** The result of signing a wallet in or out. `detail` is for people and holds no secret. */
export type SessionOutcome =
  | { readonly kind: "done"; readonly detail: string }
  | { readonly kind: "watchOnly" }
  | { readonly kind: "failed"; readonly detail: string };

/** Readiness: true if every wallet has fresh data; else the reasons, one line each, for people. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** The result of a request for a fire drill. */
export type DrillOutcome =
  | {
      readonly kind: "begun";
      readonly alertId: number;
      readonly channels: readonly string[];
      /** The time that each channel may take, ms. */
      readonly withinMs: number;
    }
  | { readonly kind: "unknown"; readonly channel: string }
  /** History takes no commits, so the deliveries could not be followed. */
  | { readonly kind: "degraded" };

/** The answer to a person's request for a digest. */
export type DigestAnswer =
  | { readonly kind: "told"; readonly content: MessageContent; readonly messageIds: readonly string[] }
  | { readonly kind: "unknown"; readonly channel: string };

/**
 * The questions and actions of the local API. The composition root answers; the dashboard serves it to shells, pages and
 * scrapers.
 */
export interface DashboardSource extends Actions {
  status(): DaemonStatus;
  ready(): Readiness;
  explain(rule: string, subject: string | null): ExplainAnswer;
  whatIf(question: WhatIfQuestion): WhatIfOutcome;
  alerts(query: AlertQuery): Promise<readonly Alert[]>;
  alert(id: number): Promise<AlertStory | null>;
  /** Newest first; null: no such wallet. */
  notifications(query: NotificationQuery): Promise<readonly NotificationRow[] | null>;
  /** Resolves when the exchange has answered; null: no such wallet. */
  acknowledgeNotifications(selection: NotificationSelection): Promise<ManualAcknowledgement | null>;
  /** Sends one marked test message, once; null: no such channel. */
  testChannel(name: string): Promise<SendOutcome | null>;
  /**
   * Makes the current digest; with receivers a message is finalized for each and sent.
   * @returns `unknown`: the first receiver that is no channel
   */
  digest(receivers: readonly string[]): Promise<DigestAnswer>;
  /** Returns free space of the database to the disk, for some seconds at most. */
  compactHistory(): Promise<Compacted>;
  /** Compares the exchange's inbox with the history now. @param wallet absent: all @returns null: no such wallet with a session */
  auditNotifications(wallet?: string): Promise<readonly InboxAudit[] | null>;
  /** Begins a fire drill. @param channels none: all */
  drill(channels: readonly string[], by: string): Promise<DrillOutcome>;
  /** Null: no such wallet. */
  login(wallet: string): Promise<SessionOutcome | null>;
  logout(wallet: string): Promise<SessionOutcome | null>;
}

/** The queries and actions of chats: a subset of those of shells. */
export type ChatActions = Pick<
  DashboardSource,
  "status" | "alert" | "acknowledgeAlert" | "silence" | "silences"
> & {
  /**
   * Finds the changes that a message showed, including later edits.
   * @param revision number of the newest change in it
   * @returns the newest change of each alert up to then, except ended ones; null: there is no such message
   */
  shownIn(messageId: string, revision: number): Promise<readonly AlertChange[] | null>;
  /** The critical messages that were finalized at this time or later, oldest first. */
  criticalMessages(sealedFromMs: number): Promise<readonly Message[]>;
};

export interface Charts {
  /** Returns null if there is no such alert, or its rule does not read a single series. */
  series(alertId: number): Promise<ChartSeries | null>;
}

/** Committed changes, passed to the parts that act on them. */
export interface Committed {
  readonly changes: Changes;
}
