/** A message in words, before a channel's own markup. */

import type { Severity } from "../domain/alert.ts";
import type { Message } from "../domain/delivery.ts";
import type { WordedText } from "../domain/template-data.ts";

/** The meaning of a colour: three severities, good news, over without being good news or beside something critical, a test. */
export type Tone = Severity | "good" | "over" | "test";

/** One alert change, in words. All text is free of control characters; no channel's markup is escaped yet. */
export interface Block {
  readonly alertId: number;
  /** The rule's name. */
  readonly rule: string;
  readonly tone: Tone;
  /** `FIRING critical`, `RESOLVED`, `LIQUIDATED`, … */
  readonly lead: string;
  /** The summary, on one line. */
  readonly what: string;
  /** Figures by name, and the rule's own description, which may be empty. */
  readonly figures: readonly (readonly [string, string])[];
  readonly description: string;
  /** Sentences about the times and the age of the data. */
  readonly fresh: readonly string[];
  /** Sentences about reminders and who stops them; where it is over, about its ending, above the figures. */
  readonly now: readonly string[];
  readonly isOver: boolean;
  /** An address that is safe to link, or null. */
  readonly runbook: string | null;
  /**
   * The user's own words, of a template. `what` and `description` hold them as plain text; with a body of their own nobody prints
   * figures, times and what now beside it. Left out: none.
   */
  readonly own?: {
    readonly title?: WordedText;
    readonly body?: WordedText;
    /** The title says itself what leads. */
    readonly bare: boolean;
  };
}

/** A heading and rows of a name and its value; a row with an empty value is a sentence. */
export type Section = NonNullable<Message["content"]["sections"]>[number];

export interface Rendering {
  readonly tone: Tone;
  /** The message in one line. */
  readonly headline: string;
  /** Notes about the message as a whole: that it is a test, that it is late. */
  readonly notes: readonly string[];
  readonly blocks: readonly Block[];
  /** The number of blocks, from the first on, that are shown in full; the others have a line each. */
  readonly inFull: number;
  /** Tables of a digest; empty in any other message. */
  readonly sections: readonly Section[];
  /** The other alerts that fire, a line each, those whose condition no longer holds last; empty where nothing does. */
  readonly standing: readonly string[];
  /** Sender and message id; by the latter a channel finds the message again. */
  readonly footer: string;
}
