/**
 * Threads: messages after the first one of a critical group are sent into a thread below it, once, also after restarts
 * and crashes; they are sent to the channel if the thread refuses them or would notify nobody.
 */
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Entry } from "../../src/alerts/pending/waiting.ts";
import type { Channel, SendResult } from "../../src/channels/channel.ts";
import type { ChannelLog } from "../../src/channels/log.ts";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import type { Journal } from "../../src/deliver/journal.ts";
import { earlierMessages } from "../../src/deliver/queue/attempt.ts";
import type { Alert, AlertChange, AlertChangeKind } from "../../src/domain/alerts/alert.ts";
import type { Message, MessageContent } from "../../src/domain/alerts/delivery.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { ChatActions } from "../../src/domain/ports.ts";
import { type DiscordMessage, type LocalDiscord, startDiscord } from "../support/discord.ts";
import { type HandClock, handClock } from "./hand-clock.ts";
import { change, message } from "./messages.ts";

const never = new AbortController().signal;
const role = "1100000000000000005";
const byRole = { mention: { critical: `<@&${role}>`, warning: `<@&${role}>` } };
const marta = { id: "1200000000000000001", username: "marta", roles: [] };

interface Rig extends AsyncDisposable {
  readonly discord: LocalDiscord;
  readonly clock: HandClock;
  readonly warned: string[];
  /** Requested actions. */
  readonly acts: string[];
  channel: Channel;
  /** The same channel in a new process. */
  restart(): void;
  /** Finalizes, sends and records a message like the outbox, with the history of messages. */
  sendChanges(changes: readonly AlertChange[], content?: Partial<MessageContent>): Promise<SendResult>;
  /** One more attempt for a message that was not recorded as delivered. */
  again(sent: Message): Promise<SendResult>;
  last(): Message;
  /** Messages in the channel, and in the thread below its message of that index. */
  inChannel(): readonly DiscordMessage[];
  below(index: number): readonly DiscordMessage[];
}

async function rig(more: object = byRole): Promise<Rig> {
  const clock = handClock();
  const discord = await startDiscord({ now: () => clock.nowMs() });
  const { token, channelId, apiUrl } = discord;
  const settings = channelSettings.parse({ type: "discord", token, channelId, apiUrl, ...more });
  const out = new Writable({ write: (_chunk, _encoding, done) => done() });
  const warned: string[] = [];
  const acts: string[] = [];
  const log: ChannelLog = {
    debug() {},
    info() {},
    warn: (_fields, text) => void warned.push(text),
  };
  const actions = {
    alert: async (id: number) => ({ alert: { ...change().alert, id } }),
    acknowledgeAlert: async (id: number, by: string) => {
      acts.push(`ack ${id} by ${by}`);
      return "done";
    },
  } as unknown as ChatActions;
  const made: Channel[] = [];
  const make = () => {
    const one = createChannel("chat", settings, { clock, random: seededRandom(1), out, log, actions });
    made.push(one);
    return one;
  };
  const known: Message[] = [];
  const store = {
    messages: async ({ alertIds = [] }: { readonly alertIds?: readonly number[] }) =>
      known.filter((one) => one.alertIds.some((id) => alertIds.includes(id))),
  };
  const journal = { unwritten: () => [] } as unknown as Journal;
  let newest = message();
  const attempt = async (sent: Message, attempt: number): Promise<SendResult> => {
    const entries = sent.content.items.map(({ change: one }) => ({
      ...{ item: { alertId: one.alertId }, change: one },
    })) as unknown as Entry[];
    const before = await earlierMessages(sent, entries, store, journal, self.channel.keepsGroups);
    const result = await self.channel.send({ message: sent, attempt, ...before }, never);
    if (result.kind === "delivered") {
      const deliveredAtMs = clock.nowMs();
      known.push({ ...sent, status: "delivered", receipt: result.receipt, deliveredAtMs });
    }
    return result;
  };
  const self: Rig = {
    ...{ discord, clock, warned, acts },
    channel: make(),
    restart() {
      self.channel = make();
    },
    sendChanges(changes, content = {}) {
      clock.pass(1_000);
      newest = message(changes, { content, sealedAtMs: clock.nowMs() });
      return attempt(newest, 0);
    },
    again: (sent) => attempt(sent, sent.attempts + 1),
    last: () => newest,
    inChannel: () => discord.messages.filter((one) => one.channelId === channelId),
    below(index) {
      const root = self.inChannel()[index];
      return discord.messages.filter((one) => one.channelId === root?.id);
    },
    async [Symbol.asyncDispose]() {
      for (const one of made) await one.stop();
      await discord.close();
    },
  };
  return self;
}

const began = (id: number, parts: Partial<Alert> = {}) => change("fired", { id, ...parts });
const step = (kind: AlertChangeKind, id: number, parts: Partial<Alert> = {}) =>
  change(kind, { id, ...parts });
/** Other firing alerts of the group. */
const beside = (...ids: number[]): Partial<MessageContent> => ({
  standing: { alerts: ids.map((id) => ({ id, severity: "critical", summary: "x" })), more: 0 },
});

describe("the second message of a critical group, and each after it,", () => {
  test.each([
    ["a reminder", step("reminder", 1), 1],
    ["one that got worse", step("worsened", 1), 1],
    ["one that nobody answered", step("escalated", 1), 1],
    ["an end", step("ended", 1), 0],
    ["a liquidation", step("ended", 1, { ending: "liquidated" }), 1],
  ] as const)("goes into a thread below the first: %s, which calls as ever", async (_what, next, rings) => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    const result = await one.sendChanges([next]);
    const [root] = one.inChannel();
    const [told] = one.below(0);
    expect(one.inChannel()).toHaveLength(1);
    expect(told?.pings.roles).toHaveLength(rings);
    expect(result).toEqual({ kind: "delivered", receipt: `${root?.id}/${told?.id}` });
    expect(one.discord.threads).toMatchObject([
      { id: root?.id, name: root && expect.stringMatching(/SOL long/) },
    ]);
  });

  test("alerts that join it too, even if the first alert has ended", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([began(2, { severity: "warning" })], beside(1));
    await one.sendChanges([step("ended", 1)], beside(2));
    await one.sendChanges([began(3)], beside(2));
    await one.sendChanges([began(4, { event: true, state: "ended" })], beside(3));
    await one.sendChanges([step("ended", 3)]);
    expect(one.inChannel()).toHaveLength(1);
    expect(one.below(0)).toHaveLength(5);
    expect(one.below(0).map(({ pings }) => pings.roles.length)).toEqual([1, 0, 1, 1, 0]);
    // It is started once, and not requested again.
    expect(one.discord.requests.filter(({ path }) => path.endsWith("/threads"))).toHaveLength(1);
  });

  test("but an alert that joins a day later is sent to the channel", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    one.clock.pass(25 * 3_600_000);
    await one.sendChanges([began(2)], beside(1));
    await one.sendChanges([step("reminder", 1)]);
    await one.sendChanges([step("reminder", 2)]);
    expect([one.inChannel().length, one.below(0).length, one.below(1).length]).toEqual([2, 1, 1]);
  });

  test("not that of a group that is not critical; its rise to critical goes to the channel and can have a thread", async () => {
    await using one = await rig();
    await one.sendChanges([began(1, { severity: "warning" })]);
    await one.sendChanges([step("reminder", 1, { severity: "warning" })]);
    await one.sendChanges([step("rose", 1)]);
    await one.sendChanges([step("worsened", 1)]);
    await one.sendChanges([step("ended", 1)]);
    expect([one.inChannel().length, one.below(2).length]).toEqual([3, 2]);
    const marked = [one.inChannel()[0], one.inChannel()[2], one.below(2)[0]];
    for (const { id } of marked.map((shown) => shown!))
      await one.discord.waitForMessage((shown) => shown.id === id && shown.content.includes("~~"));
    // All three visible messages show the end.
    expect(one.inChannel().map(({ edits }) => edits)).toEqual([1, 0, 1]);
  });

  test("a folded message of several groups goes to the channel", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1), step("reminder", 9)], { folded: "storm" });
    await one.sendChanges([step("reminder", 9)]);
    expect([one.inChannel().length, one.discord.threads.length]).toEqual([3, 0]);
  });

  test("with threads: false all goes to the channel", async () => {
    await using one = await rig({ ...byRole, threads: false });
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1)]);
    expect(one.inChannel().map(({ replyTo }) => replyTo)).toEqual([null, one.inChannel()[0]?.id]);
  });
});

describe("notifications in a thread", () => {
  const newly = [
    ["newly critical", [began(2)]],
    ["risen", [step("rose", 2)]],
    ["liquidated", [step("ended", 1, { ending: "liquidated" })]],
  ] as const;

  test.each(newly)("@here reaches nobody in it: %s is sent to the channel", async (_what, changes) => {
    await using one = await rig({ mention: { critical: "@here" } });
    one.discord.permissions.add("MENTION_EVERYONE");
    await one.sendChanges([began(1)]);
    await one.sendChanges(changes, beside(1));
    await one.sendChanges([step("reminder", 1)]);
    await one.sendChanges([step("ended", 1)]);
    expect(one.inChannel().map(({ pings }) => pings.everyone)).toEqual([true, true, true]);
    expect(one.below(0)).toHaveLength(1);
  });

  test.each(newly)("without a mention: %s stays in the channel", async (_what, changes) => {
    await using one = await rig({});
    await one.sendChanges([began(1)]);
    await one.sendChanges(changes, beside(1));
    await one.sendChanges([step("reminder", 1)]);
    await one.sendChanges([began(3, { severity: "warning" })], beside(1));
    await one.sendChanges([step("ended", 1)]);
    expect([one.inChannel().length, one.below(0).length]).toEqual([2, 3]);
  });
});

describe("a minor update", () => {
  const acknowledged = { acknowledgedBy: "marta", acknowledgedAtMs: 5 };

  test("edits the first message, which the channel shows, and the newest in the thread", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1)]);
    const result = await one.sendChanges([step("acknowledged", 1, acknowledged)]);
    const [root] = one.inChannel();
    expect(result).toEqual({ kind: "delivered", receipt: root?.id });
    expect(root?.text).toContain("Acknowledged by marta");
    const below = one.below(0)[0]!.id;
    await one.discord.waitForMessage(
      ({ id, text }) => id === below && text.includes("Acknowledged by marta"),
    );
    expect(one.discord.messages).toHaveLength(2);
    await one.sendChanges([step("ended", 1)]);
    await one.discord.waitForMessage(({ content }) => /RESOLVED.*\n~~ACKNOWLEDGED/.test(content));
    expect(one.inChannel()[0]?.content).toMatch(/RESOLVED.*\n~~ACKNOWLEDGED/);
  });

  test("edits the newest if the first does not contain the alert, also in an archived thread", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([began(2)], beside(1));
    await one.sendChanges([step("acknowledged", 2, acknowledged)], beside(1));
    expect([one.inChannel()[0]?.edits, one.below(0)[0]?.edits]).toEqual([0, 1]);
    one.discord.threads[0]!.archived = true;
    await one.sendChanges([step("fell", 2, { severity: "warning" })], beside(1));
    expect(one.below(0)).toHaveLength(2);
    expect(one.discord.threads[0]?.archived).toBe(false);
  });
});

describe("once", () => {
  test("after a restart the thread is known without a request, and so is one that an unanswered attempt started", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1)]);
    one.restart();
    await one.sendChanges([step("worsened", 1)]);
    expect(one.discord.requests.filter(({ path }) => path.endsWith("/threads"))).toHaveLength(1);

    await one.sendChanges([began(7)]);
    one.discord.fail({ path: /threads$/, effect: { kind: "loseReply" } });
    await one.sendChanges([step("reminder", 7)]);
    one.restart();
    await one.sendChanges([step("worsened", 7)]);
    expect(one.discord.requests.at(-2)).toMatchObject({
      path: expect.stringMatching(/threads$/),
      status: 400,
    });
    expect(one.below(1).map(({ content }) => content)).toEqual([expect.stringContaining("WORSE")]);
    expect(one.inChannel()[2]?.content).toContain("STILL FIRING");
  });

  test.each([
    ["at once, by its nonce", 1_000],
    ["an hour later, by looking", 3_600_000],
  ])("a message that arrived in the thread without an answer is found %s", async (_what, afterMs) => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1)]);
    one.discord.fail({ effect: { kind: "loseReply" } });
    expect(await one.sendChanges([step("worsened", 1)])).toMatchObject({ kind: "retry" });
    one.restart();
    one.clock.pass(afterMs);
    const found = await one.again(one.last());
    expect(one.discord.messages).toHaveLength(3);
    expect(found).toEqual({
      kind: "delivered",
      receipt: `${one.inChannel()[0]?.id}/${one.below(0)[1]?.id}`,
    });
  });

  test("a message that arrived in one place is not sent to the other", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    one.discord.fail({ effect: { kind: "loseReply" } });
    expect(await one.sendChanges([step("reminder", 1)])).toMatchObject({ kind: "retry" });
    expect(one.below(0)).toHaveLength(1);
    one.discord.threads[0]!.locked = true;
    one.restart();
    expect(await one.again(one.last())).toMatchObject({ receipt: expect.stringContaining("/") });
    expect(one.discord.messages).toHaveLength(2);

    // The reverse order.
    one.discord.fail({
      path: /channels\/1100000000000000003\/messages$/,
      method: "POST",
      effect: { kind: "loseReply" },
    });
    expect(await one.sendChanges([step("worsened", 1)])).toMatchObject({ kind: "retry" });
    one.discord.threads[0]!.locked = false;
    one.restart();
    expect(await one.again(one.last())).toMatchObject({ receipt: one.inChannel()[1]?.id });
    expect(one.discord.messages).toHaveLength(3);
  });

  test("if it is not known whether it arrived, a warning waits", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1)]);
    one.discord.fail({ effect: { kind: "loseReply" } });
    await one.sendChanges([step("fell", 1, { severity: "warning" }), began(2, { severity: "warning" })]);
    const sent = { ...one.last(), severity: "warning" as const };
    one.discord.fail({ method: "GET", path: /messages$/, effect: { kind: "status", status: 502 } });
    expect(await one.again(sent)).toMatchObject({ kind: "retry", failure: "server-error" });
    expect(await one.again(sent)).toMatchObject({ kind: "delivered" });
    expect(one.discord.messages).toHaveLength(3);
  });
});

describe("a thread refuses messages: the channel gets them", () => {
  test.each([
    ["may not be started", (d: LocalDiscord) => void d.permissions.delete("CREATE_PUBLIC_THREADS")],
    ["may not be written to", (d: LocalDiscord) => void d.permissions.delete("SEND_MESSAGES_IN_THREADS")],
    [
      "would be one too many",
      (d: LocalDiscord) =>
        void d.fail({
          path: /threads$/,
          effect: {
            kind: "status",
            status: 400,
            body: { code: 160006, message: "Maximum number of active threads" },
          },
        }),
    ],
    [
      "is asked for too often",
      (d: LocalDiscord) =>
        void d.fail({ path: /threads$/, effect: { kind: "rateLimit", retryAfterMs: 60_000 } }),
    ],
    ["there is none in such a channel", (d: LocalDiscord) => void Object.assign(d, { channelType: 2 })],
  ])("it %s", async (_what, harm) => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    harm(one.discord);
    expect(await one.sendChanges([step("reminder", 1)])).toMatchObject({ kind: "delivered" });
    const asked = one.discord.requests.filter(({ path }) => path.endsWith("/threads")).length;
    await one.sendChanges([step("worsened", 1)]);
    expect(one.inChannel()).toHaveLength(3);
    expect(one.inChannel()[1]).toMatchObject({ replyTo: one.inChannel()[0]?.id, pings: { roles: [role] } });
    expect(one.warned).toEqual([expect.stringContaining("goes to the channel")]);
    // It is suspended for a while, then tried again.
    expect(one.discord.requests.filter(({ path }) => path.endsWith("/threads"))).toHaveLength(asked);
    one.discord.permissions.add("CREATE_PUBLIC_THREADS").add("SEND_MESSAGES_IN_THREADS");
    one.discord.channelType = 0;
    one.clock.pass(11 * 60_000);
    await one.sendChanges([step("ended", 1)]);
    expect(one.below(0)).toHaveLength(1);
  });

  test.each(["locked", "deleted"] as const)("it is %s", async (how) => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1)]);
    one.discord.threads[0]![how] = true;
    expect(await one.sendChanges([step("worsened", 1)])).toMatchObject({ kind: "delivered" });
    expect(one.inChannel()).toHaveLength(2);
    // Later messages go to the place where it was sent.
    await one.sendChanges([step("escalated", 1)]);
    expect([one.inChannel().length, one.below(1).length]).toEqual([2, 1]);
  });

  test("nothing is sent twice if the answer is not a refusal", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1)]);
    one.discord.fail({ effect: { kind: "status", status: 503 } });
    expect(await one.sendChanges([step("worsened", 1)])).toMatchObject({
      kind: "retry",
      failure: "server-error",
    });
    one.discord.fail({ effect: { kind: "rateLimit", retryAfterMs: 5_000 } });
    expect(await one.again(one.last())).toMatchObject({ kind: "retry", failure: "rate-limited" });
    one.clock.pass(5_000);
    expect(await one.again(one.last())).toMatchObject({ kind: "delivered" });
    expect([one.inChannel().length, one.below(0).length]).toEqual([1, 2]);
  });

  test("the first message was deleted: its thread continues; without a thread none is started", async () => {
    await using one = await rig();
    await one.sendChanges([began(1)]);
    await one.sendChanges([step("reminder", 1)]);
    await one.sendChanges([began(5)]);
    for (const { id } of one.inChannel()) one.discord.remove(id);
    await one.sendChanges([step("worsened", 1)]);
    await one.sendChanges([step("reminder", 5)]);
    expect(one.discord.messages.map(({ channelId }) => channelId === one.discord.channelId)).toEqual([
      false,
      false,
      true,
    ]);
  });
});

test("a message whose embed is refused is sent into the thread as plain text", async () => {
  await using one = await rig();
  await one.sendChanges([began(1)]);
  one.discord.permissions.delete("EMBED_LINKS");
  await one.sendChanges([step("reminder", 1)]);
  expect(one.below(0)).toMatchObject([{ embeds: [] }]);
});

test("buttons work in a thread", async () => {
  await using one = await rig({ ...byRole, allow: { users: [marta.id] } });
  await one.channel.start(never);
  await one.discord.gateway.waitForSession();
  await one.sendChanges([began(1)]);
  await one.sendChanges([step("reminder", 1)]);
  const pressed = one.discord.press(one.below(0)[0]!, "Acknowledge", marta);
  await one.discord.waitForInteraction(({ id, text }) => id === pressed.id && text !== "");
  expect(one.acts).toEqual([`ack 1 by marta (discord ${marta.id})`]);
});
