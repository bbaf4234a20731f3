/**
 * Buttons on Slack by Socket Mode: acknowledged in time, handled once, by allowed people only, shown to nobody else,
 * over changing connections.
 */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type Asked, startService } from "../support/service.ts";
import { SlackChannel, type SlackMessage, type SlackPerson, slackSends } from "../support/slack.ts";
import { startSlackSockets } from "../support/slack-sockets.ts";
import { Watched } from "../support/wait.ts";
import { fakeActions } from "./fake-actions.ts";
import { handClock } from "./hand-clock.ts";
import { atMs, change, message, outgoing } from "./messages.ts";
import { inWordsOf } from "./wording.ts";

const never = new AbortController().signal;
const token = "xoxb-0123456789-never-shown";
const appToken = "xapp-1-A1-0123456789-never-shown";
const id = "C0123456789";
const marta: SlackPerson = { id: "U0000MARTA", username: "marta" };
const joe: SlackPerson = { id: "U00000JOE0", username: "joe" };
const mallory: SlackPerson = { id: "U0MALLORY0", username: "mallory" };
const allow = { users: [marta.id, joe.id] };

async function rig(more: object = { appToken, allow }, isMute = false, sends = slackSends) {
  const clock = handClock();
  const sockets = await startSlackSockets(isMute);
  const world = new SlackChannel({ token, channel: id, appToken, sockets });
  const far = await startService(world.dialect, { sends });
  const daemon = fakeActions(() => clock.nowMs());
  const log = new Watched<string>();
  const line = (fields: object, words: string) => log.add(`${words} ${JSON.stringify(fields)}`);
  const settings = channelSettings.parse({
    ...{ type: "slack", token, channel: id, apiUrl: `${far.url}/api` },
    ...more,
  });
  const make = (name = "chat", own: object = {}) =>
    createChannel(
      name,
      { ...settings, ...own },
      {
        ...{ clock, random: seededRandom(1), out: new PassThrough(), actions: daemon.actions },
        log: { debug: line, info: line, warn: line },
      },
    );
  const channel = make();
  const started = await channel.start(never);
  return {
    ...{ clock, sockets, world, far, log, channel, make, started, ...daemon },
    async post(changes = [change()], more: object = {}) {
      const sent = message(changes);
      const result = await channel.send(outgoing({ message: sent, ...more }), never);
      if (result.kind !== "delivered") throw new Error(result.detail);
      return { sent, posted: world.messages.items.find(({ ts }) => ts === result.receipt)! };
    },
    /** Presses the button with the label and waits for the answer. */
    async press(posted: SlackMessage, label: string, who: SlackPerson, over?: number) {
      const before = world.ephemerals.items.length;
      world.press(posted, label, who, over);
      return world.ephemerals.waitFor((one) => world.ephemerals.items.indexOf(one) >= before);
    },
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await sockets[Symbol.asyncDispose]();
      await far.close();
    },
  };
}

describe("who may", () => {
  test.each([{}, { appToken }])("nobody is named (%o): no buttons and no connection", async (more) => {
    await using one = await rig(more);
    expect((await one.post()).posted.buttons).toEqual([]);
    await one.channel.stop();
    expect(one.sockets.connections.items).toEqual([]);
  });

  test("repeated presses of somebody who is not allowed delay no message, and get one answer at a time", async () => {
    const ofMallory = ({ json }: Asked) => (json as { user?: string } | undefined)?.user === mallory.id;
    await using one = await rig({ appToken, allow }, false, ofMallory);
    await one.sockets.connected(1);
    const { posted } = await one.post();
    one.far.fault("stall", 30);
    for (let count = 0; count < 30; count++) one.world.press(posted, "Acknowledge", mallory);
    await one.world.ephemerals.waitFor(({ user }) => user === mallory.id);
    await one.post();
    expect(await one.press(posted, "Acknowledge", marta)).toMatchObject({ user: marta.id });
    expect(one.world.ephemerals.items.filter(({ user }) => user === mallory.id)).toHaveLength(1);
    expect(one.done).toHaveLength(1);
    const lines = () => one.log.items.filter((line) => line.includes("not allowed"));
    expect(lines()).toHaveLength(1);
    one.clock.pass(60_000);
    expect(lines()[1]).toBe(
      'people who are not allowed to tried to act from Slack 29 more times within a minute {"count":29,"who":["mallory (slack U0MALLORY0)"]}',
    );
    one.clock.pass(3_600_000);
    expect(lines()).toHaveLength(2);
  });

  test("users are configured without an app token: that is reported", () => {
    const parsed = channelSettings.safeParse({ type: "slack", token, channel: id, allow });
    expect(parsed.error?.issues[0]).toMatchObject({
      path: ["appToken"],
      message: expect.stringContaining("Socket Mode"),
    });
  });

  test("a configured user may; anybody else is refused, and the log names them", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const { posted } = await one.post();
    expect(await one.press(posted, "Acknowledge", mallory)).toMatchObject({
      user: mallory.id,
      text: expect.stringContaining("Sorry, you may not act here."),
    });
    expect(one.done).toEqual([]);
    expect(one.log.items.join("\n")).toContain(
      'not allowed to tried to act from Slack {"who":"mallory (slack U0MALLORY0)"',
    );
    expect(await one.press(posted, "Acknowledge", joe)).toMatchObject({
      user: joe.id,
      text: expect.stringContaining("Acknowledged #42"),
    });
    expect(one.done).toEqual(["ack 42 by joe (slack U00000JOE0): "]);
  });
});

describe("a button", () => {
  test("acknowledges once; the next message names the person, and has the button no more", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const { posted, sent } = await one.post();
    expect(posted.buttons.map(({ label }) => label)).toEqual([
      "Acknowledge",
      "Silence 1 h",
      "Silence 8 h",
      "Details",
    ]);
    await one.press(posted, "Acknowledge", marta);
    const again = await one.press(posted, "Acknowledge", joe);
    expect(again.text).toBe(
      "#42 is acknowledged already by marta (slack U0000MARTA), 2026-11-21 03:41:18 UTC.",
    );
    const seen = message([change("acknowledged", one.alerts.get(42)!)]);
    const latest = { messageId: sent.id, receipt: posted.ts, message: sent };
    await one.channel.send(outgoing({ message: seen, latest }), never);
    expect(one.world.messages.items).toHaveLength(1);
    expect(posted.text).toContain("Acknowledged by marta (slack U0000MARTA)");
    expect(posted.buttons.map(({ label }) => label)).toEqual(["Silence 1 h", "Silence 8 h", "Details"]);
  });

  test("silences up to the level shown, and shows the history of its alert, in its thread", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const { posted, sent } = await one.post();
    const inReplyTo = { messageId: sent.id, receipt: posted.ts, message: sent };
    const { posted: below } = await one.post([change("reminder")], { inReplyTo });
    const silent = await one.press(below, "Silence 8 h", marta);
    expect(silent).toMatchObject({
      thread_ts: posted.ts,
      text: expect.stringContaining("Silent until 2026-11-21 11:41:18 UTC (silence 1)."),
    });
    expect(one.done).toEqual([
      "silence rule=LiquidationNear subject=main/0.0/SOL upTo critical by marta (slack U0000MARTA)",
    ]);
    const story = await one.press(posted, "Details", marta);
    for (const part of ["*Alert #42*", "LiquidationNear, about main/0.0/SOL", "Liquidation price: $126.55"])
      expect(story.text).toContain(part);
    expect(story.thread_ts).toBeUndefined();
  });

  test("of a message about another alert under the same number does nothing", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const { posted } = await one.post([change("fired", { firedAtMs: atMs - 86_400_000 })]);
    for (const label of ["Acknowledge", "Silence 1 h", "Details"])
      expect((await one.press(posted, label, marta)).text).toContain("not known here any more");
    expect(one.done).toEqual([]);
  });

  test("is in the largest messages", async () => {
    await using one = await rig();
    const summary = "<&>".repeat(80);
    const long = message(
      Array.from({ length: 50 }, (_, i) =>
        change("fired", { id: 990_000_000_000 + i, summary, description: "<&>".repeat(500) }),
      ),
    );
    const late = { heldMs: 840_000, because: "x".repeat(2_000) };
    const own = inWordsOf(long, {
      title: "{{ alert.description }}",
      body: `${"*own* ".repeat(400)}{{ alert.description }}`,
    });
    for (const one_ of [long, own])
      expect(await one.channel.send(outgoing({ message: one_, late }), never)).toMatchObject({
        kind: "delivered",
      });
    expect(one.world.messages.items.map(({ buttons }) => buttons.length)).toEqual([20, 20]);
    for (const { text } of one.world.messages.items) expect(text).toContain("#990000000049");
  });
});

describe("a press", () => {
  test("is acknowledged at once, before it is handled", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const finish = Promise.withResolvers<"done">();
    one.actions.acknowledgeAlert = () => finish.promise;
    const { posted } = await one.post();
    const envelope = one.world.press(posted, "Acknowledge", marta);
    await one.sockets.envelopes.waitFor(({ takenOver }) => takenOver.length > 0);
    await one.clock.asked(10_000);
    one.clock.pass(10_000);
    expect((await one.world.ephemerals.waitFor(() => true)).text).toContain("takes long");
    finish.resolve("done");
    expect(envelope.takenOver).toEqual([1]);
    expect(one.sockets.wrong).toEqual([]);
  });

  test("whose answer Slack keeps waiting delays no message", async () => {
    const ofMarta = ({ json }: Asked) => (json as { user?: string } | undefined)?.user === marta.id;
    await using one = await rig({ appToken, allow }, false, ofMarta);
    await one.sockets.connected(1);
    const { posted } = await one.post();
    one.far.fault("stall", 4);
    for (const label of ["Acknowledge", "Silence 1 h", "Silence 8 h", "Details"])
      one.world.press(posted, label, marta);
    await one.world.ephemerals.waitFor(() => one.world.ephemerals.items.length === 2);
    await one.post();
  });

  test("that Slack sends again is acknowledged again, and handled once", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const { posted } = await one.post();
    const first = await one.press(posted, "Silence 1 h", marta);
    one.clock.pass(600_000);
    one.sockets.again(one.sockets.envelopes.items[0]!);
    await one.sockets.envelopes.waitFor(({ takenOver }) => takenOver.length === 2);
    await one.press(posted, "Details", marta);
    expect(one.done).toHaveLength(1);
    expect(one.world.ephemerals.items.filter(({ text }) => text === first.text)).toHaveLength(1);
  });

  test("whose answer Slack refuses is handled all the same", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const { posted } = await one.post();
    one.far.fault({ status: 200, body: { ok: false, error: "user_not_in_channel" } });
    one.world.press(posted, "Acknowledge", marta);
    await one.log.waitFor((line) => line.startsWith("Slack did not take the answer"));
    expect(one.done).toHaveLength(1);
  });

  test("is handled only: other envelopes are acknowledged, and invalid ones have no effect", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const { posted } = await one.post();
    one.sockets.say("{not json");
    one.sockets.say(JSON.stringify({ type: "interactive" }));
    one.sockets.send({ type: "view_submission", user: { id: marta.id } });
    one.sockets.send({
      type: "block_actions",
      user: marta,
      channel: { id: "C0000000000" },
      actions: [{ action_id: posted.buttons[2]!.id }],
    });
    expect((await one.press(posted, "Acknowledge", marta)).text).toContain("Acknowledged #42");
    expect(one.sockets.envelopes.items.map(({ takenOver }) => takenOver)).toEqual([[1], [1], [1]]);
    expect(one.done).toEqual(["ack 42 by marta (slack U0000MARTA): "]);
  });
});

describe("a connection", () => {
  test.each(["warning", "refresh_requested"] as const)(
    "is replaced when Slack asks for that (%s), and nothing pressed meanwhile is lost",
    async (reason) => {
      await using one = await rig();
      await one.sockets.connected(1);
      const { posted } = await one.post();
      one.sockets.disconnect(reason);
      const { number } = await one.sockets.connected(2);
      await one.press(posted, "Acknowledge", marta, 1);
      await one.press(posted, "Silence 1 h", marta, number);
      expect(one.done).toHaveLength(2);
      one.sockets.connections.items[0]!.socket.close();
      await one.sockets.connections.waitFor((each) => each.number === 1 && !each.open);
      await one.press(posted, "Silence 8 h", joe);
      expect(one.sockets.connections.items).toHaveLength(2);
      expect(one.log.items.join()).not.toContain("do not work");
    },
  );

  test("that is to be replaced repeatedly is replaced after growing waits, and few stay open", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    for (let number = 1; number < 6; number++) {
      one.sockets.disconnect("refresh_requested");
      if (number > 1) {
        const waitMs = 1_000 * 2 ** (number - 2);
        await one.clock.asked(waitMs);
        expect(one.sockets.connections.items).toHaveLength(number);
        one.clock.pass(waitMs);
      }
      await one.sockets.connected(number + 1);
    }
    await one.sockets.connections.waitFor(
      () => one.sockets.connections.items.filter(({ open }) => open).length === 3,
    );
    const { posted } = await one.post();
    await one.press(posted, "Acknowledge", marta);
    expect(one.log.items.join()).not.toContain("do not work");
  });

  test("that is lost is reopened after a wait; a longer loss is reported once, and so is its end", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    one.world.socketsRefused = "internal_error";
    one.sockets.drop();
    for (const ms of [1_000, 2_000, 4_000]) {
      await one.clock.asked(ms);
      expect(one.channel.trouble?.() ?? "").toMatch(
        ms === 4_000 ? /buttons do not work: Slack answered internal_error/ : /^$/,
      );
      if (ms === 4_000) one.world.socketsRefused = null;
      one.clock.pass(ms);
    }
    await one.log.waitFor((line) => line.startsWith("buttons on Slack work again"));
    expect(one.log.items.filter((line) => line.startsWith("buttons on Slack do not"))).toHaveLength(1);
    expect(one.channel.trouble?.()).toBeNull();
  });

  test("without any frame, not even a pong, is dropped", async () => {
    await using one = await rig({ appToken, allow }, true);
    const first = await one.sockets.connected(1);
    await one.press((await one.post()).posted, "Details", marta);
    const pinged = new Promise((resolve) => first.socket.once("ping", resolve));
    one.clock.pass(30_000);
    await pinged;
    expect(first.open).toBe(true);
    one.clock.pass(30_000);
    await one.sockets.connections.waitFor(({ number, open }) => number === 1 && !open);
    await one.clock.asked(1_000);
    one.clock.pass(1_000);
    await one.sockets.connected(2);
  });

  test("that answers pings is kept", async () => {
    await using one = await rig();
    const { socket } = await one.sockets.connected(1);
    const { posted } = await one.post();
    await one.press(posted, "Details", marta);
    for (let i = 0; i < 4; i++) {
      const pinged = new Promise((resolve) => socket.once("ping", resolve));
      one.clock.pass(30_000);
      await pinged;
      // Its answer was sent before this ping.
      const ponged = new Promise((resolve) => socket.once("pong", resolve));
      socket.ping();
      await ponged;
    }
    expect(one.sockets.connections.items).toHaveLength(1);
  });

  test("is reported when Socket Mode is switched off", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    one.sockets.disconnect("link_disabled");
    await one.log.waitFor(
      (line) => line.includes("Socket Mode was switched off") && line.includes("check appToken"),
    );
    expect(one.channel.trouble?.()).toContain("Socket Mode was switched off");
  });

  test("that is refused is reported in the probe, the log and the status; messages are sent, and no secret is shown", async () => {
    await using one = await rig({ allow, appToken: "xapp-1-A1-another-0123456789" });
    expect(one.started).toMatchObject({
      kind: "ok",
      warnings: [
        {
          detail: "no buttons: Slack answered invalid_auth",
          fix: expect.stringContaining("connections:write"),
        },
      ],
    });
    await one.log.waitFor((line) => line.startsWith("buttons on Slack do not work now"));
    expect(one.channel.trouble?.()).toContain("invalid_auth");
    await one.post();
    const told = one.log.items.join() + JSON.stringify(one.started) + one.channel.trouble?.();
    for (const secret of ["xapp-", "xoxb-", "t1ck3t"]) expect(told).not.toContain(secret);
  });

  test("passes a press to the listener that allows the person", async () => {
    await using one = await rig({ appToken, allow: { users: [joe.id] } });
    await one.sockets.connected(1);
    const second = one.make("second", { allow: { users: [marta.id] } });
    await second.start(never);
    const { posted } = await one.post();
    for (const [who, answer] of [
      [mallory, "Sorry, you may not act here."],
      [marta, "Acknowledged #42"],
    ] as const)
      expect((await one.press(posted, "Acknowledge", who)).text).toContain(answer);
    await second.stop();
  });

  test("is shared by channels of one app; each handles the presses in its channel", async () => {
    await using one = await rig();
    const second = one.make("second");
    await second.start(never);
    await one.sockets.connected(1);
    const { posted } = await one.post();
    await one.press(posted, "Acknowledge", marta);
    await one.channel.stop();
    expect((await one.press(posted, "Acknowledge", marta)).text).toContain("acknowledged already");
    await second.stop();
    await one.sockets.connections.waitFor(({ open }) => !open);
    expect(one.sockets.connections.items).toHaveLength(1);
  });
});

describe("a Slack that floods", () => {
  test("frames without end close the connection, which is reported at once, and another one is opened after a minute", async () => {
    await using one = await rig();
    const first = await one.sockets.connected(1);
    for (let count = 0; count <= 250; count++) first.socket.send('{"type":"x"}');
    await one.log.waitFor((line) => line.startsWith("buttons on Slack do not work now"));
    expect(one.channel.trouble?.()).toContain("it sends frames without end");
    await one.clock.asked(60_000);
    one.clock.pass(60_000);
    await one.sockets.connected(2);
    await one.log.waitFor((line) => line.startsWith("buttons on Slack work again"));
  });

  test("frames over an old connection, while its successor waits, close all as well", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    one.sockets.disconnect("refresh_requested");
    const second = await one.sockets.connected(2);
    one.sockets.disconnect("refresh_requested");
    await one.clock.asked(1_000);
    for (let count = 0; count <= 250; count++) second.socket.send('{"type":"x"}');
    await one.sockets.connections.waitFor(({ number, open }) => number === 2 && !open);
    one.clock.pass(1_000);
    await one.log.waitFor((line) => line.includes("it sends frames without end"));
    await one.clock.asked(60_000);
    expect(one.sockets.connections.items).toHaveLength(2);
    one.clock.pass(60_000);
    await one.sockets.connected(3);
    await one.log.waitFor((line) => line.startsWith("buttons on Slack work again"));
  });

  test("a frame that is too large closes it, and the reason is reported", async () => {
    await using one = await rig();
    for (const [index, ms] of [1_000, 2_000, 4_000].entries()) {
      const { socket } = await one.sockets.connected(index + 1);
      socket.send("y".repeat(300_000));
      await one.clock.asked(ms);
      one.clock.pass(ms);
    }
    await one.log.waitFor((line) => line.includes("the connection was lost: Max payload size exceeded"));
  });

  test("large frames close it, too, before there are many", async () => {
    await using one = await rig();
    const first = await one.sockets.connected(1);
    for (let count = 0; count < 20; count++)
      first.socket.send(`{"type":"x","reason":"${"y".repeat(250_000)}"}`);
    await one.log.waitFor((line) => line.includes("it sends frames without end"));
  });

  test("acknowledgements that it does not read close the connection", async () => {
    await using one = await rig();
    const { socket } = await one.sockets.connected(1);
    const { posted } = await one.post();
    socket.pause();
    const ended = one.log.waitFor((line) => line.includes("it reads no answers"), 60_000);
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    const envelope = JSON.stringify({ type: "x", envelope_id: "e".repeat(199) });
    // Few enough each time; unread data fills the system's buffers first.
    for (let batch = 0; batch < 900 && !isOver; batch++) {
      for (let count = 0; count < 200; count++) socket.send(envelope);
      await Promise.race([ended, one.press(posted, "Acknowledge", marta).catch(() => {})]);
      one.clock.pass(10_000);
    }
    await ended;
    expect(one.channel.trouble?.()).toContain("it reads no answers");
  });

  test("presses of somebody who may are logged twenty times a minute, then counted", async () => {
    await using one = await rig();
    await one.sockets.connected(1);
    const { posted } = await one.post();
    for (let count = 0; count < 30; count++) one.world.press(posted, "Acknowledge", marta);
    await one.world.ephemerals.waitFor(() => one.world.ephemerals.items.length === 30);
    const lines = () => one.log.items.filter((line) => line.startsWith("acted from Slack"));
    // The first one, which acknowledged, is not counted.
    expect(lines()).toHaveLength(21);
    await one.press(posted, "Silence 1 h", marta);
    expect(lines()).toHaveLength(22);
    expect(lines().at(-1)).toContain("Silent until");
    one.clock.pass(60_000);
    expect(one.log.items).toContain('9 more lines within a minute about presses from Slack {"count":9}');
    await one.press(posted, "Acknowledge", marta);
    expect(lines()).toHaveLength(23);
  });
});
