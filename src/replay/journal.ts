/** The decisions of a replay: alerts with their changes, and the messages that report them. */
import type { Alert, AlertChange } from "../domain/alerts/alert.ts";
import type { Event } from "../domain/event.ts";
import type { Changes } from "../domain/stored/changes.ts";
import { Delivery, type DeliveryOptions, type ReplayedMessage } from "./delivery.ts";

export class Journal {
  readonly alerts = new Map<number, Alert>();
  readonly changes: AlertChange[] = [];
  /** In the order in which they leave. */
  readonly messages: ReplayedMessage[] = [];
  readonly events: Event[] = [];
  readonly delivery: Delivery;
  readonly #changes = new Map<number, AlertChange>();
  readonly #edits: (receiver: string) => boolean;

  constructor(options: Omit<DeliveryOptions, "onMessage">) {
    this.#edits = (receiver) => options.capacities?.get(receiver)?.edits === true;
    this.delivery = new Delivery({ ...options, onMessage: (message) => void this.messages.push(message) });
  }

  /** The messages without those that edit an earlier one. */
  get sent(): readonly ReplayedMessage[] {
    return this.messages.filter(({ quiet, receiver }) => !quiet || !this.#edits(receiver));
  }

  take(changes: Changes, atMs: number): void {
    for (const alert of changes.alerts) this.alerts.set(alert.id, alert);
    for (const change of changes.alertChanges) {
      this.changes.push(change);
      this.#changes.set(change.id, change);
    }
    for (const event of changes.events) this.events.push(event);
    const items = changes.deliveryItems.flatMap((item) => {
      const change = this.#changes.get(item.changeId);
      return change === undefined ? [] : [{ item, change }];
    });
    this.delivery.addPending(items, atMs);
  }
}
