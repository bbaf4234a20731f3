/** Successful answers that do not confirm the message: it is sent again, and the answer is reported. */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Channel } from "../../src/channels/channel.ts";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import { seededRandom, systemClock } from "../../src/domain/clock.ts";
import { type Reply, startService } from "../support/service.ts";
import { change, message, outgoing } from "./messages.ts";

const never = new AbortController().signal;
const secret = "x0123456789abcdef0123456789abc";

interface Kind {
  readonly settings: (url: string) => object;
  readonly status?: number;
  /** The service's answer for an accepted message. */
  readonly taken: object | string;
  /** Successful answers without a confirmation, besides `pages`. */
  readonly others: readonly (object | string)[];
  /** The receipt of an editable message. Left out: none. */
  readonly edits?: string;
}

const pages = ["<html>Log in to the network</html>", ""] as const;
const noes: readonly (object | string)[] = [
  ...[...pages, "null", "[]", "1", "true", '{"ok', {}, { ok: "true" }, { ok: 1 }],
];

const kinds: Readonly<Record<string, Kind>> = {
  "Slack, as a bot": {
    settings: (apiUrl) => ({ type: "slack", token: `xoxb-${secret}`, channel: "C0123456789", apiUrl }),
    taken: { ok: true, ts: "1763696478.000001" },
    others: [
      ...[...noes, "ok", { ok: false }, { ok: false, error: "error_v2" }, { ok: false, error: 5 }],
      ...[{ ok: false, error: "Team disabled" }, { ts: "1763696478.000001" }],
    ],
    edits: "1763696478.000001",
  },
  "Slack, as a webhook": {
    settings: (url) => ({ type: "slack", webhookUrl: `${url}/services/${secret}` }),
    taken: "ok",
    others: [...noes, { ok: false }, "okay", "not ok"],
  },
  Telegram: {
    settings: (apiUrl) => ({ type: "telegram", token: `123456789:${secret}`, chatId: 5, apiUrl }),
    taken: { ok: true, result: { message_id: 7 } },
    others: [...noes, { ok: false, description: "chat not found" }, { result: { message_id: 7 } }],
    edits: "7",
  },
  Pushover: {
    settings: (apiUrl) => ({ type: "pushover", token: secret, userKey: secret, apiUrl }),
    taken: { status: 1, request: "r" },
    others: [...noes, { status: 0 }, { status: "1" }, { status: 0, errors: ["no"] }, { request: "r" }],
  },
  PagerDuty: {
    settings: (apiUrl) => ({ type: "pagerduty", routingKey: `${secret}xx`, apiUrl }),
    status: 202,
    taken: { status: "success", message: "Event processed", dedup_key: "k" },
    others: [...noes, { status: "invalid event", message: "no" }, { dedup_key: "k" }],
  },
  ntfy: {
    settings: (url) => ({ type: "ntfy", topic: "alerts-of-mine", token: secret, url }),
    taken: { id: "xE73Iyuabi", event: "message" },
    others: [...noes, { error: "unauthorized", http: 401 }, { id: 5 }],
  },
  Alertmanager: {
    settings: (url) => ({ type: "alertmanager", url, token: secret }),
    taken: "",
    others: ["<!DOCTYPE html>\n<p>Log in"],
  },
  "Discord, as a bot": {
    settings: (apiUrl) => ({ type: "discord", token: secret, channelId: "1100000000000000003", apiUrl }),
    taken: { id: "1187000000000000001" },
    others: [...noes, { id: 5 }, { message: "no", code: 50035 }],
    edits: "1187000000000000001",
  },
  "Discord, as a webhook": {
    settings: (url) => ({ type: "discord", webhookUrl: `${url}/api/webhooks/1100000000000000006/${secret}` }),
    taken: { id: "1187000000000000001" },
    others: [...noes, { id: 5 }, { message: "no", code: 50035 }],
    edits: "1187000000000000001",
  },
};

const made = (settings: object): Channel =>
  createChannel("there", channelSettings.parse(settings), {
    ...{ clock: systemClock(), random: seededRandom(1), out: new PassThrough() },
  });

const shownOf = (body: object | string) => (typeof body === "string" ? body : JSON.stringify(body));

/** The results of one attempt and of the next, which the service accepts. @param edited the receipt of a message to edit */
async function tried(
  { settings, status = 200, taken }: Kind,
  body: object | string,
  edited?: string,
): Promise<object[]> {
  let reply: Reply = { status, body, headers: jsonType };
  await using far = await startService(() => reply);
  const channel = made(settings(far.url));
  const incident = { id: "I1" };
  const first = message([change()], { content: { incident } });
  const sent =
    edited === undefined
      ? { message: first }
      : {
          message: message([change("fired", {}, { id: 8 })], { content: { incident, quiet: true } }),
          root: { messageId: first.id, receipt: edited, message: first },
        };
  const results = [await channel.send(outgoing(sent), never)];
  reply = { ...reply, body: taken };
  results.push(await channel.send(outgoing({ ...sent, attempt: 1 }), never));
  await channel.stop();
  if (edited !== undefined)
    expect(far.asked.filter(({ method, path }) => method === "POST" && isSend.test(path))).toEqual([]);
  return results;
}

test.each(["ok", "OK", "ok\n", { ok: true }, { success: true }, { result: "success", msg: "" }])(
  "a webhook that takes Slack's messages answers %j",
  async (body) => {
    expect((await tried(kinds["Slack, as a webhook"]!, body))[0]).toMatchObject({ kind: "delivered" });
  },
);

describe.each(Object.entries(kinds))("%s", (_name, kind) => {
  test("an accepted message is delivered", async () => {
    expect((await tried(kind, kind.taken))[0]).toMatchObject({ kind: "delivered" });
  });

  test.each(kind.others.map((body) => [shownOf(body), body]))("%s is no delivery", async (_shown, body) => {
    expect(await tried(kind, body)).toMatchObject([
      { kind: "retry", failure: "server-error", afterMs: null, unconfirmed: true },
      { kind: "delivered" },
    ]);
  });
});

const editing = Object.entries(kinds).flatMap(([name, kind]) =>
  kind.edits === undefined ? [] : kind.others.map((body) => ({ name, kind, body, shown: shownOf(body) })),
);

test.each(editing)("$name: $shown is no edit", async ({ kind, body }) => {
  expect(await tried(kind, body, kind.edits)).toMatchObject([
    { kind: "retry", failure: "server-error" },
    { kind: "delivered", receipt: kind.edits },
  ]);
});

/** Paths that send a message, without edits. */
const isSend = /chat\.postMessage|sendMessage|\/messages\?|\/messages$|wait=true/;
const jsonType = { "content-type": "application/json" };

test("the answer is reported, without secrets and in one line", async () => {
  await using far = await startService(() => ({
    ...{ status: 200, headers: jsonType },
    body: `{"ok":false,"error":"Team\\u0020disabled","token":"xoxb-${secret}","more":"${"y".repeat(5_000)}"}`,
  }));
  const channel = made(kinds["Slack, as a bot"]!.settings(far.url));
  const result = (await channel.send(outgoing(), never)) as { readonly detail: string };
  await channel.stop();
  expect(result.detail).toMatch(/^Slack answered 200 without confirming it: \{"ok":false/);
  expect(result.detail).not.toContain(secret.slice(0, 10));
  expect(result.detail.length).toBeLessThan(300);
});

test.each(["Slack, as a bot", "Telegram"])(
  "%s: an answer that repeats a long message in escapes is read whole, and the message is not sent again",
  async (name) => {
    const { settings, taken } = kinds[name]!;
    const repeated = "\\u0416".repeat(40_000);
    const body = `{"message":{"text":"${repeated}"},${JSON.stringify(taken).slice(1)}`;
    await using far = await startService(() => ({ status: 200, body, headers: jsonType }));
    const channel = made(settings(far.url));
    expect(await channel.send(outgoing(), never)).toMatchObject({ kind: "delivered" });
    await channel.stop();
  },
);
