/** Held notifications: the newest of each alert, stored in history until it leaves or is replaced. */

import { z } from "zod";
import {
  type AlertChange,
  type Ending,
  endings,
  type Severity,
  severities,
} from "../../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import type { Labels } from "./match.ts";
import { allReceivers, type Routing, waysFor } from "./route.ts";

/** The held notification of one alert: its newest state and its receivers. Stored in history under its alert. */
export interface Held {
  readonly alertId: number;
  readonly changeId: number;
  readonly event: boolean;
  readonly over: boolean;
  /** Left out: the alert is not over, or an earlier version stored it. */
  readonly ending?: Ending;
  readonly severity: Severity;
  readonly labels: Labels;
  readonly receivers: readonly string[];
  /** The reason of the hold, for people. */
  readonly why: string;
}

/** By alert. */
export const keptHeld: KeptKind<Held, number> = new KeptKind(
  "held/{}",
  z.object({
    alertId: keptNumber,
    changeId: keptNumber,
    event: z.boolean(),
    over: z.boolean(),
    ending: z.enum(endings).exactOptional(),
    severity: z.enum(severities),
    labels: z.record(z.string(), z.string()),
    receivers: z.array(z.string()),
    why: z.string(),
  }),
);

export class HeldNotifications {
  readonly #held = new Map<number, Held>();

  /** All in the firing order of their alerts. */
  get all(): readonly Held[] {
    return [...this.#held.values()].sort((a, b) => a.alertId - b.alertId);
  }

  has(alertId: number): boolean {
    return this.#held.has(alertId);
  }

  restore(keep: KeptValues, routing: Routing): void {
    for (const [, held] of keptHeld.all(keep))
      this.#held.set(held.alertId, { ...held, receivers: stillThere(held, routing) });
  }

  hold(
    builder: ChangesBuilder,
    change: AlertChange,
    labels: Labels,
    receivers: readonly string[],
    why: string,
  ): void {
    const { alert } = change;
    const before = this.#held.get(alert.id)?.receivers ?? [];
    // Each event is a separate change; of an alert only the newest counts.
    this.keep(
      {
        alertId: alert.id,
        changeId: change.id,
        event: alert.event,
        over: alert.state === "ended" && !alert.event,
        ...(alert.ending === null ? {} : { ending: alert.ending }),
        severity: alert.severity,
        labels,
        receivers:
          alert.state === "ended" && !alert.event ? receivers : [...new Set([...before, ...receivers])],
        why,
      },
      builder,
    );
  }

  /** Removes receivers that have something newer pending. */
  relieve(alertId: number, receivers: readonly string[], builder: ChangesBuilder): void {
    const held = this.#held.get(alertId);
    if (!held || held.event) return;
    const left = held.receivers.filter((one) => !receivers.includes(one));
    if (left.length === 0) this.drop(alertId, builder);
    else this.keep({ ...held, receivers: left }, builder);
  }

  keep(held: Held, builder: ChangesBuilder): void {
    this.#held.set(held.alertId, held);
    keptHeld.put(held.alertId, held, builder);
  }

  drop(alertId: number, builder: ChangesBuilder): void {
    if (!this.#held.delete(alertId)) return;
    keptHeld.drop(alertId, builder);
  }
}

/**
 * Replaces held receivers that no longer exist by the current ones. An end goes only to receivers that were notified of
 * the alert.
 */
function stillThere({ receivers, labels, over }: Held, routing: Routing): readonly string[] {
  const known = allReceivers(routing);
  if (over || receivers.every((one) => known.has(one))) return receivers;
  const now = waysFor(routing, labels).flatMap((way) => way.receivers);
  return [...new Set([...receivers.filter((one) => known.has(one)), ...now])];
}
