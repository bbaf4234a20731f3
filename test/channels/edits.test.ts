/**
 * Telegram and Slack keep the first message of an incident current by edits, and neither lose nor repeat messages if
 * they cannot.
 */
import { getEventListeners } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Channel, Outgoing, SentMessage } from "../../src/channels/channel.ts";
import { Edits } from "../../src/channels/edits.ts";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Message } from "../../src/domain/alerts/delivery.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type Service, startService } from "../support/service.ts";
import { SlackChannel, slackSends } from "../support/slack.ts";
import { TelegramChat } from "../support/telegram.ts";
import { type HandClock, handClock } from "./hand-clock.ts";
import { atMs, change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;

/** A message at the service. */
interface Shown {
  readonly receipt: string;
  readonly text: string;
  readonly edits: number;
  /** Silent: no sound, or only in a thread. */
  readonly silent: boolean;
  /** Receipt of the message that it replies to. */
  readonly below: string | null;
}

interface Chat extends AsyncDisposable {
  readonly channel: Channel;
  readonly far: Service;
  readonly clock: HandClock;
  readonly shown: () => readonly Shown[];
  /** Resolves when the first message was edited so often. */
  readonly edited: (times: number) => Promise<unknown>;
  readonly deleteFirst: () => void;
  /** From now on no message can be edited. */
  readonly freeze: () => void;
}

async function chat(
  settings: (url: string) => object,
  far: Service,
): Promise<Pick<Chat, "channel" | "far" | "clock" | typeof Symbol.asyncDispose>> {
  const clock = handClock();
  const channel = createChannel("chat", channelSettings.parse(settings(far.url)), {
    ...{ clock, random: seededRandom(1), out: new PassThrough() },
  });
  const close = async () => {
    await channel.stop();
    await far.close();
  };
  return { channel, far, clock, [Symbol.asyncDispose]: close };
}

async function telegram(): Promise<Chat> {
  const token = "123456789:AAF-telegram-token-never-shown";
  const world = new TelegramChat({ token, chatId: 7 });
  const far = await startService(world.dialect);
  return {
    ...(await chat((apiUrl) => ({ type: "telegram", token, chatId: 7, apiUrl }), far)),
    shown: () =>
      world.messages.items.map(({ id, text, edits, soundless, replyTo }) => ({
        ...{ receipt: `${id}`, text: text.replaceAll("\u200b", ""), edits, silent: soundless },
        below: replyTo === null ? null : `${replyTo}`,
      })),
    edited: (times) => world.messages.waitFor(({ id, edits }) => id === 101 && edits >= times),
    deleteFirst: () => world.delete(101),
    freeze: () => void world.frozen.add(101),
  };
}

async function slack(): Promise<Chat> {
  const token = "xoxb-0123456789-abcdef";
  const channel = "C0123456789";
  const world = new SlackChannel({ token, channel });
  const far = await startService(world.dialect, { sends: slackSends });
  const first = "1763696478.000001";
  const mention = { critical: "<!here>" };
  return {
    ...(await chat((url) => ({ type: "slack", token, channel, apiUrl: `${url}/api`, mention }), far)),
    shown: () =>
      world.messages.items.map(({ ts, text, edits, threadTs, broadcast }) => ({
        ...{ receipt: ts, text, edits, below: threadTs },
        silent: !text.startsWith("<!here>") && !broadcast,
      })),
    edited: (times) => world.messages.waitFor(({ ts, edits }) => ts === first && edits >= times),
    deleteFirst: () => world.delete(first),
    freeze: () => {
      world.frozen = "edit_window_closed";
    },
  };
}

let sealed = 0;
const incident = { id: "I1" };
const incidentMessage = (changes: AlertChange[], content: Partial<Message["content"]> = {}) =>
  message(changes, { sealedAtMs: atMs + ++sealed, content: { incident, ...content } });
const quiet = (changes: AlertChange[]) => incidentMessage(changes, { quiet: true });
const of = (id: number, kind: AlertChange["kind"] = "fired", parts: Partial<AlertChange["alert"]> = {}) =>
  change(kind, { id, summary: `account ${id} is near`, ...parts }, { id: 100 + id });

/** Sends the first message of an incident. */
async function begin(one: Chat, changes = [of(1)]): Promise<SentMessage> {
  const first = incidentMessage(changes);
  const sent = await one.channel.send(outgoing({ message: first }), never);
  if (sent.kind !== "delivered") throw new Error(sent.detail);
  return { messageId: first.id, receipt: sent.receipt, message: first };
}

const send = (one: Chat, parts: Partial<Outgoing>) => one.channel.send(outgoing(parts), never);

describe.each([
  ["Telegram", telegram],
  ["Slack", slack],
])("%s", (name, start) => {
  test("a quiet message is edited into the first message of its incident, with all updates", async () => {
    await using one = await start();
    const root = await begin(one);
    const second = quiet([of(2)]);
    expect(await send(one, { message: second, root })).toEqual({ kind: "delivered", receipt: root.receipt });
    const ended = quiet([of(1, "ended")]);
    const now = { ...root, since: [second] };
    expect(await send(one, { message: ended, root: now })).toEqual({
      kind: "delivered",
      receipt: root.receipt,
    });
    const [only, ...others] = one.shown();
    expect(others).toEqual([]);
    expect(only?.edits).toBe(2);
    expect(only?.text).toContain("RESOLVED #1");
    expect(only?.text).toContain("FIRING critical #2: account 2 is near");
    expect(only?.text).toContain(root.message.id);
  });

  test("an edit that changes nothing is delivered", async () => {
    await using one = await start();
    const root = await begin(one);
    const second = quiet([of(2)]);
    for (const attempt of [0, 1])
      expect(await send(one, { message: second, root, attempt })).toMatchObject({ kind: "delivered" });
    expect(one.shown()).toHaveLength(1);
  });

  test.each<[string, (one: Chat) => void]>([
    ["was deleted", (one) => one.deleteFirst()],
    ["can be edited no more", (one) => one.freeze()],
  ])("where the first message %s, what is quiet is sent and calls nobody", async (how, harm) => {
    await using one = await start();
    const root = await begin(one);
    harm(one);
    const result = await send(one, { message: quiet([of(2)]), root });
    const sent = one.shown().at(-1)!;
    expect(result).toEqual({ kind: "delivered", receipt: sent.receipt });
    expect(sent.receipt).not.toBe(root.receipt);
    expect(sent.text).toContain("account 2 is near");
    expect(sent.silent).toBe(true);
    expect(sent.below).toBe(how === "was deleted" ? null : root.receipt);
  });

  test("a message that the first one has no room for is sent", async () => {
    await using one = await start();
    const first = message([of(1)]);
    const { receipt } = (await send(one, { message: first })) as { receipt: string };
    const root = { messageId: first.id, receipt, message: first };
    expect(await send(one, { message: quiet([of(2)]), root })).toMatchObject({ kind: "delivered" });
    expect(one.shown()).toMatchObject([{ edits: 0 }, { text: expect.stringContaining("account 2 is near") }]);
  });

  test("a quiet message without a first message is sent silently", async () => {
    await using one = await start();
    expect(await send(one, { message: quiet([of(2)]) })).toMatchObject({ kind: "delivered" });
    expect(one.shown()).toMatchObject([{ silent: true, below: null }]);
  });

  test("a notifying message is sent below the first one, which then shows it too", async () => {
    await using one = await start();
    const root = await begin(one);
    const loud = incidentMessage([of(2)]);
    expect(await send(one, { message: loud, root })).toMatchObject({ kind: "delivered" });
    await one.edited(1);
    const [first, second] = one.shown();
    expect(second).toMatchObject({ silent: false, below: root.receipt, edits: 0 });
    expect(first?.text).toContain("account 2 is near");
    // An edit that only knows the first message does not remove the other update.
    await send(one, { message: quiet([of(3)]), root });
    for (const id of [1, 2, 3]) expect(one.shown()[0]?.text).toContain(`#${id}: account ${id} is near`);
  });

  test("a notifying message is delivered once, whatever the result of the edit, which is retried", async () => {
    await using one = await start();
    const root = await begin(one);
    const sending = send(one, { message: incidentMessage([of(2)]), root });
    while (one.shown().length < 2) await one.far.next();
    one.far.fault({ status: 503, body: "upstream is away" });
    expect(await sending).toMatchObject({ kind: "delivered" });
    await one.clock.asked(2_000);
    expect(one.shown().map(({ edits }) => edits)).toEqual([0, 0]);
    one.clock.pass(2_000);
    await one.edited(1);
    expect(one.shown()).toHaveLength(2);
  });

  test("an edit meets a limit: it is tried again, and nothing is sent", async () => {
    await using one = await start();
    const root = await begin(one);
    const limit = {
      ok: false,
      error: "ratelimited",
      description: "Too Many Requests: retry after 3",
      parameters: { retry_after: 3 },
    };
    one.far.fault({ status: 429, body: limit, headers: { "retry-after": "3" } });
    expect(await send(one, { message: quiet([of(2)]), root })).toMatchObject({
      ...{ kind: "retry", failure: "rate-limited", afterMs: 3_000 },
    });
    expect(one.shown()).toMatchObject([{ edits: 0 }]);
  });

  test("simultaneous edits of two lanes are both in the result", async () => {
    await using one = await start();
    const root = await begin(one);
    await Promise.all([2, 3].map((id) => send(one, { message: quiet([of(id)]), root })));
    for (const id of [1, 2, 3]) expect(one.shown()[0]?.text).toContain(`#${id}: account ${id} is near`);
  });

  test("a minor update edits the newest message about it, and the first of its incident", async () => {
    await using one = await start();
    const root = await begin(one);
    const second = incidentMessage([of(2)]);
    const sent = await send(one, { message: second, root });
    await one.edited(1);
    const latest = {
      messageId: second.id,
      receipt: sent.kind === "delivered" ? sent.receipt : "",
      message: second,
    };
    const seen = { acknowledgedBy: "marta", acknowledgedAtMs: atMs };
    const calm = quiet([of(2, "acknowledged", seen)]);
    expect(await send(one, { message: calm, root, latest })).toEqual({
      kind: "delivered",
      receipt: root.receipt,
    });
    await expect
      .poll(() => one.shown().map(({ text }) => text.includes("Acknowledged by marta")))
      .toEqual([true, true]);
    const alone = message([of(2, "fell", { severity: "warning" })], { sealedAtMs: atMs + ++sealed });
    expect(await send(one, { message: alone, latest })).toEqual({
      kind: "delivered",
      receipt: latest.receipt,
    });
    expect(one.shown()).toHaveLength(2);
    expect(one.shown()[1]?.text).toContain("BETTER, now warning");
  });

  test("twelve accounts of three positions are in the first message, each by its name", async () => {
    await using one = await start();
    const summary = (id: number) =>
      `account ${id} is near: SOL long is 4.2 % from liquidation ${"x".repeat(60)}`;
    const near = (id: number) => of(id, "fired", { summary: summary(id), description: "y".repeat(200) });
    const root = await begin(one, [near(1)]);
    const since: Message[] = [];
    for (let id = 2; id <= 36; id++) {
      const next = quiet([near(id)]);
      const result = await send(one, { message: next, root: { ...root, since: [...since] } });
      expect(result).toEqual({ kind: "delivered", receipt: root.receipt });
      since.push(next);
    }
    expect(one.shown()).toHaveLength(1);
    for (let id = 1; id <= 36; id++) expect(one.shown()[0]?.text).toContain(`#${id}: account ${id} is near`);
    expect(one.shown()[0]?.text).toContain(root.message.id);
  });

  test("a large incident has one line per alert in a message; beyond that, quiet messages are sent", async () => {
    await using one = await start();
    const description = "what to do: ".repeat(60);
    const root = await begin(one, [of(1, "fired", { description })]);
    const since: Message[] = [];
    for (let id = 2; id <= 12; id++) {
      const next = quiet([of(id, "fired", { description })]);
      expect(await send(one, { message: next, root: { ...root, since: [...since] } })).toMatchObject({
        receipt: root.receipt,
      });
      since.push(next);
    }
    for (let id = 1; id <= 12; id++) expect(one.shown()[0]?.text).toContain(`#${id}: account ${id} is near`);
    const many = Array.from({ length: 80 }, (_, i) =>
      of(100 + i, "fired", { summary: `account ${100 + i} ${"x".repeat(60)}` }),
    );
    for (const some of [many.slice(0, 40), many.slice(40)]) {
      const result = await send(one, { message: quiet(some), root: { ...root, since } });
      expect(result).toMatchObject({ kind: "delivered" });
    }
    const everything = one.far.taken.join("\n");
    for (const { alertId } of many) expect(everything).toMatch(new RegExp(`#${alertId}: account ${alertId}`));
    expect(one.shown().length).toBeGreaterThan(1);
    for (const { silent } of one.shown().slice(1)) expect(silent, name).toBe(true);
  });
});

test("Slack: if a thread refuses a message, it is sent to the channel", async () => {
  const token = "xoxb-0123456789-abcdef";
  const world = new SlackChannel({ token, channel: "C0123456789" });
  await using far = await startService(world.dialect, { sends: slackSends });
  const one = await chat(
    (url) => ({ type: "slack", token, channel: "C0123456789", apiUrl: `${url}/api` }),
    far,
  );
  world.threadsLocked = true;
  const root = await begin(one as Chat);
  expect(await one.channel.send(outgoing({ message: incidentMessage([of(2)]), root }), never)).toMatchObject({
    kind: "delivered",
  });
  expect(world.messages.items).toMatchObject([{ threadTs: null }, { threadTs: null }]);
  await one.channel.stop();
});

test("Slack: an edit whose blocks are refused replaces them by its plain text", async () => {
  const token = "xoxb-0123456789-abcdef";
  const world = new SlackChannel({ token, channel: "C0123456789" });
  await using far = await startService(world.dialect, { sends: slackSends });
  const one = await chat(
    (url) => ({ type: "slack", token, channel: "C0123456789", apiUrl: `${url}/api` }),
    far,
  );
  const root = await begin(one as Chat);
  const ended = quiet([of(1, "ended")]);
  far.fault({ status: 200, body: { ok: false, error: "invalid_blocks" } });
  expect(await one.channel.send(outgoing({ message: ended, root }), never)).toMatchObject({
    receipt: root.receipt,
  });
  expect(world.messages.items[0]?.text).toContain("RESOLVED");
  expect(world.messages.items[0]?.text).not.toContain("$126.55, margin ratio");
  await one.channel.stop();
});

test("an edit that is tried again leaves nothing behind once it was made", async () => {
  const clock = handClock();
  const done = Promise.withResolvers<AbortSignal>();
  let tries = 0;
  const edits = new Edits({
    ...{ clock, log: { info: () => {}, warn: () => {}, debug: () => {} } },
    put: async (receipt, _told, signal) => {
      if (++tries < 4) return { kind: "retry", failure: "server-error", detail: "away", afterMs: 10 * tries };
      done.resolve(signal);
      return { kind: "delivered", receipt };
    },
  });
  const first = incidentMessage([of(1)]);
  const root = { messageId: first.id, receipt: "101", message: first };
  edits.updateRoot(outgoing({ message: incidentMessage([of(2)]), root }));
  for (const ms of [10, 20, 30]) {
    await clock.asked(ms);
    clock.pass(ms);
  }
  expect(getEventListeners(await done.promise, "abort")).toEqual([]);
});

test("an edit under way is waited for, and what it shows is kept, however many other messages are edited meanwhile", async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const puts: { readonly alerts: readonly number[]; readonly atOnce: number }[] = [];
  let running = 0;
  const edits = new Edits({
    ...{ clock: handClock(), log: { info: () => {}, warn: () => {}, debug: () => {} } },
    put: async (receipt, { content }) => {
      if (receipt !== "101") return { kind: "delivered", receipt };
      puts.push({ alerts: content.items.map((item) => item.change.alertId), atOnce: ++running });
      begun.resolve();
      await goOn.promise;
      running--;
      return { kind: "delivered", receipt };
    },
  });
  const sent = (receipt: string) => {
    const first = incidentMessage([of(1)]);
    return { messageId: first.id, receipt, message: first };
  };
  const root = sent("101");
  const one = edits.edit([root], quiet([of(2)]), never);
  await begun.promise;
  for (let number = 0; number < 300; number++) await edits.edit([sent(`o${number}`)], quiet([of(3)]), never);
  const other = edits.edit([root], quiet([of(4)]), never);
  goOn.resolve();
  expect(await Promise.all([one, other])).toMatchObject([{ kind: "delivered" }, { kind: "delivered" }]);
  expect(puts).toEqual([
    { alerts: [1, 2], atOnce: 1 },
    { alerts: [1, 2, 4], atOnce: 1 },
  ]);
});
