/** Sentences about times: of what happened, of the data, and of the alert's life. */
import type { AlertChange } from "../../domain/alerts/alert.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import { isGone } from "./ending-texts.ts";

export interface When {
  /** IANA name. */
  readonly zone: string;
  /** The time of the newest change of the message, ms. */
  readonly newestMs: number;
}

/** A reading that is so much older than the newest of its message says so, ms. */
const recentMs = 10_000;

export function freshness(change: AlertChange, { zone, newestMs }: When): string[] {
  const { alert, atMs, happenedMs } = change;
  const beforeMs = newestMs - atMs;
  const isOld = beforeMs > recentMs;
  const seenText = `${isOld ? "Old: seen" : "Seen"} ${formatTime(atMs, zone)}${isOld ? `, ${formatDurationMs(beforeMs)} before the newest here` : ""}`;
  const lines: string[] = [];
  if (happenedMs !== null) {
    const laterMs = atMs - happenedMs;
    // An alert may outlast the liquidation that ends it: that was seen, and reported, long before.
    const what = isGone(change) ? "the alert ended" : "seen";
    const seen = laterMs >= 1_000 ? `, ${what} ${formatDurationMs(laterMs)} later` : "";
    lines.push(`Happened ${formatTime(happenedMs, zone)}${seen}.`);
  }
  if (isGone(change)) {
    if (happenedMs === null) lines.push(`Ended ${formatTime(atMs, zone)}.`);
  } else if (!alert.event) {
    const ageMs = Math.max(0, atMs - alert.dataAtMs);
    if (change.past && ageMs >= 1_000) {
      lines.push(`Last seen ${formatTime(alert.dataAtMs, zone)}, ${formatDurationMs(ageMs)} ago.`);
      return [...lines, ...lifeOf(change, zone)];
    }
    // The daemon always knows its own figures.
    if (alert.subject === "daemon") return [...lines, `${seenText}.`, ...lifeOf(change, zone)];
    const age = ageMs < 1_000 ? "less than a second old" : `${formatDurationMs(ageMs)} old`;
    lines.push(
      isOld && ageMs < 1_000 ? `${seenText}.` : `${seenText}, on data ${age}${isOld ? " then" : ""}.`,
    );
  } else if (happenedMs === null) {
    lines.push(`Seen ${formatTime(atMs, zone)}.`);
  }
  return [...lines, ...lifeOf(change, zone)];
}

/** Sentences about when an alert fired and ended. */
function lifeOf(change: AlertChange, zone: string): string[] {
  const { alert, atMs } = change;
  const lines: string[] = [];
  if (change.kind === "ended") {
    const lastedMs = (alert.endedAtMs ?? atMs) - alert.firedAtMs;
    lines.push(
      `Fired ${formatTime(alert.firedAtMs, zone)}, lasted ${formatDurationMs(Math.max(0, lastedMs))}.`,
    );
  } else if (alert.alreadySo && !alert.event && change.kind === "fired") {
    lines.push("Already so when perpwatch started watching.");
  } else if (!alert.event && change.kind !== "fired") {
    lines.push(`Firing since ${formatTime(alert.firedAtMs, zone)}.`);
  }
  return lines;
}
