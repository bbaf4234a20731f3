/** Quiet messages overtaken by a later one: their items wait again, or are part of the later message. */

import type { Entry, Waiting } from "../../alerts/pending/waiting.ts";
import type { DeliveryItem, Message } from "../../domain/alerts/delivery.ts";
import type { Store } from "../../domain/ports.ts";
import type { Journal } from "../journal.ts";
import type { OutgoingMessage, OutgoingMessages } from "./outgoing-message.ts";

export class OvertakenMessages {
  readonly #messages: OutgoingMessages;
  readonly #waiting: Waiting;
  readonly #journal: Journal;

  constructor(messages: OutgoingMessages, waiting: Waiting, journal: Journal) {
    this.#messages = messages;
    this.#waiting = waiting;
    this.#journal = journal;
  }

  /**
   * Withdraws a quiet message that was not delivered. @param entries the entries that wait for another message again
   */
  withdraw(outgoing: OutgoingMessage, entries: readonly Entry[]): void {
    const { message } = outgoing;
    const lastDetail = "a later message has its content";
    outgoing.message = { ...message, itemIds: [], status: "dead", nextAttemptMs: null, lastDetail };
    this.#messages.delete(outgoing);
    this.#waiting.putBack(entries);
  }

  /**
   * Ends a quiet message that failed after later ones passed it: repeated items are part of those, the rest waits
   * again.
   */
  async handOver(outgoing: OutgoingMessage): Promise<void> {
    const later = [...outgoing.overtakenBy];
    let rest = outgoing.entries;
    for (const one of later.toReversed()) {
      const { alertIds, id, itemIds, status } = one.message;
      const repeated = rest.filter(({ item }) => alertIds.includes(item.alertId));
      for (const entry of repeated) entry.item = { ...entry.item, status, messageId: id };
      one.entries = [...one.entries, ...repeated];
      one.message = { ...one.message, itemIds: [...itemIds, ...repeated.map(({ item }) => item.id)] };
      rest = rest.filter((entry) => !repeated.includes(entry));
    }
    this.withdraw(outgoing, rest);
    const ended = { message: outgoing.message, entries: rest };
    // In one commit, so that a crash leaves no partial write.
    await Promise.all(
      [...later, ended].map(({ message, entries }) => this.#journal.record({ message, entries })),
    );
  }
}

/** Finds the quiet messages that later ones, which notify of the same alerts, passed before this start. */
export async function passedBefore(
  open: readonly Message[],
  items: readonly DeliveryItem[],
  store: Pick<Store, "deliveryItems" | "messages">,
): Promise<ReadonlyMap<Message, readonly Message[]>> {
  const quiet = open.filter(({ content }) => content.quiet === true);
  const passed = new Map<Message, readonly Message[]>();
  if (quiet.length === 0) return passed;
  const all = await store.deliveryItems({
    alertIds: [...new Set(quiet.flatMap(({ alertIds }) => alertIds))],
  });
  const calling = all.filter(
    (item) => item.quiet !== true && item.messageId !== null && item.status !== "dead",
  );
  for (const message of quiet) {
    const own = items.filter(({ messageId }) => messageId === message.id);
    const ids = own.flatMap(
      ({ alertId, id }) =>
        calling.findLast((one) => one.receiver === message.receiver && one.alertId === alertId && one.id > id)
          ?.messageId ?? [],
    );
    if (ids.length > 0) passed.set(message, await store.messages({ ids: [...new Set(ids)] }));
  }
  return passed;
}
