/** Messages that are finalized and not yet delivered or dead, and the order in which they leave. */
import { type Entry, type Lane, turnOf } from "../../alerts/pending/waiting.ts";
import { type Severity, severityRank } from "../../domain/alerts/alert.ts";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { ChannelState } from "./channel-state.ts";

/** A finalized message on its way to a channel. */
export interface OutgoingMessage {
  message: Message;
  entries: readonly Entry[];
  /** Monotonic time from which it may be tried. */
  dueMs: number;
  underWay: boolean;
  /** The lane whose slot it takes: a lesser item may bring a critical one of its group along. */
  lane: Lane;
  /** True if an earlier run finalized it: an attempt may have been made that was not recorded. */
  readonly resumed: boolean;
  /** True if it was brought forward once when its channel recovered; not again before the channel fails anew. */
  hurried: boolean;
  /** True if this run has seen a failure of it other than a rate limit. */
  failed: boolean;
  /** The tries of this run by channel state: their number, and the time of the next one there. */
  readonly tries: Map<ChannelState, { readonly times: number; dueMs: number }>;
  /** The reasons of the channels that refused it permanently. */
  readonly refusedBy: Map<ChannelState, string>;
  /** The later messages that notify of alerts of this quiet one, finalized while it was under way, in order. */
  readonly overtakenBy: Set<OutgoingMessage>;
}

type Given = Pick<OutgoingMessage, "message" | "entries" | "dueMs"> &
  Partial<Pick<OutgoingMessage, "underWay" | "lane" | "resumed">>;

/** Returns a message that this run has not tried yet. */
export function newOutgoing(given: Given): OutgoingMessage {
  return {
    ...{ underWay: false, lane: laneOf(given.message), resumed: false, hurried: false, failed: false },
    ...{ tries: new Map(), refusedBy: new Map(), overtakenBy: new Set() },
    ...given,
  };
}

/** Returns the time from which a message may be tried by a channel, monotonic ms. */
export function dueAtMs({ tries, dueMs }: OutgoingMessage, state: ChannelState): number {
  return tries.get(state)?.dueMs ?? dueMs;
}

/** Returns true if a message failed by this channel, or by any in an earlier run. */
export function hasFailed({ tries, message }: OutgoingMessage, state: ChannelState): boolean {
  return tries.has(state) || (tries.size === 0 && message.attempts > 0);
}

/** Returns the alerts of which some of these entries notify. */
export function callsOf(entries: readonly Entry[]): ReadonlySet<number> {
  return new Set(entries.flatMap(({ item }) => (item.quiet ? [] : [item.alertId])));
}

export function turnOfMessage({ severity, content: { quiet } }: Message): Severity {
  return turnOf({ severity, ...(quiet ? { quiet } : {}) });
}

export function laneOf(message: Message): Lane {
  return turnOfMessage(message) === "critical" ? "critical" : "rest";
}

export function rankOf(message: Message): number {
  return severityRank[turnOfMessage(message)];
}

/** The messages of a queue that are on their way, and the items that are being made into one. */
export class OutgoingMessages {
  readonly #all = new Set<OutgoingMessage>();
  /** Entries taken from the pending items that are not a message yet. */
  readonly #finalizing = new Map<readonly Entry[], ReadonlySet<number>>();

  get all(): ReadonlySet<OutgoingMessage> {
    return this.#all;
  }

  add(message: OutgoingMessage): void {
    this.#all.add(message);
  }

  delete(message: OutgoingMessage): void {
    this.#all.delete(message);
  }

  /** Notes entries that are being made into a message. */
  begin(entries: readonly Entry[]): void {
    this.#finalizing.set(entries, new Set(entries.map(({ item }) => item.alertId)));
  }

  /** Notes that the entries are a message, or wait again. */
  made(entries: readonly Entry[]): void {
    this.#finalizing.delete(entries);
  }

  /** Returns all entries of messages, and of those being made. */
  entries(): readonly Entry[] {
    return [...[...this.#finalizing.keys()].flat(), ...[...this.#all].flatMap(({ entries }) => entries)];
  }

  /** Returns true if an item has to wait for an earlier message of its alert. */
  readonly holds = ({ item, change }: Entry): boolean => {
    for (const alertIds of this.#finalizing.values()) if (alertIds.has(item.alertId)) return true;
    for (const { message, underWay } of this.#all) {
      if (!message.alertIds.includes(item.alertId)) continue;
      const failed = !underWay && message.attempts > 0;
      const rises =
        failed &&
        severityRank[turnOf(item)] > rankOf(message) &&
        change?.kind !== "fell" &&
        change?.kind !== "ended";
      if (!rises && (item.quiet === true || message.content.quiet !== true)) return true;
    }
    return false;
  };

  /** Returns the quiet messages about some of these alerts. */
  quietAbout(alertIds: ReadonlySet<number>): readonly OutgoingMessage[] {
    if (alertIds.size === 0) return [];
    return [...this.#all].filter(
      ({ message }) => message.content.quiet === true && message.alertIds.some((id) => alertIds.has(id)),
    );
  }

  /** A channel recovered: messages that failed with it skip the rest of their wait. */
  hurry(state: ChannelState, nowMs: number): void {
    for (const outgoing of this.#all) {
      const tried = outgoing.tries.get(state);
      if (outgoing.underWay || outgoing.hurried || outgoing.message.lastFailure === "rate-limited") continue;
      if (tried) tried.dueMs = Math.min(tried.dueMs, nowMs);
      outgoing.hurried = true;
    }
  }

  /** A channel fails: messages may be brought forward again at its recovery. */
  slow(): void {
    for (const one of this.#all) one.hurried = false;
  }
}
