/** The words that lead an alert change, and its tone. */
import { type AlertChange, type Ending, isTaking } from "../../domain/alerts/alert.ts";
import { unreachable } from "../../domain/unreachable.ts";
import type { Tone } from "./rendering.ts";

/** The words that lead an alert change. Only a recovery is called resolved. */
export function leadOf(change: AlertChange): string {
  const { alert } = change;
  if (alert.drill) return "DRILL";
  switch (change.kind) {
    case "fired":
      return alert.event ? alert.severity.toUpperCase() : `FIRING ${alert.severity}`;
    case "rose":
      return `WORSE, now ${alert.severity}`;
    case "fell":
      return `BETTER, now ${alert.severity}`;
    case "worsened":
      return `WORSE, still ${alert.severity}`;
    case "changed":
      return `CHANGED, still ${alert.severity}`;
    case "reminder":
      return `STILL FIRING ${alert.severity}`;
    case "escalated":
      return `NOBODY ANSWERED, ${alert.severity}`;
    case "acknowledged":
      return alert.state === "firing" ? `ACKNOWLEDGED, still ${alert.severity}` : "ACKNOWLEDGED";
    case "ended":
      return endingLead(alert.ending);
    default:
      return unreachable(change.kind);
  }
}

function endingLead(ending: Ending | null): string {
  switch (ending) {
    case "recovered":
      return "RESOLVED";
    case "closed":
      return "CLOSED";
    case "liquidated":
      return "LIQUIDATED";
    case "deleveraged":
      return "AUTO-DELEVERAGED";
    case "flipped":
      return "FLIPPED";
    case "explained":
      return "EXPLAINED";
    case "ruleChanged":
      return "RULE CHANGED";
    case "noLongerWatched":
      return "NO LONGER WATCHED";
    case null:
      return "ENDED";
    default:
      return unreachable(ending);
  }
}

export function toneOfChange(change: AlertChange): Tone {
  if (change.alert.drill) return "test";
  if (change.kind !== "ended") return change.alert.severity;
  if (change.alert.ending === "recovered") return "good";
  return isTaking(change.alert.ending) ? "critical" : "over";
}
