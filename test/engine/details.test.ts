/** The lines below the summary of an event. */
import { expect, test } from "vitest";
import type { Event } from "../../src/domain/event.ts";
import { event, Harness, marketConfig, position, subaccount } from "./harness.ts";

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
    "Size 90 SOL",
    "Price $2,990.00",
  ]);
  expect(detailsOf({ side: "short", notional: 1234.5, collateralChange: -0.5 }, "b")).toEqual([
    "Side short",
    "Notional $1,234.50",
    "Collateral change -$0.50",
  ]);
});

test("prices have the digits of their market, in what a rule prints and below it", () => {
  const harness = new Harness({
    rules: `
rules:
  - name: Big
    scope: position
    when: position.notional > 0.0
    severity: info
    summary: "{{ price(position.markPrice) }}, {{ position.entryPrice }}"
  - name: Filled
    on: notification
    severity: info
    summary: "at {{ price(event.price) }}"
`,
  });
  // Lots of 0.01, and a step of 1 USD.
  harness.config(marketConfig("SOL", { tickSize: 10_000 }));
  harness.mark(151.35);
  harness.account([subaccount(1_000, [position(1, 140.6)])]);
  harness.events("notifications", [
    event({ kind: "notification", key: "a", symbol: "SOL", fields: { price: 150.9 } }),
  ]);
  expect(harness.changes.map(({ alert }) => alert.summary)).toEqual(["$151, $141", "at $151"]);
  expect(harness.changes[0]!.details).toContainEqual(["Mark price", "$151"]);
  expect(harness.changes[1]!.details).toContainEqual(["Price", "$151"]);
});

test("a margin ratio stands beside its limit, and a tier says what the exchange may do", () => {
  const rowsOf = (collateral: number) => {
    const h = new Harness({
      rules:
        "rules:\n  - { name: Used, scope: trader, when: trader.marginRatio > 0.0, severity: info, summary: used }",
    });
    h.config();
    h.mark(100);
    h.account([subaccount(collateral, [position(100, 100)])]);
    return Object.fromEntries(h.changes[0]!.details);
  };
  expect(rowsOf(2_000)["Margin ratio"]).toBe("16.7% (liquidation at 100%)");
  const tiers = [2_000, 600, 400, 320, 100].map((collateral) => rowsOf(collateral)["Exchange's risk tier"]);
  expect(tiers).toEqual([
    undefined,
    "at risk (it may refuse what increases risk, and withdrawals)",
    "cancellable (it may cancel orders)",
    "liquidatable (it may liquidate positions)",
    "backstop liquidatable (its backstop may take positions over)",
  ]);
});

test("a distance is stated in daily moves, too, where the market's volatility is known", () => {
  const near = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.9, severity: info, summary: near }
`;
  const distanceWith = (dailyVolatility: number | null | undefined, ageMs = 0) => {
    const h = new Harness({ rules: near });
    h.config();
    const external = { kind: "external", atMs: h.nowMs, symbol: "SOL", externalPriceUsd: 150 } as const;
    if (dailyVolatility !== undefined) h.see({ ...external, dailyVolatility });
    h.nowMs += ageMs;
    h.config();
    h.mark(150);
    // Liquidatable at 141.5 or so.
    h.account([subaccount(1_000, [position(80, 150)])]);
    return h.changes[0]!.details.find(([name]) => name === "Distance")?.[1];
  };
  const share = distanceWith(undefined);
  expect(share).toMatch(/^\d\.\d\d%$/);
  const distance = Number(share!.slice(0, -1)) / 100;
  expect(distanceWith(null)).toBe(share);
  expect(distanceWith(distance * 2)).toBe(`${share}, 0.5 daily moves`);
  expect(distanceWith(distance)).toBe(`${share}, 1 daily move`);
  // A market that stood still lately is not taken to stand still.
  expect(distanceWith(0)).toBe(`${share}, ${Number((distance * 100).toPrecision(2))} daily moves`);
  expect(distanceWith(distance, 3_600_000)).toBe(share);
});
