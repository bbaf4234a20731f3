/** A message as text, before a channel's markup. */

import type { Severity } from "../../domain/alerts/alert.ts";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { WordedText } from "../../domain/alerts/template-data.ts";

/**
 * The meaning of a colour: the three severities; good news; ended but not good news (or beside something critical); a
 * test.
 */
export type Tone = Severity | "good" | "over" | "test";

/** One alert change as text, without control characters. Channel markup is not escaped yet. */
export interface Block {
  readonly alertId: number;
  /** The rule's name. */
  readonly rule: string;
  readonly tone: Tone;
  /** `FIRING critical`, `RESOLVED`, `LIQUIDATED`, … */
  readonly lead: string;
  /** The summary, in one line. */
  readonly what: string;
  /** Figures by name. The rule's own description may be empty. */
  readonly figures: readonly (readonly [string, string])[];
  readonly description: string;
  /** Sentences about times and the age of the data. */
  readonly fresh: readonly string[];
  /** Sentences about reminders and how to stop them. For an ended alert: about its ending, shown above the figures. */
  readonly now: readonly string[];
  readonly isOver: boolean;
  /** A URL that is safe to link, or null. */
  readonly runbook: string | null;
  /**
   * Text of the user's template. `what` and `description` hold the same as plain text. With an own body, figures, times
   * and `now` are not printed. Left out: no template.
   */
  readonly own?: {
    readonly title?: WordedText;
    readonly body?: WordedText;
    /** The title contains the lead. */
    readonly bare: boolean;
  };
}

/** A heading and rows of name and value. A row with an empty value is a sentence. */
export type Section = NonNullable<Message["content"]["sections"]>[number];

export interface Rendering {
  readonly tone: Tone;
  /** The message in one line, such as `FIRING critical: SUMMARY`. */
  readonly headline: string;
  /** Notes about the whole message, for example that it is a test or late. */
  readonly notes: readonly string[];
  readonly blocks: readonly Block[];
  /** Number of blocks shown in full, from the first; the others have one line each. */
  readonly inFull: number;
  /** Tables of a digest; empty in any other message. */
  readonly sections: readonly Section[];
  /** The other firing alerts, one line each, those whose condition no longer holds last. Empty if there are none. */
  readonly standing: readonly string[];
  /** Sender and message id. A channel finds the message again by its id. */
  readonly footer: string;
}
