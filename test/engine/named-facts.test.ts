/** The facts that channel templates name are noted down with each change of an alert, as it was then. */
import { expect, test } from "vitest";
import { event, Harness, type HarnessOptions, position, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Big
    scope: position
    when: position.notional > 120.0
    severity: warning
    keepFiringFor: 0s
    summary: "big"
  - name: Filled
    on: notification
    severity: info
    summary: "filled"
`;
const named = [
  { owner: "position", field: "markPrice" },
  { owner: "wallet", field: "name" },
  { owner: "market", field: "tickSize" },
  { owner: "event", field: "price" },
  { owner: "market", field: "bid" },
];

test("of positions and of events; an ending has what was last seen", () => {
  const harness = Harness.seeing({ rules, named }, 151.35, [subaccount(1_000, [position(1, 140)])]);
  harness.events("notifications", [
    event({ kind: "notification", key: "a", symbol: "SOL", fields: { price: 150 } }),
  ]);
  const { alert } = harness.changes[0]!;
  harness.see({ kind: "acknowledged", atMs: harness.nowMs, alert, by: "me", comment: "" });
  harness.pass(1_000);
  harness.mark(110);
  harness.account([subaccount(1_000, [position(1, 140)])]);
  const of = (markPrice: number, more: object = {}) => ({
    position: { markPrice },
    wallet: { name: "main" },
    market: { tickSize: 0.01 },
    ...more,
  });
  expect(harness.changes.map(({ alert: { rule }, kind, facts }) => [rule, kind, facts])).toEqual([
    ["Big", "fired", of(151.35)],
    ["Filled", "fired", of(151.35, { event: { price: 150 } })],
    ["Big", "acknowledged", of(151.35)],
    ["Big", "ended", of(110)],
  ]);
});

test("nothing is, where no template names anything", () => {
  const harness = Harness.seeing({ rules }, 151.35, [subaccount(1_000, [position(1, 140)])]);
  expect(harness.changes).toHaveLength(1);
  expect(harness.changes[0]).not.toHaveProperty("facts");
});

test("a reminder after a restart tells the last that is known, while nothing new is", () => {
  const before = Harness.seeing({ rules, named }, 151.35, [subaccount(1_000, [position(1, 140)])]);
  const after = before.restarted({ rules, named });
  after.pass(2 * 3_600_000);
  const reminder = after.changes.find(({ kind, alert }) => kind === "reminder" && alert.rule === "Big");
  expect(reminder?.facts).toEqual(before.changes[0]!.facts);
});

test("what is read only where somebody needs it is read for what templates name, of markets that are held", () => {
  const needs = (over: Partial<HarnessOptions>) => {
    const harness = Harness.seeing({ rules, ...over }, 150, [subaccount(10_000, [position(1, 150)])]);
    const { watch } = harness;
    return [watch.wantedMarkets("orderbook"), watch.wantedMarkets("candles"), watch.needs];
  };
  const nothing = {
    ...{ lookBackMs: 0, orders: false, orderAges: false, profit: false },
    ...{ midnight: false, equityCheck: false },
  };
  expect(needs({})).toEqual([new Set(), new Set(), nothing]);
  const pnl = { owner: "wallet", field: "pnlToday" };
  expect(needs({ named: [...named, pnl] })).toEqual([
    new Set(["SOL"]),
    new Set(),
    { ...nothing, midnight: true },
  ]);
});
