/** Decides if a notification of the exchange counts as handled, by committed history only. Pure. */
import type { Alert } from "../../domain/alerts/alert.ts";
import type { Acknowledgement, DeliveryItem } from "../../domain/alerts/delivery.ts";
import { unreachable } from "../../domain/unreachable.ts";

/** The records of the alerts concerned. */
export interface Recorded {
  readonly alert: (id: number) => Pick<Alert, "acknowledgedAtMs"> | undefined;
  /** Returns every delivery item of an alert, whatever its status. */
  readonly items: (alertId: number) => readonly Pick<DeliveryItem, "status">[];
}

/**
 * Returns the decision: `never` never, `always` at once, `whenAcknowledged` when a person acknowledged every alert,
 * `whenDelivered` when for each rule every item is delivered or dead and at least one is delivered. An alert that is
 * not recorded, or has no items (held, muted, without a receiver), is not handled.
 */
export function isHandled(
  { word, rules }: Pick<Acknowledgement, "word" | "rules">,
  recorded: Recorded,
): boolean {
  switch (word) {
    case "never":
      return false;
    case "always":
      return true;
    case "whenAcknowledged":
      return forEachRule(rules, (alertIds) =>
        alertIds.every((id) => (recorded.alert(id)?.acknowledgedAtMs ?? null) !== null),
      );
    case "whenDelivered":
      return forEachRule(rules, (alertIds) => {
        const allItems = alertIds.map((id) => (recorded.alert(id) ? recorded.items(id) : []));
        const over = allItems.every((items) => items.length > 0 && items.every(isOver));
        return over && allItems.some((items) => items.some(({ status }) => status === "delivered"));
      });
    default:
      return unreachable(word);
  }
}

const isOver = ({ status }: Pick<DeliveryItem, "status">) => status === "delivered" || status === "dead";

function forEachRule(
  rules: Acknowledgement["rules"],
  holds: (alertIds: readonly number[]) => boolean,
): boolean {
  return rules.length > 0 && rules.every(({ alertIds }) => alertIds.length > 0 && holds(alertIds));
}
