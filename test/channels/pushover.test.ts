/** Pushover: priorities by level, and emergencies that repeat until they are acknowledged there or here. */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type Push, Pushover } from "../support/pushover.ts";
import { startService } from "../support/service.ts";
import { Watched } from "../support/wait.ts";
import { fakeActions } from "./fake-actions.ts";
import { handClock } from "./hand-clock.ts";
import { alert, atMs, change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;
const token = "aTokenNeverToBeShown0123456789";
const userKey = "uKeyNeverToBeShownAnywhere0123";
const everyMs = 5_000;

async function rig(more: object = {}) {
  const clock = handClock();
  const world = new Pushover({ token, user: userKey, nowMs: () => clock.nowMs() });
  const far = await startService(world.dialect, { sends: ({ path }) => path.includes("/receipts/") });
  const daemon = fakeActions(() => clock.nowMs());
  const log = new Watched<string>();
  const line = (fields: object, words: string) => log.add(`${words} ${JSON.stringify(fields)}`);
  const settings = channelSettings.parse({ type: "pushover", token, userKey, apiUrl: far.url, ...more });
  const make = () =>
    createChannel("chat", settings, {
      ...{ clock, random: seededRandom(1), out: new PassThrough(), actions: daemon.actions },
      log: { debug: line, info: line, warn: line },
    });
  const channel = make();
  expect(await channel.start(never)).toMatchObject({ kind: "ok" });
  return {
    ...{ clock, world, far, log, channel, make, ...daemon },
    async push(changes: readonly AlertChange[] = [change()], content: object = {}): Promise<Push> {
      const result = await channel.send(outgoing({ message: message(changes, { content }) }), never);
      expect(result.kind).toBe("delivered");
      return world.pushes.items.at(-1)!;
    },
    /** Lets five seconds pass and waits until the emergencies were polled. */
    async look() {
      await clock.asked(everyMs);
      clock.pass(everyMs);
    },
    reads: () =>
      far.asked.filter(({ method, path }) => method === "GET" && path.includes("/receipts/")).length,
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await far.close();
    },
  };
}

describe("has the priority of its level", () => {
  test.each<[string, readonly AlertChange[], object, number]>([
    ["critical", [change()], {}, 2],
    ["a critical reminder", [change("reminder")], {}, 2],
    ["a liquidation that ends an alert", [change("ended", { ending: "liquidated" })], {}, 2],
    ["a warning", [change("fired", { severity: "warning" })], {}, 1],
    ["a warning that got better", [change("fell", { severity: "warning" })], {}, 0],
    ["a critical alert that somebody acknowledged", [change("acknowledged")], {}, 0],
    ["an info", [change("fired", { severity: "info" })], {}, -1],
    ["a recovery", [change("ended")], {}, -1],
    ["what is quiet, however bad", [change()], { quiet: true }, -2],
    ["a fire drill", [change("fired", { drill: true, event: true })], {}, 1],
    ["a test", [], { kind: "test", title: "works" }, 0],
    ["a digest", [], { kind: "digest", sections: [{ title: "About", rows: [["Equity", "$1"]] }] }, -1],
  ])("%s", async (_what, changes, content, priority) => {
    await using one = await rig();
    const push = await one.push(changes, content);
    expect(push.priority).toBe(priority);
    expect([push.retry, push.expire]).toEqual(priority === 2 ? [60, 3_600] : [null, null]);
    expect(push.receipt !== null).toBe(priority === 2);
  });

  test("an emergency sounds as often, and for as long, as configured within what Pushover takes", async () => {
    await using one = await rig({ emergency: { retry: "30s", expire: "3h" }, device: "phone,watch" });
    expect(await one.push()).toMatchObject({ retry: 30, expire: 10_800 });
    expect(one.far.asked.at(-1)?.json).toMatchObject({
      device: "phone,watch",
      url: "https://runbooks.example.org/liquidation",
    });
    for (const emergency of [{ retry: "29s" }, { expire: "181m" }, { expire: "soon" }])
      expect(
        channelSettings.safeParse({ type: "pushover", token, userKey, emergency }).error?.issues[0]?.message,
      ).toContain("must be a duration from 30s to 3h");
  });

  test("an unknown key breaks the channel, with the fix", async () => {
    await using one = await rig();
    const settings = channelSettings.parse({
      type: "pushover",
      token,
      userKey: "x".repeat(30),
      apiUrl: one.far.url,
    });
    const other = createChannel("other", settings, {
      clock: one.clock,
      random: seededRandom(1),
      out: new PassThrough(),
    });
    expect(await other.probe(never)).toMatchObject({
      kind: "failed",
      fix: expect.stringContaining("check userKey"),
    });
    expect(await other.send(outgoing(), never)).toMatchObject({
      kind: "refused",
      failure: "rejected",
      channelBroken: true,
    });
    await other.stop();
  });
});

describe("an emergency", () => {
  test("that is acknowledged there acknowledges its alerts here, by that person, and is no longer polled", async () => {
    await using one = await rig();
    one.alerts.set(43, alert({ id: 43 }));
    const push = await one.push([
      change(),
      change("fired", { id: 43 }, { id: 8 }),
      change("ended", { id: 44 }, { id: 9 }),
    ]);
    await one.look();
    await one.world.pushes.waitFor(({ readsAtMs }) => readsAtMs.length === 1);
    expect(one.done).toEqual([]);
    one.world.acknowledge(push, "pixel");
    await one.look();
    await one.log.waitFor((line) => line.includes('"alert":43'));
    expect(one.done).toEqual(["ack 42 by pixel (pushover uKeyN…): ", "ack 43 by pixel (pushover uKeyN…): "]);
    one.clock.pass(60_000);
    expect(push.readsAtMs).toHaveLength(2);
    expect([push.cancelled, one.world.tooEarly]).toEqual([false, 0]);
    expect(one.log.items.join()).not.toMatch(new RegExp(`${token}|${userKey}`));
  });

  test.each<[string, Parameters<typeof alert>[0]]>([
    ["acknowledged here", { acknowledgedBy: "marta", acknowledgedAtMs: atMs }],
    ["over", { state: "ended", ending: "recovered", endedAtMs: atMs }],
    ["a warning by now", { severity: "warning" }],
    ["another one under the same number", { firedAtMs: atMs + 1 }],
  ])("whose alert is %s is cancelled", async (_how, parts) => {
    await using one = await rig();
    const push = await one.push();
    await one.look();
    await one.clock.asked(everyMs);
    expect([push.cancelled, push.readsAtMs.length]).toEqual([false, 1]);
    one.alerts.set(42, alert(parts));
    await one.look();
    await one.world.pushes.waitFor(({ cancelled }) => cancelled);
    expect(one.done).toEqual([]);
  });

  test("is acknowledged as far as the phone showed it: a later rise is sent again", async () => {
    await using one = await rig();
    const shown: (number | undefined)[] = [];
    const { acknowledgeAlert } = one.actions;
    one.actions.acknowledgeAlert = (id, by, comment, changeId) => {
      shown.push(changeId);
      return acknowledgeAlert(id, by, comment);
    };
    one.world.acknowledge(await one.push([change("reminder", {}, { id: 77 })]), "pixel");
    await one.look();
    await one.log.waitFor((line) => line.includes("acknowledged on Pushover"));
    expect(shown).toEqual([77]);
  });

  test("acknowledges no other alert under the same number", async () => {
    await using one = await rig();
    one.world.acknowledge(await one.push(), "pixel");
    one.alerts.set(42, alert({ firedAtMs: atMs + 1 }));
    const next = await one.push([change("fired", { id: 43 })]);
    await one.look();
    await one.world.pushes.waitFor((each) => each === next && each.readsAtMs.length === 1);
    expect(one.done).toEqual([]);
  });

  test("of two alerts is cancelled when both are over or acknowledged", async () => {
    await using one = await rig();
    one.alerts.set(43, alert({ id: 43 }));
    const push = await one.push([change(), change("fired", { id: 43 }, { id: 8 })]);
    one.alerts.set(42, alert({ state: "ended" }));
    await one.look();
    await one.look();
    await one.clock.asked(everyMs);
    expect([push.cancelled, push.readsAtMs.length]).toEqual([false, 2]);
    one.alerts.set(43, alert({ id: 43, acknowledgedBy: "joe" }));
    one.clock.pass(everyMs);
    await one.world.pushes.waitFor(({ cancelled }) => cancelled);
  });

  test("about an event repeats until it is acknowledged", async () => {
    await using one = await rig();
    const event = { event: true, state: "ended" as const, eventKey: "liquidation:1" };
    one.alerts.set(42, alert(event));
    const push = await one.push([change("fired", event)]);
    await one.look();
    await one.clock.asked(everyMs);
    expect(push.cancelled).toBe(false);
    one.alerts.set(42, alert({ ...event, acknowledgedBy: "joe" }));
    one.clock.pass(everyMs);
    await one.world.pushes.waitFor(({ cancelled }) => cancelled);
  });

  test("is replaced by a newer one about the same alert", async () => {
    await using one = await rig();
    const first = await one.push([change("fired")]);
    const second = await one.push([change("reminder")]);
    await one.look();
    await one.world.pushes.waitFor(({ cancelled }) => cancelled);
    expect([first.cancelled, second.cancelled]).toEqual([true, false]);
  });

  test("is found again after a restart", async () => {
    await using one = await rig();
    const push = await one.push();
    one.receipts.push({ receiver: "other", receipt: "z".repeat(30) });
    one.receipts.push({ receiver: "chat", receipt: push.receipt! });
    one.receipts.push({ receiver: "chat", receipt: "5042853c-402d-4a18-abcb-000000000001" });
    await one.channel.stop();
    const before = one.reads();
    const again = one.make();
    await again.start(never);
    one.world.acknowledge(push, "pixel");
    await one.look();
    await one.log.waitFor((line) => line.startsWith("acknowledged on Pushover"));
    expect(one.done).toHaveLength(1);
    expect(one.reads()).toBe(before + 1);
    await again.stop();
  });

  test("is looked for again where the daemon has no answer yet at its start", async () => {
    await using one = await rig();
    const push = await one.push();
    one.receipts.push({ receiver: "chat", receipt: push.receipt! });
    await one.channel.stop();
    const { criticalMessages } = one.actions;
    one.actions.criticalMessages = () => {
      throw new Error("not ready");
    };
    const again = one.make();
    await again.start(never);
    await one.look();
    await one.clock.asked(everyMs);
    one.actions.criticalMessages = criticalMessages;
    one.world.acknowledge(push, "pixel");
    one.clock.pass(everyMs);
    await one.log.waitFor((line) => line.startsWith("acknowledged on Pushover"));
    await again.stop();
  });

  test("that expired is asked about once more, as somebody may have acknowledged it meanwhile", async () => {
    await using one = await rig({ emergency: { expire: "30s" } });
    for (const id of [43, 44]) one.alerts.set(id, alert({ id }));
    const [push, other] = [await one.push(), await one.push([change("fired", { id: 43 }, { id: 8 })])];
    one.world.acknowledge(push, "pixel");
    one.clock.pass(30_000);
    const next = await one.push([change("fired", { id: 44 }, { id: 9 })]);
    await one.look();
    await one.world.pushes.waitFor((each) => each === next && each.readsAtMs.length === 1);
    await one.look();
    await one.world.pushes.waitFor((each) => each === next && each.readsAtMs.length === 2);
    expect([push, other].map(({ readsAtMs }) => readsAtMs.length)).toEqual([1, 1]);
    expect(one.done).toEqual(["ack 42 by pixel (pushover uKeyN…): "]);
  });

  const day = 86_400_000;
  /** Stops the channel, and starts another one after some time. */
  async function restarted(one: Awaited<ReturnType<typeof rig>>, push: Push, awayMs: number) {
    one.receipts.push({ receiver: "chat", receipt: push.receipt!, deliveredAtMs: atMs });
    await one.channel.stop();
    one.clock.pass(awayMs);
    const again = one.make();
    await again.start(never);
    return again;
  }

  test.each<[string, Parameters<typeof alert>[0]]>([
    ["an alert", {}],
    ["an event", { event: true, state: "ended", eventKey: "liquidation:1" }],
  ])(
    "about %s that was acknowledged in an outage longer than it sounds acknowledges it at the start",
    async (_what, parts) => {
      await using one = await rig();
      one.alerts.set(42, alert(parts));
      const push = await one.push([change("fired", parts)]);
      one.world.acknowledge(push, "pixel");
      const again = await restarted(one, push, 7 * day - 60_000);
      await one.look();
      await one.log.waitFor((line) => line.startsWith("acknowledged on Pushover"));
      expect(one.done).toEqual(["ack 42 by pixel (pushover uKeyN…): "]);
      expect(push.readsAtMs).toHaveLength(1);
      await again.stop();
    },
  );

  test.each<[string, number, Parameters<typeof alert>[0]]>([
    ["that is older than a week", 7 * day, {}],
    ["whose alert is over", day, { state: "ended" }],
    ["that was acknowledged here", day, { acknowledgedBy: "joe" }],
  ])("%s is not asked about at the start", async (_what, awayMs, parts) => {
    await using one = await rig();
    const push = await one.push();
    one.alerts.set(42, alert(parts));
    const again = await restarted(one, push, awayMs);
    await one.look();
    const next = await one.push([change("fired", { id: 43 }, { id: 8 })]);
    await again.send(outgoing({ message: message([change("fired", { id: 43 }, { id: 8 })]) }), never);
    await one.look();
    await one.world.pushes.waitFor((each) => each !== next && each !== push && each.readsAtMs.length > 0);
    expect(push.readsAtMs).toEqual([]);
    await again.stop();
  });

  test("that still repeats, and whose alert ended while the daemon was down, is cancelled at the start", async () => {
    await using one = await rig();
    const push = await one.push();
    one.alerts.set(42, alert({ state: "ended" }));
    const again = await restarted(one, push, 60_000);
    await one.look();
    await one.world.pushes.waitFor(({ cancelled }) => cancelled);
    await again.stop();
  });

  test.each([60_000, day])(
    "of just after a start keeps repeating, whatever was sent about its alert %i ms before",
    async (awayMs) => {
      await using one = await rig();
      const push = await one.push();
      const again = await restarted(one, push, awayMs);
      await again.send(outgoing({ message: message([change("reminder", {}, { id: 8 })]) }), never);
      const next = one.world.pushes.items.at(-1)!;
      await one.look();
      await one.world.pushes.waitFor((each) => each === next && each.readsAtMs.length === 1);
      await one.look();
      await one.world.pushes.waitFor((each) => each === next && each.readsAtMs.length === 2);
      expect(next.cancelled).toBe(false);
      await again.stop();
    },
  );

  test("that was acknowledged before its alert got worse does not acknowledge that at the start", async () => {
    await using one = await rig();
    const push = await one.push();
    one.world.acknowledge(push, "pixel");
    one.acknowledgements.push(change("acknowledged", { acknowledgedBy: "pixel" }, { id: 50 }));
    const again = await restarted(one, push, 60_000);
    await one.look();
    await one.world.pushes.waitFor(({ readsAtMs }) => readsAtMs.length === 1);
    await one.push([change("fired", { id: 43 }, { id: 60 })]);
    expect(one.done).toEqual([]);
    await again.stop();
  });

  test("is polled again after a failure, and no longer if Pushover does not know it", async () => {
    await using one = await rig();
    const push = await one.push();
    one.far.fault({ status: 503, body: "upstream is away" });
    await one.look();
    await one.look();
    await one.world.pushes.waitFor(({ readsAtMs }) => readsAtMs.length === 1);
    one.far.fault({ status: 404, body: { receipt: "not found", errors: ["receipt not found"], status: 0 } });
    await one.look();
    one.world.acknowledge(push, "pixel");
    // Only the next one is polled.
    const next = await one.push([change("fired", { id: 43 })]);
    one.alerts.set(43, alert({ id: 43 }));
    await one.look();
    await one.world.pushes.waitFor((each) => each === next && each.readsAtMs.length === 1);
    expect(one.done).toEqual([]);
  });

  test("whose alert could not be acknowledged here is tried again", async () => {
    await using one = await rig();
    const push = await one.push();
    const { acknowledgeAlert } = one.actions;
    one.actions.acknowledgeAlert = () => Promise.reject(new Error("the disk is gone"));
    one.world.acknowledge(push, "pixel");
    await one.look();
    await one.log.waitFor((line) => line.includes("not known now"));
    one.actions.acknowledgeAlert = acknowledgeAlert;
    await one.look();
    await one.log.waitFor((line) => line.startsWith("acknowledged on Pushover"));
    expect(one.done).toHaveLength(1);
  });
});
