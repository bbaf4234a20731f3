/** Deliveries: each owed item ends once, in order, under one id, whatever the far side and the disk do. */
import { expect, test } from "vitest";
import { changes } from "../../src/domain/stored/changes.ts";
import { FakeClock } from "../support/clock.ts";
import { httpChannel, rig, together } from "./support.ts";

const second = 1_000;
const hour = 3_600_000;

test("a change leaves at once, in a message that was sealed before and recorded after", async () => {
  const steps: string[] = [];
  await using one = await rig({
    probe: async (step) => {
      const [message] = await one.store.messages({});
      steps.push(`${step}: ${message?.status ?? "none"}, ${one.far.arrivals.length} arrived`);
    },
  });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.settle();
  expect(steps).toEqual([
    "owed-seen: none, 0 arrived",
    "sealed: sealed, 0 arrived",
    "before-send: sealed, 0 arrived",
    "sent: sealed, 1 arrived",
    "recorded: delivered, 1 arrived",
  ]);
  const [message] = await one.store.messages({});
  expect(message).toMatchObject({
    ...{
      receiver: "chat",
      severity: "critical",
      itemIds: [1],
      alertIds: [1],
      attempts: 1,
      nextAttemptMs: null,
    },
    ...{ status: "delivered", receipt: `receipt of ${message?.id}`, deliveredAtMs: one.clock.nowMs() },
    content: {
      title: "alert 1",
      resolved: false,
      sender: "perpwatch on test",
      items: [{ lead: "FIRING critical" }],
    },
  });
  expect(message?.id).toMatch(/^[1-9A-HJ-NP-Za-km-z]{20,22}$/);
  expect(await one.store.deliveryItems({})).toMatchObject([{ status: "delivered", messageId: message?.id }]);
  expect(one.outbox.figures()).toEqual({ undelivered: 0, oldestUndeliveredMs: 0, deadMessages: 0 });
});

test("daemons of one host that see the same thing in the same millisecond send messages of their own", async () => {
  const clock = new FakeClock("2026-11-21T03:41:18Z");
  const ids: string[] = [];
  for (const [instance, summary] of [
    ["/first.db", "main is near"],
    ["/first.db", "other is near"],
    ["/second.db", "main is near"],
  ] as const) {
    await using one = await rig({ clock, instance });
    await one.owe(one.alerts.step("fired", { ...one.alerts.alert(), summary }));
    await one.clock.settle();
    ids.push(one.far.arrivals[0]!.id);
  }
  expect(new Set(ids).size).toBe(ids.length);
});

test("retries send the same content under the same id; what is owed later goes into the next message", async () => {
  await using one = await rig();
  let failures = 4;
  one.far.answer = () => (failures-- > 0 ? { status: 503 } : { status: 200 });
  const alert = one.alerts.alert();
  await one.owe(one.alerts.step("fired", alert));
  await one.clock.settle();
  await one.owe(one.alerts.step("worsened", alert));
  await one.clock.until(() => one.far.accepted.length === 2);
  const [first, ...rest] = one.far.arrivals;
  expect(rest.slice(0, 4).map(({ id, digest }) => [id, digest])).toEqual(
    Array.from({ length: 4 }, () => [first?.id, first?.digest]),
  );
  expect(one.far.arrivals.map(({ attempt, items }) => [attempt, ...items])).toEqual([
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 1],
    [0, 2],
  ]);
  // 1, 2, 4, 8 s, less a fifth at most.
  const waits = one.far.arrivals.slice(1, 5).map(({ atMs }, index) => atMs - one.far.arrivals[index]!.atMs);
  for (const [index, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(800 * 2 ** index);
    expect(wait).toBeLessThanOrEqual(1_001 * 2 ** index);
  }
  expect(one.outbox.status()[0]).toMatchObject({
    name: "chat",
    delivered: 2,
    waiting: 0,
    failures: { "server-error": 4 },
  });
});

test("what leaves more than a minute after it was owed says for how long it was held, and why; nothing else changes", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  const owedMs = one.clock.nowMs();
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.advance(30_000);
  expect(one.far.arrivals.map(({ late }) => late)).toEqual(one.far.arrivals.map(() => null));
  expect(one.outbox.status()[0]).toMatchObject({ working: true, retrying: true, detail: "status 503" });
  await one.clock.advance(14 * 60_000);
  one.far.answer = () => ({ status: 200 });
  await one.clock.until(() => one.far.accepted.length === 1, 600_000);
  const [arrival] = one.far.accepted;
  expect(arrival!.late).toMatchObject({ because: "status 503" });
  expect(arrival!.late!.heldMs).toBe(arrival!.atMs - owedMs);
  expect(new Set(one.far.arrivals.map(({ id, digest }) => `${id} ${digest}`)).size).toBe(1);
  expect(one.outbox.status()[0]).toMatchObject({ working: true, retrying: false });
  // Once each, however often it was tried.
  expect(one.logged.filter((line) => line.startsWith("the channel"))).toEqual([
    expect.stringMatching(/^the channel (chat|mail) works: ready/),
    expect.stringMatching(/^the channel (chat|mail) works: ready/),
    expect.stringMatching(/^the channel chat does not take messages now, and is tried again: status 503 /),
    expect.stringMatching(/^the channel chat takes messages again, after 1\dm/),
  ]);
  // What is owed from now on is in time.
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.until(() => one.far.accepted.length === 2);
  expect(one.far.accepted[1]!.late).toBeNull();
});

test("what waited for a broken channel, or for perpwatch to run, says so", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 401 });
  await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "info" })));
  await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "info" })));
  await one.clock.advance(hour);
  one.far.answer = () => ({ status: 200 });
  await one.clock.until(() => one.far.accepted.length === 2, 600_000);
  expect(one.far.accepted.map(({ late }) => late?.because)).toEqual(["status 401", "status 401"]);
  expect(one.logged.filter((line) => /mended|again/.test(line))).toEqual([
    expect.stringMatching(/^the channel chat cannot be used until it is mended: status 401 /),
    expect.stringMatching(/^the channel chat takes messages again, after/),
  ]);

  await one.clock.finish(one.outbox.stop());
  await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "info" })));
  await one.clock.advance(hour);
  await one.restart();
  await one.clock.until(() => one.far.accepted.length === 3);
  expect(one.far.accepted[2]!.late).toMatchObject({ because: "perpwatch was not running" });
});

test("an ending waits for its firing message, and replies to it", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  const alert = one.alerts.alert();
  await one.owe(one.alerts.step("fired", alert));
  await one.clock.advance(2 * hour);
  await one.owe(one.alerts.step("ended", alert));
  await one.clock.advance(hour);
  expect(new Set(one.far.arrivals.flatMap(({ items }) => items))).toEqual(new Set([1]));
  one.far.answer = () => ({ status: 200 });
  await one.clock.until(() => one.far.accepted.length === 2, 600_000);
  const [fired, ended] = one.far.accepted;
  expect([fired?.leads, ended?.leads]).toEqual([["FIRING critical"], ["RESOLVED"]]);
  expect(fired?.replyTo).toBeNull();
  expect(ended?.replyTo).toBe(`receipt of ${fired?.id}`);
  expect(ended?.atMs).toBe(fired?.atMs);
});

test("an ending whose firing message died is told all the same", async () => {
  await using one = await rig();
  one.far.answer = ({ leads }) => ({ status: leads.includes("RESOLVED") ? 200 : 400 });
  const alert = one.alerts.alert();
  await one.owe(together([one.alerts.step("fired", alert), one.alerts.step("ended", alert)]));
  await one.clock.settle();
  expect(one.far.arrivals.map(({ leads, answered, replyTo }) => [...leads, answered, replyTo])).toEqual([
    ["FIRING critical", 400, null],
    ["RESOLVED", 200, null],
  ]);
  expect((await one.store.deliveryItems({})).map(({ status }) => status)).toEqual(["dead", "delivered"]);
  expect(one.outbox.figures().deadMessages).toBe(1);
  expect(one.logged.join()).toContain("refused for good");
  // The message was at fault, not the channel.
  expect(one.observed.filter(({ working }) => !working)).toEqual([]);
});

test("the wait that the other side names is kept, to the millisecond, for the whole channel", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 429, afterMs: 42_000 });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.settle();
  one.far.answer = () => ({ status: 200 });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.advance(41_999);
  expect(one.far.arrivals).toHaveLength(1);
  await one.clock.advance(1);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [2]]);
});

test("a wait of seconds that is named again and again does not become one of minutes", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 429, afterMs: 3_000 });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.advance(170 * second);
  expect(one.far.arrivals.length).toBeLessThan(30);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(15 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1]]);
});

test("critical goes before what is less, also past one that hangs", async () => {
  await using one = await rig();
  const info = one.alerts.alert({ severity: "info" });
  one.far.answer = ({ items }) => (items.includes(1) ? "hang" : { status: 200 });
  await one.owe(one.alerts.step("fired", info));
  await one.clock.settle();
  const waiting = ["info", "warning", "critical"] as const;
  await one.owe(...waiting.map((severity) => one.alerts.step("fired", one.alerts.alert({ severity }))));
  await one.clock.settle();
  expect(one.far.arrivals.map(({ items }) => items)).toEqual([[1], [4]]);
  await one.clock.advance(13 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[4], [3], [2]]);
  expect(one.outbox.status()[0]?.failures).toEqual({ timeout: 2 });
});

test("a critical rise passes the info before it that failed, but takes one along that waits unsent", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  const risen = one.alerts.alert({ severity: "info" });
  await one.owe(one.alerts.step("fired", risen));
  await one.clock.settle();
  one.far.answer = ({ items }) => ({ status: items.includes(1) ? 503 : 200 });
  await one.owe(one.alerts.step("rose", { ...risen, severity: "critical" }));
  await one.clock.advance(2 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[2]]);
  // Its ending does not pass.
  await one.owe(one.alerts.step("ended", { ...risen, severity: "critical" }));
  await one.clock.advance(60 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[2]]);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(300 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[2], [1], [3]]);

  await using two = await rig();
  two.far.answer = () => ({ status: 429, afterMs: 60_000 });
  await two.owe(two.alerts.step("fired", two.alerts.alert({ severity: "warning" })));
  await two.clock.settle();
  const arrived: number[] = [];
  two.far.answer = ({ items }) => {
    arrived.push(...items);
    return { status: 200 };
  };
  const late = two.alerts.alert({ severity: "info" });
  await two.owe(
    ...["warning", "info"].map((severity) =>
      two.alerts.step("fired", two.alerts.alert({ severity: severity as "warning" | "info" })),
    ),
    two.alerts.step("fired", late),
    two.alerts.step("rose", { ...late, severity: "critical" }),
  );
  await two.clock.advance(60_000);
  expect(arrived.filter((item) => item === 4 || item === 5)).toEqual([4, 5]);
  // Both lanes send at once: of the rest, at most one message left before either of the two.
  expect(arrived.indexOf(5)).toBeLessThanOrEqual(3);
  expect(arrived.indexOf(4)).toBeLessThanOrEqual(1);
});

test.each([
  ["fell", null],
  ["ended", null],
  ["fell", "group"],
  ["ended", "group"],
] as const)(
  "a rise that passes a failed message leaves what %s after it behind, in the group %s",
  async (kind, group) => {
    await using one = await rig();
    one.far.answer = () => ({ status: 503 });
    const risen = one.alerts.alert({ severity: "info" });
    await one.owe(one.alerts.step("fired", risen, ["chat"], group));
    await one.clock.settle();
    one.far.answer = ({ items }) => ({ status: items.includes(1) ? 503 : 200 });
    const last = { ...risen, severity: "critical" } as const;
    await one.owe(
      one.alerts.step("rose", last, ["chat"], group, 1_000),
      one.alerts.step(kind, last, ["chat"], group, 1_000),
    );
    await one.clock.advance(60 * second);
    expect(one.far.accepted.map(({ items }) => items)).toEqual([[2]]);
    one.far.answer = () => ({ status: 200 });
    await one.clock.advance(300 * second);
    expect(one.far.accepted.map(({ items }) => items)).toEqual([[2], [1], [3]]);
  },
);

test("what is less critical of an alert does not pass what is sealed of it at that moment", async () => {
  await using one = await rig();
  const alert = one.alerts.alert();
  await one.owe(
    one.alerts.step("fired", alert),
    one.alerts.step("fell", { ...alert, severity: "info" }),
    one.alerts.step("ended", { ...alert, severity: "info" }),
  );
  await one.clock.settle();
  expect(one.far.accepted.map(({ items, replyTo }) => [items[0], replyTo !== null])).toEqual([
    [1, false],
    [2, true],
    [3, true],
  ]);
});

test("a broken channel is told once, waits long, holds up nobody, and loses nothing when it is mended", async () => {
  await using one = await rig({ patienceMs: hour });
  one.far.answer = () => ({ status: 401 });
  await one.owe(one.alerts.step("fired", one.alerts.alert(), ["chat", "mail"]));
  await one.clock.settle();
  expect(one.other.accepted).toHaveLength(1);
  await one.owe(one.alerts.step("fired", one.alerts.alert(), ["chat", "mail"]));
  await one.clock.advance(30 * second);
  expect(one.far.arrivals).toHaveLength(1);
  expect(one.other.accepted).toHaveLength(2);
  await one.clock.advance(3 * hour);
  expect(one.far.arrivals.length).toBeGreaterThan(30);
  expect(one.far.arrivals.length).toBeLessThan(50);
  const chat = () => one.observed.filter(({ channel }) => channel === "chat").map(({ working }) => working);
  expect(chat()).toEqual([true, false]);
  expect(one.outbox.status()[0]).toMatchObject({ working: false, detail: "status 401", waiting: 2, dead: 0 });
  expect(one.outbox.figures().oldestUndeliveredMs).toBe(3 * hour + 30 * second);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(5 * 60 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [3]]);
  expect(chat()).toEqual([true, false, true]);
});

test("what is critical and fails message by message shuts a channel for no longer than it was unwell", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  for (let count = 0; count < 12; count++) {
    await one.owe(one.alerts.step("fired", one.alerts.alert()));
    await one.clock.advance(1_500);
  }
  expect(new Set(one.far.arrivals.map(({ id }) => id)).size).toBeGreaterThanOrEqual(9);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(18 * second);
  expect(one.far.accepted.flatMap(({ items }) => items).length).toBe(12);
});

test("a message that cannot be sent for longer than patience lasts is given up, and says why", async () => {
  await using one = await rig({ patienceMs: 2 * hour });
  one.far.answer = () => ({ status: 503 });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.advance(1.9 * hour);
  expect(one.outbox.figures()).toMatchObject({ undelivered: 1, deadMessages: 0 });
  await one.clock.advance(0.2 * hour);
  expect(await one.store.messages({})).toMatchObject([
    { status: "dead", lastFailure: "server-error", lastDetail: "status 503", nextAttemptMs: null },
  ]);
  expect(one.far.arrivals.length).toBeLessThan(160);
  expect(await one.store.deliveryItems({ open: true })).toEqual([]);
});

test("a channel that was down for long gets what waits within a minute after it is well again", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  for (let count = 0; count < 3; count++)
    await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "info" })));
  await one.clock.advance(2 * hour);
  const before = one.far.arrivals.length;
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(61 * second);
  expect(one.far.arrivals.length).toBeGreaterThan(before);
  expect(await one.store.deliveryItems({ open: true })).toEqual([]);
});

test("a message that alone fails does not hold up the others, nor is it tried each time another succeeds", async () => {
  await using one = await rig();
  one.far.answer = ({ items }) => ({ status: items.includes(1) ? 500 : 200 });
  await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "info" })));
  for (let count = 0; count < 50; count++) {
    await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "info" })));
    await one.clock.advance(2 * second);
  }
  expect(one.far.accepted.length).toBeGreaterThanOrEqual(49);
  expect(one.far.arrivals.filter(({ items }) => items.includes(1)).length).toBeLessThan(12);
});

/** The log about the channel chat. */
const said = (logged: readonly string[]) =>
  logged.filter((line) => line.startsWith("the channel chat")).map((line) => line.split(" {")[0]);
const chatWorks = (one: { readonly observed: readonly { channel: string; working: boolean }[] }) =>
  one.observed.filter(({ channel }) => channel === "chat").map(({ working }) => working);

test("a trouble is said at its first failure that is no limit, whatever was before; the others hear when it lasts", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 429, afterMs: 1_000 });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.until(() => one.far.arrivals.length === 1);
  expect(said(one.logged)).toEqual(["the channel chat works: ready"]);
  one.far.answer = () => "drop";
  await one.clock.until(() => one.far.arrivals.length === 3);
  expect(said(one.logged).slice(1)).toEqual([
    "the channel chat does not take messages now, and is tried again: connection lost",
  ]);
  await one.clock.advance(4 * 60 * second);
  expect(chatWorks(one)).toEqual([true]);
  await one.clock.advance(46 * 60 * second);
  expect(chatWorks(one)).toEqual([true, false]);
  expect(one.outbox.status()[0]).toMatchObject({ working: false, retrying: true, detail: "connection lost" });
  one.far.answer = () => ({ status: 200 });
  await one.clock.until(() => one.far.accepted.length === 1, 600_000);
  await one.clock.settle();
  expect(chatWorks(one)).toEqual([true, false, true]);
  expect(said(one.logged).slice(2)).toEqual([
    expect.stringMatching(/^the channel chat takes messages again, after 5/),
  ]);
});

test("what a message that was taken up after a restart meets is said too", async () => {
  await using one = await rig();
  one.far.answer = () => "drop";
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.until(() => one.far.arrivals.length === 3);
  one.logged.length = 0;
  await one.restart();
  await one.clock.until(() => one.far.arrivals.length === 5);
  expect(said(one.logged)).toEqual([
    "the channel chat works: ready",
    "the channel chat does not take messages now, and is tried again: connection lost",
  ]);
});

test.each([
  ["a limit that names hours", 2 * hour],
  ["a limit that comes again and again", 10 * second],
])("%s is told after a few minutes, to the other channels too, and so is its end", async (_name, afterMs) => {
  await using one = await rig();
  one.far.answer = () => ({ status: 429, afterMs });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.advance(2 * 60 * second);
  expect(said(one.logged)).toHaveLength(1);
  await one.clock.advance(8 * 60 * second);
  expect(said(one.logged).slice(1)).toEqual([
    "the channel chat does not take messages now, and is tried again: status 429",
  ]);
  expect(chatWorks(one)).toEqual([true, false]);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(2 * hour);
  expect(chatWorks(one)).toEqual([true, false, true]);
});

test("a message that alone fails, for hours, is said once, and nobody is called deaf", async () => {
  await using one = await rig();
  one.far.answer = ({ items }) => ({ status: items.includes(1) ? 500 : 200 });
  await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "info" })));
  for (let count = 0; count < 40; count++) {
    await one.owe(one.alerts.step("fired", one.alerts.alert({ severity: "info" })));
    await one.clock.advance(120 * second);
  }
  expect(said(one.logged).filter((line) => line!.includes("does not take"))).toHaveLength(1);
  expect(chatWorks(one)).toEqual([true]);
});

test("a channel that was told to be deaf is looked at when nothing is owed there any more", async () => {
  await using one = await rig({ patienceMs: 10 * 60 * second });
  one.far.answer = () => ({ status: 503 });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.until(() => one.outbox.figures().deadMessages === 1);
  await one.clock.advance(2 * 60 * second);
  expect(chatWorks(one)).toEqual([true, false, true]);
});

test("a check that never answers and heeds nobody holds up no message", async () => {
  await using one = await rig();
  const chat = {
    ...httpChannel("chat", one.far),
    start: async () =>
      ({ kind: "failed", failure: "authentication", detail: "status 401", fix: "" }) as const,
    probe: () => new Promise<never>(() => {}),
  };
  await one.restart({ channels: new Map([["chat", chat]]) });
  await one.clock.advance(5 * 60 * second);
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.advance(5 * 60 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1]]);
});

test("a part of a channel that does not work stands in its status, and holds up no message", async () => {
  await using one = await rig();
  let trouble: string | null = "buttons do not work: 409 Conflict";
  const chat = { ...httpChannel("chat", one.far), trouble: () => trouble };
  await one.restart({ channels: new Map([["chat", chat]]) });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.until(() => one.far.accepted.length === 1);
  const detail = () => one.outbox.status()[0]?.detail;
  expect(one.outbox.status()[0]).toMatchObject({ working: true, retrying: false });
  expect(detail()).toMatch(/.+; buttons do not work: 409 Conflict$/);
  trouble = null;
  expect(detail()).not.toContain("buttons");
});

test("trouble of a message that is gone says nothing of the next one before it was tried", async () => {
  await using one = await rig({ patienceMs: second });
  one.far.answer = () => ({ status: 503 });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.until(() => one.outbox.figures().deadMessages === 1);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(hour);
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.advance(second);
  expect(one.far.accepted).toHaveLength(1);
  expect(chatWorks(one)).toEqual([true]);
});

test("a throttled group leaves in as few messages as name all of it; reminders that piled up are one", async () => {
  await using one = await rig();
  const events = Array.from({ length: 1_200 }, () =>
    one.alerts.alert({ severity: "info", event: true, rule: "Filled" }),
  );
  await one.owe(
    together(events.map((event) => one.alerts.step("fired", event, ["chat", "mail"], "throttle/1"))),
  );
  await one.clock.settle();
  for (const { accepted } of [one.far, one.other])
    expect(accepted.map(({ items }) => items.length)).toEqual([500, 500, 200]);
  expect(one.far.accepted[0]?.title).toBe("500 × Filled of main/0.0/SOL");
  const [message] = await one.store.messages({ alertIds: [events[0]!.id] });
  expect(message?.content.items).toHaveLength(500);

  one.far.answer = () => ({ status: 503 });
  const alert = one.alerts.alert();
  await one.owe(one.alerts.step("fired", alert));
  await one.clock.settle();
  for (let count = 0; count < 30; count++) {
    await one.owe(one.alerts.step("reminder", { ...alert, summary: `reminder ${count}` }));
    await one.clock.advance(300 * second);
  }
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(300 * second);
  expect(one.far.accepted.slice(3).map(({ title, leads }) => [title, ...leads])).toEqual([
    [`alert ${alert.id}`, "FIRING critical"],
    ["reminder 29", "STILL FIRING critical"],
  ]);
  expect(await one.store.deliveryItems({ open: true })).toEqual([]);
});

test("an item whose change was committed long ago is read back", async () => {
  await using one = await rig();
  const held = one.alerts.step(
    "fired",
    one.alerts.alert({ severity: "info", event: true }),
    ["chat"],
    "throttle/2",
  );
  await one.owe({ ...held, deliveryItems: [] });
  await one.owe(changes({ deliveryItems: held.deliveryItems }));
  await one.clock.settle();
  expect(one.far.accepted).toMatchObject([{ title: "alert 1", leads: ["INFO"] }]);
});

test("a message that was recorded is not sent again after a restart; one that was under way is, under its id", async () => {
  await using one = await rig();
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.settle();
  await one.restart();
  await one.clock.advance(hour);
  expect(one.far.arrivals).toHaveLength(1);

  // Accepted, but the program ends before the record.
  const accepted = new Promise<void>((resolve) => {
    one.far.answer = () => {
      resolve();
      return "hang";
    };
  });
  const second = one.alerts.alert();
  await one.owe(one.alerts.step("fired", second), one.alerts.step("ended", second));
  await accepted;
  one.far.answer = () => ({ status: 200 });
  await one.restart();
  await one.clock.advance(hour);
  const [, lost, again, ended] = one.far.arrivals;
  expect(again).toMatchObject({ id: lost?.id, digest: lost?.digest, attempt: 1 });
  expect(ended).toMatchObject({ leads: ["RESOLVED"], replyTo: `receipt of ${again?.id}` });
  expect(one.far.arrivals).toHaveLength(4);
});

test("what waits for its group waits no longer because the clock was fast before a crash", async () => {
  await using one = await rig();
  const step = one.alerts.step("fired", one.alerts.alert({ severity: "info" }), ["chat"], "all", 5_000);
  const day = 24 * hour;
  await one.owe({
    ...step,
    deliveryItems: step.deliveryItems.map((item) => ({
      ...item,
      owedAtMs: item.owedAtMs + day,
      releaseAtMs: item.releaseAtMs! + day,
    })),
  });
  await one.restart();
  const startedMs = one.clock.nowMs();
  await one.clock.advance(10_000);
  expect(one.far.arrivals.map(({ atMs }) => atMs - startedMs)).toEqual([5_000]);
});

test("what is owed to a channel that is not configured is dead, and says so", async () => {
  await using one = await rig();
  await one.owe(one.alerts.step("fired", one.alerts.alert(), ["pager", "chat"]));
  await one.clock.settle();
  expect((await one.store.deliveryItems({})).map(({ receiver, status }) => [receiver, status])).toEqual([
    ["pager", "dead"],
    ["chat", "delivered"],
  ]);
  expect(one.outbox.figures().deadMessages).toBe(1);
});

test("what an earlier run owed to a channel that is gone is told of by its name, and is no failure", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  for (let owed = 0; owed < 2; owed++) await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.settle();
  await one.restart({ channels: new Map([["mail", httpChannel("mail", one.other)]]) });
  await one.clock.settle();
  expect(one.dropped).toMatchObject([{ channel: "chat", messages: 2 }]);
  expect((await one.store.deliveryItems({})).map(({ status }) => status)).toEqual(["dead", "dead"]);
  expect(one.outbox.figures()).toMatchObject({ deadMessages: 0, undelivered: 0 });
  await one.restart();
  expect(one.dropped).toHaveLength(1);
});

test("without room for a seal nothing is sent, except what is critical after five seconds", async () => {
  await using one = await rig();
  const warning = one.alerts.step("fired", one.alerts.alert({ severity: "warning" }));
  const critical = one.alerts.step("fired", one.alerts.alert());
  await one.store.commit([warning, critical]);
  one.store.full = true;
  one.outbox.committed(warning);
  one.outbox.committed(critical);
  await one.clock.advance(4 * second);
  expect(one.far.arrivals).toEqual([]);
  await one.clock.advance(3 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[2]]);
  expect(await one.store.messages({})).toEqual([]);
  one.store.full = false;
  await one.clock.advance(20 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[2], [1]]);
  expect((await one.store.messages({})).map(({ status }) => status)).toEqual(["delivered", "delivered"]);
  expect(one.logged.filter((line) => line.includes("cannot be stored"))).toHaveLength(1);
});

test("what left without a seal and is sealed after a crash is the same message to whoever has it", async () => {
  await using one = await rig();
  const critical = one.alerts.step("fired", one.alerts.alert());
  const event = one.alerts.alert({ event: true, rule: "Liquidated", eventKey: "liquidation:7.0.1" });
  const liquidated = one.alerts.step("fired", event);
  await one.store.commit([critical]);
  one.store.full = true;
  one.outbox.committed(critical);
  one.outbox.stuck(liquidated);
  await one.clock.advance(7 * second);
  expect(one.far.accepted).toHaveLength(2);
  one.store.full = false;
  await one.restart();
  // Judged anew after the crash, the event has another number and another time.
  one.alerts.step("fired", one.alerts.alert({ severity: "info" }));
  const again = one.alerts.alert({ event: true, rule: "Liquidated", eventKey: "liquidation:7.0.1" });
  await one.owe(one.alerts.step("fired", again));
  await one.clock.advance(10 * second);
  const ids = (leads: (one: { readonly title: string }) => boolean) =>
    one.far.arrivals.filter(leads).map(({ id }) => id);
  const ofEvents = ids(({ title }) => title === event.summary || title === again.summary);
  const others = ids(({ title }) => title !== event.summary && title !== again.summary);
  expect([ofEvents.length, new Set(ofEvents).size]).toEqual([2, 1]);
  expect([others.length, new Set(others).size]).toEqual([2, 1]);
});

test("a delivery that cannot be recorded is kept in mind, recorded later, and not sent again", async () => {
  await using one = await rig({
    probe: (step) => {
      if (step === "sent") one.store.full = true;
    },
  });
  const settled: number[] = [];
  one.outbox.onSettled((ids) => settled.push(...ids));
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  await one.clock.advance(60 * second);
  expect(await one.store.messages({})).toMatchObject([{ status: "sealed" }]);
  expect(settled).toEqual([]);
  one.store.full = false;
  await one.clock.advance(10 * second);
  expect(await one.store.messages({})).toMatchObject([{ status: "delivered", attempts: 1 }]);
  expect(settled).toEqual([1]);
  expect(one.far.arrivals).toHaveLength(1);
});

test("degraded: critical changes leave from memory, once, and their rows are written with the changes", async () => {
  await using one = await rig();
  one.store.full = true;
  const alert = one.alerts.alert();
  const info = one.alerts.alert({ severity: "info" });
  const held = together([one.alerts.step("fired", alert), one.alerts.step("fired", info)]);
  const ended = one.alerts.step("ended", alert);
  one.outbox.stuck(held);
  one.outbox.stuck(held);
  one.outbox.stuck(ended);
  await one.clock.advance(60 * second);
  expect(one.far.accepted.map(({ items, leads }) => [...items, ...leads])).toEqual([
    [1, "FIRING critical"],
    [3, "RESOLVED"],
  ]);
  expect(one.far.accepted[1]?.replyTo).toBe(`receipt of ${one.far.accepted[0]?.id}`);
  one.store.full = false;
  await one.clock.advance(60 * second);
  expect(await one.store.messages({})).toEqual([]);
  await one.owe(held);
  await one.owe(ended);
  await one.clock.advance(60 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [3], [2]]);
  expect((await one.store.deliveryItems({})).map(({ status }) => status)).toEqual([
    "delivered",
    "delivered",
    "delivered",
  ]);
  await one.restart();
  await one.clock.advance(60 * second);
  expect(one.far.arrivals).toHaveLength(3);
});

test("degraded: an alert that rose to critical is told from its beginning", async () => {
  await using one = await rig();
  one.store.full = true;
  const alert = one.alerts.alert({ severity: "warning" });
  const all = [
    one.alerts.step("fired", alert),
    one.alerts.step("rose", { ...alert, severity: "critical" }),
    one.alerts.step("ended", { ...alert, severity: "critical" }),
  ];
  for (const step of [...all, ...all]) one.outbox.stuck(step);
  await one.clock.advance(60 * second);
  one.store.full = false;
  await one.owe(...all);
  await one.clock.advance(60 * second);
  expect(one.far.arrivals.map(({ items, leads }) => [...items, ...leads])).toEqual([
    [1, "FIRING warning"],
    [2, "WORSE, now critical"],
    [3, "RESOLVED"],
  ]);
});

test("degraded: a rise to critical does not wait for the group of what goes before it", async () => {
  await using one = await rig();
  one.store.full = true;
  const alert = one.alerts.alert({ severity: "warning" });
  one.outbox.stuck(one.alerts.step("fired", alert, ["chat"], "group", 5_000));
  one.outbox.stuck(one.alerts.step("rose", { ...alert, severity: "critical" }, ["chat"], "group"));
  await one.clock.advance(2 * second);
  expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [2]]);
});

test.each([null, "group"])(
  "degraded: a rise to critical takes along what was owed before and not sealed (%s)",
  async (groupKey) => {
    await using one = await rig();
    const alert = one.alerts.alert({ severity: "warning" });
    const fired = one.alerts.step("fired", alert, ["chat"], groupKey, 1_000);
    await one.store.commit([fired]);
    one.store.full = true;
    one.outbox.committed(fired);
    await one.clock.advance(8 * second);
    expect(one.far.accepted).toEqual([]);
    const rose = one.alerts.step("rose", { ...alert, severity: "critical" }, ["chat"], groupKey);
    one.outbox.stuck(rose);
    await one.clock.advance(3 * second);
    expect(one.far.accepted.map(({ items }) => items)).toEqual([[1], [2]]);
    one.store.full = false;
    await one.owe(rose);
    await one.clock.advance(60 * second);
    expect(one.far.arrivals).toHaveLength(2);
    expect((await one.store.deliveryItems({})).map(({ status }) => status)).toEqual([
      "delivered",
      "delivered",
    ]);
  },
);

test("stopping sends what can leave now, and cuts off what hangs", async () => {
  await using one = await rig();
  one.far.answer = () => "hang";
  await one.owe(one.alerts.step("fired", one.alerts.alert(), ["chat", "mail"]));
  const before = one.clock.elapsedMs();
  await one.clock.finish(one.outbox.stop());
  expect(one.clock.elapsedMs() - before).toBeLessThanOrEqual(5 * second);
  expect((await one.store.deliveryItems({})).map(({ status }) => status)).toEqual(["sealed", "delivered"]);
});

test("stopping it twice at a time (the signal, then the daemon's own end) cuts nothing off", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  await using one = await rig({ probe: (step) => (step === "before-send" ? gate : undefined) });
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  const stops = [one.outbox.stop(), one.outbox.stop()];
  await new Promise(setImmediate);
  open();
  await one.clock.finish(Promise.all(stops));
  expect(one.far.accepted).toHaveLength(1);
  expect((await one.store.deliveryItems({})).map(({ status }) => status)).toEqual(["delivered"]);
});
