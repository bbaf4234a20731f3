/** The doors between rooms. Whoever needs one of these is handed it by the composition root. */
import type { Alert, AlertChange, RuleState } from "./alert.ts";
import type { Changes, FactChange, Milestone } from "./changes.ts";
import type { Acknowledgement, Message, OwedItem } from "./delivery.ts";
import type { Event, EventKind } from "./event.ts";
import type { Observation, Tick } from "./observation.ts";

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

  /** Which of these are stored already, as `eventName(kind, key)`. */
  knownEvents(
    keys: readonly { readonly kind: EventKind; readonly key: string }[],
  ): Promise<ReadonlySet<string>>;
  /** @returns ticks of one owner, oldest first. */
  ticks(query: TickQuery): AsyncIterable<Tick>;
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
    readonly limit?: number;
  }): Promise<readonly Alert[]>;
  alertChanges(query: {
    readonly alertId?: number;
    readonly ids?: readonly number[];
  }): Promise<readonly AlertChange[]>;
  owed(query: {
    readonly open?: boolean;
    readonly alertIds?: readonly number[];
  }): Promise<readonly OwedItem[]>;
  messages(query: {
    readonly open?: boolean;
    readonly alertIds?: readonly number[];
    readonly ids?: readonly string[];
  }): Promise<readonly Message[]>;
  acknowledgements(query: {
    readonly open?: boolean;
    readonly keys?: readonly string[];
    readonly wallet?: string;
  }): Promise<readonly Acknowledgement[]>;
  cursors(): Promise<ReadonlyMap<string, string>>;
  keep(): Promise<ReadonlyMap<string, string>>;
  /** The highest ids in use, so that the next ones follow. */
  lastIds(): Promise<{ readonly alert: number; readonly change: number; readonly owed: number }>;
  /** When the daemon last wrote anything, ms; null for a new database. */
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

/** Where observations go. Resolves when it was judged and what follows from it was committed (or is held, see degraded mode). */
export interface Ingest {
  observe(observation: Observation): Promise<void>;
}

/** What people do from a shell, a chat or the page. */
export interface Actions {
  acknowledgeAlert(
    id: number,
    by: string,
    comment: string,
  ): Promise<"done" | "unknown" | "ended" | "already">;
}

/** Work that was committed and now has to be done, told to the rooms that do it. */
export interface Committed {
  readonly changes: Changes;
}
