/** The types of the exchange's notifications, and those that are known here. */
import { type Event, unknownType } from "../../domain/event.ts";

const knownTypes: ReadonlySet<string> = new Set([
  "order_filled",
  "liquidation",
  "backstop_liquidation",
  "adl",
  "risk_engine_cancel_order",
  "stop_loss_executed",
  "conditional_order_executed",
  "stop_loss_order_placed",
  "spot_collateral_liquidation",
]);

/** The notification's type as received, or the kind of the event. */
export function typeOf(event: Event): string {
  if (event.inbox === null) return event.kind;
  const { notificationType } = event.inbox;
  return isUnknownType(event) ? unknownType + notificationType : notificationType;
}

export function isUnknownType(event: Event): boolean {
  return event.inbox !== null && !knownTypes.has(event.inbox.notificationType);
}
