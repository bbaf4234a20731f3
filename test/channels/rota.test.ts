/**
 * A rota as a channel: the recipient of a message, the earlier messages that the person's channel gets, and
 * replacements.
 */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Channel, Outgoing } from "../../src/channels/channel.ts";
import { channelSettings, createChannels } from "../../src/channels/registry.ts";
import { createRota, withOnDuty } from "../../src/channels/rota/channel.ts";
import { planOf, type RotaPlan } from "../../src/channels/rota/plan.ts";
import { rotaSettings } from "../../src/channels/rota/settings.ts";
import type { Message } from "../../src/domain/alerts/delivery.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { FakeClock } from "../support/clock.ts";
import { Pushover } from "../support/pushover.ts";
import { startService } from "../support/service.ts";
import { slackDialect, slackSends } from "../support/slack.ts";
import { Watched } from "../support/wait.ts";
import { fakeActions } from "./fake-actions.ts";
import { handClock } from "./hand-clock.ts";
import { change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;
const handOverMs = Date.parse("2026-11-23T09:00:00Z");
const token = "xoxb-0123456789-abcdef";

const plan = (more: object = {}): RotaPlan =>
  planOf(
    rotaSettings.parse({
      ...{ type: "rota", people: ["anna", "ben"], turn: "Mon 09:00", since: "2026-11-16", ...more },
    }),
    "UTC",
  );

/** Two people with a Slack bot each. */
async function openRota() {
  const anna = await startService(slackDialect(token, "C000000ANNA"), { sends: slackSends });
  const ben = await startService(slackDialect(token, "C0000000BEN"), { sends: slackSends });
  const clock = new FakeClock("2026-11-23T08:00:00Z");
  const slack = (url: string, channel: string) => ({ type: "slack", token, channel, apiUrl: `${url}/api` });
  const settings = {
    oncall: channelSettings.parse({ type: "rota", people: ["anna", "ben"], turn: "Mon 09:00" }),
    anna: channelSettings.parse(slack(anna.url, "C000000ANNA")),
    ben: channelSettings.parse(slack(ben.url, "C0000000BEN")),
  };
  const setup = { anna, ben, clock, plan: plan() };
  const parts = { clock, random: seededRandom(1), out: new PassThrough() };
  const channels = createChannels(settings, () => setup.plan, parts);
  const oncall: Channel = channels.get("oncall")!;
  /** Finalized at a time, by the plan at that time. */
  const sealed = (sealedAtMs: number, one: Message = message([change()], { sealedAtMs })): Message =>
    withOnDuty({ ...one, receiver: "oncall", sealedAtMs }, setup.plan);
  const close = async () => {
    for (const channel of channels.values()) await channel.stop();
    await anna.close();
    await ben.close();
  };
  return Object.assign(setup, { oncall, channels, sealed, [Symbol.asyncDispose]: close });
}

test("the person on duty when it is finalized gets it, also in a retry after the hand-over, under another plan", async () => {
  await using one = await openRota();
  const sent = one.sealed(handOverMs - 1);
  expect(sent.content.onDuty).toBe("anna");
  one.anna.fault({ status: 503 });
  const first = await one.oncall.send(outgoing({ message: sent }), never);
  expect(first).toMatchObject({ kind: "retry", detail: expect.stringMatching(/^anna: /) });
  await one.clock.advance(2 * 3_600_000);
  one.plan = plan({ overrides: [{ person: "ben", from: "2026-11-01", to: "2026-12-01" }] });
  expect(await one.oncall.send(outgoing({ message: sent, attempt: 1 }), never)).toMatchObject({
    kind: "delivered",
    receipt: expect.stringMatching(/^anna: /),
  });
  expect([one.anna.taken.length, one.ben.taken.length]).toEqual([1, 0]);
  one.plan = plan();
  await one.oncall.send(outgoing({ message: one.sealed(handOverMs) }), never);
  expect([one.anna.taken.length, one.ben.taken.length]).toEqual([1, 1]);
});

test("a message without a stored person (a test, a digest) uses the plan at the time when it was finalized", async () => {
  await using one = await openRota();
  await one.oncall.send(
    outgoing({ message: message([], { sealedAtMs: handOverMs, content: { kind: "test" } }) }),
    never,
  );
  expect([one.anna.taken.length, one.ben.taken.length]).toEqual([0, 1]);
});

test("messages to the other person are neither edited nor replied to; own ones are, under their own receipts", async () => {
  const seen: (readonly [person: string, outgoing: Outgoing])[] = [];
  const stand = (name: string): [string, Channel] => {
    const probe = async () => ({ kind: "ok", detail: "" }) as const;
    const send = async (one: Outgoing) => {
      seen.push([name, one]);
      return { kind: "delivered", receipt: "1" } as const;
    };
    return [
      name,
      { name, kind: "console", deadlineMs: 1_000, start: probe, probe, stop: async () => {}, send },
    ];
  };
  const people = new Map(["anna", "ben"].map(stand));
  const rota = createRota("oncall", ["anna", "ben"], {
    ...{ clock: { nowMs: () => handOverMs }, plan: () => plan(), people },
  });
  const first = message([change()], { sealedAtMs: handOverMs - 1_000 });
  const told = { messageId: first.id, receipt: "anna: 1: 2", message: first };
  const before = { inReplyTo: told, latest: told, root: told, former: told, around: [told] };
  for (const sealedAtMs of [handOverMs - 500, handOverMs])
    await rota.send(outgoing({ message: message([change("ended")], { sealedAtMs }), ...before }), never);
  const own = { ...told, receipt: "1: 2" };
  expect(seen).toMatchObject([
    ["anna", { inReplyTo: own, latest: own, root: own, former: own, around: [own] }],
    ["ben", { inReplyTo: null, around: [] }],
  ]);
  for (const key of ["latest", "root", "former"]) expect(seen[1]![1]).not.toHaveProperty(key);

  const mixed = { inReplyTo: told, latest: { ...told, receipt: "ben: 3" } };
  await rota.send(
    outgoing({ message: message([change("ended")], { sealedAtMs: handOverMs }), ...mixed }),
    never,
  );
  expect(seen[2]![1]).toMatchObject({ inReplyTo: { receipt: "3" }, latest: { receipt: "3" } });
});

test("others replace the recipient of a message: the person on duty by then, then the others by their turns", async () => {
  await using one = await openRota();
  const names = (message: Message | null) => one.oncall.people!(message).map(({ name }) => name);
  const sent = one.sealed(handOverMs - 1);
  expect([names(sent), names(null)]).toEqual([
    ["anna", "ben"],
    ["anna", "ben"],
  ]);
  await one.clock.advance(2 * 3_600_000);
  expect([names(sent), names(null)]).toEqual([
    ["anna", "ben"],
    ["ben", "anna"],
  ]);
  one.plan = plan({ people: ["ben", "anna", "zoe"], since: "2026-11-23" });
  expect(names(null)).toEqual(["ben", "anna"]);
  const [, ben] = one.oncall.people!(sent);
  expect(await ben!.send(outgoing({ message: sent }), never)).toMatchObject({
    ...{ kind: "delivered", receipt: expect.stringMatching(/^ben: /) },
  });
  expect([one.anna.taken.length, one.ben.taken.length]).toEqual([0, 1]);
});

test("its check is that of the person on duty", async () => {
  await using one = await openRota();
  expect(await one.oncall.probe(never)).toMatchObject({
    kind: "ok",
    detail: expect.stringMatching(/^anna is on duty: /),
  });
  await one.anna.close();
  expect(await one.oncall.probe(never)).toMatchObject({ kind: "failed", failure: "unreachable" });
  await one.clock.advance(2 * 3_600_000);
  expect(await one.oncall.probe(never)).toMatchObject({
    kind: "ok",
    detail: expect.stringMatching(/^ben is on duty: /),
  });
});

test("an emergency on Pushover is found again after a restart, and acknowledged by the phone", async () => {
  const clock = handClock();
  const [appToken, user] = ["aTokenNeverToBeShown0123456789", "uKeyNeverToBeShownAnywhere0123"];
  const world = new Pushover({ token: appToken, user, nowMs: () => clock.nowMs() });
  await using far = await startService(world.dialect);
  const daemon = fakeActions(() => clock.nowMs());
  const log = new Watched<string>();
  const line = (_fields: object, words: string) => log.add(words);
  const made = () =>
    createChannels(
      {
        oncall: channelSettings.parse({ type: "rota", people: ["anna"], turn: "Mon 09:00" }),
        anna: channelSettings.parse({ type: "pushover", token: appToken, userKey: user, apiUrl: far.url }),
      },
      () => plan({ people: ["anna"] }),
      {
        ...{ clock, random: seededRandom(1), out: new PassThrough(), actions: daemon.actions },
        log: { debug: line, info: line, warn: line },
      },
    );
  const first = made();
  const result = await first.get("oncall")!.send(outgoing(), never);
  if (result.kind !== "delivered") throw new Error(result.detail);
  for (const channel of first.values()) await channel.stop();
  daemon.receipts.push({ receiver: "oncall", receipt: result.receipt });
  const again = made();
  await again.get("anna")!.start(never);
  world.acknowledge(world.pushes.items.at(-1)!, "pixel");
  await clock.asked(5_000);
  clock.pass(5_000);
  await log.waitFor((words) => words.startsWith("acknowledged on Pushover"));
  expect(daemon.done).toEqual([expect.stringMatching(/^ack 42 by pixel/)]);
  for (const channel of again.values()) await channel.stop();
});
