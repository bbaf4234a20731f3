/** Log lines about alerts. */
import type { Logger } from "pino";
import type { AlertChange } from "../domain/alerts/alert.ts";
import type { Changes } from "../domain/stored/changes.ts";

/** Writes a log line for each change of an alert. */
export function logSteps(log: Logger, committed: Changes): void {
  for (const change of committed.alertChanges) {
    const { alert } = change;
    const fields = { alert: alert.id, rule: alert.rule, subject: alert.subject, severity: alert.severity };
    log.info(fields, `${alert.shadow ? "shadow, " : ""}${stepText(change)}: ${alert.summary}`);
  }
}

function stepText({ kind, alert }: AlertChange): string {
  switch (kind) {
    case "fired":
      return alert.drill ? "fire drill" : alert.event ? "event" : "firing";
    case "rose":
      return "firing, worse";
    case "worsened":
      return "still firing, worse";
    case "changed":
      return "still firing, changed";
    case "fell":
      return "firing, better";
    case "ended":
      return alert.ending === "recovered" ? "resolved" : `ended (${alert.ending})`;
    default:
      return kind;
  }
}
