/**
 * Copies of ends, for people of a rota: an end goes to one person, and a copy to each other who was sent something of its alerts. Pure.
 *
 * A copy tells of no items. Its id follows from the message and the person, so that it is the same one after a crash.
 */
import { createHash } from "node:crypto";
import { titleOf } from "../alerts/reported.ts";
import { personOfReceipt } from "../channels/rota/channel.ts";
import { type Severity, worseOf } from "../domain/alert.ts";
import { type Message, untried } from "../domain/delivery.ts";
import { messageId, messageIdBytes } from "./message-id.ts";

/** The numbers of the alerts whose end a message tells of. */
export function endedIn({ content }: Message): readonly number[] {
  return content.items.flatMap(({ change }) => (change.kind === "ended" ? [change.alertId] : []));
}

/**
 * @param delivered a message that was   @param before the messages of its receiver about the alerts that end in it
 * @returns a copy for each person who was sent one of those, in words that no template has changed
 */
export function endCopies(delivered: Message, before: readonly Message[], nowMs: number): Message[] {
  const reader = personOfReceipt(delivered);
  const ended = new Set(endedIn(delivered));
  const alertsOf = new Map<string, Set<number>>();
  for (const message of before) {
    const person = personOfReceipt(message);
    if (person === null || person === reader) continue;
    const own = alertsOf.get(person) ?? new Set();
    for (const id of message.alertIds) if (ended.has(id)) own.add(id);
    if (own.size > 0) alertsOf.set(person, own);
  }
  return [...alertsOf].map(([person, alertIds]) => copyFor(person, alertIds, delivered, nowMs));
}

function copyFor(person: string, alertIds: ReadonlySet<number>, delivered: Message, nowMs: number): Message {
  const { id, receiver, content } = delivered;
  const items = content.items.flatMap(({ title: _title, body: _body, ...item }) =>
    item.change.kind === "ended" && alertIds.has(item.change.alertId) ? [item] : [],
  );
  const changes = items.map(({ change }) => change);
  const severity = changes.reduce<Severity>((worst, { alert }) => worseOf(worst, alert.severity), "info");
  const { threads, incident, sender } = content;
  return {
    id: messageId(
      createHash("sha256")
        .update(JSON.stringify([id, person]))
        .digest()
        .subarray(0, messageIdBytes),
    ),
    ...{ receiver, severity, itemIds: [], alertIds: [...alertIds] },
    content: {
      ...{ kind: "alert", severity, title: titleOf(changes, null), items, sender },
      resolved: changes.every(({ alert }) => alert.ending === "recovered"),
      ...(threads === undefined ? {} : { threads }),
      ...(incident === undefined ? {} : { incident }),
      ...{ onDuty: person, copy: true },
    },
    ...untried(nowMs, nowMs),
  };
}
