/**
 * The rows from an alert change to a delivered message, each step committed.
 *
 *   pending (`owed`) ──finalized into a message──► finalized (`sealed`) ──accepted──► delivered
 *                                                        └──refused for good, or time over──► dead
 */
import type { AlertChange, Severity } from "./alert.ts";
import type { ChartSeries } from "./chart.ts";
import type { WordedText } from "./template-data.ts";

export type DeliveryStatus = "owed" | "sealed" | "delivered" | "dead";

/** One alert change × one receiver. */
export interface DeliveryItem {
  readonly id: number;
  readonly changeId: number;
  readonly alertId: number;
  /** The name of a channel in the configuration. */
  readonly receiver: string;
  readonly severity: Severity;
  readonly owedAtMs: number;
  /** Items of one receiver with the same key that wait together leave in one message; null: alone. */
  readonly groupKey: string | null;
  /**
   * Time until which its group may take more items, ms; an earlier message of the group takes it along. Left out: at
   * once.
   */
  readonly releaseAtMs?: number;
  /** It adds to its incident's messages, and notifies nobody by itself. Left out: it notifies. */
  readonly quiet?: true;
  /** The distance to liquidation in its text, a fraction. Left out: none, or it belongs to no incident. */
  readonly distance?: number;
  /** The group key of its incident, for a receiver that gets each alert separately. Left out: none. */
  readonly incident?: string;
  /** A message of its incident that had it was refused for good: it is in one further message. Left out: none was. */
  readonly again?: true;
  /** For a receiver that keeps one incident for each account. Left out: its alert belongs to none. */
  readonly onCall?: OnCallOfItem;
  readonly status: DeliveryStatus;
  readonly messageId: string | null;
}

/** The incident of an account at an on-call service, as of an item. */
export interface OnCallOfItem {
  readonly account: string;
  /** The number of its first alert. */
  readonly first: number;
  /** True if other alerts of it fire. */
  readonly more: boolean;
}

/** The reason for a message of more than one group: too many would leave at once, or they waited for long. */
export type Folded = "storm" | "digest";

/** Max changes in one message of a group, each in full. */
export const maxReported = 50;
/** Changes that are shown in full in a message of more than a person reads. */
export const maxInFull = 10;
/** Max changes that one message names where its channel sets no lower limit; those that are not in full have a line each. */
export const maxNamed = 500;

/** The capacity of a channel's messages. */
export interface Capacity {
  /**
   * Its receiver keeps each alert apart: nothing is folded, as no person reads it. Left out: more messages than a person reads
   * are folded into one.
   */
  readonly isNeverFolded?: boolean;
  /** Max alerts that one message can name. Left out: `maxNamed`. */
  readonly maxNamed?: number;
  /** It gets each alert separately, and no incidents. Left out: it gets incidents. */
  readonly apart?: true;
  /** It edits the first message of an incident instead of sending quiet changes. Left out: it sends them. */
  readonly edits?: true;
  /**
   * It keeps one incident for each account: a message of an incident is about one, and is not folded; a service that gets each
   * alert separately finds it in `MessageItem.onCall`. Left out: it does not.
   */
  readonly byAccount?: true;
}

/** Time after it could have left after which a message counts as late, ms. */
export const lateAfterMs = 60_000;

/** The prefix of the group keys of fire drills: a drill leaves alone, and is folded into nothing. No other key begins so. */
export const drillGroup = "drill/";
/** The same of events of one rule and subject that a throttle held back: a message states their number. */
export const throttleGroup = "throttle/";

export type MessageStatus = "sealed" | "delivered" | "dead";

/** The reason why a channel did not take a message: a closed set. */
export type SendFailure =
  | "authentication"
  | "rate-limited"
  | "rejected"
  | "unreachable"
  | "timeout"
  | "server-error";

/** A message is finalized before its first attempt; retries send the same content under the same id. */
export interface Message {
  /** At most 22 base58 characters: Discord nonce, Message-ID, Idempotency-Key, footer. */
  readonly id: string;
  readonly receiver: string;
  readonly severity: Severity;
  readonly itemIds: readonly number[];
  readonly alertIds: readonly number[];
  readonly content: MessageContent;
  readonly sealedAtMs: number;
  readonly status: MessageStatus;
  readonly attempts: number;
  /** Attempts answered with success but without a confirmation. Left out: none. */
  readonly unconfirmed?: number;
  /** The time of the next attempt; null when none is. */
  readonly nextAttemptMs: number | null;
  readonly lastFailure: SendFailure | null;
  readonly lastDetail: string | null;
  /**
   * The channel's answer: Discord's message id, the SMTP reply. Of a rota with the person before it (`anna: …`); a finalized message has the
   * person alone while it is sent to a stand-in.
   */
  readonly receipt: string | null;
  readonly deliveredAtMs: number | null;
}

/** The state of a message before its first attempt. `nextAttemptMs` null: it is not retried automatically. */
export function untried(
  sealedAtMs: number,
  nextAttemptMs: number | null = null,
): Omit<Message, "id" | "receiver" | "severity" | "itemIds" | "alertIds" | "content"> {
  return {
    ...{ sealedAtMs, status: "sealed", attempts: 0, nextAttemptMs },
    ...{ lastFailure: null, lastDetail: null, receipt: null, deliveredAtMs: null },
  };
}

/** Channel-neutral content: a channel turns it into an embed, a mail, a line. */
export interface MessageContent {
  readonly kind: "alert" | "digest" | "test";
  readonly severity: Severity;
  /** True if all changes in it are recoveries. */
  readonly resolved: boolean;
  readonly title: string;
  readonly items: readonly MessageItem[];
  /** The number of alerts beside these that it counts and does not name: only in messages that 0.1.0 and before finalized. */
  readonly more?: number;
  /** The reason for folding: more waited than a person reads, or nothing could leave for long. */
  readonly folded?: Folded;
  /** The content of a folded message, or of one with many events: changes by rule, type and wallet, most first. */
  readonly tally?: readonly {
    readonly rule: string;
    /** The type of its events. Left out: the rule has one only here, or is about none. */
    readonly eventType?: string;
    readonly wallet: string | null;
    readonly count: number;
  }[];
  /** The other firing alerts of its group that have not changed; `more` beyond those listed. */
  readonly standing?: {
    readonly alerts: readonly {
      readonly id: number;
      readonly severity: Severity;
      readonly summary: string;
      /** The time of the figures, ms. Left out: those at the time when this was finalized. */
      readonly textAtMs?: number;
      /** Its condition no longer holds: it ends unless that returns. Those come last. */
      readonly gone?: true;
      /** `stays critical until above 6%`, `no longer critical if that lasts`: its value is better than where its level begins. */
      readonly until?: string;
    }[];
    readonly more: number;
  };
  /** Only a digest: its tables, rows of a name and a value; an empty value makes a sentence of the name. */
  readonly sections?: readonly {
    readonly title: string;
    readonly rows: readonly (readonly [string, string])[];
  }[];
  /** The threads of this message: the same for all messages of an alert, or of its group. Left out: nothing. */
  readonly threads?: readonly string[];
  /** The chart of one of its alerts, as of the time when this was finalized. Only for channels that ask for it; left out: nothing. */
  readonly chart?: ChartSeries & { readonly alertId: number };
  /** The incident that all of it belongs to. Left out: none. */
  readonly incident?: IncidentOfMessage;
  /**
   * It adds to its incident's messages, and notifies nobody: edited into the first of them, or sent without a sound.
   */
  readonly quiet?: true;
  /** For a rota: the person who was on duty when it was finalized, whose channel sends it. Left out: the receiver is no rota. */
  readonly onDuty?: string;
  /** `perpwatch on <host>`, shown small. */
  readonly sender: string;
}

export interface IncidentOfMessage {
  /** The same for all messages of an incident. */
  readonly id: string;
}

/** The prefix of the group keys of incidents; the number of the first alert stands at their end. No other key begins so. */
export const incidentGroup = "incident/";

/** Returns the number of the first alert of a group key's incident; null: the group is no incident. */
export function firstOfIncident(groupKey: string | null): number | null {
  if (!groupKey?.startsWith(incidentGroup)) return null;
  return Number(groupKey.slice(groupKey.lastIndexOf("/") + 1));
}

export interface MessageItem {
  readonly change: AlertChange;
  /** See DeliveryItem. */
  readonly distance?: number;
  /** The incident of its account, for receivers that keep one for each. `more`: other alerts of it fire. */
  readonly onCall?: { readonly id: string; readonly more: boolean };
  /** The leading words: `FIRING critical`, `RESOLVED`, `LIQUIDATED`, … */
  readonly lead: string;
  /** True if it waited and its condition no longer holds. */
  readonly passed?: true;
  /** Replaces the summary, by a template of the channel. `bare`: the leading words are not added. */
  readonly title?: { readonly words: WordedText; readonly bare: boolean };
  /** Replaces description, figures, times and advice, by a template of the channel. */
  readonly body?: WordedText;
}

/** The state of an exchange notification on its way to being acknowledged. */
export type AckStatus = "waiting" | "due" | "confirmed" | "left";
export const ackWords = ["never", "whenAcknowledged", "whenDelivered", "always"] as const;
export type AckWord = (typeof ackWords)[number];

export interface Acknowledgement {
  /** Key of the notification event. */
  readonly key: string;
  readonly wallet: string;
  readonly word: AckWord;
  /** For each matching rule the alerts whose deliveries decide. Empty with `always`, or where no rule matched. */
  readonly rules: readonly { readonly rule: string; readonly alertIds: readonly number[] }[];
  readonly status: AckStatus;
  readonly dueAtMs: number | null;
  readonly confirmedAtMs: number | null;
  /** The reason why it is not acknowledged, for the audit. */
  readonly reason: string;
}
