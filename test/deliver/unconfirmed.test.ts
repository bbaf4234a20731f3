/** A service that may have taken a message, and does not confirm it: it gets the message at most three times. */
import { PassThrough } from "node:stream";
// Loaded before time passes.
import "discord.js";
import { expect, onTestFinished, test } from "vitest";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { FakeClock } from "../support/clock.ts";
import { type Asked, type Reply, type Service, startService } from "../support/service.ts";
import { type Rig, rig } from "./support.ts";

/** A start asks, too. */
const isMessage = ({ method, text }: Asked) => method === "POST" && text.includes("alert 1");
const hour = 3_600_000;

/** An outbox whose `chat` is a channel of these settings to a service with these answers; the last one goes on. */
async function world(
  answers: readonly Partial<Reply>[],
  settings: (url: string) => object = (url) => ({ type: "slack", webhookUrl: `${url}/hook` }),
): Promise<{ readonly one: Rig; readonly far: Service }> {
  const clock = new FakeClock("2026-11-21T03:41:18Z");
  let count = 0;
  const far = await startService((asked) => ({
    ...{ status: 200, ...(isMessage(asked) ? answers[Math.min(count++, answers.length - 1)] : {}) },
  }));
  const tools = { clock, random: seededRandom(1), out: new PassThrough() };
  const chat = createChannel("chat", channelSettings.parse(settings(far.url)), tools);
  const one = await rig({ clock, channels: new Map([["chat", chat]]) });
  onTestFinished(async () => {
    await one[Symbol.asyncDispose]();
    await far[Symbol.asyncDispose]();
  });
  return { one, far };
}

const posts = ({ asked }: Service) => asked.filter(isMessage).length;
const fires = ({ alerts }: Rig) => alerts.step("fired", alerts.alert());
const discord = (url: string) => ({
  ...{ type: "discord", webhookUrl: `${url}/api/webhooks/1100000000000000006/${"x".repeat(30)}` },
});
const json = { "content-type": "application/json" };

test.each([
  ["Accepted", undefined, { body: "Accepted" }],
  ["an empty 202", undefined, { status: 202 }],
  ['{"status":"success"}', undefined, { body: { status: "success" } }],
  ["a Discord webhook's ok", discord, { body: "ok" }],
  ["a Discord webhook's JSON that breaks off", discord, { body: "{", headers: json }],
] as const)("%s: three posts, then the message counts as refused", async (_shown, settings, answer) => {
  const { one, far } = await world([answer], settings);
  await one.owe(fires(one));
  await one.clock.advance(25 * hour);
  expect(posts(far)).toBe(3);
  expect(await one.store.messages({})).toMatchObject([
    { status: "dead", unconfirmed: 3, lastFailure: "rejected", nextAttemptMs: null },
  ]);
  expect(one.outbox.figures()).toMatchObject({ deadMessages: 1, undelivered: 0 });
  expect(one.outbox.critical()).toMatchObject({ lost: 1 });
  expect(one.logged.filter((line) => line.startsWith("a message was refused for good"))).toHaveLength(1);
});

test("a service that confirms at the second attempt has delivered", async () => {
  const { one, far } = await world([{ body: "Accepted" }, { body: "OK" }]);
  await one.owe(fires(one));
  await one.clock.advance(hour);
  expect(posts(far)).toBe(2);
  expect(await one.store.messages({})).toMatchObject([{ status: "delivered", attempts: 2 }]);
  expect(one.outbox.figures()).toMatchObject({ deadMessages: 0, undelivered: 0 });
});

test("a page that stands in the way for five minutes loses no message", async () => {
  const answers = [{ body: "<html>maintenance</html>" }];
  const { one, far } = await world(answers);
  await one.owe(fires(one));
  await one.clock.advance(5 * 60_000);
  expect(posts(far)).toBe(2);
  answers.splice(0, 1, { body: "ok" });
  await one.clock.advance(10 * 60_000);
  expect(posts(far)).toBe(3);
  expect(await one.store.messages({})).toMatchObject([{ status: "delivered", attempts: 3 }]);
});

test("attempts without a confirmation are counted across restarts", async () => {
  const { one, far } = await world([{ body: "Accepted" }]);
  await one.owe(fires(one));
  await one.clock.settle();
  for (let i = 0; i < 5; i++) {
    await one.restart();
    await one.clock.settle();
  }
  await one.clock.advance(25 * hour);
  expect(posts(far)).toBe(3);
  expect(await one.store.messages({})).toMatchObject([{ status: "dead" }]);
});

test("attempts that arrived nowhere do not count", async () => {
  const { one, far } = await world([
    ...Array.from({ length: 5 }, () => ({ status: 503 })),
    ...[{ body: "Accepted" }, { status: 503 }, { body: "Accepted" }, { body: "ok" }],
  ]);
  await one.owe(fires(one));
  await one.clock.advance(hour);
  expect(posts(far)).toBe(9);
  expect(await one.store.messages({})).toMatchObject([{ status: "delivered", attempts: 9 }]);
});
