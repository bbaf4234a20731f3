/**
 * Alerts: the result of a rule for a subject, from firing to its end.
 *
 *   inactive ──holds──► pending ──held for `for`──► firing ──gone for `keepFiringFor`──► ended (with a reason)
 *                          └──gone──► inactive          (an unknown judgement changes nothing)
 */

import type { TemplateFacts } from "./template-data.ts";

export type Severity = "info" | "warning" | "critical";
export const severities: readonly Severity[] = ["info", "warning", "critical"];
/** Labels that every alert has: wallets and rules cannot set labels with these names. */
export const ownLabels: readonly string[] = ["severity", "rule", "wallet", "symbol", "subject"];

export const severityRank: Readonly<Record<Severity, number>> = { info: 0, warning: 1, critical: 2 };

/** The reason for an alert's end. Only `recovered` is good news and shown green. */
export const endings = [
  "recovered",
  "closed",
  "liquidated",
  /** The exchange closed it against a position of the other side. */
  "deleveraged",
  "flipped",
  /** It held because of a change of collateral that turned out to be a deposit or a withdrawal. */
  "explained",
  "ruleChanged",
  "noLongerWatched",
] as const;
export type Ending = (typeof endings)[number];
/** The endings in which the exchange took the position or a part of it. */
export type Taking = Extract<Ending, "liquidated" | "deleveraged">;

export function isTaking(ending: Ending | null): ending is Taking {
  return ending === "liquidated" || ending === "deleveraged";
}

export interface WorstText {
  readonly severity: Severity;
  readonly value: number | null;
  readonly summary: string;
  /** The time of the oldest input behind it, ms. */
  readonly atMs: number;
}

export interface Alert {
  /** The number of the alert, for people: each is one higher than the last. */
  readonly id: number;
  readonly rule: string;
  readonly subject: string;
  readonly wallet: string | null;
  readonly symbol: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** The level now; of an ended alert, the last one. */
  readonly severity: Severity;
  /** The worst level that it reached. Absent: `severity`. */
  readonly worstSeverity?: Severity;
  /**
   * Its worst state: by level, then by value. Absent: the current state, or that at its end. Between two changes, a value
   * that is worse by less than 5 % is not recorded.
   */
  readonly worst?: WorstText;
  readonly state: "firing" | "ended";
  /** Events need no resolution: they are `ended` from the start, with `ending` null. */
  readonly event: boolean;
  readonly sinceMs: number;
  readonly firedAtMs: number;
  readonly endedAtMs: number | null;
  readonly ending: Ending | null;
  /** The condition held already when watching began. */
  readonly alreadySo: boolean;
  readonly summary: string;
  readonly description: string;
  readonly runbook: string | null;
  readonly value: number | null;
  /** The time of the oldest input of the last judgement, ms. */
  readonly dataAtMs: number;
  readonly acknowledgedBy: string | null;
  readonly acknowledgedAtMs: number | null;
  /** The level at which it was acknowledged, up to which the acknowledgement counts. Absent: not acknowledged. */
  readonly acknowledgedSeverity?: Severity;
  /** Set for a rule in shadow mode: recorded, nobody is notified. Absent: false. */
  readonly shadow?: boolean;
  /** A fire drill: nothing happened. Absent: false. */
  readonly drill?: true;
  /** Natural key of the event, for event alerts. */
  readonly eventKey: string | null;
  /** The type of the event. Absent: it is about no event. */
  readonly eventType?: string;
}

/** The worst level that an alert reached. */
export function worstSeverityOf({ severity, worstSeverity = severity }: Alert): Severity {
  return worseOf(worstSeverity, severity);
}

export function worseOf(a: Severity, b: Severity): Severity {
  return severityRank[a] >= severityRank[b] ? a : b;
}

/**
 * Returns true if an alert belongs to a level: the worst that it reached, or the one at which it fires (`firingAlone`).
 */
export function isOfSeverity(alert: Alert, severity: Severity, firingAlone: boolean): boolean {
  if (alert.state === "firing" && alert.severity === severity) return true;
  return !firingAlone && worstSeverityOf(alert) === severity;
}

/**
 * `worsened`: its value became clearly worse within its level. `changed`: it is clearly different, in no direction
 * known to be worse. `escalated`: nobody acknowledged it, and others are notified.
 */
export const alertChangeKinds = [
  "fired",
  "rose",
  "fell",
  "worsened",
  "changed",
  "reminder",
  "escalated",
  "acknowledged",
  "ended",
] as const;
export type AlertChangeKind = (typeof alertChangeKinds)[number];

/** A firing alert in its current state, with its text by the newest figures. */
export interface PresentAlert {
  readonly severity: Severity;
  readonly summary: string;
  /** The time of its figures, ms. */
  readonly textAtMs: number;
  /** Its condition no longer holds: it ends unless that returns. */
  readonly gone?: true;
  /** `stays critical until above 6%`, `no longer critical if that lasts`: its value is better than where its level begins. */
  readonly until?: string;
}

/** A line of advice: amounts that clear an account in danger. */
export interface Advice {
  /** Its name, or that of a wallet: a line about further accounts of it. */
  readonly account: string;
  readonly line: string;
  /** True if it names amounts that clear the account. Absent: there are none, or it is about further accounts. */
  readonly clears?: true;
}

/** The advice of a change. Databases of earlier versions have only lines without accounts; each is taken separately. */
export function adviceIn({ advice = [] }: Pick<AlertChange, "advice">): readonly Advice[] {
  const lines: readonly (Advice | string)[] = advice;
  return lines.map((one) => (typeof one === "string" ? { account: one, line: one } : one));
}

/** One change of an alert, as of its time: the content of messages. Append only. */
export interface AlertChange {
  readonly id: number;
  readonly alertId: number;
  readonly kind: AlertChangeKind;
  readonly atMs: number;
  /** The alert after this change. */
  readonly alert: Alert;
  /** Its value and the limit of its level: `4.13%, critical below 5%`. Absent: it ended, or its condition has no such limit. */
  readonly limit?: string;
  /** Lines of context, name and value, for people: mark, liquidation price, margin ratio, … */
  readonly details: readonly (readonly [string, string])[];
  /** Advice about the accounts in danger that it is about. Absent: nothing is in danger, or nothing is known. */
  readonly advice?: readonly Advice[];
  /** The vocabulary facts that channel templates name, as it was then. Absent: none names anything, or nothing was known. */
  readonly facts?: TemplateFacts;
  /** The time at which its cause happened at the exchange, ms; null where only our own clock knows. */
  readonly happenedMs: number | null;
  /**
   * For an ending, the present state: another position of the same name, its side if it flipped, an account without
   * positions, other data that are still missing, or alerts that fire on data that were missing. Absent: none of these.
   */
  readonly stands?: "another" | "long" | "short" | "noPositions" | "noData" | "firing";
  /**
   * The effect of an acknowledgement: `for 1h, unless its value falls below 3.3%`. Absent: it has none.
   */
  readonly quietIfAcknowledged?: string;
  /** True if nothing could be judged at the time of the change: the texts are the last ones, of `alert.dataAtMs`. */
  readonly past?: true;
}

/**
 * One level's clock: the time for which it is known to hold, or known not to hold. Time without data counts for
 * neither.
 */
export interface LevelState {
  readonly severity: Severity;
  readonly active: boolean;
  /** The result of the last known judgement. */
  readonly holds: boolean;
  /** Known time for which it has held without a break. */
  readonly heldMs: number;
  /** Known time for which an active level has been gone without a break. */
  readonly goneMs: number;
}

/** Returns the key of a row of rule states. */
export interface RuleRow {
  readonly rule: string;
  readonly subject: string;
}

/** The state of one (rule, subject) between judgements, while it is pending or firing. Kept across restarts. */
export interface RuleState {
  readonly rule: string;
  readonly subject: string;
  /** Identifies the rule's condition: another one after a reload means "rule changed". */
  readonly fingerprint: string;
  /** The other identity of the subject: a position's side and sequence, so that one opened again is another. */
  readonly incarnation: string;
  /** Ascending by severity. */
  readonly levels: readonly LevelState[];
  /** The time at which it first held. */
  readonly sinceMs: number;
  readonly alertId: number | null;
  readonly alreadySo: boolean;
  /** The least slot of a liquidation that may have ended it since it last held. Absent: not known, or not of an account. */
  readonly heldSlot?: number;
  /** If it last held while its account had no position: the time at which a position of the account last shrank, ms; 0: never. Absent: it had one, or it is not known. */
  readonly heldEmptyMs?: number;
  /** Levels that do not fire held because of a change of collateral that was not explained. Absent: none did. */
  readonly doubted?: true;
  /** The level that held regardless of that change. Absent: none did. */
  readonly certain?: Severity;
  /** The time at which its alert was last judged to hold though a flow was explained just then, ms. Absent: never. */
  readonly outlivedMs?: number;
}

/** The built-in rule of fire drills. */
export const drillRule = "FireDrill";
