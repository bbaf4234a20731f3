/** Bounds on the number of messages: reminders keep their interval. */
import { parseDurationMs } from "../../src/domain/duration.ts";
import type { Invariant } from "./invariants.ts";

/** A reminder is decided when it is due, and its message before it may have been late. */
const slackMs = 1_000;

/** A reminder of a critical alert comes no sooner than its interval after the last word of that alert. */
export const remindedSeldom: Invariant = ({ log, sections }) => {
  const wrong: string[] = [];
  const { critical } = sections[0]!.remind as { readonly critical: { readonly every: string } };
  const everyMs = Number(parseDurationMs(critical.every));
  const lastMs = new Map<number, number>();
  for (const { changes } of log.of("committed")) {
    const owed = new Set(changes.owed.map(({ changeId }) => changeId));
    for (const { id, alertId, kind, atMs, alert } of changes.alertChanges) {
      // Another alert tells of it.
      if (!owed.has(id)) continue;
      const known = lastMs.get(alertId);
      lastMs.set(alertId, atMs);
      if (kind !== "reminder" || alert.severity !== "critical" || known === undefined) continue;
      if (atMs - known < everyMs - slackMs)
        wrong.push(`alert ${alertId} is reminded of ${atMs - known} ms after it was reported`);
    }
  }
  return wrong;
};
