/** Alerts about fire drills and inboxes: told once, kept over a restart, ended by what mends them. */
import { expect, test } from "vitest";
import { Harness, mainWallet } from "./harness.ts";

const rules = `rules: []`;
const routing = { receivers: ["chat", "mail"] };

function drilled(harness: Harness, scheduled: boolean, mail: string | null): void {
  const channels = [
    { channel: "chat", failure: null },
    { channel: "mail", failure: mail },
  ];
  harness.see({ kind: "drilled", atMs: harness.nowMs, id: "x", scheduled, channels });
}

test("a scheduled drill that a channel missed is told on the others, once, until the channel takes one", () => {
  const before = new Harness({ rules, routing, channels: ["chat", "mail"] });
  drilled(before, false, "It was given up");
  expect(before.told).toEqual([]);
  drilled(before, true, "It was given up");
  drilled(before, true, "It was given up");
  expect(before.told).toEqual(["DrillFailed daemon fired warning"]);
  expect(before.all.flatMap((one) => one.deliveryItems).map(({ receiver }) => receiver)).toEqual(["chat"]);
  const after = new Harness({ rules, routing, channels: ["chat", "mail"], remembered: before.remembered });
  drilled(after, true, "It was given up");
  expect(after.told).toEqual([]);
  drilled(after, false, null);
  expect(after.told).toEqual(["DrillFailed daemon ended warning recovered"]);
});

function audited(harness: Harness, differences: number, lasting: number): void {
  harness.see({
    ...{ kind: "inboxAudited", atMs: harness.nowMs, wallet: "main", differences },
    lasting: Array.from({ length: lasting }, (_, i) => ({ kind: "notThere" as const, key: `event:${i}` })),
  });
}

test("an inbox that differs in two audits is told once, until one finds no difference", () => {
  const before = new Harness({ rules, routing });
  audited(before, 3, 0);
  expect(before.told).toEqual([]);
  audited(before, 3, 2);
  audited(before, 3, 3);
  expect(before.told).toEqual(["InboxDiffers main fired warning"]);
  const after = new Harness({ rules, routing, remembered: before.remembered });
  // The first audit after a start has none before it to compare with.
  audited(after, 3, 0);
  expect(after.told).toEqual([]);
  audited(after, 0, 0);
  expect(after.told).toEqual(["InboxDiffers main ended warning recovered"]);
});

test.each([
  ["drills run by themselves no more", { drills: false }, ["DrillFailed"], "drill.cron is not set"],
  [
    "inboxes are audited no more",
    { acknowledge: { audit: "off" } },
    ["InboxDiffers"],
    "acknowledge.audit is off",
  ],
  [
    "nobody signs in for a wallet any more",
    { wallets: [{ ...mainWallet, watchOnly: true }] },
    ["InboxDiffers"],
    "main has no key here",
  ],
])("what nothing would end any more ends at the start, with the reason: %s", (_, now, ended, why) => {
  const own = { rules, routing, channels: ["chat", "mail"], drills: true };
  const before = new Harness(own);
  drilled(before, true, "It was given up");
  audited(before, 1, 1);
  const { remembered } = before;
  const same = new Harness({ ...own, remembered, atMs: before.nowMs + 1_000 });
  same.pass(1_000);
  expect(same.told).toEqual([]);
  const after = new Harness({ ...own, ...now, remembered, atMs: before.nowMs + 1_000 });
  after.pass(1_000);
  expect(after.changes.map(({ kind, alert }) => [kind, alert.rule, alert.ending])).toEqual(
    ended.map((rule) => ["ended", rule, "noLongerWatched"]),
  );
  const { alert, details } = after.changes[0]!;
  expect(alert.description).toContain(why);
  const fired = before.changes.find((change) => change.alertId === alert.id)!;
  expect([alert.summary, details]).toEqual([fired.alert.summary, fired.details]);
});

test("a broken channel is not told of itself after a restart either", () => {
  const own = {
    rules,
    routing: { receivers: ["chat", "mail"] },
    remind: { critical: { every: "1m" } },
  };
  const before = new Harness(own);
  before.see({ kind: "channel", atMs: before.nowMs, channel: "mail", working: false, detail: "401" });
  const { remembered } = before;
  const after = new Harness({ ...own, remembered, atMs: before.nowMs + 1_000 });
  after.pass(120_000);
  const owed = [before, after].map((one) => one.all.flatMap((changes) => changes.deliveryItems));
  expect(after.told).toContain("ChannelBroken daemon reminder critical");
  expect(owed.map((items) => [...new Set(items.map(({ receiver }) => receiver))])).toEqual([
    ["chat"],
    ["chat"],
  ]);
});

test("a drill owes each channel that it names one marked alert, and decides nothing else", () => {
  const harness = new Harness({ rules, routing: { receivers: ["chat"] } });
  harness.see({ kind: "drill", atMs: harness.nowMs, id: "x", by: "ann", receivers: ["mail", "pager"] });
  expect(
    harness.all
      .flatMap((one) => one.deliveryItems)
      .map(({ receiver, severity, groupKey }) => [receiver, severity, groupKey]),
  ).toEqual([
    ["mail", "critical", "drill/x"],
    ["pager", "critical", "drill/x"],
  ]);
  expect(harness.told).toEqual(["FireDrill drill fired critical"]);
});
