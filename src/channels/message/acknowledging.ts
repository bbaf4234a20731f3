/** Sentences about what to do now, with the command that acknowledges. */
import type { AlertChange } from "../../domain/alerts/alert.ts";
import type { MessageItem } from "../../domain/alerts/delivery.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import type { CommandLine } from "./command-line.ts";
import { figuresTime, isGone, meaningOf } from "./ending-texts.ts";
import { cleanLine } from "./text.ts";

/** The command that acknowledges. */
export interface Acknowledging {
  readonly call: CommandLine;
  /** The alerts of the message that remind until somebody does: their command stands once. Left out: each has its own. */
  readonly open?: readonly number[];
}

/** True of an item that says how its reminders stop. */
export function isOpenItem({ change, passed, body }: MessageItem): boolean {
  const { kind, alert } = change;
  return (
    !passed && body === undefined && kind !== "ended" && kind !== "fell" && !alert.drill && isOpen(change)
  );
}

export function whatNow(change: AlertChange, zone: string, { call, open = [] }: Acknowledging): string[] {
  const { alert } = change;
  if (change.kind === "ended")
    return [...meaningOf(change), ...(isGone(change) ? figuresTime(change, zone) : [])];
  if (alert.acknowledgedBy !== null) {
    const when = alert.acknowledgedAtMs === null ? "" : ` at ${formatTime(alert.acknowledgedAtMs, zone)}`;
    const quiet = change.quietIfAcknowledged === undefined ? "" : `: quiet ${change.quietIfAcknowledged}`;
    return [`Acknowledged by ${cleanLine(alert.acknowledgedBy)}${when}${quiet}.`];
  }
  if (alert.drill) return ["That it reached you is all that it was for."];
  if (alert.event || alert.severity === "info" || change.kind === "fell") return [];
  const quiet = change.quietIfAcknowledged === undefined ? "" : ` ${change.quietIfAcknowledged}`;
  const own = call(`alerts ack ${alert.id}`);
  if (open.length < 2) return [`To stop the reminders${quiet}: ${own}`];
  if (alert.id !== open[0]) return quiet === "" ? [] : [`Once acknowledged it is quiet${quiet}.`];
  return [
    `To stop the reminders${quiet}: ${own}`,
    `${open.length === 2 ? "Both" : `All ${open.length}`} of them: ${call(`alerts ack ${open.join(" ")}`)}`,
  ];
}

/** True of an alert that fires and reminds until somebody acknowledges it. */
export function isOpen({ alert }: AlertChange): boolean {
  return (
    alert.state === "firing" && !alert.event && alert.severity !== "info" && alert.acknowledgedBy === null
  );
}
