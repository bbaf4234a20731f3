/** Selects the alert of a message for the chart. Pure. */
import { type Severity, severityRank } from "../../domain/alerts/alert.ts";
import type { MessageContent } from "../../domain/alerts/delivery.ts";

/** @returns the highest-severity firing alert that is not an event, or null */
export function drawnAlert({ kind, items }: MessageContent): number | null {
  let worst: { readonly id: number; readonly severity: Severity } | null = null;
  for (const { change } of kind === "alert" ? items : []) {
    const { id, severity, state, event } = change.alert;
    if (event || state !== "firing" || change.kind === "ended") continue;
    if (worst === null || severityRank[severity] > severityRank[worst.severity]) worst = { id, severity };
  }
  return worst?.id ?? null;
}
