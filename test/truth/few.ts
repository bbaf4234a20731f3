/** Bounds on the number of messages: each step of an alert is in one message of a channel, and reminders keep their interval. */
import { parseDurationMs } from "../../src/domain/duration.ts";
import type { Invariant } from "./invariants.ts";

/** A reminder is decided when it is due, and its message before it may have been late. */
const slackMs = 1_000;

/** A step of an alert is in one message of each channel, however often that message arrives. */
export const toldInOne: Invariant = ({ log }) => {
  const wrong = new Set<string>();
  const first = new Map<string, string>();
  for (const { channel, message } of log.of("arrived"))
    for (const { change } of message.content.items) {
      const key = `${channel} ${change.id}`;
      const known = first.get(key) ?? message.id;
      first.set(key, known);
      if (known !== message.id)
        wrong.add(
          `${channel}: ${change.kind} of alert ${change.alertId} is in the messages ${known} and ${message.id}`,
        );
    }
  return [...wrong];
};

/** A reminder of a critical alert comes no sooner than its interval after the last word of that alert. */
export const remindedSeldom: Invariant = ({ log, sections }) => {
  const wrong: string[] = [];
  const { critical } = sections[0]!.remind as { readonly critical: { readonly every: string } };
  const everyMs = Number(parseDurationMs(critical.every));
  const lastMs = new Map<number, number>();
  for (const { changes } of log.of("committed"))
    for (const { alertId, kind, atMs, alert } of changes.alertChanges) {
      const known = lastMs.get(alertId);
      lastMs.set(alertId, atMs);
      if (kind !== "reminder" || alert.severity !== "critical" || known === undefined) continue;
      if (atMs - known < everyMs - slackMs)
        wrong.push(`alert ${alertId} is reminded of ${atMs - known} ms after it was reported`);
    }
  return wrong;
};
