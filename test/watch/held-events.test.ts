/** Events whose rules read figures that are not known at that moment. */
import { expect, test } from "vitest";
import { heldPrefix } from "../../src/watch/held-events.ts";
import { describe, event, Harness, notification, position, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: FilledBig
    on: notification
    when: event.type == "order_filled" && trader.equity > 1000.0
    severity: critical
    summary: "filled with {{ usd(trader.equity) }}"
    acknowledge: whenDelivered
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    summary: "filled"
    acknowledge: whenDelivered
  - name: Liquidated
    on: liquidation
    when: event.role == "liquidatee" && trader.equity > 1000.0
    severity: critical
    summary: "liquidated"
`;
const only = (name: string): string =>
  `rules:\n${rules
    .split("  - name: ")
    .filter((one) => one.startsWith(`${name}\n`))
    .map((one) => `  - name: ${one}`)
    .join("")}`;
const account = [subaccount(5_000, [position(100, 150)])];

function complete(harness: Harness): void {
  harness.config();
  harness.mark(150);
  harness.account(account);
}

/** Those that are about events: not the sources that these tests leave silent. */
function eventsTold(harness: Harness): string[] {
  return harness.changes.filter(({ alert }) => alert.event).map(describe);
}

function keptOf(harness: Harness): number {
  return [...harness.remembered.keep.keys()].filter((name) => name.startsWith(heldPrefix)).length;
}

function again(before: Harness, text: string): Harness {
  return new Harness({ rules: text, remembered: before.remembered, atMs: before.nowMs + 1_000 });
}

test("an event waits for figures that were not seen yet, is judged by them, and is acknowledged no sooner", () => {
  const harness = new Harness({ rules });
  harness.events("notifications", [notification("n1", "order_filled")]);
  expect(harness.told).toEqual(["Filled main/0.0/SOL fired info"]);
  expect(harness.acknowledgements).toEqual([]);
  harness.config();
  harness.mark(150);
  expect(harness.told).toHaveLength(1);
  harness.account(account);
  expect(harness.told).toEqual(["Filled main/0.0/SOL fired info", "FilledBig main/0.0/SOL fired critical"]);
  const [row, ...others] = harness.all.flatMap((one) => one.acknowledgements);
  expect(others).toEqual([]);
  expect(row).toMatchObject({ key: "n1", word: "whenDelivered", status: "waiting" });
  expect(row?.rules.map(({ rule }) => rule)).toEqual(["Filled", "FilledBig"]);
  harness.live(600_000, account, 150);
  expect(eventsTold(harness)).toHaveLength(2);
  expect(keptOf(harness)).toBe(0);
});

test("an event that comes while figures are stale waits for fresh ones, and matches nothing if they say so", () => {
  const harness = new Harness({ rules: only("FilledBig") });
  complete(harness);
  harness.pass(20_000);
  harness.events("notifications", [notification("n1", "order_filled")]);
  expect(harness.acknowledgements).toEqual([]);
  harness.config();
  harness.mark(150);
  harness.account([subaccount(500, [])]);
  expect(harness.told).toEqual([]);
  expect(harness.acknowledgements).toEqual(["n1 never left"]);
});

test("what waits survives a restart", () => {
  const before = new Harness({ rules: only("FilledBig") });
  before.events("notifications", [notification("n1", "order_filled")]);
  const after = again(before, only("FilledBig"));
  after.pass(5_000);
  expect(after.told).toEqual([]);
  complete(after);
  expect(after.owed).toEqual(["chat: FilledBig main/0.0/SOL fired critical"]);
  expect(after.acknowledgements).toEqual(["n1 whenDelivered waiting"]);
  const third = again(after, only("FilledBig"));
  complete(third);
  expect(third.told).toEqual([]);
});

test("a rule that is gone after a restart does not hold its event for ever", () => {
  const before = new Harness({ rules });
  before.events("notifications", [notification("n1", "order_filled")]);
  const after = again(before, only("Filled"));
  after.mark(150);
  expect(after.told).toEqual([]);
  expect(after.acknowledgements).toEqual(["n1 whenDelivered waiting"]);
});

test("while it waits somebody says that the rule is blind, and when patience ends that it was not judged", () => {
  const harness = new Harness({ rules: only("FilledBig") });
  harness.events("notifications", [notification("n1", "order_filled"), notification("n2", "order_filled")]);
  for (let i = 0; i < 90; i++) {
    harness.pass(1_000);
    harness.events("notifications", []);
  }
  expect(harness.told).toEqual(["Blind main fired critical"]);
  expect(harness.changes[0]?.details).toContainEqual(["Rules that cannot judge", "FilledBig"]);
  for (let i = 0; i < 240; i++) {
    harness.pass(1_000);
    harness.events("notifications", []);
  }
  const unjudged = harness.changes.filter(({ alert }) => alert.event);
  expect(unjudged.map((change) => change.alert.eventKey)).toEqual(["notification:n1", "notification:n2"]);
  expect(unjudged[0]?.alert).toMatchObject({ rule: "Blind", severity: "critical" });
  expect(unjudged[0]?.alert.summary).toContain("FilledBig");
  const owed = harness.all.flatMap((one) => one.owed).filter((item) => item.alertId >= unjudged[0]!.alertId);
  expect(new Set(owed.map((item) => item.groupKey)).size).toBe(1);
  expect(owed[0]?.groupKey).not.toBeNull();
  expect(harness.acknowledgements).toEqual(["n1 never left", "n2 never left"]);
  expect(keptOf(harness)).toBe(0);
});

test("a liquidation's notification is acknowledged only after its liquidation was judged", () => {
  const liquidation = event({
    kind: "liquidation",
    key: "1:0:3",
    fields: { role: "liquidatee", kind: "market" },
  });
  const told = notification("n9", "liquidation");
  const notice = { ...told, inbox: { ...told.inbox!, liquidationKey: "1:0:3" } };
  const harness = new Harness({ rules });
  harness.events("notifications", [notice, liquidation]);
  expect(harness.told).toEqual([]);
  expect(harness.acknowledgements).toEqual([]);
  complete(harness);
  expect(harness.told).toEqual(["Liquidated main/0.0/SOL fired critical"]);
  const rows = harness.all.flatMap((one) => one.acknowledgements);
  expect(rows).toMatchObject([{ key: "n9", status: "waiting", rules: [{ rule: "Liquidated" }] }]);
});

test("a position that the account has not is no riddle: judged with the next answer, and told by nobody", () => {
  const text = `
rules:
  - name: FilledHigh
    on: fill
    when: position.leverage > 10.0
    severity: critical
    summary: "filled"
`;
  const harness = new Harness({ rules: text });
  complete(harness);
  harness.events("fills", [event({ kind: "fill", key: "f1", symbol: "BTC", slot: harness.slot })]);
  expect(keptOf(harness)).toBe(1);
  harness.live(5_000, account, 150);
  expect(keptOf(harness)).toBe(0);
  harness.live(600_000, account, 150);
  expect(eventsTold(harness)).toEqual([]);
});

test("a field that an event has not is no reason to wait", () => {
  const text = rules.replace("trader.equity > 1000.0", "event.size > 1.0");
  const harness = new Harness({ rules: text });
  harness.events("notifications", [notification("n1", "order_filled")]);
  expect(harness.acknowledgements).toEqual(["n1 whenDelivered waiting"]);
});

test("a rule that names what is not there loses no event in silence either", () => {
  const text = rules.replace("trader.equity > 1000.0", "wallet.limits.most > 1000.0");
  const harness = new Harness({ rules: text });
  harness.events("notifications", [notification("n1", "order_filled")]);
  harness.live(40_000, account, 150);
  expect(harness.told).toContain("Blind daemon fired critical");
  harness.live(300_000, account, 150);
  expect(eventsTold(harness)).toEqual([
    "Filled main/0.0/SOL fired info",
    "Blind main/0.0/SOL fired critical",
  ]);
});
