/** The times at which alerts that fire are due to be reported again. */

import type { Severity } from "../../domain/alert.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Deadlines } from "../../domain/deadlines.ts";
import type { LiveAlert } from "../live-alert.ts";
import type { Dispatch } from "../routing/dispatch.ts";
import { nextReminderMs, type RemindSettings } from "./remind.ts";

/** Those who are due to be reminded now; undefined: whomever it concerns. */
export interface DueReminder {
  readonly among: readonly string[] | undefined;
}

export class ReminderTimes {
  readonly #remind: RemindSettings;
  readonly #deadlines: Deadlines;
  readonly #dispatch: Dispatch;
  /** The changes builder of the tick that runs. */
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

  /** The interval of reminders at a level, ms; infinite: there are none. */
  everyMs(severity: Severity): number {
    const pace = this.#remind[severity];
    return pace === "never" ? Number.POSITIVE_INFINITY : pace.every;
  }

  /** @param overdue what is due already is decided next, at a start or a reload */
  schedule(live: LiveAlert, overdue = false): void {
    const ownMs = this.#dueMs(live, live.toldAtMs);
    if (ownMs === null) {
      this.#deadlines.cancel(live);
      return;
    }
    const { atMs } = this.#builder();
    // Who was not reminded of an incident just now is not notified of it: that is held.
    const dueMs = this.reportedMs(live)
      .map((ms) => this.#dueMs(live, ms) ?? ownMs)
      .filter((ms) => overdue || ms > atMs);
    this.#deadlines.set(live, Math.max(Math.min(ownMs, ...dueMs), live.waitsToMs));
  }

  /** The time of the reminder after a notification, ms; null: there is none. */
  #dueMs({ alert, reminders: count }: LiveAlert, toldAtMs: number): number | null {
    return nextReminderMs(alert, { toldAtMs, count }, this.#remind);
  }

  /** The times at which the receivers of a critical alert were last notified of its incidents, or of it by itself, ms. */
  reportedMs(live: LiveAlert): readonly number[] {
    if (live.alert.shadow || live.alert.severity !== "critical") return [];
    const { atMs } = this.#builder();
    const receivers = this.#dispatch.routes.concerned(live);
    return this.#dispatch
      .notifiedMs(live.alert.id, receivers, atMs)
      .map((ms, index) => ms ?? live.calledMs.get(receivers[index]!) ?? Math.max(live.wordMs, live.toldAtMs));
  }

  /** Looks at a reminder that came due: an acknowledgement that lapsed concerns all. @returns null where it is put off */
  due(live: LiveAlert, atMs: number): DueReminder | null {
    // Whoever was notified of its incident within the interval needs no reminder; what is due in one moment is one.
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
