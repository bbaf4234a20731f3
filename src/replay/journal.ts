/**
 * The decisions of a replay, in the words of its reports: alerts with their steps, and the messages that they would have
 * been.
 */
import type { Alert, AlertChange } from "../domain/alert.ts";
import type { Changes } from "../domain/changes.ts";
import type { Event } from "../domain/event.ts";

/** One message to one receiver: what is owed under one key at once leaves together. */
export interface ReplayedMessage {
  readonly atMs: number;
  readonly receiver: string;
  readonly changes: readonly AlertChange[];
  readonly groupKey: string | null;
  /** The time at which its group leaves, ms: `atMs` where it waits for none. */
  readonly leavesAtMs: number;
}

export class Journal {
  readonly alerts = new Map<number, Alert>();
  readonly changes: AlertChange[] = [];
  readonly messages: ReplayedMessage[] = [];
  readonly events: Event[] = [];
  readonly #changes = new Map<number, AlertChange>();

  take(changes: Changes, atMs: number): void {
    for (const alert of changes.alerts) this.alerts.set(alert.id, alert);
    for (const change of changes.alertChanges) {
      this.changes.push(change);
      this.#changes.set(change.id, change);
    }
    for (const event of changes.events) this.events.push(event);
    const together = new Map<string, AlertChange[]>();
    for (const { receiver, groupKey, changeId, releaseAtMs } of changes.owed) {
      const change = this.#changes.get(changeId);
      if (!change) continue;
      const group = groupKey === null ? undefined : together.get(`${receiver}\n${groupKey}`);
      if (group) {
        group.push(change);
        continue;
      }
      const told = [change];
      if (groupKey !== null) together.set(`${receiver}\n${groupKey}`, told);
      this.messages.push({ atMs, receiver, changes: told, groupKey, leavesAtMs: releaseAtMs ?? atMs });
    }
  }

  /** The steps of one alert, oldest first. */
  stepsOf(alertId: number): readonly AlertChange[] {
    return this.changes.filter((change) => change.alertId === alertId);
  }
}
