/** The routes of alerts: the ways of an alert, and its receivers. Pure. */

import type { Alert } from "../../domain/alerts/alert.ts";
import type { LiveAlert } from "../live-alert.ts";
import type { Labels } from "./match.ts";
import { type Routing, type Way, waysFor } from "./route.ts";

/** The part of an alert that routes use. */
export type Labelled = Pick<Alert, "labels" | "rule" | "severity" | "subject" | "wallet" | "symbol">;

export class AlertRoutes {
  readonly routing: Routing;

  constructor(routing: Routing) {
    this.routing = routing;
  }

  ways(alert: Labelled): readonly Way[] {
    return waysFor(this.routing, labelsOf(alert));
  }

  /** @returns the receivers of its routes */
  receivers(alert: Labelled, except: readonly string[] = []): readonly string[] {
    const all = new Set(this.ways(alert).flatMap(({ receivers }) => receivers));
    for (const name of except) all.delete(name);
    return [...all];
  }

  /** Returns the receivers of its routes, and those notified by an escalation chain, which get further changes too. */
  concerned({ alert, notifiedLevels, except }: LiveAlert): readonly string[] {
    const escalated = this.ways(alert)
      .flatMap(({ escalate }) => escalate.flatMap(({ receivers }) => receivers))
      .filter((one) => notifiedLevels.has(one) && !except.includes(one));
    return [...new Set([...this.receivers(alert, except), ...escalated])];
  }

  /** Returns true if an alert has chains of receivers. */
  escalates(alert: Alert): boolean {
    return !alert.shadow && this.ways(alert).some(({ escalate }) => escalate.length > 0);
  }
}

/** The labels that routes, silences and inhibitions can match. */
export function labelsOf(alert: Labelled): Labels {
  return {
    ...alert.labels,
    rule: alert.rule,
    severity: alert.severity,
    subject: alert.subject,
    wallet: alert.wallet ?? "",
    symbol: alert.symbol ?? "",
  };
}

/** Returns the way to a receiver; the first if none leads to it. */
export function wayTo(receiver: string, ways: readonly Way[]): Way {
  return ways.find(({ receivers }) => receivers.includes(receiver)) ?? ways[0]!;
}
