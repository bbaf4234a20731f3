/** A firing alert with its texts and reminders. */

import type { Alert, Severity } from "../domain/alerts/alert.ts";
import type { EndingWait } from "../domain/alerts/ending-wait.ts";
import type { TemplateFacts } from "../domain/alerts/template-data.ts";
import type { Due } from "../domain/structures/deadlines.ts";
import { type Notified, notifiedWith } from "./reminders/remind.ts";
import type { Comparison } from "./reminders/worsening.ts";
import type { LimitWords } from "./texts/limit-text.ts";
import { type Compared, withWorst } from "./texts/worst.ts";

/** The text of an alert at one time. */
export interface AlertText {
  readonly summary: string;
  readonly description: string;
  readonly value: number | null;
  readonly dataAtMs: number;
  readonly details: readonly (readonly [string, string])[];
  /** The facts that channel templates name. Left out: none. */
  readonly facts?: TemplateFacts | undefined;
  /** True if the summary states the age of its data. */
  readonly statesAge?: true;
}

export interface NewAlert extends AlertText {
  readonly rule: string;
  readonly subject: string;
  readonly wallet: string | null;
  readonly symbol: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly severity: Severity;
  readonly sinceMs: number;
  readonly alreadySo: boolean;
  readonly runbook: string | null;
  readonly happenedMs: number | null;
  /** True if nobody is notified of it. Default false. */
  readonly shadow?: boolean;
  readonly drill?: true;
  readonly eventType?: string;
  /** True if the alert follows from a current judgement. Default false: it fires because something cannot be judged. */
  readonly judged?: boolean;
  /** The comparison of its value with the one notified before, at a level. Default: "worse". */
  readonly comparison?: (severity: Severity) => Comparison | null;
  /** Its value and the limit of a level, in words. Default: none. */
  readonly limit?: (severity: Severity, value: number | null) => LimitWords | null;
  /** Receivers to which it is not routed: a broken channel is not notified of its own failure. */
  readonly except?: readonly string[];
}

/** A firing alert with its notified state. */
export class LiveAlert implements Due {
  alert: Alert;
  /** The receivers notified since it fired, with the level of their last notification. */
  readonly notifiedLevels: Map<string, Severity>;
  readonly except: readonly string[];
  /** The time of the last notifying message to each receiver, ms. Left out: not known since the start. */
  readonly lastNotifiedMs = new Map<string, number>();
  /** The time of the last notification before the start, ms, for receivers not in `lastNotifiedMs`. */
  notifiedBeforeMs = Number.NEGATIVE_INFINITY;
  notifiedAtMs: number;
  /** The value of the last notification; null: it has no value. */
  notified: Notified | null;
  reminders = 0;
  /** True if inhibited: changes are recorded and nobody is notified. */
  held = false;
  details: readonly (readonly [string, string])[] = [];
  facts: TemplateFacts | undefined;
  /** Time of the judgement that fired it, ms; null if it follows from no judgement. */
  judgedAtMs: number | null = null;
  /** The comparison of its value with the one notified before, at a level. */
  comparison: (severity: Severity) => Comparison | null = () => "worse";
  /** Its value and the limit of a level, in words; null: it has none. */
  limit: (severity: Severity, value: number | null) => LimitWords | null = () => null;
  /** Returns true if a value is worse than another at a level; null where no direction is known. */
  isFurther: Compared["isFurther"] = () => null;
  /** Returns true if its condition is known not to hold, and it only waits for its end. */
  isGone: (nowMs: number) => boolean = () => false;
  /** The wait of its end for the liquidation history; null: it does not wait. */
  endingWait: EndingWait | null = null;
  /** Returns true if the firing level is known not to hold, and it only waits to fall or to end. */
  isBetter: () => boolean = () => false;
  /** Returns the current text; null if it is unknown (its subject no longer exists, or there is no data). */
  textNow: (nowMs: number) => AlertText | null = () => null;
  /** Returns the text by the newest known figures, however old; null as above. */
  lastText: (nowMs: number) => AlertText | null = (nowMs) => this.textNow(nowMs);
  /** The last text before it could no longer be judged; null: there is none, or it can be judged. */
  lastSeen: AlertText | null = null;
  /** The text before a loss of its account's holdings was last seen; null: no loss was seen. */
  beforeLoss: AlertText | null = null;
  /** Called when a reminder or an acknowledgement includes the newest text. */
  onRenewed: (nowMs: number) => void = () => {};
  /** True from a start, or the end of a standstill, until it is judged. */
  unjudged = false;
  /** The time until which due reminders wait for the judgement, ms; null: nothing was due yet. */
  unjudgedUntilMs: number | null = null;
  /** True if the wait restarted after a standstill and it has not been judged since. */
  waitsAnew = false;
  /** The end of the last standstill, ms: data read before it does not count as a judgement. */
  stoodStillMs = Number.NEGATIVE_INFINITY;
  /** The time until which due reminders wait because the condition does not hold or was not judged yet, ms. */
  waitsToMs = Number.NEGATIVE_INFINITY;
  /** True if its text is constant until its source changes it: nothing is judged. */
  lasting = true;
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined = undefined;
  readonly #onDue: (live: LiveAlert, nowMs: number) => void;

  constructor(
    alert: Alert,
    notifiedLevels: Iterable<readonly [string, Severity]>,
    except: readonly string[],
    onDue: (live: LiveAlert, nowMs: number) => void,
  ) {
    this.alert = alert;
    this.notifiedLevels = new Map(notifiedLevels);
    this.except = except;
    this.notifiedAtMs = alert.firedAtMs;
    this.notified = notifiedWith(alert.value);
    this.#onDue = onDue;
  }

  /** Continues from its state before a reload. */
  goOn(before: LiveAlert): void {
    const { notifiedAtMs, notified, reminders, held, details, facts, judgedAtMs, order } = before;
    Object.assign(this, { notifiedAtMs, notified, reminders, held, details, facts, judgedAtMs, order });
    this.limit = before.limit;
    for (const [receiver, ms] of before.lastNotifiedMs) this.lastNotifiedMs.set(receiver, ms);
    this.notifiedBeforeMs = before.notifiedBeforeMs;
    this.lastSeen = before.lastSeen;
    this.beforeLoss = before.beforeLoss;
    this.lasting = before.lasting;
    this.waitsToMs = before.waitsToMs;
    this.unjudged = before.unjudged;
    this.unjudgedUntilMs = before.unjudgedUntilMs;
    this.waitsAnew = before.waitsAnew;
    this.stoodStillMs = before.stoodStillMs;
  }

  /** Returns the text by the newest known figures, and their time, ms; null if there is none. */
  newest(nowMs: number): { readonly text: AlertText; readonly atMs: number } | null {
    const now = this.textNow(nowMs);
    if (now !== null) return { text: now, atMs: nowMs };
    const text = this.lastText(nowMs);
    return text && { text, atMs: text.statesAge ? nowMs : text.dataAtMs };
  }

  /** Takes the newest text. @returns true if nothing can be judged now */
  renew(nowMs: number): boolean {
    const newest = this.newest(nowMs);
    if (newest === null) return !this.lasting;
    this.says(newest.text);
    this.alert = withWorst(this, { ...this.alert, ...pick(newest.text) });
    this.onRenewed(nowMs);
    return newest.atMs < nowMs;
  }

  says({ details, facts }: Pick<AlertText, "details" | "facts">): void {
    this.details = details;
    this.facts = facts;
  }

  onDue(nowMs: number): void {
    this.#onDue(this, nowMs);
  }
}

export function pick(text: AlertText): Pick<Alert, "summary" | "description" | "value" | "dataAtMs"> {
  return { summary: text.summary, description: text.description, value: text.value, dataAtMs: text.dataAtMs };
}
