/**
 * Decides the receivers of a change and the time of the notification: by the routes, in groups, unless it is held.
 *
 *   change ──routes──► receivers ──held?──yes──► kept until the hold ends
 *                                   └──no──► pending: an incident decides its time (alerts/incidents/); else released with
 *                                            its group: urgent at once, other things after groupWait, and not before
 *                                            groupInterval after what left of the group before
 *
 * A held notification is never dropped: an event is sent when the hold ends; an alert in its current state, if it still
 * fires or its receivers have to be notified of its end.
 */

import type { Alert, AlertChange, Severity } from "../../domain/alerts/alert.ts";
import type { DeliveryItem } from "../../domain/alerts/delivery.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { KeptValues } from "../../domain/stored/kept.ts";
import { Incidents, type IncidentsOptions, type Placed } from "../incidents/incidents.ts";
import { type AlertRoutes, type Labelled, labelsOf, wayTo } from "./alert-routes.ts";
import { Groups, isUrgent } from "./group.ts";
import { type Held, HeldNotifications } from "./held-notifications.ts";
import type { Holdable, Holds } from "./holds.ts";
import type { Labels } from "./match.ts";
import { groupKeyOf, type Way, waysFor } from "./route.ts";

/** The receivers that are notified of a change now. */
export interface DispatchResult {
  readonly receivers: readonly string[];
  /** Those of them that it notifies: for the others it is quiet. */
  readonly alerted: readonly string[];
}

/** The data about a change that incidents need. */
export interface ChangeContext {
  /** True if it made an acknowledgement void. */
  readonly voids: boolean;
  /** True if it was held until now. */
  readonly released: boolean;
  /** The interval of reminders at its level, ms; infinite: none. */
  readonly remindMs: number;
}

export interface DispatchOptions {
  readonly incidents: IncidentsOptions;
  readonly routes: AlertRoutes;
  readonly holds: Holds;
  readonly builder: () => ChangesBuilder;
  /** Returns the next number of a pending item. */
  readonly nextId: () => number;
  /** Returns true if a firing alert can be judged now. */
  readonly isFresh: (alertId: number, nowMs: number) => boolean;
  /** Returns the time until which due notifications of a firing alert wait, ms; null: they do not wait. */
  readonly waitsUntilMs: (alertId: number, nowMs: number) => number | null;
  /** Returns a firing alert by its number. */
  readonly alert: (alertId: number) => Alert | undefined;
  /** Notifies of an alert in its current state; returns false if it no longer fires. */
  readonly notifyNow: (alertId: number, receivers: readonly string[], builder: ChangesBuilder) => boolean;
}

/** The reason shown for a notification whose hold has ended and that still waits. */
const waits = "its condition is gone, or was not judged since the start";
export class Dispatch {
  readonly routes: AlertRoutes;
  readonly #options: DispatchOptions;
  readonly #groups: Groups;
  readonly #held = new HeldNotifications();
  readonly #incidents: Incidents;

  /** @param before the dispatch of the watch that is replaced at a reload: its groups continue */
  constructor(options: DispatchOptions, before?: Dispatch) {
    this.#options = options;
    this.routes = options.routes;
    this.#groups = new Groups(before ? before.#groups : undefined);
    this.#incidents = new Incidents(options.incidents, before ? before.#incidents : undefined);
  }

  /** The held notifications in the order in which their alerts fired. */
  get held(): readonly Held[] {
    return this.#held.all;
  }

  restore(keep: KeptValues): void {
    this.#incidents.restore(keep);
    this.#groups.restore(keep);
    this.#held.restore(keep, this.routes.routing);
  }

  /**
   * Creates the pending deliveries of a change.
   * @param groupKey of items grouped for another reason (a throttle); null: grouped by incident or route
   * @returns the receivers that are notified now, and those for which it is not quiet; the others of `to` are notified
   * when the hold ends, or not at all if their incident was just reported
   */
  enqueue(
    builder: ChangesBuilder,
    change: AlertChange,
    to: Iterable<string>,
    groupKey: string | null,
    options: ChangeContext,
  ): DispatchResult {
    const { alert } = change;
    if (alert.shadow) return { receivers: [], alerted: [] };
    const labels = labelsOf(alert);
    const ways = waysFor(this.routes.routing, labels);
    const notified: string[] = [];
    const held: string[] = [];
    let why = "";
    const alerted: string[] = [];
    for (const receiver of to) {
      const way = wayTo(receiver, ways);
      const reason = this.#options.holds.why(
        {
          labels,
          severity: alert.severity,
          event: alert.event,
          alertId: alert.id,
          fresh: () => alert.state === "ended" || this.#options.isFresh(alert.id, builder.atMs),
        },
        way,
        builder.atMs,
      );
      if (reason !== null) {
        held.push(receiver);
        why = reason;
        this.#incidents.noteHeld(alert, receiver);
        continue;
      }
      const placed =
        groupKey === null
          ? this.#incidents.place({
              ...{ change, receiver, way, labels, ...options, nowMs: builder.atMs },
              isHeld: (id) => this.#isHeld(id, way, builder.atMs),
            })
          : null;
      if (placed?.leaves === null) continue;
      notified.push(receiver);
      if (placed === null || placed.leaves === "alone" || !placed.leaves.quiet) alerted.push(receiver);
      this.#push(builder, change.id, alert, isUrgent(change), receiver, way, labels, groupKey, placed);
    }
    if (change.kind === "ended") this.#incidents.over(alert);
    if (held.length > 0) this.#held.hold(builder, change, labels, held, why);
    else if (alert.state === "ended" && !alert.event) this.#held.drop(alert.id, builder);
    else if (notified.length > 0) this.#held.relieve(alert.id, notified, builder);
    return { receivers: notified, alerted };
  }

  /** Returns the reasons that would hold a notification of such an alert now, each once; changes nothing. */
  whyHeld(
    alert: Labelled & { readonly id: number; readonly severity: Severity },
    nowMs: number,
  ): readonly string[] {
    const of = this.#holdable(alert, nowMs);
    const reasons = this.routes.ways(alert).map((way) => this.#options.holds.why(of, way, nowMs));
    return [...new Set(reasons.flatMap((why) => why ?? []))];
  }

  /**
   * Returns the times at which the incidents of a critical alert were last reported to each receiver, ms; null: it gets
   * the alert separately.
   */
  notifiedMs(alertId: number, receivers: readonly string[], nowMs: number): readonly (number | null)[] {
    return this.#incidents.notifiedMs(alertId, receivers, nowMs);
  }

  /** Adds the stored incidents to complete changes. */
  keepIncidents(builder: ChangesBuilder): void {
    builder.changes.keep.push(...this.#incidents.unkept());
  }

  /** Returns true if a notification of this alert is held. */
  holds(alertId: number): boolean {
    return this.#held.has(alertId);
  }

  /** Releases notifications whose hold has ended. */
  reconsider(): void {
    const builder = this.#options.builder();
    const { holds, isFresh, waitsUntilMs, notifyNow, routes } = this.#options;
    for (const held of this.held) {
      const { alertId, labels, severity, event, receivers, over } = held;
      const ways = waysFor(routes.routing, labels);
      const fresh = () => over || isFresh(alertId, builder.atMs);
      const of = { labels, severity, event, alertId, fresh };
      const free = receivers.filter((one) => holds.why(of, wayTo(one, ways), builder.atMs) === null);
      if (free.length === 0) continue;
      const waitMs = event || over ? null : waitsUntilMs(alertId, builder.atMs);
      if (waitMs !== null) {
        holds.wakeAt(waitMs, builder.atMs);
        if (held.why !== waits) this.#held.keep({ ...held, why: waits }, builder);
        continue;
      }
      const left = receivers.filter((one) => !free.includes(one));
      if (left.length === 0) this.#held.drop(alertId, builder);
      else this.#held.keep({ ...held, receivers: left }, builder);
      if (!event && !over) {
        notifyNow(alertId, free, builder);
        continue;
      }
      for (const receiver of free) {
        const way = wayTo(receiver, ways);
        const groupKey = event ? `held/${way.path.join(".")}/${builder.atMs}` : null;
        const placed = over ? this.#placeEnd(held, receiver, way, builder) : null;
        this.#push(
          builder,
          held.changeId,
          { id: alertId, severity },
          false,
          receiver,
          way,
          labels,
          groupKey,
          placed,
        );
      }
    }
  }

  /** Returns the place of a held end. */
  #placeEnd(
    { alertId, severity, labels, ending }: Held,
    receiver: string,
    way: Way,
    builder: ChangesBuilder,
  ): Placed | null {
    const { rule = "", subject = "" } = labels;
    const alert = {
      ...{ id: alertId, rule, subject, severity, event: false, value: null, acknowledgedAtMs: null },
      ending: ending ?? null,
    };
    const change = { kind: "ended", alert } as const;
    const released = { voids: false, released: true, remindMs: Number.POSITIVE_INFINITY };
    return this.#incidents.place({
      ...{ change, receiver, way, labels, ...released, nowMs: builder.atMs },
      isHeld: (id) => this.#isHeld(id, way, builder.atMs),
    });
  }

  /** Returns true if a notification of a firing alert would be held now. */
  #isHeld(alertId: number, way: Way, nowMs: number): boolean {
    const alert = this.#options.alert(alertId);
    return alert !== undefined && this.#options.holds.why(this.#holdable(alert, nowMs), way, nowMs) !== null;
  }

  #holdable(alert: Labelled & { readonly id: number; readonly severity: Severity }, nowMs: number): Holdable {
    return {
      labels: labelsOf(alert),
      severity: alert.severity,
      event: false,
      alertId: alert.id,
      fresh: () => this.#options.isFresh(alert.id, nowMs),
    };
  }

  #push(
    builder: ChangesBuilder,
    changeId: number,
    { id, severity }: { readonly id: number; readonly severity: Severity },
    urgent: boolean,
    receiver: string,
    way: Way,
    labels: Labels,
    groupKey: string | null,
    placed: Placed | null,
  ): void {
    if (placed !== null && placed.leaves !== "alone" && placed.leaves !== null) {
      this.#pushAt(builder, changeId, { id, severity }, receiver, placed.groupKey, placed.leaves, placed);
      return;
    }
    const key = groupKey ?? groupKeyOf(way, labels);
    const releaseAtMs =
      groupKey === null ? this.#groups.release(`${receiver}\n${key}`, way, urgent, builder) : builder.atMs;
    const leaves = { atMs: releaseAtMs, quiet: false };
    this.#pushAt(builder, changeId, { id, severity }, receiver, key, leaves, placed);
  }

  #pushAt(
    builder: ChangesBuilder,
    changeId: number,
    { id, severity }: { readonly id: number; readonly severity: Severity },
    receiver: string,
    groupKey: string,
    leaves: { readonly atMs: number; readonly quiet: boolean },
    incident: Placed | null,
  ): void {
    if (this.#groups.sweep(builder)) this.#incidents.sweep(builder.atMs);
    const item: DeliveryItem = {
      id: this.#options.nextId(),
      changeId,
      alertId: id,
      receiver,
      severity,
      owedAtMs: builder.atMs,
      groupKey,
      ...(leaves.atMs > builder.atMs ? { releaseAtMs: leaves.atMs } : {}),
      ...(leaves.quiet ? { quiet: true as const } : {}),
      ...(incident?.leaves === "alone" ? { incident: incident.groupKey } : {}),
      ...(typeof incident?.distance === "number" ? { distance: incident.distance } : {}),
      ...this.#incidents.onCall(receiver, id),
      status: "owed",
      messageId: null,
    };
    builder.changes.deliveryItems.push(item);
  }
}
