/**
 * Decides what an acknowledgement or a silence covers: the level at which it was given, and those below. A rise above that
 * level voids it. Pure.
 */
import { type Alert, type Severity, severityRank } from "../../domain/alert.ts";

/** @param given the level that stood when the word was given; undefined: nobody knows any more, so it covers nothing. */
export function covers(given: Severity | undefined, level: Severity): boolean {
  return given !== undefined && severityRank[level] <= severityRank[given];
}

export function withoutAcknowledgement(alert: Alert): Alert {
  const { acknowledgedSeverity: _, ...rest } = alert;
  return { ...rest, acknowledgedBy: null, acknowledgedAtMs: null };
}
