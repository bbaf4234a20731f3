/** The due times of reminders of firing alerts. */

import type { Severity } from "../../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import type { LiveAlert } from "../live-alert.ts";
import type { Dispatch } from "../routing/dispatch.ts";
import { nextReminderMs, type RemindSettings } from "./remind.ts";

/** The receivers of a due reminder; undefined: all that it concerns. */
export interface DueReminder {
  readonly among: readonly string[] | undefined;
}

export class ReminderTimes {
  readonly #remind: RemindSettings;
  readonly #deadlines: Deadlines;
  readonly #dispatch: Dispatch;
  /** Returns the changes builder of the current tick. */
  readonly #builder: () => ChangesBuilder;

  constructor(
    remind: RemindSettings,
    deadlines: Deadlines,
    dispatch: Dispatch,
    builder: () => ChangesBuilder,
  ) {
    this.#remind = remind;
    this.#deadlines = deadlines;
    this.#dispatch = dispatch;
    this.#builder = builder;
  }

  /** Returns the interval of reminders at a level, ms; infinite: none. */
  everyMs(severity: Severity): number {
    const pace = this.#remind[severity];
    return pace === "never" ? Number.POSITIVE_INFINITY : pace.every;
  }

  /** @param overdue a reminder that is due already is decided next, at a start or a reload */
  schedule(live: LiveAlert, overdue = false): void {
    const ownMs = this.#dueMs(live, live.notifiedAtMs);
    if (ownMs === null) {
      this.#deadlines.cancel(live);
      return;
    }
    const { atMs } = this.#builder();
    // A receiver that was just reminded of an incident is not notified again: that is held.
    const dueMs = this.reportedMs(live)
      .map((ms) => this.#dueMs(live, ms) ?? ownMs)
      .filter((ms) => overdue || ms > atMs);
    this.#deadlines.set(live, Math.max(Math.min(ownMs, ...dueMs), live.waitsToMs));
  }

  /** Returns the time of the reminder after a notification, ms; null: none. */
  #dueMs({ alert, reminders: count }: LiveAlert, notifiedAtMs: number): number | null {
    return nextReminderMs(alert, { notifiedAtMs, count }, this.#remind);
  }

  /**
   * Returns the times at which the receivers of a critical alert were last notified of its incidents, or of the alert
   * itself, ms.
   */
  reportedMs(live: LiveAlert): readonly number[] {
    if (live.alert.shadow || live.alert.severity !== "critical") return [];
    const { atMs } = this.#builder();
    const receivers = this.#dispatch.routes.concerned(live);
    return this.#dispatch
      .notifiedMs(live.alert.id, receivers, atMs)
      .map(
        (ms, index) =>
          ms ??
          live.lastNotifiedMs.get(receivers[index]!) ??
          Math.max(live.notifiedBeforeMs, live.notifiedAtMs),
      );
  }

  /** Handles a due reminder: a lapsed acknowledgement concerns all receivers. @returns null if it is postponed */
  due(live: LiveAlert, atMs: number): DueReminder | null {
    // A receiver notified of the incident within the interval needs no reminder; reminders due at the same time are
    // one.
    const reportedMs = this.reportedMs(live);
    const dueMs = reportedMs.map((ms) =>
      ms === atMs ? atMs : (this.#dueMs(live, ms) ?? Number.POSITIVE_INFINITY),
    );
    const nextMs = Math.min(...dueMs);
    const lapsed = live.alert.acknowledgedAtMs !== null;
    if (dueMs.length > 0 && nextMs > atMs && !lapsed) {
      this.#deadlines.set(live, nextMs);
      return null;
    }
    if (lapsed || reportedMs.length === 0) return { among: undefined };
    return { among: this.#dispatch.routes.concerned(live).filter((_, index) => dueMs[index]! <= atMs) };
  }
}
