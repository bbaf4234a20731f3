/**
 * Decides what an acknowledgement or a silence covers: the level at which it was given, and those below. A rise above that
 * level voids it. Pure.
 */
import { type Alert, type Severity, severityRank } from "../../domain/alerts/alert.ts";

/** @param given the level at that time; undefined: unknown, so nothing is covered */
export function covers(given: Severity | undefined, level: Severity): boolean {
  return given !== undefined && severityRank[level] <= severityRank[given];
}

export function withoutAcknowledgement(alert: Alert): Alert {
  const { acknowledgedSeverity: _, ...rest } = alert;
  return { ...rest, acknowledgedBy: null, acknowledgedAtMs: null };
}
