/** What stands below the summary of an event. */
import { expect, test } from "vitest";
import type { Event } from "../../src/domain/event.ts";
import { event, Harness } from "./harness.ts";

const rules = `
rules:
  - name: Filled
    on: notification
    severity: info
    summary: "filled"
`;

test("figures of an event carry their units, and an order buys or sells", () => {
  const harness = new Harness({ rules });
  const detailsOf = (fields: Event["fields"], key: string) => {
    harness.events("notifications", [event({ kind: "notification", key, fields })]);
    return harness.changes.at(-1)!.details.map(([name, value]) => `${name} ${value}`);
  };
  expect(detailsOf({ side: "bid", size: 90, price: 2_990 }, "a")).toEqual([
    "Side buy",
    "Size 90",
    "Price $2,990.00",
  ]);
  expect(detailsOf({ side: "short", notional: 1234.5, collateralChange: -0.5 }, "b")).toEqual([
    "Side short",
    "Notional $1,234.50",
    "Collateral change -$0.50",
  ]);
});
