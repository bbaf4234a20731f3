/** The results of comparing the exchange's notifications against what is stored, delivered and acknowledged. */

export type InboxDifferenceKind = "notStored" | "notThere" | "ackedHereOnly" | "ackedThereOnly";

export interface InboxDifference {
  readonly kind: InboxDifferenceKind;
  /** The key of the notification. */
  readonly key: string;
  readonly type: string;
  readonly happenedMs: number;
  /** The measure that was taken, for people. */
  readonly done: string;
  /** True if the previous audit found it, too. */
  readonly lasting: boolean;
}

/** A notification that is unacknowledged at the exchange, with the reason, for people. */
export interface InboxLeft {
  readonly key: string;
  readonly type: string;
  readonly happenedMs: number;
  readonly why: string;
}

export interface InboxAudit {
  readonly wallet: string;
  readonly atMs: number;
  /** The reason why the inbox could not be read, for people; null: it was read. */
  readonly failure: string | null;
  /** The number of notifications that the exchange listed. */
  readonly there: number;
  readonly differences: readonly InboxDifference[];
  readonly left: readonly InboxLeft[];
}

export const differenceWords: Readonly<Record<InboxDifferenceKind, string>> = {
  notStored: "at the exchange, not stored here",
  notThere: "stored here, not at the exchange",
  ackedHereOnly: "acknowledged here, not there",
  ackedThereOnly: "acknowledged there, not here",
};
