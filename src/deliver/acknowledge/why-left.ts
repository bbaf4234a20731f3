/**
 * The reason why a notification is not acknowledged, for people: held, muted, only in shadow, without receiver, matched by
 * no rule, …
 */
import type { Acknowledgement, DeliveryItem } from "../../domain/alerts/delivery.ts";
import type { Event } from "../../domain/event.ts";

export interface LeftParts {
  /** Every delivery item, by alert. */
  readonly items: ReadonlyMap<number, readonly Pick<DeliveryItem, "status" | "receiver">[]>;
  /** The reason why an alert's notification is held now. */
  readonly held: ReadonlyMap<number, string>;
  /** Rules in shadow mode, by the event (`kind:key`) that they match. */
  readonly shadow: ReadonlyMap<string | null, string>;
}

export function whyLeft(event: Event, row: Acknowledgement | null, parts: LeftParts): string {
  if (row === null) return event.backfilled ? "from before the first start" : "not judged yet";
  const ids = row.rules.flatMap(({ alertIds }) => alertIds);
  switch (row.status) {
    case "confirmed":
      return "acknowledged";
    case "due":
      return "is being sent to the exchange";
    case "left": {
      const rule = parts.shadow.get(`notification:${row.key}`);
      return rule === undefined ? row.reason : `${row.reason}; only in shadow mode: ${rule}`;
    }
    case "waiting": {
      const named = ids.map((id) => `#${id}`).join(", ");
      if (row.word === "whenAcknowledged") return `waits until a person acknowledges alert ${named}`;
      return [...new Set(ids.flatMap((id) => whyWaits(id, parts)))].join("; ") || "is being judged";
    }
  }
}

function whyWaits(id: number, { items: itemsOf, held }: LeftParts): readonly string[] {
  const hold = held.get(id);
  if (hold !== undefined) return [`alert #${id} is held: ${hold}`];
  const items = itemsOf.get(id) ?? [];
  if (items.length === 0) return [`alert #${id} has no receiver`];
  const of = (...states: readonly DeliveryItem["status"][]) =>
    items.filter(({ status }) => states.includes(status)).map(({ receiver }) => receiver);
  const open = of("owed", "sealed");
  if (open.length > 0) return [`alert #${id} waits for ${open.join(", ")}`];
  return of("delivered").length > 0 ? [] : [`alert #${id} was given up by ${of("dead").join(", ")}`];
}
