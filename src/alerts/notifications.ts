/**
 * Notifies receivers of alert changes: records each change, creates its pending deliveries, and schedules reminders and
 * escalation chains.
 *
 * A change is sent to the receivers that the routing names for the current alert; an end or a fall to those that were
 * notified before. Inhibited changes are recorded and sent when the hold ends, if they still apply.
 */

import {
  type Alert,
  type AlertChange,
  type AlertChangeKind,
  type Severity,
  severityRank,
} from "../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { Deadlines } from "../domain/structures/deadlines.ts";
import { AlertChanges, type AlertChangesOptions } from "./alert-changes.ts";
import type { IncidentsOptions } from "./incidents/incidents.ts";
import type { LiveAlert } from "./live-alert.ts";
import { Escalations } from "./reminders/escalations.ts";
import { waitsUntilMs } from "./reminders/postponement.ts";
import { withoutAcknowledgement } from "./reminders/quiet.ts";
import { notifiedWith } from "./reminders/remind.ts";
import { ReminderTimes } from "./reminders/reminder-times.ts";
import { AlertRoutes, labelsOf } from "./routing/alert-routes.ts";
import { Dispatch, type DispatchResult } from "./routing/dispatch.ts";
import { Holds } from "./routing/holds.ts";
import type { Inhibitions } from "./routing/inhibit.ts";
import type { Routing } from "./routing/route.ts";

/** Changes that reset the previously notified values. */
export const beginsAnew: ReadonlySet<AlertChangeKind> = new Set(["fired", "rose", "fell", "acknowledged"]);

export interface NotificationsOptions extends AlertChangesOptions {
  readonly routing: Routing;
  readonly incidents: IncidentsOptions;
  readonly inhibit: Inhibitions;
  readonly timezone: string;
  readonly deadlines: Deadlines;
  /** Returns the changes builder of the current tick; reminders come due inside a tick. */
  readonly builder: () => ChangesBuilder;
}

export class Notifications {
  readonly changes: AlertChanges;
  readonly holds: Holds;
  readonly dispatch: Dispatch;
  readonly escalations: Escalations;
  readonly reminders: ReminderTimes;
  readonly #live: ReadonlyMap<number, LiveAlert>;
  readonly #routes: AlertRoutes;
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;

  /**
   * @param live the firing alerts, by number
   * @param before the notifications of the watch that is replaced at a reload
   */
  constructor(
    options: NotificationsOptions,
    live: ReadonlyMap<number, LiveAlert>,
    before: Notifications | undefined,
  ) {
    const { deadlines, builder, routing, inhibit, timezone, ids } = options;
    this.#live = live;
    this.#deadlines = deadlines;
    this.#builder = builder;
    this.#routes = new AlertRoutes(routing);
    this.changes = new AlertChanges(options, live);
    this.holds = new Holds({
      ...{ routing, inhibit, timezone, deadlines, builder },
      firing: () => this.#firingLabels(),
      changed: () => this.dispatch.reconsider(),
    });
    this.dispatch = new Dispatch(
      {
        ...{ routes: this.#routes, builder, holds: this.holds, incidents: options.incidents },
        nextId: () => ++ids.item,
        alert: (id) => live.get(id)?.alert,
        isFresh: (id, nowMs) => {
          const one = live.get(id);
          return one !== undefined && (one.judgedAtMs === nowMs || one.textNow(nowMs) !== null);
        },
        waitsUntilMs: (id, nowMs) => {
          const one = live.get(id);
          return one === undefined || one.held ? null : waitsUntilMs(one, nowMs);
        },
        notifyNow: (id, receivers, into) => this.#notifyNow(id, receivers, into),
      },
      before?.dispatch,
    );
    this.reminders = new ReminderTimes(options.remind, deadlines, this.dispatch, builder);
    this.escalations = new Escalations(
      {
        ...{ deadlines, builder },
        waitsUntilMs: (id, nowMs) => {
          const one = live.get(id);
          return one === undefined ? null : waitsUntilMs(one, nowMs);
        },
        escalate: (into, id, event, receivers, words) => this.#escalate(into, id, event, receivers, words),
      },
      before?.escalations,
    );
  }

  /** @returns the receivers that are notified now; the others are notified when the hold ends */
  enqueue(
    builder: ChangesBuilder,
    change: AlertChange,
    receivers: Iterable<string>,
    groupKey: string | null,
    { voids = false, released = false }: { readonly voids?: boolean; readonly released?: boolean } = {},
  ): DispatchResult {
    const remindMs = this.reminders.everyMs(change.alert.severity);
    return this.dispatch.enqueue(builder, change, receivers, groupKey, { voids, released, remindMs });
  }

  /** Records a change of an alert, and notifies the receivers that have not received it. */
  record(
    builder: ChangesBuilder,
    live: LiveAlert,
    kind: AlertChangeKind,
    {
      happenedMs = null,
      stands,
      isStale = false,
      voids = false,
      among,
    }: {
      readonly happenedMs?: number | null;
      readonly stands?: AlertChange["stands"];
      readonly isStale?: boolean;
      /** True if its acknowledgement became void. */
      readonly voids?: boolean;
      /** The receivers to notify. Left out: all that it concerns. */
      readonly among?: readonly string[] | undefined;
    } = {},
  ): void {
    const { details, facts } = live;
    const change = this.changes.change(
      builder,
      live.alert,
      kind,
      { details, facts, isStale },
      happenedMs,
      stands,
    );
    // Receivers notified of the firing are notified of the end.
    if (live.held && kind !== "ended") return;
    const to = among ?? this.#receiversOf(live, kind);
    const { receivers: notified, alerted } = this.enqueue(builder, change, to, null, { voids });
    for (const receiver of alerted) live.lastNotifiedMs.set(receiver, builder.atMs);
    if (kind === "ended") {
      this.escalations.settle(live.alert.id, builder);
      this.holds.sourceEnded(builder.atMs);
      return;
    }
    if (kind === "fired" || kind === "rose") this.beginChains(live.alert, builder);
    else if (kind === "fell" && !this.#routes.escalates(live.alert))
      this.escalations.settle(live.alert.id, builder);
    for (const receiver of notified) live.notifiedLevels.set(receiver, live.alert.severity);
    // A quiet change does not postpone the reminder of a critical alert.
    if (notified.length === 0 || alerted.length > 0 || live.alert.severity !== "critical")
      live.notifiedAtMs = builder.atMs;
    live.notified = notifiedWith(live.alert.value, live.notified, beginsAnew.has(kind));
    if (kind === "fired" || kind === "rose") live.reminders = 0;
    else if (kind === "reminder") live.reminders++;
    this.reminders.schedule(live);
  }

  /**
   * Returns the receivers of a change: for an end, all that were notified of the alert; for a fall, those notified of a
   * higher level.
   */
  #receiversOf(live: LiveAlert, kind: AlertChangeKind): readonly string[] {
    const { alert, notifiedLevels } = live;
    if (kind === "ended") return [...notifiedLevels.keys()];
    if (kind === "fell")
      return [...notifiedLevels.keys()].filter(
        (one) => newsOf(alert.severity, notifiedLevels.get(one)) === kind,
      );
    return alert.shadow ? [] : this.#routes.concerned(live);
  }

  /** Called when a reminder of an alert is due. */
  readonly remind = (live: LiveAlert): void => {
    if (live.alert.state !== "firing") return;
    const builder = this.#builder();
    const { atMs } = builder;
    const waitsToMs = waitsUntilMs(live, atMs);
    if (waitsToMs !== null) {
      this.#deadlines.set(live, waitsToMs);
      return;
    }
    const due = this.reminders.due(live, atMs);
    if (due === null) return;
    // A lapsed acknowledgement is removed with a recorded change, by the reminder that follows from it.
    const lapsed = live.alert.acknowledgedAtMs !== null;
    if (lapsed) live.alert = withoutAcknowledgement(live.alert);
    if (lapsed) this.beginChains(live.alert, builder);
    // A reminder states the current text. If that is unknown it states the newest known one, with its age.
    const isStale = live.renew(atMs);
    this.record(builder, live, "reminder", { isStale, voids: lapsed, among: due.among });
  };

  /** Starts the escalation chains of an alert. */
  beginChains(alert: Alert, builder: ChangesBuilder): void {
    if (this.#routes.escalates(alert)) this.escalations.begin(alert, this.#routes.ways(alert), builder);
    else this.escalations.settle(alert.id, builder);
  }

  /** Notifies the next receiver of a chain. @returns true if the chain continues */
  #escalate(
    builder: ChangesBuilder,
    alertId: number,
    event: Alert | null,
    receivers: readonly string[],
    words: readonly [string, string],
  ): boolean {
    const live = this.#live.get(alertId);
    const alert = live?.alert ?? event;
    if (!alert || alert.acknowledgedAtMs !== null) return false;
    const isStale = live?.renew(builder.atMs) ?? false;
    const details = [words, ...(live?.details ?? [])];
    const content = { details, facts: live?.facts, isStale };
    const change = this.changes.change(builder, live?.alert ?? alert, "escalated", content, null);
    for (const receiver of this.enqueue(builder, change, receivers, null).receivers)
      live?.notifiedLevels.set(receiver, live.alert.severity);
    return true;
  }

  /**
   * Notifies of an alert that was held and still fires, in its current state: each receiver of what it has not
   * received.
   */
  #notifyNow(alertId: number, receivers: readonly string[], builder: ChangesBuilder): boolean {
    const live = this.#live.get(alertId);
    if (!live || live.held) return false;
    // The alert is acknowledged.
    if (live.alert.acknowledgedAtMs !== null && receivers.every((one) => live.notifiedLevels.has(one)))
      return true;
    const isStale = live.renew(builder.atMs);
    const { alert, details, facts } = live;
    const kinds = Map.groupBy(receivers, (receiver) =>
      newsOf(alert.severity, live.notifiedLevels.get(receiver)),
    );
    for (const [kind, some] of kinds) {
      const change = this.changes.change(builder, alert, kind, { details, facts, isStale }, null);
      const { receivers: notified, alerted } = this.enqueue(builder, change, some, null, { released: true });
      for (const receiver of notified) live.notifiedLevels.set(receiver, alert.severity);
      for (const receiver of alerted) live.lastNotifiedMs.set(receiver, builder.atMs);
    }
    live.notifiedAtMs = builder.atMs;
    live.notified = notifiedWith(
      alert.value,
      live.notified,
      [...kinds.keys()].some((kind) => beginsAnew.has(kind)),
    );
    this.reminders.schedule(live);
    return true;
  }

  *#firingLabels(): Iterable<readonly [number, Readonly<Record<string, string>>]> {
    for (const { alert, held } of this.#live.values())
      if (!held && !alert.shadow) yield [alert.id, labelsOf(alert)] as const;
  }
}

/** Returns the kind of change that notifies of a level. @param notified the level notified last; undefined: none */
function newsOf(severity: Severity, notified: Severity | undefined): AlertChangeKind {
  if (notified === undefined) return "fired";
  const rises = severityRank[severity] - severityRank[notified];
  return rises > 0 ? "rose" : rises < 0 ? "fell" : "reminder";
}
