/** Events whose rules read figures that are not known at that moment. */
import { expect, test } from "vitest";
import type { Event } from "../../src/domain/event.ts";
import { keptEvent } from "../../src/evaluate/events/held-events.ts";
import type { Env, RuleSet } from "../../src/rules/index.ts";
import {
  describe,
  event,
  Harness,
  marketConfig,
  notification,
  position,
  prices,
  rulesOf,
  subaccount,
} from "./harness.ts";

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
  return keptEvent.keys(harness.remembered.keep).length;
}

function again(before: Harness, text: string): Harness {
  return before.restarted({ rules: text });
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
  const owed = harness.all
    .flatMap((one) => one.deliveryItems)
    .filter((item) => item.alertId >= unjudged[0]!.alertId);
  expect(new Set(owed.map((item) => item.groupKey)).size).toBe(1);
  expect(owed[0]?.groupKey).not.toBeNull();
  expect(harness.acknowledgements).toEqual(["n1 never left", "n2 never left"]);
  expect(keptOf(harness)).toBe(0);
});

/** The events of one page: pairs of a notification and the liquidation that it tells of, the notification first. */
function pairs(count: number): Event[] {
  return Array.from({ length: count }, (_, index) => [notice(index), liquidationOf(index)]).flat();
}

function liquidationOf(index: number): Event {
  return event({
    kind: "liquidation",
    key: `1:0:${index}`,
    fields: { role: "liquidatee", kind: "market" },
  });
}

function notice(index: number): Event {
  const told = notification(`n${index}`, "liquidation");
  return { ...told, inbox: { ...told.inbox!, liquidationKey: `1:0:${index}` } };
}

function acknowledgedBy(harness: Harness): string[] {
  return harness.all
    .flatMap((one) => one.acknowledgements)
    .map((row) => {
      const by = row.rules.map(({ rule, alertIds }) => `${rule}×${alertIds.length}`).join(" ");
      return `${row.key} ${row.status} ${by}: ${row.reason}`;
    })
    .sort();
}

test("a liquidation's notification is acknowledged only after its liquidation was judged", () => {
  const harness = new Harness({ rules });
  harness.events("notifications", pairs(7));
  expect(harness.told).toEqual([]);
  expect(harness.acknowledgements).toEqual([]);
  complete(harness);
  expect(harness.told).toEqual(Array(7).fill("Liquidated main/0.0/SOL fired critical"));
  expect(acknowledgedBy(harness)).toEqual(
    [0, 1, 2, 3, 4, 5, 6].map((index) => `n${index} waiting Liquidated×1: `),
  );
  expect(keptOf(harness)).toBe(0);
});

const noticing = `${rules}  - name: Noticed
    on: notification
    when: event.type == "liquidation" && trader.equity > 1000.0
    severity: info
    summary: "noticed"
    acknowledge: always
`;

const unjudged = [0, 1, 2, 3, 4, 5, 6].map(
  (index) => `n${index} left Blind×1: what its rules read was not known`,
);

test("whoever is told that a liquidation was not judged is told before its notification is done with", () => {
  const harness = new Harness({ rules, acknowledge: { unmatched: "always" } });
  harness.events("notifications", pairs(7));
  harness.pass(320_000);
  expect(acknowledgedBy(harness)).toEqual(unjudged);
  expect(eventsTold(harness)).toEqual(Array(7).fill("Blind main/0.0/SOL fired critical"));
  expect(keptOf(harness)).toBe(0);
});

test("so it is after a restart", () => {
  const before = new Harness({ rules, acknowledge: { unmatched: "always" } });
  before.events("notifications", pairs(7));
  const after = again(before, rules);
  after.pass(320_000);
  expect(acknowledgedBy(after)).toEqual(unjudged);
  expect(keptOf(after)).toBe(0);
});

test("a notification whose own rules were not judged either says so, and waits for its liquidation none the less", () => {
  const harness = new Harness({ rules: noticing, acknowledge: { unmatched: "always" } });
  harness.events("notifications", [notice(0)]);
  harness.pass(200_000);
  harness.events("liquidations", [liquidationOf(0)]);
  harness.pass(150_000);
  expect(eventsTold(harness)).toEqual(["Blind main/0.0/SOL fired warning"]);
  expect(harness.acknowledgements).toEqual([]);
  const after = again(harness, noticing);
  after.pass(10_000);
  expect(after.acknowledgements).toEqual([]);
  complete(after);
  expect(eventsTold(after)).toEqual(["Liquidated main/0.0/SOL fired critical"]);
  expect(acknowledgedBy(after)).toEqual(["n0 left Blind×1 Liquidated×1: what its rules read was not known"]);
  expect(keptOf(after)).toBe(0);
});

test("a liquidation that is judged while its notification is held is what the notification tells of", () => {
  const text = rules.replace('when: event.type == "order_filled" &&', "when:");
  const harness = new Harness({ rules: text });
  harness.events("notifications", [notice(0)]);
  harness.pass(100_000);
  harness.events("liquidations", [liquidationOf(0)]);
  harness.pass(100_000);
  complete(harness);
  expect(acknowledgedBy(harness)).toEqual(["n0 waiting FilledBig×1 Liquidated×1: "]);
});

test("what is given up because too many wait takes its liquidation along", () => {
  const harness = new Harness({ rules: noticing, acknowledge: { unmatched: "always" } });
  const indices = Array.from({ length: 502 }, (_, index) => index);
  harness.events("notifications", indices.map(notice));
  expect(harness.acknowledgements).toEqual([]);
  harness.events("liquidations", indices.map(liquidationOf));
  expect(keptOf(harness)).toBeLessThanOrEqual(1_000);
  expect(acknowledgedBy(harness)).toEqual([
    "n0 left Blind×2: what its rules read was not known",
    "n1 left Blind×2: what its rules read was not known",
  ]);
});

test("a notification waits for its own rules when its liquidation was judged already", () => {
  const text = noticing.replace(
    "trader.equity > 1000.0\n    severity: info",
    "exchange.active\n    severity: info",
  );
  const harness = new Harness({ rules: text });
  harness.events("notifications", pairs(1));
  complete(harness);
  expect(harness.told).toEqual(["Liquidated main/0.0/SOL fired critical"]);
  expect(harness.acknowledgements).toEqual([]);
  const { nowMs: atMs } = harness;
  harness.see({ kind: "exchangeStatus", atMs, active: true, gated: false, withdrawalsAvailable: true });
  expect(acknowledgedBy(harness)).toEqual(["n0 waiting Noticed×1 Liquidated×1: "]);
});

test("patience goes on across restarts: a loop of crashes does not keep anybody from hearing", () => {
  let harness = new Harness({ rules, acknowledge: { unmatched: "always" } });
  harness.events("notifications", pairs(2));
  const sinceMs = harness.nowMs;
  harness.pass(240_000);
  expect(eventsTold(harness)).toEqual([]);
  harness = again(harness, rules);
  harness.pass(60_000);
  expect(harness.changes.filter(({ alert }) => alert.event).map(({ atMs }) => atMs - sinceMs)).toEqual([
    300_000, 300_000,
  ]);
  expect(acknowledgedBy(harness)).toEqual(unjudged.slice(0, 2));
});

test("after a long time without a daemon what waits has half a minute for its figures", () => {
  const before = new Harness({ rules: only("FilledBig") });
  before.events("notifications", [notification("n1", "order_filled")]);
  before.nowMs += 3_600_000;
  const late = again(before, only("FilledBig"));
  late.pass(29_000);
  expect(eventsTold(late)).toEqual([]);
  complete(late);
  expect(eventsTold(late)).toEqual(["FilledBig main/0.0/SOL fired critical"]);
  const later = again(before, only("FilledBig"));
  later.pass(30_000);
  expect(eventsTold(later)).toEqual(["Blind main/0.0/SOL fired critical"]);
});

/** Counts how often the conditions of these rules are looked at. */
function counted(ruleSet: RuleSet): { readonly ruleSet: RuleSet; looks: number } {
  const counting = {
    looks: 0,
    ruleSet: {
      ...ruleSet,
      events: ruleSet.events.map((rule) => ({
        ...rule,
        when: {
          ...rule.when,
          run: (env: Env) => {
            counting.looks++;
            return rule.when.run(env);
          },
        },
      })),
    },
  };
  return counting;
}

test("what waits is looked at again when something that its rule reads became known, and not with each price", () => {
  const counting = counted(rulesOf(only("FilledBig")));
  const harness = new Harness({ rules: counting.ruleSet });
  harness.events(
    "notifications",
    Array.from({ length: 50 }, (_, index) => notification(`n${index}`, "order_filled")),
  );
  harness.config();
  harness.mark(150);
  const before = counting.looks;
  for (let i = 0; i < 100; i++) {
    const { nowMs: atMs } = harness;
    harness.see({ kind: "prices", atMs, markets: [prices(150 + i / 10)], live: true });
    harness.events("fills", []);
    harness.account([subaccount(5_000, [])], "other");
  }
  expect(counting.looks - before).toBe(0);
  harness.account(account);
  expect(counting.looks - before).toBe(50);
  expect(eventsTold(harness)).toHaveLength(50);
});

test("each of the figures that a rule reads is worth another look, whichever comes first", () => {
  const text = only("FilledBig").replace(
    "trader.equity > 1000.0",
    '(market("BTC").markPrice > 100.0 || trader.equity > 1e9 || exchange.gated)',
  );
  for (const cure of ["price", "status"]) {
    const harness = new Harness({ rules: text });
    harness.events("notifications", [notification("n1", "order_filled")]);
    harness.mark(150);
    expect(eventsTold(harness)).toEqual([]);
    const { nowMs: atMs } = harness;
    if (cure === "price") harness.mark(prices(150, "BTC"));
    else harness.see({ kind: "exchangeStatus", atMs, active: true, gated: true, withdrawalsAvailable: true });
    expect(eventsTold(harness)).toEqual(["FilledBig main/0.0/SOL fired critical"]);
  }
});

test("a figure that lacks the mark of another market comes with that mark", () => {
  const harness = new Harness({ rules: only("FilledBig") });
  harness.config(marketConfig(), marketConfig("BTC"));
  harness.mark(150);
  harness.account([subaccount(5_000, [position(1, 150), position(1, 150, "BTC")])]);
  harness.events("notifications", [notification("n1", "order_filled")]);
  expect(keptOf(harness)).toBe(1);
  const { nowMs: atMs } = harness;
  harness.see({ kind: "prices", atMs, markets: [prices(150, "BTC")], live: true });
  expect(eventsTold(harness)).toEqual(["FilledBig main/0.0/SOL fired critical"]);
});

test("a figure that was too old is looked at again when it is fresh, time after time", () => {
  const text = only("FilledBig").replace(
    "trader.equity > 1000.0",
    "trader.equity > 1000.0 && exchange.gated",
  );
  const harness = new Harness({ rules: text });
  complete(harness);
  harness.pass(20_000);
  harness.events("notifications", [notification("n1", "order_filled")]);
  complete(harness);
  harness.pass(40_000);
  const { nowMs: atMs } = harness;
  harness.see({ kind: "exchangeStatus", atMs, active: true, gated: true, withdrawalsAvailable: true });
  expect(keptOf(harness)).toBe(1);
  complete(harness);
  expect(eventsTold(harness)).toEqual(["FilledBig main/0.0/SOL fired critical"]);
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
