/** Groups leave together, and a storm is readable: groups, folding, what piled up while nothing could leave. */
import { expect, test } from "vitest";
import { plainLines } from "../../src/channels/message/lines.ts";
import { render } from "../../src/channels/message.ts";
import type { Severity } from "../../src/domain/alerts/alert.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { FakeClock } from "../support/clock.ts";
import { httpChannel, rig, together } from "./support.ts";

const second = 1_000;
const minute = 60_000;

test("a group waits for its time, then leaves as one message; another group is another", async () => {
  await using one = await rig();
  const { alerts } = one;
  const of = (group: string, waitMs: number) =>
    alerts.step("fired", alerts.alert({ severity: "warning" }), ["chat"], group, waitMs);
  await one.owe(of("a", second));
  await one.clock.advance(500);
  await one.owe(of("a", 500), of("b", 2 * second));
  expect(one.far.arrivals).toEqual([]);
  await one.clock.advance(501);
  expect(one.far.arrivals.map(({ items }) => items)).toEqual([[1, 2]]);
  await one.clock.advance(2 * second);
  expect(one.far.arrivals.map(({ items }) => items)).toEqual([[1, 2], [3]]);
});

test("time for which a group waits by wish is no lateness: nothing is folded, and nobody is told of a delay", async () => {
  await using one = await rig();
  const { alerts } = one;
  const of = (group: string, severity: Severity) =>
    alerts.step("fired", alerts.alert({ severity }), ["chat"], group, 10 * minute);
  await one.owe(of("a", "warning"), of("b", "warning"), of("c", "info"));
  await one.restart();
  await one.clock.advance(9 * minute);
  expect(one.outbox.figures()).toMatchObject({ undelivered: 3, oldestUndeliveredMs: 0 });
  await one.clock.advance(minute + second);
  expect(one.far.accepted.map(({ items, late }) => [items, late])).toEqual([
    [[1], null],
    [[2], null],
    [[3], null],
  ]);
  // What waits on after that is late.
  one.far.answer = () => ({ status: 503 });
  await one.owe(of("a", "warning"));
  await one.clock.advance(13 * minute);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(10 * minute);
  expect(one.far.accepted.at(-1)?.late).toMatchObject({ because: "status 503" });
  expect(one.far.accepted.at(-1)?.late?.heldMs).toBeLessThan(15 * minute);
});

test("a critical reminder that waits for its group is not stuck: no dead man's switch goes off for it", async () => {
  await using one = await rig();
  const { alerts, clock } = one;
  await one.owe(alerts.step("reminder", alerts.alert(), ["chat"], "a", 10 * minute));
  await clock.advance(9 * minute);
  const { waitingSinceMs } = one.outbox.critical();
  expect(clock.nowMs() - waitingSinceMs!).toBeLessThan(0);
  one.far.answer = () => ({ status: 503 });
  await clock.advance(3 * minute);
  expect(clock.nowMs() - one.outbox.critical().waitingSinceMs!).toBe(2 * minute);
});

/** Wall time passes between any two readings of it, as on a real machine; timers keep to the time that tests move. */
class CreepingClock extends FakeClock {
  creeps = false;
  #readings = 0;
  override nowMs(): number {
    return super.nowMs() + (this.creeps ? ++this.#readings : this.#readings);
  }
}

test("a group whose time comes while it is looked at is not forgotten", async () => {
  const clock = new CreepingClock("2026-11-21T03:41:18Z");
  await using one = await rig({ clock });
  const { alerts } = one;
  // Each time comes one reading later than the one before: whichever reading it falls on, its message leaves.
  for (let waitMs = 1; waitMs <= 12; waitMs++) {
    clock.creeps = false;
    const alert = alerts.alert({ severity: "info" });
    const owed = alerts.step("fired", alert, ["chat"], `group ${waitMs}`, waitMs);
    clock.creeps = true;
    await one.owe(owed);
    clock.creeps = false;
    await clock.advance(minute);
    expect(one.far.arrivals, `due after ${waitMs} readings`).toHaveLength(waitMs);
  }
});

test("what is urgent leaves at once and takes along what waits of its group", async () => {
  await using one = await rig();
  const { alerts } = one;
  await one.owe(alerts.step("fired", alerts.alert({ severity: "warning" }), ["chat"], "a", 5 * second));
  await one.clock.settle();
  expect(one.far.arrivals).toEqual([]);
  await one.owe(alerts.step("fired", alerts.alert(), ["chat"], "a", 0));
  await one.clock.settle();
  expect(one.far.arrivals.map(({ items }) => items)).toEqual([[1, 2]]);
});

test("a restart keeps a group's time, and stopping waits for none", async () => {
  await using one = await rig();
  const { alerts } = one;
  await one.owe(alerts.step("fired", alerts.alert({ severity: "info" }), ["chat"], "a", 5 * second));
  await one.restart();
  await one.clock.advance(4 * second);
  expect(one.far.arrivals).toEqual([]);
  await one.outbox.stop();
  expect(one.far.arrivals.map(({ items }) => items)).toEqual([[1]]);
});

test("a message says what else fires in its group, also after a restart, and nothing of what ended", async () => {
  await using one = await rig();
  const { alerts } = one;
  const [first, second_, third] = [1, 2, 3].map(() => alerts.alert({ severity: "warning" }));
  const tell = async (kind: "fired" | "ended", alert: typeof first) => {
    await one.owe(alerts.step(kind, alert!, ["chat"], "a", 0));
    await one.clock.settle();
  };
  await tell("fired", first);
  await tell("fired", second_);
  await tell("ended", first);
  await one.restart();
  await tell("fired", third);
  const messages = [...(await one.store.messages({}))].sort((a, b) => a.itemIds[0]! - b.itemIds[0]!);
  const standing = messages.map((message) => render(message).standing);
  expect(standing).toEqual([
    [],
    ["Also firing, warning: alert 1 (#1)"],
    ["Also firing, warning: alert 2 (#2)"],
    ["Also firing, warning: alert 2 (#2)"],
  ]);
  expect(plainLines(render(messages.at(-1)!))).toContain("Also firing, warning: alert 2 (#2)");
});

test("what else fires is listed as it stands when the message is made, or with the time of its figures", async () => {
  const clock = new FakeClock("2026-11-21T03:41:18Z");
  const present = (id: number) =>
    id === 3
      ? null
      : {
          severity: "critical" as const,
          summary: `alert ${id} is worse`,
          textAtMs: clock.nowMs() - (id === 2 ? 90 * second : second),
          ...(id === 1 ? { gone: true as const } : {}),
        };
  await using one = await rig({ clock, present });
  const { alerts } = one;
  for (const _ of [1, 2, 3, 4]) {
    const alert = alerts.alert({ severity: "warning" });
    await one.owe(alerts.step("fired", alert, ["chat"], "a", 0));
    await one.clock.settle();
  }
  const [message] = (await one.store.messages({})).filter(({ alertIds }) => alertIds.includes(4));
  expect(render(message!).standing).toEqual([
    "Also firing, critical: alert 2 is worse, as of 03:39:48 UTC (#2)",
    "Ending, was critical: alert 1 is worse (#1)",
  ]);
});

test("what waited quietly and holds no longer leads no message, and asks for nothing", async () => {
  const clock = new FakeClock("2026-11-21T03:41:18Z");
  const present = (id: number) => ({
    ...{ severity: "critical" as const, summary: `alert ${id}`, textAtMs: clock.nowMs() },
    ...(id === 1 ? { gone: true as const } : {}),
  });
  await using one = await rig({ clock, present });
  const { alerts } = one;
  const incident = "incident/{}/1";
  const quiet = alerts.step("fired", alerts.alert(), ["chat"], incident, 300 * second);
  await one.owe(
    changes({
      ...quiet,
      deliveryItems: quiet.deliveryItems.map((item) => ({ ...item, quiet: true as const })),
    }),
  );
  await clock.advance(60 * second);
  await one.owe(alerts.step("fired", alerts.alert({ severity: "critical" }), ["chat"], incident));
  await clock.settle();
  const [message] = await one.store.messages({});
  const { blocks, headline } = render(message!);
  expect(headline).toMatch(/^FIRING critical: .* \(\+1 more alert\)$/);
  expect(blocks.map(({ alertId, lead, tone, now }) => [alertId, lead, tone, now.length])).toEqual([
    [2, "FIRING critical", "critical", 1],
    [1, "No longer holds (was critical)", "over", 0],
  ]);
});

test("a message with many events begins with counts by rule and type, and names one of each, what nobody foresaw and announcements first", async () => {
  await using one = await rig();
  const { alerts } = one;
  const owe = (parts: { rule: string; eventType: string; summary: string; eventKey?: string }) =>
    alerts.step(
      "fired",
      alerts.alert({ ...{ severity: "info", state: "ended", event: true }, ...parts }),
      ["chat"],
      "a",
      second,
    );
  const fill = (n: number) => owe({ rule: "All", eventType: "order_filled", summary: `fill ${n}` });
  await one.owe(
    ...Array.from({ length: 30 }, (_, n) => fill(n)),
    owe({ rule: "All", eventType: "order_cancelled", summary: "cancelled" }),
    ...Array.from({ length: 12 }, (_, n) =>
      owe({ rule: "UnknownNotification", eventType: "unknown type x", summary: `unknown ${n}` }),
    ),
    owe({ rule: "News", eventType: "news", summary: "news", eventKey: "notification:notification:admin:7" }),
  );
  await one.clock.advance(2 * second);
  const [message] = await one.store.messages({});
  const rendering = render(message!);
  expect(rendering.notes[0]).toBe(
    "All in all: 30 × All, order_filled (main), 12 × UnknownNotification (main), 1 × All, order_cancelled (main), 1 × News (main).",
  );
  const named = rendering.blocks.map(({ what }) => what);
  expect(named.slice(0, 15)).toEqual([
    "fill 0",
    "cancelled",
    ...Array.from({ length: 12 }, (_, n) => `unknown ${n}`),
    "news",
  ]);
  expect(new Set(named).size).toBe(44);
});

test("what rose into another group, or ended without word, stands nowhere as firing", async () => {
  await using one = await rig();
  const { alerts } = one;
  const tell = async (
    kind: "fired" | "rose" | "ended",
    alert: ReturnType<typeof alerts.alert>,
    to: string[],
    group: string,
  ) => {
    await one.owe(alerts.step(kind, alert, to, group, 0));
    await one.clock.settle();
  };
  const [first, second_, third] = [1, 2, 3].map(() => alerts.alert({ severity: "warning" }));
  await tell("fired", first!, ["chat"], "warnings");
  await tell("rose", first!, ["chat"], "criticals");
  await tell("ended", first!, ["chat"], "criticals");
  await tell("fired", second_!, ["chat"], "warnings");
  await tell("ended", second_!, [], "warnings");
  await tell("fired", third!, ["chat"], "warnings");
  const standing = (await one.store.messages({})).map((message) => render(message).standing);
  expect(standing).toEqual([[], [], [], [], []]);
});

test("more messages than a person reads leave as one, the worst first, all named", async () => {
  await using one = await rig({ stormFold: () => 3 });
  const { alerts } = one;
  // The channel takes one message a second.
  let freeAtMs = 0;
  one.far.answer = ({ atMs }) => {
    if (atMs < freeAtMs) return { status: 429, afterMs: freeAtMs - atMs };
    freeAtMs = atMs + second;
    return { status: 200 };
  };
  const of = (rule: string, severity: Severity, wallet: string) =>
    alerts.step(
      "fired",
      alerts.alert({ rule, severity, wallet, event: true, state: "ended" }),
      ["chat"],
      `${wallet}${rule}${severity}`,
    );
  await one.owe(of("First", "info", "main"));
  await one.clock.settle();
  const storm = Array.from({ length: 60 }, (_, i) =>
    of("OrderFilled", i % 20 === 7 ? "warning" : "info", `mm-${i % 10}`),
  );
  await one.owe(together(storm));
  await one.clock.advance(5 * second);
  const leads = one.far.accepted.map(({ items, leads: shown }) => [items.length, shown[0]]);
  expect(leads[0]).toEqual([1, "INFO"]);
  // Nothing is lost, and nothing is in two messages.
  const told = one.far.accepted.flatMap(({ items }) => items);
  expect([...told].sort((a, b) => a - b)).toEqual(Array.from({ length: 61 }, (_, i) => i + 1));
  expect(one.far.accepted.length).toBeLessThanOrEqual(5);
  const folded = (await one.store.messages({})).filter(({ content }) => content.folded === "storm");
  expect(folded.length).toBeGreaterThan(0);
  const [largest] = folded.sort((a, b) => b.itemIds.length - a.itemIds.length);
  const { notes, headline } = render(largest!);
  const lines = plainLines(render(largest!)).join("\n");
  for (const alertId of largest!.alertIds)
    expect(lines).toMatch(new RegExp(`#${alertId}: alert ${alertId}$`, "m"));
  expect(headline).toMatch(/^\d+ × OrderFilled of \S+; the worst: alert \d+$/);
  expect(notes.join("\n")).toMatch(
    /More than can be told one by one; the worst first\.\nAll in all: .*OrderFilled \(mm-\d+\).*$/,
  );
});

test("after a long outage critical ones leave singly and first, the rest as one digest with the true times", async () => {
  await using one = await rig();
  const { alerts } = one;
  one.far.answer = () => "drop";
  await one.owe(alerts.step("fired", alerts.alert({ severity: "info" })));
  await one.clock.advance(minute);
  for (const severity of ["info", "warning", "critical", "info", "critical"] as const)
    await one.owe(alerts.step("fired", alerts.alert({ severity, event: true, state: "ended" })));
  await one.clock.advance(10 * minute);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(10 * minute);
  const messages = one.far.accepted.map(({ items }) => items);
  const single = messages.filter((items) => items.length === 1).flat();
  // 4 and 6 are the critical ones; whatever was tried before the outage was known leaves as it was sealed.
  expect(single).toEqual(expect.arrayContaining([4, 6]));
  expect(messages.flat().sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6]);
  const digest = (await one.store.messages({})).find(({ content }) => content.folded === "digest");
  expect(digest?.itemIds.length).toBeGreaterThan(1);
  expect(render(digest!).notes.join(" ")).toContain("Nothing could leave for a while; this is what piled up");
  expect(render(digest!).blocks[0]?.fresh.join(" ")).toContain("2026-11-21 03:42:18 UTC");
});

test("ten of a folded message are in full, the worst first, and one of each rule among them", async () => {
  await using one = await rig({ stormFold: () => 3 });
  const { alerts } = one;
  one.far.answer = () => "drop";
  await one.owe(alerts.step("fired", alerts.alert({ severity: "info" })));
  await one.clock.advance(minute);
  const event = (rule: string, severity: Severity) =>
    alerts.step("fired", alerts.alert({ rule, severity, event: true, state: "ended" }));
  const many = Array.from({ length: 30 }, () => event("OrderFilled", "warning"));
  await one.owe(together([...many, event("Announcement", "warning"), event("Unknown", "warning")]));
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(10 * minute);
  const folded = (await one.store.messages({})).find(({ content }) => content.folded !== undefined)!;
  const rendering = render(folded);
  expect(rendering.inFull).toBe(10);
  const rules = folded.content.items.map(({ change }) => change.alert.rule);
  expect(rules.slice(0, 10)).toEqual([...Array(8).fill("OrderFilled"), "Announcement", "Unknown"]);
  expect(rules).toHaveLength(folded.itemIds.length);
});

test("a hundred critical ones that piled up are no hundred messages", async () => {
  await using one = await rig();
  const { alerts } = one;
  one.far.answer = () => ({ status: 503 });
  await one.owe(alerts.step("fired", alerts.alert()));
  await one.clock.advance(second);
  await one.owe(together(Array.from({ length: 100 }, () => alerts.step("fired", alerts.alert()))));
  await one.clock.advance(5 * minute);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(10 * minute);
  expect(one.far.accepted.flatMap(({ items }) => items)).toHaveLength(101);
  expect(one.far.accepted.length).toBeLessThan(15);
});

test("a large group leaves in messages that name each of its alerts, the worst first", async () => {
  await using one = await rig();
  const { alerts } = one;
  const owed = (severity: Severity) =>
    alerts.step("fired", alerts.alert({ severity, event: true }), ["chat"], "a", second);
  await one.owe(...Array.from({ length: 118 }, () => owed("warning")));
  const long = alerts.alert({ severity: "info" });
  await one.owe(...Array.from({ length: 60 }, () => alerts.step("reminder", long, ["chat"], "a", second)));
  await one.owe(owed("critical"));
  await one.clock.advance(10 * second);
  const messages = [...(await one.store.messages({}))].sort((a, b) => a.itemIds[0]! - b.itemIds[0]!);
  expect(messages.map(({ content }) => content.more ?? 0)).toEqual([0, 0, 0]);
  expect(one.far.arrivals[0]!.items).toContain(179);
  const named = messages.flatMap(({ content }) => content.items.map(({ change }) => change.alertId));
  expect(named.toSorted((x, y) => x - y)).toEqual(Array.from({ length: 120 }, (_, index) => index + 1));
});

test("several steps of one alert in one message are told as where it stands now", async () => {
  await using one = await rig();
  const { alerts } = one;
  const leads = async (
    ...kinds: ("fired" | "rose" | "fell" | "worsened" | "changed" | "reminder" | "ended")[]
  ) => {
    const alert = alerts.alert({ severity: "warning" });
    const before = one.far.arrivals.length;
    const steps = kinds.map((kind) => alerts.step(kind, alert, ["chat"], `group ${alert.id}`, 1_000));
    await one.owe(together(steps));
    await one.clock.advance(1_100);
    return one.far.arrivals.slice(before).map((arrival) => [arrival.items.length, ...arrival.leads]);
  };
  expect(await leads("fired", "worsened")).toEqual([[2, "FIRING warning"]]);
  expect(await leads("fired", "rose", "worsened")).toEqual([[3, "FIRING warning"]]);
  expect(await leads("rose", "worsened")).toEqual([[2, "WORSE, now warning"]]);
  expect(await leads("fired", "changed")).toEqual([[2, "FIRING warning"]]);
  expect(await leads("rose", "changed")).toEqual([[2, "WORSE, now warning"]]);
  expect(await leads("worsened", "changed")).toEqual([[2, "CHANGED, still warning"]]);
  expect(await leads("worsened", "reminder")).toEqual([[2, "STILL FIRING warning"]]);
  expect(await leads("rose", "fell")).toEqual([[2, "BETTER, now warning"]]);
  expect(await leads("fired", "ended")).toEqual([[2, "RESOLVED"]]);
});

test("an info that fires is not said beside what is told", async () => {
  await using one = await rig();
  const { alerts } = one;
  await one.owe(alerts.step("fired", alerts.alert({ severity: "info" }), ["chat"], "a", 0));
  await one.clock.settle();
  await one.owe(alerts.step("fired", alerts.alert({ severity: "warning" }), ["chat"], "a", 0));
  await one.clock.settle();
  expect((await one.store.messages({})).map((message) => render(message).standing)).toEqual([[], []]);
});

test("a fire drill in a storm is told alone, after what is real", async () => {
  await using one = await rig({ stormFold: () => 3 });
  const { alerts } = one;
  let busy = true;
  one.far.answer = () => (busy ? { status: 429, afterMs: 5 * second } : { status: 200 });
  const real = () => alerts.step("fired", alerts.alert());
  await one.owe(real());
  await one.clock.settle();
  const drill = alerts.step(
    "fired",
    alerts.alert({ drill: true, event: true, state: "ended" }),
    ["chat"],
    "drill/x",
  );
  await one.owe(together([real(), real(), drill, real(), real()]));
  busy = false;
  await one.clock.advance(30 * second);
  const messages = one.far.accepted.map(({ items }) => items);
  expect(messages).toEqual([[1], [3, 4, 5, 6], [2]]);
  expect(one.far.accepted.at(-1)?.leads).toEqual(["DRILL"]);
});

test("incidents of accounts are not folded where a channel keeps one for each; what else waits is", async () => {
  await using one = await rig();
  const channels = new Map([["chat", { ...httpChannel("chat", one.far), byAccount: true as const }]]);
  await one.restart({ channels });
  const { alerts } = one;
  const of = (group: string) => alerts.step("fired", alerts.alert(), ["chat"], group);
  await one.owe(...[1, 2, 3, 4, 5].map((n) => of(`incident/{}/${n}`)), ...["a", "b", "c", "d"].map(of));
  await one.clock.advance(second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [2], [3], [4], [5], [6, 7, 8, 9]]);
});
