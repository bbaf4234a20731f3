/** The routes of alerts: the ways that an alert takes, and the receivers that it concerns. Pure. */

import type { Alert } from "../../domain/alert.ts";
import type { LiveAlert } from "../live-alert.ts";
import type { Labels } from "./match.ts";
import { type Routing, type Way, waysFor } from "./route.ts";

/** As much of an alert as routes look at. */
export type Labelled = Pick<Alert, "labels" | "rule" | "severity" | "subject" | "wallet" | "symbol">;

export class AlertRoutes {
  readonly routing: Routing;

  constructor(routing: Routing) {
    this.routing = routing;
  }

  ways(alert: Labelled): readonly Way[] {
    return waysFor(this.routing, labelsOf(alert));
  }

  /** @returns those that its routes lead to */
  receivers(alert: Labelled, except: readonly string[] = []): readonly string[] {
    const all = new Set(this.ways(alert).flatMap(({ receivers }) => receivers));
    for (const name of except) all.delete(name);
    return [...all];
  }

  /** Those whom the routes lead to, and those whom a chain told of it: they hear how it goes on. */
  concerned({ alert, told, except }: LiveAlert): readonly string[] {
    const escalated = this.ways(alert)
      .flatMap(({ escalate }) => escalate.flatMap(({ receivers }) => receivers))
      .filter((one) => told.has(one) && !except.includes(one));
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

/** The way by which a receiver gets word; the first where none leads to it. */
export function wayTo(receiver: string, ways: readonly Way[]): Way {
  return ways.find(({ receivers }) => receivers.includes(receiver)) ?? ways[0]!;
}
