/**
 * Discord through the real discord.js: the effects of its pitfalls and limits on a message, and the channel's handling
 * of them.
 */
import { Writable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import type { Channel, Outgoing } from "../../src/channels/channel.ts";
import { mentionFor } from "../../src/channels/mention.ts";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Message } from "../../src/domain/alerts/delivery.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type DiscordOptions, type LocalDiscord, startDiscord } from "../support/discord.ts";
import { type HandClock, handClock } from "./hand-clock.ts";
import { atMs, change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;

interface Rig extends AsyncDisposable {
  /** Resolves when a message (left out: the first) was edited so often. */
  edited(times?: number, index?: number): Promise<unknown>;
  readonly discord: LocalDiscord;
  readonly clock: HandClock;
  readonly channel: Channel;
  send(parts?: Partial<Outgoing>): ReturnType<Channel["send"]>;
  /** The same channel in a new process. */
  again(): Channel;
}

async function rig(
  more: object = {},
  options: DiscordOptions = {},
  kind: "bot" | "webhook" = "bot",
): Promise<Rig> {
  const clock = handClock();
  const discord = await startDiscord({ now: () => clock.nowMs(), ...options });
  const { token, channelId, apiUrl, webhookUrl } = discord;
  const where = kind === "bot" ? { token, channelId, apiUrl } : { webhookUrl };
  const settings = channelSettings.parse({ type: "discord", ...where, ...more });
  const out = new Writable({ write: (_chunk, _encoding, done) => done() });
  const made: Channel[] = [];
  const make = () => {
    const channel = createChannel("chat", settings, { clock, random: seededRandom(1), out });
    made.push(channel);
    return channel;
  };
  const channel = make();
  return {
    discord,
    clock,
    channel,
    send: (parts) => channel.send(outgoing(parts), never),
    again: make,
    edited: (times = 1, index = 0) =>
      discord.waitForMessage(({ id, edits }) => id === discord.messages[index]?.id && edits >= times),
    async [Symbol.asyncDispose]() {
      for (const one of made) await one.stop();
      await discord.close();
    },
  };
}

/** The outgoing message for the end of an alert that `first` reported. */
async function ending(one: Rig, first: Message, changes: Parameters<typeof message>[0]): Promise<Outgoing> {
  const known = one.discord.messages.find(({ nonce, text }) => nonce === first.id || text.includes(first.id));
  const receipt = known?.id ?? "";
  return {
    message: message(changes),
    attempt: 0,
    inReplyTo: { messageId: first.id, receipt, message: first },
  };
}

describe("the gateway", () => {
  test("logs in as a bot, without intents, and is acknowledged", async () => {
    await using one = await rig({}, { heartbeatMs: 250 });
    expect(await one.channel.start(never)).toMatchObject({ kind: "ok", detail: "bot perpwatch in #alerts" });
    const session = await one.discord.gateway.waitForSession(({ heartbeats }) => heartbeats > 0);
    expect(session).toMatchObject({ intents: 0, open: true });
  });

  test("is not needed for sending, and reconnects after growing waits", async () => {
    await using one = await rig();
    one.discord.gateway.down = true;
    expect(await one.channel.start(never)).toMatchObject({ kind: "ok" });
    expect(await one.send()).toMatchObject({ kind: "delivered" });
    await one.clock.asked();
    one.clock.pass(6_000);
    await one.clock.asked();
    const logins = () => one.discord.requests.filter(({ path }) => path === "/gateway/bot").length;
    expect(logins()).toBe(2);
    one.clock.pass(6_000);
    expect(logins()).toBe(2);
    one.discord.gateway.down = false;
    one.clock.pass(6_000);
    await one.discord.gateway.waitForSession();
  });

  test("comes back when Discord drops it", async () => {
    await using one = await rig();
    await one.channel.start(never);
    await one.discord.gateway.waitForSession();
    one.discord.gateway.drop(4000);
    await one.discord.gateway.waitForSession(({ resumed, open }) => resumed && open);
  });

  test("is created anew when it stays down, and the old one does not return beside it", async () => {
    await using one = await rig();
    await one.channel.start(never);
    await one.discord.gateway.waitForSession();
    one.discord.gateway.down = true;
    one.discord.gateway.drop(4000);
    await one.clock.asked();
    // discord.js' own retries happen within half a second; there is no event for their absence.
    const { attempts } = one.discord.gateway;
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(one.discord.gateway.attempts).toBe(attempts);
    one.discord.gateway.down = false;
    one.clock.pass(6_000);
    await one.discord.gateway.waitForSession(({ open }) => open);
  });

  test("with an unknown token: reported at the start and when sending", async () => {
    await using one = await rig();
    one.discord.token = "MTEwMDAwMDAwMDAwMDAwMDAwMQ.another.token-that-replaced-the-first";
    const started = await one.channel.start(never);
    expect(started).toMatchObject({
      kind: "failed",
      failure: "authentication",
      fix: expect.stringContaining("Reset Token"),
    });
    expect(await one.send()).toMatchObject({
      kind: "refused",
      failure: "authentication",
      channelBroken: true,
    });
  });
});

describe("an attempt", () => {
  test("one 401 does not silence the bot", async () => {
    await using one = await rig();
    one.discord.fail({ effect: { kind: "status", status: 401 } });
    expect(await one.send()).toMatchObject({ kind: "refused", failure: "authentication" });
    expect(await one.send()).toMatchObject({ kind: "delivered" });
  });

  test("is one request: a server error is not repeated by the library", async () => {
    await using one = await rig();
    one.discord.fail({ times: 5, effect: { kind: "status", status: 500 } });
    await one.send();
    expect(one.discord.requests).toHaveLength(1);
  });

  test.each(["hang", "stallBody"] as const)(
    "a %s costs seconds, and the repeat makes one message",
    async (kind) => {
      await using one = await rig();
      const sent = message();
      one.discord.fail({ effect: { kind } });
      const result = await one.send({ message: sent });
      expect(result).toMatchObject({ kind: "retry", failure: "timeout" });
      expect(await one.send({ message: sent, attempt: 1 })).toMatchObject({ kind: "delivered" });
      expect(one.discord.messages).toHaveLength(1);
    },
  );

  test("an accepted message whose answer was lost is not sent twice: by its nonce", async () => {
    await using one = await rig();
    const sent = message();
    one.discord.fail({ effect: { kind: "loseReply" } });
    expect(await one.send({ message: sent })).toMatchObject({ kind: "retry", failure: "unreachable" });
    expect(one.discord.messages).toHaveLength(1);
    const again = await one.send({ message: sent, attempt: 1 });
    expect(again).toEqual({ kind: "delivered", receipt: one.discord.messages[0]?.id });
    expect(one.discord.messages).toHaveLength(1);
    expect(one.discord.messages[0]?.nonce).toBe(sent.id);
  });

  test("nor later, when the nonce is forgotten: by a search, for any number of messages since", async () => {
    await using one = await rig();
    const sent = message();
    for (let count = 0; count < 150; count++) one.discord.say(`chatter ${count} about ${sent.id} perhaps`);
    one.discord.fail({ effect: { kind: "loseReply" } });
    await one.send({ message: sent });
    const first = one.discord.messages.at(-1);
    one.discord.say("good morning");
    one.clock.pass(20 * 60_000);
    expect(await one.send({ message: sent, attempt: 3 })).toEqual({ kind: "delivered", receipt: first?.id });
    expect(one.discord.messages).toHaveLength(152);
  });

  test("whose search finds nothing sends", async () => {
    await using one = await rig();
    const sent = message();
    one.clock.pass(20 * 60_000);
    for (let count = 0; count < 3; count++) one.discord.say(`the footer of it ends in · ${sent.id}`);
    expect(await one.send({ message: sent, attempt: 3 })).toMatchObject({ kind: "delivered" });
    expect(one.discord.messages.filter(({ nonce }) => nonce === sent.id)).toHaveLength(1);
  });

  test.each([
    ["warning", "retry", 0],
    ["critical", "delivered", 1],
  ] as const)("that cannot search: a %s message is %s", async (severity, kind, count) => {
    await using one = await rig();
    const sent = message([change("fired", { severity })]);
    one.clock.pass(20 * 60_000);
    one.discord.fail({ method: "GET", path: /messages$/, effect: { kind: "status", status: 502 } });
    expect(await one.send({ message: sent, attempt: 3 })).toMatchObject({ kind });
    expect(one.discord.messages).toHaveLength(count);
  });

  test.each([
    ["the channel is deleted", "rejected", true, (discord: LocalDiscord) => discord.removeChannel()],
    [
      "the bot may not write",
      "authentication",
      true,
      (discord: LocalDiscord) => discord.permissions.delete("SEND_MESSAGES"),
    ],
    [
      "the bot was removed",
      "authentication",
      true,
      (discord: LocalDiscord) => discord.permissions.delete("VIEW_CHANNEL"),
    ],
  ] as const)("when %s", async (_what, failure, channelBroken, harm) => {
    await using one = await rig();
    harm(one.discord);
    expect(await one.send()).toMatchObject({ kind: "refused", failure, channelBroken });
  });
});

describe("rate limits", () => {
  test("of one route do not affect others, and the route is not requested before its time", async () => {
    await using one = await rig();
    one.discord.fail({ effect: { kind: "rateLimit", retryAfterMs: 60_000 } });
    expect(await one.send()).toMatchObject({ kind: "retry", failure: "rate-limited", afterMs: 60_000 });
    one.clock.pass(20_000);
    const before = one.discord.requests.length;
    expect(await one.send()).toMatchObject({ kind: "retry", afterMs: 40_000 });
    expect(one.discord.requests).toHaveLength(before);
    expect(await one.channel.probe(never)).toMatchObject({ kind: "ok" });
    one.clock.pass(40_000);
    expect(await one.send()).toMatchObject({ kind: "delivered" });
  });

  test("that Discord did not state are not assumed: a burst after an outage is sent as it is", async () => {
    await using one = await rig();
    // All within one second of wall-clock time, however slow the machine is.
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      for (let sent = 0; sent < 60; sent++) {
        const whole = { ...outgoing().message, id: `burst${sent}` };
        expect(await one.send({ message: whole })).toMatchObject({ kind: "delivered" });
      }
    } finally {
      vi.useRealTimers();
    }
    expect(one.discord.messages).toHaveLength(60);
  });

  test("of the whole bot hold everything", async () => {
    await using one = await rig();
    one.discord.fail({ effect: { kind: "rateLimit", retryAfterMs: 2_500, global: true } });
    expect(await one.send()).toMatchObject({ kind: "retry", afterMs: 2_500 });
    expect(await one.channel.probe(never)).toMatchObject({ kind: "failed", failure: "rate-limited" });
    expect(one.discord.requests).toHaveLength(1);
    one.clock.pass(2_500);
    expect(await one.send()).toMatchObject({ kind: "delivered" });
  });

  test("that the headers announce are kept without a 429", async () => {
    await using one = await rig({}, { bucket: { limit: 2, perMs: 5_000 } });
    const results = [];
    for (let count = 0; count < 4; count++) results.push((await one.send()).kind);
    expect(results).toEqual(["delivered", "delivered", "retry", "retry"]);
    expect(one.discord.requests.map(({ status }) => status)).toEqual([200, 200]);
    one.clock.pass(5_000);
    expect(await one.send()).toMatchObject({ kind: "delivered" });
  });
});

describe("an alert that ends", () => {
  test("its first message is edited, green and struck, and answered", async () => {
    await using one = await rig({ mention: { critical: "<@&1100000000000000005>" } });
    const first = message();
    await one.send({ message: first });
    const [original] = one.discord.messages;
    expect(original?.pings.roles).toEqual(["1100000000000000005"]);
    await one.send(await ending(one, first, [change("ended", {}, { atMs: atMs + 60_000 })]));
    await one.edited();
    const [edited, reply] = one.discord.messages;
    expect(edited).toMatchObject({ edits: 1, embeds: [{ color: 0x12b76a }] });
    expect(edited?.content).toBe(
      "🟢 **RESOLVED 2026-11-21 03:42:18 UTC**\n~~FIRING critical: main: SOL long is 4.2 % from liquidation~~ (#42)",
    );
    expect(reply).toMatchObject({
      replyTo: original?.id,
      pings: { roles: [] },
      embeds: [{ color: 0x12b76a }],
    });
    expect(reply?.content).toContain("RESOLVED");
  });

  test.each([
    ["liquidation", "liquidated", "LIQUIDATED"],
    ["deleveraging", "deleveraged", "AUTO-DELEVERAGED"],
  ] as const)("by %s is not green, and rings", async (_, how, lead) => {
    await using one = await rig({ mention: { critical: "<@&1100000000000000005>" } });
    const first = message();
    await one.send({ message: first });
    await one.send(await ending(one, first, [change("ended", { ending: how })]));
    await one.edited();
    const [edited, reply] = one.discord.messages;
    expect(edited?.content.startsWith(`🔴 **${lead}`)).toBe(true);
    expect(reply).toMatchObject({ pings: { roles: ["1100000000000000005"] }, embeds: [{ color: 0xd92d20 }] });
    expect(`${edited?.text}${reply?.text}`).not.toMatch(/RESOLVED|🟢/);
  });

  test("whose first message was deleted is reported all the same", async () => {
    await using one = await rig();
    const first = message();
    await one.send({ message: first });
    const told = await ending(one, first, [change("ended")]);
    one.discord.remove(told.inReplyTo?.receipt ?? "");
    expect(await one.send(told)).toMatchObject({ kind: "delivered" });
    expect(one.discord.messages).toMatchObject([{ replyTo: null, embeds: [{ color: 0x12b76a }] }]);
  });

  test("among others in one message is struck alone, also after a restart", async () => {
    await using one = await rig();
    const other = {
      id: 43,
      summary: "main: BTC short is 9 % from liquidation",
      severity: "warning" as const,
    };
    const first = message([change(), change("fired", other)]);
    await one.send({ message: first });
    const told = await ending(one, first, [change("ended", {}, { atMs: atMs + 1_000 })]);
    await one.send(told);
    await one.edited();
    const embeds = () => one.discord.messages[0]?.embeds ?? [];
    expect(embeds()[0]).toMatchObject({
      title: expect.stringMatching(/^~~.*#42.*~~$/),
      description: expect.stringMatching(/^RESOLVED 2026-11-21 03:41:19 UTC\n/),
      color: 0x12b76a,
    });
    expect(embeds()[1]?.title).not.toContain("~~");
    expect(embeds()[1]?.color).toBe(0xf79009);

    const restarted = one.again();
    const second = await ending(one, first, [change("ended", { ...other, ending: "closed" })]);
    const inReplyTo = { ...second.inReplyTo!, since: [told.message] };
    await restarted.send({ ...second, inReplyTo }, never);
    await one.edited(2);
    expect(embeds().map(({ title }) => title?.startsWith("~~"))).toEqual([true, true]);
    expect(embeds().map(({ color }) => color)).toEqual([0x12b76a, 0x98a2b3]);
    expect(one.discord.messages[0]).toMatchObject({ edits: 2 });
  });

  test("is delivered when the edit fails, which is tried again later", async () => {
    await using one = await rig();
    const first = message();
    await one.send({ message: first });
    one.discord.fail({
      method: "PATCH",
      path: "/channels/*",
      times: 2,
      effect: { kind: "status", status: 503 },
    });
    expect(await one.send(await ending(one, first, [change("ended")]))).toMatchObject({ kind: "delivered" });
    expect(one.discord.messages[0]?.edits).toBe(0);
    await one.clock.asked(2_000);
    one.clock.pass(2_000);
    await one.clock.asked(4_000);
    one.clock.pass(4_000);
    await one.discord.waitForMessage(({ edits }) => edits === 1);
  });

  test("on a webhook: the first message is edited, and the end is a message of its own", async () => {
    await using one = await rig({}, {}, "webhook");
    const first = message();
    await one.send({ message: first });
    expect(await one.send(await ending(one, first, [change("ended")]))).toMatchObject({ kind: "delivered" });
    await one.edited();
    expect(one.discord.messages).toMatchObject([{ edits: 1, via: "webhook" }, { replyTo: null }]);
  });
});

describe("a message whose changes", () => {
  const acknowledged = { acknowledgedBy: "marta", acknowledgedAtMs: atMs + 5_000 };
  /** `first`, with all later messages. */
  const tellNext = async (one: Rig, first: Message, since: readonly Message[], next: Message) => {
    const receipt = one.discord.messages.find(({ nonce }) => nonce === first.id)?.id ?? "";
    const told = { messageId: first.id, receipt, message: first, since };
    return one.channel.send(outgoing({ message: next, inReplyTo: told, latest: told }), never);
  };

  test.each([
    ["are better", "fell", "edits"],
    ["are acknowledgements", "acknowledged", "edits"],
    ["are worse", "rose", "is new"],
    ["are worse within the level", "worsened", "is new"],
    ["are changed in no known direction", "changed", "is new"],
    ["are reminders", "reminder", "is new"],
    ["are escalated", "escalated", "is new"],
    ["are endings", "ended", "is new"],
  ] as const)("%s (%s) %s", async (_what, kind, does) => {
    await using one = await rig({ mention: { critical: "<@&1100000000000000005>" } });
    const first = message();
    await one.send({ message: first });
    const result = await tellNext(one, first, [], message([change(kind)]));
    if (kind === "ended") await one.edited();
    const [original] = one.discord.messages;
    expect(result).toEqual({ kind: "delivered", receipt: one.discord.messages.at(-1)?.id });
    expect(one.discord.messages).toHaveLength(does === "edits" ? 1 : 2);
    expect(original?.edits).toBe(does === "edits" || kind === "ended" ? 1 : 0);
    const rings = one.discord.messages[1]?.pings.roles.length;
    if (does === "is new") expect(rings).toBe(kind === "ended" ? 0 : 1);
  });

  test("are minor and worse is sent, as is one of alerts that no message contains together", async () => {
    await using one = await rig();
    const first = message([change(), change("fired", { id: 43 })]);
    await one.send({ message: first });
    await tellNext(one, first, [], message([change("acknowledged"), change("rose", { id: 43 })]));
    await one.send({ message: message([change("acknowledged")]) });
    expect(one.discord.messages.map(({ edits }) => edits)).toEqual([0, 0, 0]);
  });

  test("are minor keep the text of the others, earlier edits and endings too", async () => {
    await using one = await rig();
    const first = message([change(), change("fired", { id: 43 }), change("fired", { id: 44 })]);
    await one.send({ message: first });
    const ack = message([change("acknowledged", acknowledged)]);
    await tellNext(one, first, [], ack);
    const end = await ending(one, first, [change("ended", { id: 44 })]);
    await one.channel.send(end, never);
    await tellNext(
      one,
      first,
      [ack, end.message],
      message([change("fell", { id: 43, severity: "warning" })]),
    );
    const titles = one.discord.messages[0]?.embeds.map(({ title }) => title?.split(":")[0]);
    expect(titles).toEqual([
      "🔴 ACKNOWLEDGED, still critical #42",
      "🟠 BETTER, now warning #43",
      "~~🔴 FIRING critical #44",
    ]);
    expect(one.discord.messages[0]?.text).toContain("Acknowledged by marta");
    expect(one.discord.messages[0]?.text).toContain(first.id);
  });

  test("are minor is sent if the message to edit was deleted, and waits on a server error", async () => {
    await using one = await rig();
    const first = message();
    await one.send({ message: first });
    one.discord.fail({ method: "PATCH", path: "/channels/*", effect: { kind: "status", status: 503 } });
    const next = message([change("acknowledged")]);
    expect(await tellNext(one, first, [], next)).toMatchObject({ kind: "retry", failure: "server-error" });
    expect(one.discord.messages).toHaveLength(1);
    const told = { messageId: first.id, receipt: one.discord.messages[0]!.id, message: first };
    one.discord.remove(told.receipt);
    const again = await one.send({ message: next, attempt: 1, inReplyTo: told, latest: told });
    expect(again).toEqual({ kind: "delivered", receipt: one.discord.messages[0]?.id });
  });

  test("end an alert: its newest message is marked too, and has no buttons left to press", async () => {
    await using one = await rig();
    const first = message();
    await one.send({ message: first });
    const worse = message([change("reminder")]);
    await tellNext(one, first, [], worse);
    const [a, b] = one.discord.messages.map(({ id }) => id);
    const inReplyTo = { messageId: first.id, receipt: a!, message: first };
    const latest = { messageId: worse.id, receipt: b!, message: worse };
    await one.send({ message: message([change("ended")]), inReplyTo, latest });
    await Promise.all([one.edited(1, 0), one.edited(1, 1)]);
    expect(one.discord.messages.map(({ edits }) => edits)).toEqual([1, 1, 0]);
    expect(one.discord.messages[1]?.content).toContain("~~STILL FIRING");
  });
});

describe("refusals of Discord", () => {
  test("a refused embed is sent as plain text", async () => {
    await using one = await rig();
    one.discord.fail({
      effect: { kind: "status", status: 400, body: { message: "Invalid Form Body", code: 50035 } },
    });
    const sent = message();
    expect(await one.send({ message: sent })).toMatchObject({ kind: "delivered" });
    const [plain] = one.discord.messages;
    expect(plain).toMatchObject({ embeds: [], nonce: sent.id });
    for (const part of [
      "FIRING critical",
      "Liquidation price: $126.55",
      "03:41:18 UTC",
      "alerts ack 42",
      sent.id,
    ]) {
      expect(plain?.content).toContain(part);
    }
  });

  const many = () =>
    message(
      Array.from({ length: 200 }, (_, i) =>
        change("fired", { id: i + 1, summary: `main: SOL long ${"y".repeat(80)}`, severity: "info" }),
      ),
      { content: { folded: "storm" } },
    );

  test("more alerts than embeds go with a file that names each", async () => {
    await using one = await rig();
    const sent = many();
    expect(await one.send({ message: sent })).toMatchObject({ kind: "delivered" });
    const [only, ...others] = one.discord.messages;
    expect(others).toEqual([]);
    expect(only?.files.map(({ name }) => name)).toEqual(["alerts.txt"]);
    const list = String(only?.files[0]?.data);
    for (let id = 1; id <= 200; id++) expect(list).toMatch(new RegExp(`#${id}: main: SOL long y`));
    expect(only?.text).toContain("**and 191 more**: all 200 are in alerts.txt");
  });

  test("without the permission to attach files each is named in parts, with one mention, and a retry sends no part again", async () => {
    await using one = await rig();
    one.discord.permissions.delete("ATTACH_FILES");
    const sent = many();
    const path = `/channels/${one.discord.channelId}/messages`;
    // The form and two parts are answered, the third part is not.
    let seen = 0;
    const watch = one.discord.waitForRequest((request) => request.path === path && ++seen === 3);
    const sending = one.send({ message: sent });
    await watch;
    one.discord.fail({ path, method: "POST", times: 1, effect: { kind: "status", status: 503 } });
    expect(await sending).toMatchObject({ kind: "retry", failure: "server-error" });
    expect(await one.send({ message: sent, attempt: 1 })).toMatchObject({
      kind: "delivered",
      receipt: one.discord.messages[0]?.id,
    });
    const parts = one.discord.messages;
    expect(parts.map(({ nonce }) => nonce)).toEqual(
      parts.map((_, part) => (part === 0 ? sent.id : `${sent.id}-${part}`)),
    );
    const said = parts.map(({ content }) => content).join("\n");
    for (let id = 1; id <= 200; id++) expect(said.split(`#${id}: main: SOL long y`)).toHaveLength(2);
    expect(parts.at(-1)?.content.endsWith(sent.id)).toBe(true);
    for (const { content } of parts) expect(content.length).toBeLessThanOrEqual(2_000);
  });

  test.each([
    ["EMBED_LINKS", 0],
    ["READ_MESSAGE_HISTORY", 1],
  ] as const)("without %s it is sent in a simpler form", async (right, embeds) => {
    await using one = await rig();
    const first = message();
    await one.send({ message: first });
    const told = await ending(one, first, [change("ended")]);
    one.discord.permissions.delete(right);
    expect(await one.send(told)).toMatchObject({ kind: "delivered" });
    expect(one.discord.messages).toHaveLength(2);
    expect(one.discord.messages[1]?.embeds).toHaveLength(embeds);
  });
});

test("a liquidation has a mention for each position, not another for the account", () => {
  const settings = { critical: "@here" } as const;
  const calledBy = (...changes: AlertChange[]) => mentionFor(message(changes), settings);
  const ofAccount = { ending: "liquidated", subject: "main/0.0", symbol: null } as const;
  expect(calledBy(change("ended", { ending: "liquidated" }))).toBe("@here");
  expect(calledBy(change("ended", ofAccount))).toBeNull();
  expect(calledBy(change("worsened"))).toBe("@here");
  expect(calledBy(change("changed"))).toBe("@here");
});

test("a quiet message has no mention", () => {
  const mentions = { critical: "<@&1>" };
  expect(mentionFor(message([change()]), mentions)).toBe("<@&1>");
  expect(mentionFor(message([change()], { content: { quiet: true } }), mentions)).toBeNull();
});

test("where no mention is configured, none is allowed", async () => {
  await using one = await rig();
  await one.send();
  expect(one.discord.requests[0]?.body).toMatchObject({ allowed_mentions: { parse: [] } });
});

describe("a probe states the fix", () => {
  const role = "1100000000000000005";
  test.each([
    ["no such channel", {}, (d: LocalDiscord) => d.removeChannel(), "failed", /Copy Channel ID/],
    ["not invited", {}, (d: LocalDiscord) => d.permissions.clear(), "failed", /invite the bot/],
    [
      "may not send",
      {},
      (d: LocalDiscord) => d.permissions.delete("SEND_MESSAGES"),
      "failed",
      /give the bot Send Messages/,
    ],
    [
      "no embeds",
      {},
      (d: LocalDiscord) => d.permissions.delete("EMBED_LINKS"),
      "ok",
      /Embed Links messages go as plain text/,
    ],
    [
      "no files",
      {},
      (d: LocalDiscord) => d.permissions.delete("ATTACH_FILES"),
      "ok",
      /Attach Files messages have no charts/,
    ],
    [
      "no history",
      {},
      (d: LocalDiscord) => d.permissions.delete("READ_MESSAGE_HISTORY"),
      "ok",
      /cannot reply/,
    ],
    [
      "no threads",
      {},
      (d: LocalDiscord) => d.permissions.delete("CREATE_PUBLIC_THREADS"),
      "ok",
      /^without Create Public Threads what follows .* give the bot Create Public Threads and Send Messages in Threads/,
    ],
    [
      "no messages in threads",
      {},
      (d: LocalDiscord) => d.permissions.delete("SEND_MESSAGES_IN_THREADS"),
      "ok",
      /^without Send Messages in Threads /,
    ],
    [
      "a channel without threads",
      {},
      (d: LocalDiscord) => {
        d.channelType = 2;
      },
      "ok",
      /has no threads: take a text channel/,
    ],
    [
      "no threads, and none wanted",
      { threads: false },
      (d: LocalDiscord) => d.permissions.delete("CREATE_PUBLIC_THREADS"),
      "ok",
      /^bot perpwatch in #alerts$/,
    ],
    [
      "a silent role",
      { mention: { critical: `<@&${role}>` } },
      (d: LocalDiscord) => {
        d.roleMentionable = false;
      },
      "ok",
      /pings nobody/,
    ],
    [
      "a role from elsewhere",
      { mention: { critical: "<@&1100000000000000099>" } },
      () => {},
      "ok",
      /not in this server/,
    ],
    ["everyone, not allowed", { mention: { warning: "@here" } }, () => {}, "ok", /@here pings nobody/],
    [
      "an administrator",
      {},
      (d: LocalDiscord) => {
        d.permissions.clear();
        d.permissions.add("ADMINISTRATOR").add("VIEW_CHANNEL");
      },
      "ok",
      /^bot perpwatch in #alerts$/,
    ],
    [
      "Discord unwell",
      {},
      (d: LocalDiscord) => d.fail({ path: "/users/@me", effect: { kind: "status", status: 500 } }),
      "failed",
      /wait/,
    ],
  ])("%s", async (_what, more, harm, kind, words) => {
    await using one = await rig(more);
    harm(one.discord);
    const result = await one.channel.probe(never);
    expect(result.kind).toBe(kind);
    const told =
      result.kind === "failed"
        ? result.fix
        : (result.warnings?.map(({ detail, fix }) => `${detail}: ${fix}`).join("; ") ?? result.detail);
    expect(told).toMatch(words);
  });

  test("a webhook that was deleted", async () => {
    await using one = await rig({}, {}, "webhook");
    expect(await one.channel.probe(never)).toMatchObject({ kind: "ok", detail: "webhook perpwatch" });
    one.discord.removeChannel();
    expect(await one.channel.probe(never)).toMatchObject({
      kind: "failed",
      fix: expect.stringContaining("new webhook"),
    });
    expect(await one.send()).toMatchObject({ kind: "refused", failure: "rejected", channelBroken: true });
  });
});
