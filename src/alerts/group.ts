/** The time at which a group of owed items leaves. Pure. */
import type { AlertChange } from "../domain/alert.ts";
import type { Way } from "./route.ts";

/** Returns true for what begins, gets worse or ends at the highest level: it leaves at once. */
export function isUrgent({ kind, alert }: Pick<AlertChange, "kind" | "alert">): boolean {
  return alert.severity === "critical" && kind !== "fell" && kind !== "reminder" && kind !== "acknowledged";
}

/**
 * @param knownMs when the group leaves, or last left, ms; undefined: nothing of it was owed before
 * @returns when an item that is owed at `nowMs` leaves with its group, ms
 */
export function groupReleaseMs(
  knownMs: number | undefined,
  { groupWaitMs, groupIntervalMs }: Pick<Way, "groupWaitMs" | "groupIntervalMs">,
  urgent: boolean,
  nowMs: number,
): number {
  if (urgent) return nowMs;
  // A fast clock before a restart, or an interval that was longer then, holds nothing back for longer than this one.
  const lastMs = Math.min(
    knownMs ?? Number.NEGATIVE_INFINITY,
    nowMs + Math.max(groupWaitMs, groupIntervalMs),
  );
  return lastMs > nowMs ? lastMs : Math.max(nowMs + groupWaitMs, lastMs + groupIntervalMs);
}
