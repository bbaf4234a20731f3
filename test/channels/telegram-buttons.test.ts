/** Buttons on Telegram: handled once, for allowed people only, answered to the person, and kept over restarts. */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { startService } from "../support/service.ts";
import { TelegramChat, type TelegramPerson } from "../support/telegram.ts";
import { Watched } from "../support/wait.ts";
import { fakeActions } from "./fake-actions.ts";
import { handClock } from "./hand-clock.ts";
import { atMs, change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;
const token = "123456789:AAF-telegram-token-never-shown";
const chatId = -100_123;
const marta: TelegramPerson = { id: 4242, first_name: "Marta", username: "marta" };
const joe: TelegramPerson = { id: 4343, first_name: "Joe" };
const mallory: TelegramPerson = { id: 6666, first_name: "Mallory" };
const allow = { users: [marta.id, `${joe.id}`] };

async function rig(more: object = { allow }) {
  const clock = handClock();
  const world = new TelegramChat({ token, chatId });
  const far = await startService(world.dialect, { sends: ({ path }) => path.endsWith("/getUpdates") });
  const daemon = fakeActions(() => clock.nowMs());
  const log = new Watched<string>();
  const line = (fields: object, words: string) => log.add(`${words} ${JSON.stringify(fields)}`);
  const settings = channelSettings.parse({ type: "telegram", token, chatId, apiUrl: far.url, ...more });
  const make = (name = "phone", own: object = {}) =>
    createChannel(
      name,
      { ...settings, ...own },
      {
        ...{ clock, random: seededRandom(1), out: new PassThrough(), actions: daemon.actions },
        log: { debug: line, info: line, warn: line },
      },
    );
  const channel = make();
  await channel.start(never);
  return {
    ...{ clock, world, far, log, channel, make, ...daemon },
    polls: () => far.asked.filter(({ path }) => path.endsWith("/getUpdates")).map(({ json }) => json),
    /** Resolves at a poll that confirms all presses. */
    async idle() {
      while (world.unconfirmed.length > 0 || !world.isPolled) await far.next();
    },
    /** A message in the chat. */
    async post(changes = [change()]) {
      const sent = message(changes);
      const result = await channel.send(outgoing({ message: sent }), never);
      if (result.kind !== "delivered") throw new Error(result.detail);
      return { sent, posted: world.messages.items.find(({ id }) => `${id}` === result.receipt)! };
    },
    /** Presses the button with the label and waits for the notice. */
    async press(
      posted: { id: number; buttons: readonly { text: string; callback_data: string }[] },
      label: string,
      who: TelegramPerson,
    ) {
      const data = posted.buttons.find(({ text }) => text === label)!.callback_data;
      const { id } = world.press(posted.id, data, who);
      return (await world.presses.waitFor((one) => one.id === id && one.notice !== null)).notice!;
    },
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await far.close();
    },
  };
}

describe("who may", () => {
  test("without configured users: no buttons, and no polling", async () => {
    await using one = await rig({});
    expect((await one.post()).posted.buttons).toEqual([]);
    await one.channel.stop();
    expect(one.polls()).toEqual([]);
  });

  test("a configured user may; anybody else is refused, and the log names them", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    expect(await one.press(posted, "Acknowledge", mallory)).toContain("Sorry, you may not act here.");
    expect(one.done).toEqual([]);
    expect(one.log.items.join("\n")).toContain(
      'not allowed to tried to act from Telegram {"who":"Mallory (telegram 6666)"',
    );
    expect(await one.press(posted, "Acknowledge", joe)).toContain("Acknowledged #42");
    expect(one.done).toEqual(["ack 42 by Joe (telegram 4343): "]);
  });
});

describe("repeated presses of somebody who is not allowed", () => {
  test("delay no press of allowed people, and get one answer at a time", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    const data = posted.buttons.find(({ text }) => text === "Acknowledge")!.callback_data;
    const ofMallory = new Set<string>();
    one.world.holdAnswersTo((id) => ofMallory.has(id));
    for (let count = 0; count < 30; count++) ofMallory.add(one.world.press(posted.id, data, mallory).id);
    expect(await one.press(posted, "Acknowledge", joe)).toContain("Acknowledged #42");
    expect(one.world.held).toBe(1);
  });

  test("are one log line, and one per minute after it, with count and names", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    const data = posted.buttons.find(({ text }) => text === "Acknowledge")!.callback_data;
    const crowd = Array.from({ length: 25 }, (_one, id) => ({ id: 7_000 + id, first_name: `M${id}` }));
    const lines = () => one.log.items.filter((line) => line.includes("not allowed"));
    for (const who of [mallory, mallory, ...crowd]) one.world.press(posted.id, data, who);
    await one.idle();
    expect(lines()).toEqual([expect.stringContaining('"who":"Mallory (telegram 6666)"')]);
    one.clock.pass(60_000);
    expect(lines()).toHaveLength(2);
    expect(lines()[1]).toMatch(/^people who are not allowed to tried to act from Telegram 26 more times/);
    expect(lines()[1]).toContain('"who":["Mallory (telegram 6666)","M0 (telegram 7000)"');
    expect(lines()[1]).toContain('"unnamed":16');
    one.world.press(posted.id, data, mallory);
    await one.idle();
    expect(lines()).toHaveLength(2);
    await one.channel.stop();
    expect(lines()[2]).toContain('1 more time within a minute {"count":1,"who":["Mallory (telegram 6666)"]}');
  });
});

describe("a button", () => {
  test("acknowledges once; the next message names the person, and has the button no more", async () => {
    await using one = await rig();
    const { posted, sent } = await one.post();
    expect(posted.buttons.map(({ text }) => text)).toEqual([
      "Acknowledge",
      "Silence 1 h",
      "Silence 8 h",
      "Details",
    ]);
    await one.press(posted, "Acknowledge", marta);
    expect(await one.press(posted, "Acknowledge", joe)).toBe(
      "#42 is acknowledged already by marta (telegram 4242), 2026-11-21 03:41:18 UTC.",
    );
    expect(one.done).toHaveLength(1);
    const seen = message([change("acknowledged", one.alerts.get(42)!)]);
    const latest = { messageId: sent.id, receipt: `${posted.id}`, message: sent };
    await one.channel.send(outgoing({ message: seen, latest }), never);
    expect(one.world.messages.items).toHaveLength(1);
    expect(posted.text).toContain("Acknowledged by marta (telegram 4242)");
    expect(posted.buttons.map(({ text }) => text)).toEqual(["Silence 1 h", "Silence 8 h", "Details"]);
  });

  test("silences up to the level shown, once for any number of presses", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    const notice = await one.press(posted, "Silence 1 h", marta);
    expect(notice).toContain("Silent until 2026-11-21 04:41:18 UTC (silence 1).");
    expect(notice.length).toBeLessThanOrEqual(200);
    one.clock.pass(5_000);
    expect(await one.press(posted, "Silence 1 h", joe)).toContain(
      "Silent already until 2026-11-21 04:41:18 UTC",
    );
    await one.press(posted, "Silence 8 h", joe);
    const of = "silence rule=LiquidationNear subject=main/0.0/SOL upTo critical by";
    expect(one.done).toEqual([`${of} marta (telegram 4242)`, `${of} Joe (telegram 4343)`]);
  });

  test("shows the history of its alert in a silent message", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    expect(await one.press(posted, "Details", marta)).toBe("");
    const story = await one.world.messages.waitFor(({ text }) => text.startsWith("Alert #42"));
    expect(story).toMatchObject({ soundless: true, replyTo: posted.id });
    for (const part of ["LiquidationNear, about main/0.0/SOL", "Liquidation price: $126.55"])
      expect(story.text).toContain(part);
  });

  test("of a message about another alert under the same number does nothing", async () => {
    await using one = await rig();
    const { posted } = await one.post([change("fired", { firedAtMs: atMs - 86_400_000 })]);
    for (const label of ["Acknowledge", "Silence 8 h", "Details"])
      expect(await one.press(posted, label, marta)).toContain("not known here any more");
    expect(one.done).toEqual([]);
  });

  test("of an alert among several names it; a file has buttons too", async () => {
    await using one = await rig();
    const changes = Array.from({ length: 9 }, (_, i) =>
      change("fired", { id: 990_000_000_001 + i, description: "x".repeat(600) }),
    );
    const { posted } = await one.post(changes);
    expect(posted.isDocument).toBe(true);
    expect(posted.buttons).toHaveLength(20);
    expect(posted.buttons[0]?.text).toBe("Acknowledge #990000000001");
    expect(await one.press(posted, "Acknowledge #990000000001", marta)).toContain("not known here any more");
  });
});

describe("a press", () => {
  test("is handled once and confirmed afterwards; one from before a restart is not lost", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    await one.press(posted, "Silence 1 h", marta);
    await one.idle();
    await one.channel.stop();
    const data = posted.buttons[0]!.callback_data;
    const early = one.world.press(posted.id, data, joe);
    one.clock.pass(600_000);
    await one.channel.start(never);
    await one.world.presses.waitFor(({ id, notice }) => id === early.id && notice !== null);
    await one.channel.stop();
    expect(one.done).toEqual([expect.stringContaining("silence"), "ack 42 by Joe (telegram 4343): "]);
    expect(one.world.unconfirmed).toEqual([]);
  });

  test("that a killed daemon had handled, and not confirmed, is not handled again by the next one", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    // Telegram is not reached after the press was handled: the process was killed there.
    const silence = one.actions.silence;
    one.actions.silence = async (wish, preview) => {
      const done = await silence(wish, preview);
      if (!preview) one.far.fault("hang", 99);
      return done;
    };
    const data = posted.buttons.find(({ text }) => text === "Silence 1 h")!.callback_data;
    const pressed = one.world.press(posted.id, data, marta);
    await one.world.presses.waitFor(({ id, notice }) => id === pressed.id && notice !== null);
    expect(one.world.unconfirmed).toHaveLength(1);
    one.clock.pass(1_800_000);
    await using next = {
      channel: one.make("next"),
      async [Symbol.asyncDispose]() {
        await this.channel.stop();
      },
    };
    await one.channel.stop();
    one.far.clearFaults();
    one.actions.silence = silence;
    await next.channel.start(never);
    await one.idle();
    expect(one.done).toHaveLength(1);
    expect(one.silences).toHaveLength(1);
  });

  test("waits for its action: a long one is stated, and confirmed when it is done", async () => {
    await using one = await rig();
    const finish = Promise.withResolvers<"done">();
    one.actions.acknowledgeAlert = () => finish.promise;
    const { posted } = await one.post();
    const noticed = one.press(posted, "Acknowledge", marta);
    await one.clock.asked(10_000);
    one.clock.pass(10_000);
    expect(await noticed).toContain("takes long");
    await one.post();
    await one.post();
    expect(one.world.unconfirmed).toHaveLength(1);
    finish.resolve("done");
    await one.idle();
  });

  test("whose answer is too late is handled all the same, and so is the next one", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    const data = posted.buttons[0]!.callback_data;
    const old = one.world.press(posted.id, data, marta);
    old.notice = "answered long ago";
    await one.idle();
    expect(one.done).toHaveLength(1);
    expect(await one.press(posted, "Acknowledge", joe)).toContain("acknowledged already by marta");
  });
});

describe("polling", () => {
  test("asks for presses alone, and one at a time", async () => {
    await using one = await rig();
    await one.idle();
    expect(one.polls()[0]).toEqual({ limit: 1, timeout: 30, allowed_updates: ["callback_query"] });
  });

  test("is shared by channels of one bot; each handles the presses in its chat", async () => {
    await using one = await rig();
    const second = one.make("second");
    await second.start(never);
    const { posted } = await one.post();
    await one.press(posted, "Acknowledge", marta);
    await one.channel.stop();
    expect(await one.press(posted, "Acknowledge", marta)).toContain("acknowledged already");
    await second.stop();
    expect(one.log.items.join()).not.toContain("do not work");
    expect(one.done).toHaveLength(1);
  });

  test("of channels that share a bot and a chat passes a press to the one that allows the person", async () => {
    await using one = await rig({ allow: { users: [joe.id] } });
    const second = one.make("second", { allow: { users: [marta.id] } });
    await second.start(never);
    const { posted } = await one.post();
    expect(await one.press(posted, "Acknowledge", mallory)).toContain("Sorry, you may not act here.");
    expect(await one.press(posted, "Acknowledge", marta)).toContain("Acknowledged #42");
    await second.stop();
  });

  test("of channels of a chat passes a press in a topic to the one of the topic, whose allowed people count", async () => {
    await using one = await rig();
    const second = one.make("second", { topicId: 5, allow: { users: [joe.id] } });
    await second.start(never);
    const { posted } = await one.post();
    const data = posted.buttons[0]!.callback_data;
    const notice = async (who: TelegramPerson, topicId: number) => {
      const { id } = one.world.press(posted.id, data, who, topicId);
      return (await one.world.presses.waitFor((each) => each.id === id && each.notice !== null)).notice;
    };
    expect(await notice(marta, 5)).toContain("Sorry, you may not act here.");
    expect(await notice(joe, 5)).toContain("Acknowledged #42");
    // A thread of replies is not a topic.
    expect(await notice(marta, 6)).toContain("acknowledged already");
    await second.stop();
  });

  test.each([
    ["another program", "terminated by other getUpdates"],
    ["a webhook", "can't use getUpdates method while webhook is active"],
  ])(
    "in conflict with %s is reported once, in the log and the status, and so is its end",
    async (who, words) => {
      await using one = await rig();
      await one.idle();
      if (who === "a webhook") one.world.hasWebhook = true;
      const other = () =>
        fetch(`${one.far.url}/bot${token}/getUpdates`, {
          ...{ method: "POST", headers: { "content-type": "application/json" } },
          body: JSON.stringify({ timeout: 0, allowed_updates: ["callback_query"] }),
        });
      if (who === "a webhook") one.world.endPoll();
      else await other();
      const said = await one.log.waitFor((line) => line.startsWith("buttons on Telegram do not work now"));
      expect(said).toContain(words);
      expect(one.channel.trouble?.()).toContain("another program or a webhook takes the updates of this bot");
      expect(said).not.toContain(token);
      await one.clock.asked(1_000);
      if (who === "a webhook") {
        one.clock.pass(1_000);
        await one.clock.asked(2_000);
      }
      one.world.hasWebhook = false;
      one.clock.pass(90_000);
      await one.idle();
      const { posted } = await one.post();
      await one.press(posted, "Acknowledge", marta);
      await one.log.waitFor((line) => line.startsWith("buttons on Telegram work again"));
      expect(one.channel.trouble?.()).toBeNull();
      expect(one.log.items.filter((line) => line.startsWith("buttons on Telegram do not"))).toHaveLength(1);
    },
  );

  test("goes on after a failure, with growing waits, and reports only a lasting one", async () => {
    await using one = await rig();
    await one.idle();
    one.far.fault({ status: 502, body: "Bad Gateway" }, 3);
    one.world.endPoll();
    for (const ms of [1_000, 2_000, 4_000]) {
      await one.clock.asked(ms);
      expect(one.log.items.join()).toMatch(ms === 4_000 ? /do not work now/ : /^((?!do not work now).)*$/s);
      one.clock.pass(ms);
    }
    await one.log.waitFor((line) => line.startsWith("buttons on Telegram work again"));
    expect(one.channel.trouble?.()).toBeNull();
  });

  test("handles a press of a long message that replies to another one", async () => {
    await using one = await rig();
    const { posted } = await one.post();
    const reply_to_message = { message_id: 1, text: "\u00e9".repeat(100_000) };
    one.far.fault({
      status: 200,
      body: {
        ok: true,
        result: [
          {
            update_id: 4_000,
            callback_query: {
              ...{ id: "77", from: marta, data: posted.buttons[0]!.callback_data },
              message: { message_id: posted.id, chat: { id: chatId }, reply_to_message },
            },
          },
        ],
      },
    });
    one.world.endPoll();
    await one.log.waitFor((line) => line.startsWith("acted from Telegram: Acknowledged #42"));
    expect(one.done).toHaveLength(1);
  });

  test.each([
    ["nothing", []],
    ["the same update", [{ update_id: 4_000 }]],
  ])("waits where a server that does not wait answers %s again and again", async (_what, result) => {
    await using one = await rig();
    await one.idle();
    const before = one.polls().length;
    one.far.fault({ status: 200, body: { ok: true, result } }, 200);
    one.world.endPoll();
    await one.clock.asked(1_000);
    expect(one.polls().length - before).toBeLessThan(10);
    one.far.clearFaults();
    one.clock.pass(1_000);
    const { posted } = await one.post();
    await one.press(posted, "Acknowledge", marta);
    expect(one.channel.trouble?.()).toBeNull();
  });
});

test("a wait that Telegram states is a day at most", async () => {
  const body = { ok: false, description: "Too Many Requests", parameters: { retry_after: 1e9 } };
  await using far = await startService(() => ({ status: 429, body }));
  const settings = channelSettings.parse({ type: "telegram", token, chatId, apiUrl: far.url });
  const channel = createChannel("phone", settings, {
    ...{ clock: handClock(), random: seededRandom(1), out: new PassThrough() },
  });
  expect(await channel.send(outgoing({ message: message([change()]) }), never)).toMatchObject({
    kind: "retry",
    failure: "rate-limited",
    afterMs: 86_400_000,
  });
  await channel.stop();
});
