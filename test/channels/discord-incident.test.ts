/**
 * Discord keeps the first message of an incident current: edits of two lanes do not undo each other, and do not delay
 * messages with mentions.
 */
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import type { Channel, SentMessage } from "../../src/channels/channel.ts";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Message } from "../../src/domain/alerts/delivery.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type LocalDiscord, startDiscord } from "../support/discord.ts";
import { handClock } from "./hand-clock.ts";
import { atMs, change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;
const incident = { id: "I1" };

interface Rig extends AsyncDisposable {
  readonly discord: LocalDiscord;
  readonly channel: Channel;
  /** Resolves when the first message shows all of these. */
  shows(...texts: readonly string[]): Promise<unknown>;
}

async function rig(): Promise<Rig> {
  const clock = handClock();
  const discord = await startDiscord({ now: () => clock.nowMs() });
  const { token, channelId, apiUrl } = discord;
  const settings = channelSettings.parse({ type: "discord", token, channelId, apiUrl });
  const out = new Writable({ write: (_chunk, _encoding, done) => done() });
  const channel = createChannel("chat", settings, { clock, random: seededRandom(1), out });
  return {
    discord,
    channel,
    shows: (...texts) =>
      discord.waitForMessage((one) => texts.every((text) => JSON.stringify(one).includes(text))),
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await discord.close();
    },
  };
}

let sealed = 0;
const incidentMessage = (changes: AlertChange[], content: Partial<Message["content"]> = {}) =>
  message(changes, { sealedAtMs: atMs + ++sealed, content: { incident, ...content } });
const of = (id: number, kind: AlertChange["kind"] = "fired") =>
  change(kind, { id, summary: `account ${id} is near` }, { id: 100 + id });

async function begin({ channel }: Rig): Promise<SentMessage> {
  const first = incidentMessage([of(1)]);
  const sent = await channel.send(outgoing({ message: first }), never);
  if (sent.kind !== "delivered") throw new Error(sent.detail);
  return { messageId: first.id, receipt: sent.receipt, message: first };
}

test("a quiet message and one with a mention at the same time are both in the first message in the end", async () => {
  await using one = await rig();
  const root = await begin(one);
  // The first of both edits arrives last.
  one.discord.fail({ method: "PATCH", path: /messages/, effect: { kind: "delay", ms: 300 }, times: 1 });
  const quiet = one.channel.send(
    outgoing({ message: incidentMessage([of(2)], { quiet: true }), root }),
    never,
  );
  await one.discord.waitForRequest(({ method }) => method === "PATCH");
  await one.channel.send(outgoing({ message: incidentMessage([of(3)]), root }), never);
  await quiet;
  await one.shows("account 1", "account 2", "account 3");
});

test("a message with a mention is delivered while the edit of the first message has no answer", async () => {
  await using one = await rig();
  const root = await begin(one);
  one.discord.fail({ method: "PATCH", path: /messages/, effect: { kind: "delay", ms: 1_000 }, times: 2 });
  for (const id of [2, 3]) {
    const sent = await one.channel.send(outgoing({ message: incidentMessage([of(id)]), root }), never);
    expect(sent.kind).toBe("delivered");
  }
  const edits = one.discord.requests.filter(({ method }) => method === "PATCH");
  expect(edits.filter(({ status }) => status !== null)).toEqual([]);
  await one.shows("account 1", "account 2", "account 3");
});

test("an older quiet change that is sent late undoes nothing", async () => {
  await using one = await rig();
  const root = await begin(one);
  const older = incidentMessage([change("worsened", { id: 1, summary: "at 3 %" }, { id: 201 })], {
    quiet: true,
  });
  const newer = incidentMessage([change("worsened", { id: 1, summary: "at 1 %" }, { id: 202 })]);
  await one.channel.send(outgoing({ message: newer, root }), never);
  await one.shows("at 1 %");
  await one.channel.send(outgoing({ message: older, root: { ...root, since: [newer] } }), never);
  const [first] = one.discord.messages;
  expect(JSON.stringify(first)).toContain("at 1 %");
  expect(JSON.stringify(first)).not.toContain("at 3 %");
});

test("ended alerts are struck, below firing ones, and not in the headline of the first message", async () => {
  await using one = await rig();
  const near = (id: number, kind: AlertChange["kind"], at: number) => {
    const made = incidentMessage([
      change(kind, { id, summary: `account ${id} at ${at} %` }, { id: 1000 + 100 * id + at }),
    ]);
    const { content } = made;
    const items = content.items.map((item) => ({ ...item, distance: at / 100 }));
    return { ...made, content: { ...content, items } };
  };
  const first = near(1, "fired", 1);
  const sent = await one.channel.send(outgoing({ message: first }), never);
  if (sent.kind !== "delivered") throw new Error(sent.detail);
  const root: SentMessage = { messageId: first.id, receipt: sent.receipt, message: first };
  const second = near(2, "fired", 4);
  await one.channel.send(outgoing({ message: second, root }), never);
  const over = incidentMessage(
    [change("ended", { id: 1, state: "ended", ending: "recovered" }, { id: 2_000 })],
    {
      quiet: true,
    },
  );
  await one.channel.send(outgoing({ message: over, root: { ...root, since: [second] } }), never);
  await one.shows("account 1", "account 2", "RESOLVED");
  const [shown] = one.discord.messages;
  expect(shown!.content).toContain("account 2 at 4 %");
  expect(shown!.content).not.toMatch(/account 1|more/);
  expect(shown!.embeds.map(({ title }) => title)).toEqual([
    expect.stringMatching(/^🔴 FIRING critical #2: account 2 at 4 %/),
    expect.stringMatching(/^~~🔴 FIRING critical #1: account 1 at 1 %~~/),
  ]);
});

test.each([
  ["of an incident", { incident }],
  ["of no incident", {}],
])("an ended alert has no requests in an edited message %s", async (_, content) => {
  await using one = await rig();
  const risky = (id: number) =>
    change(
      "fired",
      {
        ...{ id, summary: `account ${id} is near`, description: `Now: call ${id}.` },
        ...(id === 1 ? { acknowledgedBy: "ana", acknowledgedAtMs: atMs } : {}),
      },
      {
        id: 100 + id,
        advice: [
          { account: `main/0.${id}`, line: `Deposit $${id},240.00 to account ${id}.`, clears: true as const },
        ],
      },
    );
  const first = message([risky(1), risky(2)], { content });
  const sent = await one.channel.send(outgoing({ message: first }), never);
  if (sent.kind !== "delivered") throw new Error(sent.detail);
  const root: SentMessage = { messageId: first.id, receipt: sent.receipt, message: first };
  const over = (id: number) =>
    message([change("ended", { id }, { id: 1_000 + id, atMs: atMs + 1_000 })], { content });
  const shown = () => JSON.stringify(one.discord.messages[0]!.embeds);
  expect(shown()).toMatch(/Now: deposit .*Call 1.*Acknowledged by ana.*Now: deposit .*Call 2.*alerts ack 2/);
  const ended = over(1);
  await one.channel.send(outgoing({ message: ended, inReplyTo: root, root }), never);
  await one.shows("~~", "RESOLVED");
  expect(shown()).not.toMatch(/deposit \$1|Call 1|ack 1|runbooks/);
  if ("incident" in content)
    // The state before its end must not appear as the present one.
    expect(one.discord.messages[0]!.embeds.find(({ title }) => title?.startsWith("~~"))?.description).toBe(
      "RESOLVED 2026-11-21 03:41:19 UTC\nmain: SOL long is 4.2 % from liquidation.\nFired 2026-11-21 03:41:18 UTC, acknowledged by ana.",
    );
  expect(shown()).toMatch(/Now: deposit \$2,240.00 to account 2.*Call 2.*ack 2/);
  await one.channel.send(
    outgoing({ message: over(2), inReplyTo: root, root: { ...root, since: [ended] } }),
    never,
  );
  await one.discord.waitForMessage(({ content: text }) => text.includes("~~"));
  expect(shown()).not.toMatch(/deposit|Call|alerts ack/);
  expect(shown()).not.toMatch(/Firing since/);
});
