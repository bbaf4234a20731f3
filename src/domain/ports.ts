/** The doors between rooms. Whoever needs one of these is handed it by the composition root. */

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

/** From when to when observations are recorded, ms, and where some of them were let go of. */
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

/** The store: one write verb, and the questions that its users ask. */
export interface Store {
  /**
   * Writes all of these in one transaction, in order. Events that are stored already are left as they are.
   * @throws {CommitFailed} when the disk is full, busy or failing: nothing was written.
   */
  commit(batch: readonly Changes[]): Promise<void>;

  /** The subset of these that is stored already, as `eventName(kind, key)`. */
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
   * The input of the watch, in that order and exactly as it was, from the last point at or before `fromMs` at which reading
   * can begin; it ends before the first observation that is later than `toMs`. Where no watch began at that point, it is led
   * by the last observation of each kind and owner that was not seen again for long, at its own time.
   */
  recording(query: RecordingQuery): AsyncIterable<Observation>;
  /** Null: nothing is recorded. */
  recorded(): Promise<Recorded | null>;
  /** Every owner of which there are ticks. */
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
    /** Only those of rules in shadow mode, or only the others. */
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
    /** Those that one of these alerts decides. */
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

/** Sessions at rest: opaque sealed bytes by wallet. Saved durably before the call returns. */
export interface SessionStore {
  load(wallet: string): Promise<Uint8Array | null>;
  save(wallet: string, sealed: Uint8Array): Promise<void>;
  remove(wallet: string): Promise<void>;
}

/** Sessions and tokens of the local listener at rest. Saved and removed durably before the call returns. */
export interface AccessStore {
  /** Null for each that is not as perpwatch stores them. */
  accessEntries(): Promise<readonly (AccessEntry | null)[]>;
  /** Takes the place of one with the same hash. */
  saveAccess(entry: AccessEntry): Promise<void>;
  removeAccess(hash: string): Promise<void>;
}

/**
 * Receives observations. Resolves when it was judged and what follows from it was committed (or is held, see degraded mode).
 */
export interface Ingest {
  observe(observation: Observation): Promise<void>;
}

/** The actions that people can take from a shell, a chat or the page. */
export interface Actions {
  /**
   * @param shown number of the change that the person saw, whose level and value are what it covers; left out: those of now
   * @returns `rose`: it is of a higher level by now than what was shown, which nothing was acknowledged of
   */
  acknowledgeAlert(
    id: number,
    by: string,
    comment: string,
    shown?: number,
  ): Promise<"done" | "unknown" | "ended" | "already" | "rose">;
  /** Newest first, those that are over since not too long among them. */
  silences(): readonly Silence[];
  /** @param preview only says what it would hold; nothing is silenced */
  silence(wish: SilenceWish, preview: boolean): Promise<SilenceOutcome>;
  /** Ends a silence before its time: what it held is told. */
  expireSilence(id: number, by: string): Promise<"done" | "unknown" | "over">;
}

/** The result of a request for a silence: what it holds of the alerts that fire now, or what is wrong with it, for people. */
export type SilenceOutcome =
  | { readonly kind: "done"; readonly silence: Silence; readonly holds: readonly Alert[] }
  | { readonly kind: "wrong"; readonly problem: string };

/** Selects alerts; what is left out does not narrow. Newest first. */
export interface AlertQuery {
  /** Those of rules in shadow mode, and no others; left out: none of them. */
  readonly shadow?: boolean;
  readonly state?: Alert["state"];
  readonly rule?: string;
  readonly wallet?: string;
  /** Those that reached it and nothing worse, or fire at it; with `state: "firing"`, those that fire at it. */
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
  /** The acknowledgements of notifications that are acknowledged when it was handled. */
  readonly acknowledgements?: readonly Acknowledgement[];
}

export interface NotificationQuery {
  readonly wallet?: string;
  /** True: only those that are not acknowledged at the exchange as far as is known here. */
  readonly unacked: boolean;
  readonly limit: number;
}

/** A notification of the exchange, and where it stands on its way to being acknowledged; null: nothing was decided. */
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

/** Every wallet has fresh data, or why not, a line a reason for people. */
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
  /** Nothing can be recorded now, so nothing could be followed. */
  | { readonly kind: "degraded" };

/** A digest for a person who asked for one. */
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
   * The digest of now; with receivers a message is finalized for each and sent.
   * @returns `unknown`: the first of them that is no channel
   */
  digest(receivers: readonly string[]): Promise<DigestAnswer>;
  /** Gives free space in the database back to the disk, for some seconds at most. */
  compactHistory(): Promise<Compacted>;
  /** Holds the exchange's inbox against what is known here, now. @param wallet absent: all; null: no such wallet with a session */
  auditNotifications(wallet?: string): Promise<readonly InboxAudit[] | null>;
  /** Begins a fire drill. @param channels none: all */
  drill(channels: readonly string[], by: string): Promise<DrillOutcome>;
  /** Null: no such wallet. */
  login(wallet: string): Promise<SessionOutcome | null>;
  logout(wallet: string): Promise<SessionOutcome | null>;
}

/** The questions and actions of chats: a part of what shells can. */
export type ChatActions = Pick<
  DashboardSource,
  "status" | "alert" | "acknowledgeAlert" | "silence" | "silences"
> & {
  /**
   * Finds what a message showed, with what was edited into it.
   * @param revision number of the newest change in it
   * @returns the newest change of each alert up to then, but for those that are over; null: there is no such message
   */
  shownIn(messageId: string, revision: number): Promise<readonly AlertChange[] | null>;
  /** The critical messages that were finalized at this time or later, oldest first. */
  criticalMessages(sealedFromMs: number): Promise<readonly Message[]>;
};

export interface Charts {
  /** Null: there is no such alert, or its rule looks at no single series. */
  series(alertId: number): Promise<ChartSeries | null>;
}

/** Work that was committed and now has to be done, told to the rooms that do it. */
export interface Committed {
  readonly changes: Changes;
}
