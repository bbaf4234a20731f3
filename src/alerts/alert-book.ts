/** Firing alerts and their changes: firing, level changes, acknowledgements and ends. */

import {
  type Alert,
  type AlertChange,
  type Ending,
  isTaking,
  type Severity,
  worseOf,
  worstSeverityOf,
} from "../domain/alerts/alert.ts";
import { isBuiltIn } from "../domain/alerts/built-in.ts";
import { drillGroup } from "../domain/alerts/delivery.ts";
import type { Silence } from "../domain/alerts/silence.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { KeptValues } from "../domain/stored/kept.ts";
import type { Deadlines } from "../domain/structures/deadlines.ts";
import type { AlertIds } from "./alert-changes.ts";
import { type AlertText, LiveAlert, type NewAlert, pick } from "./live-alert.ts";
import { Notifications, type NotificationsOptions } from "./notifications.ts";
import { endsWait, waitsAfterStandstill } from "./reminders/postponement.ts";
import { covers, withoutAcknowledgement } from "./reminders/quiet.ts";
import { type Notified, notifiedWith, type RemindSettings } from "./reminders/remind.ts";
import type { Labelled } from "./routing/alert-routes.ts";
import type { DispatchResult } from "./routing/dispatch.ts";
import type { Held } from "./routing/held-notifications.ts";
import { tierLine } from "./texts/details.ts";
import { withWorst } from "./texts/worst.ts";

/** Time after which a value that returns to an already notified side of 0 is notified again, ms. */
const returnsAfterMs = 60_000;

export class AlertBook {
  readonly live = new Map<number, LiveAlert>();
  readonly ids: AlertIds;
  readonly #remind: RemindSettings;
  /** True if the reminder settings are the same as before the reload. */
  readonly #remindsAlike: boolean;
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  readonly #notifications: Notifications;
  /** Alerts from before a reload, until they are taken over. */
  #former: ReadonlyMap<number, LiveAlert>;

  constructor(options: NotificationsOptions & { readonly before?: AlertBook | undefined }) {
    const { ids, remind, deadlines, before } = options;
    this.#former = before?.live ?? new Map();
    this.#remindsAlike = before !== undefined && JSON.stringify(before.#remind) === JSON.stringify(remind);
    this.ids = ids;
    this.#remind = remind;
    this.#deadlines = deadlines;
    this.#builder = options.builder;
    this.#notifications = new Notifications(options, this.live, before ? before.#notifications : undefined);
  }

  /** Restores held and silenced alerts and running escalation chains from history. */
  restoreNotifications(keep: KeptValues, alerts: readonly Alert[], nowMs: number): void {
    const { holds, dispatch, escalations } = this.#notifications;
    holds.restore(keep, nowMs);
    dispatch.restore(keep);
    escalations.restore(
      keep,
      alerts.filter(({ event }) => event),
    );
  }

  get silences(): readonly Silence[] {
    return this.#notifications.holds.silences;
  }

  /** The notifications that are held back. */
  get heldBack(): readonly Held[] {
    return this.#notifications.dispatch.held;
  }

  /** The reasons that would hold a notification of such an alert now, for people. */
  whyHeld(
    alert: Labelled & { readonly id: number; readonly severity: Severity },
    nowMs: number,
  ): readonly string[] {
    return this.#notifications.dispatch.whyHeld(alert, nowMs);
  }

  putSilence(silence: Silence, builder: ChangesBuilder): void {
    this.#notifications.holds.put(silence, builder);
  }

  /** Ends the takeover from the watch before a reload. */
  tookOver(): void {
    this.#former = new Map();
  }

  /** Restores a firing alert from history. */
  restore(
    alert: Alert,
    notifiedLevels: Iterable<readonly [string, Severity]>,
    lastNotified: AlertChange | undefined,
    reminders: number,
    notified: Notified | null,
  ): LiveAlert {
    const except = this.#former.get(alert.id)?.except ?? aboutChannel(alert);
    const live = new LiveAlert(alert, notifiedLevels, except, this.#notifications.remind);
    live.notifiedAtMs = lastNotified?.atMs ?? alert.firedAtMs;
    live.notifiedBeforeMs = live.notifiedAtMs;
    live.notified = notified;
    live.reminders = reminders;
    live.details = lastNotified?.details ?? [];
    live.facts = lastNotified?.facts;
    live.lasting = false;
    const former = this.#former.get(alert.id);
    if (former) {
      live.goOn(former);
      const { atMs } = this.#builder();
      if (live.waitsToMs > atMs && this.#notifications.dispatch.holds(alert.id))
        this.#notifications.holds.wakeAt(live.waitsToMs, atMs);
    } else live.unjudged = !isBuiltIn(alert.rule);
    this.live.set(alert.id, live);
    if (!former)
      live.notifiedAtMs = Math.min(live.notifiedAtMs, ...this.#notifications.reminders.reportedMs(live));
    // A reload changes no due time, unless it changes reminders.
    const goesOn = former && !former.held && this.#remindsAlike && Number.isFinite(former.dueMs);
    if (goesOn) this.#deadlines.set(live, former.dueMs);
    else if (!live.held) this.#notifications.reminders.schedule(live, true);
    return live;
  }

  /**
   * Called when an alert from before a start or a standstill is judged by data of `dataAtMs`: reminders that waited for
   * it are due.
   */
  judged(live: LiveAlert, dataAtMs: number): void {
    if (!endsWait(live, dataAtMs)) return;
    const { reminders, escalations, dispatch, holds } = this.#notifications;
    if (!live.held) reminders.schedule(live);
    const { atMs } = this.#builder();
    escalations.hasten(live.alert.id);
    if (dispatch.holds(live.alert.id)) holds.wakeAt(atMs, atMs);
  }

  /** The process was suspended: due reminders wait until their alert is judged. */
  noteStandstill(atMs: number): void {
    for (const live of this.live.values()) waitsAfterStandstill(live, atMs);
  }

  fire(builder: ChangesBuilder, from: NewAlert): LiveAlert {
    const alert = this.#notifications.changes.alert(builder.atMs, from, false, null);
    const live = new LiveAlert(alert, [], from.except ?? [], this.#notifications.remind);
    live.says(from);
    if (from.comparison) live.comparison = from.comparison;
    if (from.limit) live.limit = from.limit;
    if (from.judged) live.judgedAtMs = builder.atMs;
    this.live.set(alert.id, live);
    this.#notifications.record(builder, live, "fired", { happenedMs: from.happenedMs });
    return live;
  }

  /**
   * Records an event: one alert that needs no resolution. `notifies: false` where a throttle holds it back.
   * @returns its change, and the receivers that are notified now
   */
  recordEvent(
    builder: ChangesBuilder,
    from: NewAlert,
    eventKey: string,
    groupKey: string | null,
    notifies: boolean,
  ): { readonly change: AlertChange; readonly notified: readonly string[] } {
    const alert = this.#notifications.changes.alert(builder.atMs, from, true, eventKey);
    const change = this.#notifications.changes.change(builder, alert, "fired", from, from.happenedMs);
    const notified = notifies
      ? this.enqueue(builder, change, this.receivers(alert, from.except), groupKey).receivers
      : [];
    this.#notifications.beginChains(alert, builder);
    return { change, notified };
  }

  /**
   * Records a fire drill: sent only to these receivers, at once and alone, regardless of routes, silences and mute
   * times.
   */
  recordDrill(
    builder: ChangesBuilder,
    from: NewAlert,
    id: string,
    receivers: readonly string[],
  ): AlertChange {
    const alert = this.#notifications.changes.alert(builder.atMs, from, true, `drill:${id}`);
    const change = this.#notifications.changes.change(builder, alert, "fired", from, from.happenedMs);
    for (const receiver of receivers)
      builder.changes.deliveryItems.push({
        id: ++this.ids.item,
        changeId: change.id,
        alertId: alert.id,
        receiver,
        severity: alert.severity,
        owedAtMs: builder.atMs,
        groupKey: drillGroup + id,
        status: "owed",
        messageId: null,
      });
    return change;
  }

  change(
    builder: ChangesBuilder,
    live: LiveAlert,
    kind: "rose" | "fell" | "worsened",
    severity: Severity,
    text: AlertText,
  ): void {
    live.says(text);
    const worstSeverity = worseOf(worstSeverityOf(live.alert), severity);
    live.alert = withWorst(live, {
      ...live.alert,
      ...pick(text),
      severity,
      ...(worstSeverity === severity ? {} : { worstSeverity }),
    });
    // The person acknowledged a lower level or value.
    const isVoid =
      kind === "worsened" || (kind === "rose" && !covers(live.alert.acknowledgedSeverity, severity));
    const voids = isVoid && live.alert.acknowledgedAtMs !== null;
    if (isVoid) live.alert = withoutAcknowledgement(live.alert);
    this.#notifications.record(builder, live, kind, { voids });
    // An alert at a lower level may no longer inhibit others.
    if (kind === "fell") this.#notifications.holds.sourceEnded(builder.atMs);
  }

  /**
   * Records that the value of an alert became clearly worse, or clearly different, since the last notification or
   * acknowledgement. An acknowledgement does not cover such a value and becomes void.
   * @param movement the change from these values by this share; null: none. `mayReturn`: a return to an already
   * notified side counts as one
   */
  refresh(
    builder: ChangesBuilder,
    live: LiveAlert,
    text: () => AlertText,
    movement: (notified: Notified, worseBy: number, mayReturn: boolean) => "worsened" | "changed" | null,
  ): void {
    if (live.alert.shadow || live.notified === null) return;
    if (this.#remind[live.alert.severity] === "never") return;
    const mayReturn =
      live.alert.acknowledgedAtMs === null && builder.atMs - live.notifiedAtMs >= returnsAfterMs;
    const kind = movement(live.notified, this.#remind.worseBy, mayReturn);
    if (kind === null) return;
    const now = text();
    live.says(now);
    const voids = live.alert.acknowledgedAtMs !== null;
    live.alert = withWorst(live, { ...withoutAcknowledgement(live.alert), ...pick(now) });
    this.#notifications.record(builder, live, kind, { voids });
    // Nobody handles it any more: its escalation chain starts again.
    if (voids) this.#notifications.beginChains(live.alert, builder);
  }

  end(
    builder: ChangesBuilder,
    live: LiveAlert,
    ending: Ending,
    text: AlertText | null,
    happenedMs: number | null = null,
    stands: AlertChange["stands"] = undefined,
  ): void {
    // At a reload only the previous watch has the last text of the subject.
    const last = text ?? this.#former.get(live.alert.id)?.newest(builder.atMs)?.text ?? null;
    if (last) live.says(last);
    // The last tier seen does not describe the liquidation.
    if (isTaking(ending)) live.details = live.details.filter(([name]) => name !== tierLine);
    live.alert = withWorst(live, {
      ...live.alert,
      ...(last ? pick(last) : {}),
      state: "ended",
      endedAtMs: builder.atMs,
      ending,
    });
    this.live.delete(live.alert.id);
    this.#deadlines.cancel(live);
    this.#notifications.record(builder, live, "ended", { happenedMs, stands });
  }

  /** @param shown the level and value that the acknowledgement covers; left out: the current ones */
  acknowledge(
    builder: ChangesBuilder,
    alert: Alert,
    by: string,
    comment: string,
    shown?: Pick<Alert, "severity" | "value">,
  ): Alert {
    const live = this.live.get(alert.id);
    // The acknowledgement covers the current text.
    const isStale = live?.renew(builder.atMs) ?? false;
    const next: Alert = {
      ...(live?.alert ?? alert),
      acknowledgedBy: by,
      acknowledgedAtMs: builder.atMs,
      acknowledgedSeverity: shown?.severity ?? alert.severity,
    };
    const details: (readonly [string, string])[] = comment === "" ? [] : [["Comment", comment]];
    const covered = shown ? shown.value : isStale ? alert.value : next.value;
    const text = { details, facts: live?.facts, isStale, covered };
    const change = this.#notifications.changes.change(builder, next, "acknowledged", text, null);
    this.#notifications.escalations.settle(alert.id, builder);
    // All receivers notified of the alert are notified of the acknowledgement.
    if (live) this.enqueue(builder, change, live.notifiedLevels.keys(), null);
    if (live) {
      live.alert = next;
      live.notified = notifiedWith(covered, live.notified, true);
      this.#notifications.reminders.schedule(live);
    }
    return next;
  }

  /** Holds or releases an alert; receivers that were not notified before are notified at the release. */
  hold(builder: ChangesBuilder, live: LiveAlert, held: boolean): void {
    if (live.held === held) return;
    live.held = held;
    if (held) return;
    if (live.notifiedLevels.size === 0) this.#notifications.record(builder, live, "fired");
    else this.#notifications.reminders.schedule(live);
  }

  /** @returns the receivers that are notified now; the others are notified when the hold ends */
  enqueue(
    builder: ChangesBuilder,
    change: AlertChange,
    receivers: Iterable<string>,
    groupKey: string | null,
  ): DispatchResult {
    return this.#notifications.enqueue(builder, change, receivers, groupKey);
  }

  /** Completes the changes of a tick. */
  complete(builder: ChangesBuilder): void {
    this.#notifications.dispatch.keepIncidents(builder);
  }

  receivers(alert: Labelled, except: readonly string[] = []): readonly string[] {
    return this.#notifications.dispatch.routes.receivers(alert, except);
  }
}

/** Returns the channel that a built-in alert is about: that channel is not notified of its own failure. */
function aboutChannel({ rule, labels: { channel } }: Alert): readonly string[] {
  return isBuiltIn(rule) && channel !== undefined ? [channel] : [];
}
