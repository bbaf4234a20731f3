/** Behaviour specific to each channel that uses HTTP or runs a program, besides the common contract. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";
import type { Channel } from "../../src/channels/channel.ts";
import { channelSettings, createChannel, programEnvironment } from "../../src/channels/registry.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { seededRandom, systemClock } from "../../src/domain/clock.ts";
import { alertmanagerDialect, ntfyDialect, pagerdutyDialect, webhookDialect } from "../support/dialects.ts";
import { startService } from "../support/service.ts";
import { slackDialect, slackSends } from "../support/slack.ts";
import { telegramDialect } from "../support/telegram.ts";
import { alert, atMs, change, message, outgoing } from "./messages.ts";
import { inWordsOf } from "./wording.ts";

const never = new AbortController().signal;
const made = (settings: unknown, environment: Record<string, string> = {}): Channel =>
  createChannel("there", channelSettings.parse(settings), {
    clock: systemClock(),
    random: seededRandom(1),
    out: new PassThrough(),
    environment,
  });

describe("webhook", () => {
  const secret = "a-secret-of-24-characters";

  test("the same message comes with the same bytes under the same id on every attempt, late or not", async () => {
    await using far = await startService(webhookDialect(secret));
    const channel = made({ type: "webhook", url: `${far.url}/in`, secret });
    const sent = message();
    far.fault("hangUp");
    expect(await channel.send(outgoing({ message: sent }), never)).toMatchObject({
      kind: "retry",
      failure: "unreachable",
    });
    const late = { heldMs: 90_000, because: "it was away" };
    expect(await channel.send(outgoing({ message: sent, attempt: 1, late }), never)).toEqual({
      kind: "delivered",
      receipt: "202 taken",
    });
    const [first, second] = far.asked;
    expect(second!.text).toBe(first!.text);
    expect(second!.headers["idempotency-key"]).toBe(sent.id);
    expect([first!.headers["perpwatch-late-ms"], second!.headers["perpwatch-late-ms"]]).toEqual([
      undefined,
      "90000",
    ]);
    await channel.stop();
  });

  test("the document has what a program needs, infinities as words", async () => {
    await using far = await startService(webhookDialect(secret));
    const channel = made({ type: "webhook", url: far.url, secret });
    await channel.send(
      outgoing({ message: message([change("fired", { value: Number.POSITIVE_INFINITY })]) }),
      never,
    );
    expect(JSON.parse(far.taken[0]!)).toMatchObject({
      version: 1,
      kind: "alert",
      severity: "critical",
      resolved: false,
      sender: "perpwatch on nuc",
      alerts: [
        {
          id: 42,
          change: "fired",
          rule: "LiquidationNear",
          subject: "main/0.0/SOL",
          wallet: "main",
          value: "Infinity",
          figures: { "Mark price": "$132.10" },
          firedAt: "2026-11-21T03:41:18.000Z",
          endedAt: null,
        },
      ],
      more: 0,
    });
    await channel.stop();
  });

  test("a secret of the form whsec_ is base64, as other tools write it", async () => {
    const key = Buffer.from("sixteen bytes and more");
    await using far = await startService(webhookDialect(key.toString()));
    const channel = made({ type: "webhook", url: far.url, secret: `whsec_${key.toString("base64")}` });
    expect(await channel.send(outgoing(), never)).toMatchObject({ kind: "delivered" });
    await channel.stop();
  });

  test.each([
    [404, true],
    [301, true],
    [413, false],
  ])("an answer of %i is a fault of the channel: %s", async (status, channelBroken) => {
    await using far = await startService(webhookDialect(secret));
    const channel = made({ type: "webhook", url: far.url, secret });
    far.fault({ status, headers: { location: `${far.url}/elsewhere` } });
    expect(await channel.send(outgoing(), never)).toMatchObject({ kind: "refused", channelBroken });
    // A redirect is not followed: the signature is for this address.
    expect(far.asked).toHaveLength(1);
    await channel.stop();
  });

  test("an accepted message is delivered although the body is incomplete: it is not sent again", async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"o', () => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const webhook = made({ type: "webhook", url });
    expect(await webhook.send(outgoing(), never)).toEqual({ kind: "delivered", receipt: '200 {"o' });
    // Slack's body shows if it accepted a message.
    const slack = made({
      ...{ type: "slack", token: "xoxb-0123456789-abcdef", channel: "C0123456789", apiUrl: url },
    });
    expect(await slack.send(outgoing(), never)).toMatchObject({ kind: "retry", failure: "unreachable" });
    await webhook.stop();
    await slack.stop();
    await new Promise((resolve) => server.close(resolve));
  });

  test("a wait given as a date is relative to the server's clock, and bounded", async () => {
    await using far = await startService(webhookDialect(secret));
    const channel = made({ type: "webhook", url: far.url, secret });
    const date = "Fri, 20 Nov 2026 10:00:00 GMT";
    far.fault({ status: 429, headers: { date, "retry-after": "Fri, 20 Nov 2026 10:00:07 GMT" } });
    far.fault({ status: 429, headers: { "retry-after": "99999999" } });
    far.fault({ status: 429, headers: { "retry-after": "soon" } });
    const waits = [];
    for (let i = 0; i < 3; i++) waits.push(await channel.send(outgoing(), never));
    expect(waits).toMatchObject([{ afterMs: 7_000 }, { afterMs: 86_400_000 }, { afterMs: null }]);
    await channel.stop();
  });
});

describe("Telegram", () => {
  const token = "123456789:AAF-telegram-token-never-shown";
  const settings = (apiUrl: string) => ({ type: "telegram", token, chatId: "-100123", apiUrl });

  test("nothing in a text mentions or links; links of the rule's author work", async () => {
    await using far = await startService(telegramDialect(token, -100_123));
    const channel = createChannel("there", channelSettings.parse(settings(far.url)), {
      ...{ clock: systemClock(), random: seededRandom(1), out: new PassThrough() },
      commandLine: (words) => `run --config ./my.yaml ${words}`,
    });
    const hostile = "@everyone https://evil.example/x t.me/evil evil.example";
    const sent = message([change("fired", { summary: hostile, description: hostile })], {
      content: { title: hostile },
    });
    await channel.send(outgoing({ message: sent }), never);
    const { text } = far.asked[0]!.json as { text: string };
    for (const part of ["@everyone", "https://evil", "t.me", "evil.example"])
      expect(text).not.toContain(part);
    expect(text).toContain("https://runbooks.example.org/liquidation");
    expect(text.replaceAll("\u200b", "")).toContain(hostile);
    expect(text).toContain("run --config ./my.yaml alerts ack 42");
    const words = inWordsOf(sent, { body: "https://own.example {{ alert.summary }}" });
    await channel.send(outgoing({ message: words }), never);
    const own = (far.asked[1]!.json as { text: string }).text;
    expect(own).toContain("https://own.example ");
    expect(own).not.toContain("@everyone");
    await channel.stop();
  });

  test("replies to the first message of an alert, and only notifying messages make a sound", async () => {
    await using far = await startService(telegramDialect(token, -100_123));
    const channel = made(settings(far.url));
    const first = message();
    const taken = await channel.send(outgoing({ message: first }), never);
    expect(taken).toEqual({ kind: "delivered", receipt: "101" });
    const ending = message([change("ended")], { content: { resolved: true } });
    await channel.send(
      outgoing({ message: ending, inReplyTo: { messageId: first.id, receipt: "101", message: first } }),
      never,
    );
    expect(far.asked.map(({ json }) => json)).toMatchObject([
      { disable_notification: false },
      {
        disable_notification: true,
        reply_parameters: { message_id: 101, allow_sending_without_reply: true },
      },
    ]);
    await channel.stop();
  });

  test("the longest text of one alert fits, with its id", async () => {
    await using far = await startService(telegramDialect(token, -100_123));
    const channel = made(settings(far.url));
    const long = message([change("fired", { description: "x".repeat(9_000) })]);
    expect(await channel.send(outgoing({ message: long }), never)).toMatchObject({ kind: "delivered" });
    expect(far.taken[0]).toContain(long.id);
    expect(far.taken[0]!.length).toBeLessThanOrEqual(4_096);
    await channel.stop();
  });

  test("more alerts than a text holds go as one file, with the first words and the id as its caption", async () => {
    await using far = await startService(telegramDialect(token, -100_123));
    const channel = made({ ...settings(far.url), topicId: 7 });
    const many = Array.from({ length: 50 }, (_, i) =>
      change("fired", { id: i + 1, description: "x".repeat(400) }),
    );
    const long = message(many);
    const reply = { messageId: "first", receipt: "41", message: message() };
    expect(await channel.send(outgoing({ message: long, inReplyTo: reply }), never)).toMatchObject({
      kind: "delivered",
      receipt: "101",
    });
    expect(far.asked.map(({ path }) => path.split("/").at(-1))).toEqual(["sendDocument"]);
    const { caption = "", message_thread_id, reply_parameters, document } = far.asked[0]!.form!;
    expect(caption).toMatch(
      /^🔴 FIRING critical: main: SOL long is 4\.2 % from liquidation \(\+49 more alerts\)/,
    );
    expect(caption.endsWith(`perpwatch on nuc · ${long.id}`)).toBe(true);
    expect(message_thread_id).toBe("7");
    expect(JSON.parse(reply_parameters ?? "")).toMatchObject({ message_id: 41 });
    expect(document).toContain(`FIRING critical #50: main: SOL long`);
    expect(document).toContain("x".repeat(400));
    await channel.stop();
  });

  test("if a chat refuses files each alert is named in texts, and none of them is sent twice", async () => {
    await using far = await startService(telegramDialect(token, -100_123, false));
    const channel = made(settings(far.url));
    const summary = `main: SOL long ${"y".repeat(120)}`;
    const long = message(Array.from({ length: 50 }, (_, i) => change("fired", { id: i + 1, summary })));
    const texts = () => far.asked.filter(({ path }) => path.endsWith("/sendMessage"));
    // The second text gets a server error.
    const sending = channel.send(outgoing({ message: long }), never);
    while (texts().length === 0) await far.next();
    far.fault({ status: 502, body: { ok: false, description: "Bad Gateway" } });
    expect(await sending).toMatchObject({ kind: "retry", failure: "server-error" });
    expect(await channel.send(outgoing({ message: long, attempt: 1 }), never)).toMatchObject({
      kind: "delivered",
      receipt: "101",
    });
    const said = far.taken.join("\n");
    for (let id = 1; id <= 50; id++) expect(said.split(`#${id}: main: SOL long`)).toHaveLength(2);
    expect(far.taken.at(-1)).toContain(long.id);
    await channel.stop();
  });

  test("an unknown chat and an invalid token break the channel, each with its fix", async () => {
    await using far = await startService(telegramDialect(token, 7));
    const channel = made(settings(far.url));
    expect(await channel.send(outgoing(), never)).toMatchObject({
      kind: "refused",
      failure: "rejected",
      channelBroken: true,
    });
    expect(await channel.probe(never)).toMatchObject({
      kind: "failed",
      fix: expect.stringContaining("chatId"),
    });
    const other = made({ ...settings(far.url), token: "123456789:AAF-another-token-than-that-one" });
    expect(await other.probe(never)).toMatchObject({
      failure: "authentication",
      fix: expect.stringContaining("token"),
    });
    await channel.stop();
    await other.stop();
  });
});

describe("ntfy", () => {
  const token = "tk_0123456789";

  test("highest priority for critical, silent for quiet, lower for good news, a link to the runbook, long texts cut above the id", async () => {
    await using far = await startService(ntfyDialect(token, "alerts"));
    const channel = made({ type: "ntfy", url: `${far.url}/`, topic: "alerts", token });
    const long = message(
      Array.from({ length: 40 }, (_, i) => change("fired", { id: i, description: "é".repeat(300) })),
    );
    const quiet = message([change()], { content: { quiet: true } });
    for (const one of [message(), message([change("ended")], { content: { resolved: true } }), long, quiet])
      expect(await channel.send(outgoing({ message: one }), never)).toEqual({
        kind: "delivered",
        receipt: "xE73Iyuabi",
      });
    expect(far.asked.map(({ json }) => json)).toMatchObject([
      { priority: 5, tags: ["rotating_light"], click: "https://runbooks.example.org/liquidation" },
      { priority: 3, tags: ["white_check_mark"] },
      {},
      { priority: 2, tags: ["rotating_light"] },
    ]);
    expect(far.taken[2]).toContain(long.id);
    await channel.stop();
  });

  test("a token never travels over plain HTTP to another machine", () => {
    const parsed = channelSettings.safeParse({
      type: "ntfy",
      url: "http://ntfy.lan",
      topic: "alerts",
      token,
    });
    expect(parsed.error?.issues[0]).toMatchObject({
      path: ["url"],
      message: expect.stringContaining("https://"),
    });
    expect(channelSettings.safeParse({ type: "ntfy", url: "http://ntfy.lan", topic: "alerts" }).success).toBe(
      true,
    );
  });
});

describe("PagerDuty", () => {
  const routingKey = "R0123456789ABCDEF0123456789ABCDE";

  test("a digest, which cannot be sent, is not reported as delivered", async () => {
    await using far = await startService(pagerdutyDialect(routingKey));
    const channel = made({ type: "pagerduty", routingKey, apiUrl: far.url });
    const digest = message([], { content: { kind: "digest", sections: [{ title: "About", rows: [] }] } });
    const refused = { kind: "refused", failure: "rejected", channelBroken: false };
    expect(await channel.send(outgoing({ message: digest }), never)).toMatchObject(refused);
    expect(far.asked).toEqual([]);
    await channel.stop();
  });

  test("an alert is one incident from its beginning to its end; another daemon's is another", async () => {
    await using far = await startService(pagerdutyDialect(routingKey));
    const channel = made({ type: "pagerduty", routingKey, apiUrl: far.url });
    const firedAtMs = atMs - 60_000;
    for (const kind of ["fired", "rose", "acknowledged", "ended"] as const)
      await channel.send(outgoing({ message: message([change(kind, { firedAtMs })]) }), never);
    await channel.send(
      outgoing({
        message: message([change("fired", { firedAtMs })], { content: { sender: "perpwatch on pi" } }),
      }),
      never,
    );
    const events = far.taken.map((text) => JSON.parse(text) as { event_action: string; dedup_key: string });
    expect(events.map((one) => one.event_action)).toEqual([
      "trigger",
      "trigger",
      "acknowledge",
      "resolve",
      "trigger",
    ]);
    const keys = events.map((one) => one.dedup_key);
    expect(new Set(keys.slice(0, 4)).size).toBe(1);
    expect(keys[4]).not.toBe(keys[0]);
    await channel.stop();
  });

  test("alerts of an account's incident share a key, which only the last of them resolves; their own are closed", async () => {
    await using far = await startService(pagerdutyDialect(routingKey));
    const channel = made({ type: "pagerduty", routingKey, apiUrl: far.url });
    const tell = async (kind: AlertChange["kind"], id: number, onCall?: { id: string; more: boolean }) => {
      const sent = message([change(kind, { id })]);
      const items = sent.content.items.map((item) => ({ ...item, ...(onCall ? { onCall } : {}) }));
      const before = far.taken.length;
      const result = await channel.send(
        outgoing({ message: { ...sent, content: { ...sent.content, items } } }),
        never,
      );
      expect(result).toMatchObject({ kind: "delivered", receipt: expect.stringMatching(/./) });
      const events = far.taken.slice(before).map((text) => JSON.parse(text) as Record<string, string>);
      return events.map(({ event_action, dedup_key }) => [event_action, dedup_key]);
    };
    const [[, ownKey]] = (await tell("fired", 1)) as [[string, string]];
    const shared = "perpwatch-AccountOfMain";
    const of = (more: boolean) => ({ id: "AccountOfMain", more });
    expect(await tell("rose", 1, of(false))).toEqual([
      ["trigger", shared],
      ["resolve", ownKey],
    ]);
    expect(await tell("fired", 2, of(true))).toEqual([["trigger", shared]]);
    expect(await tell("acknowledged", 2, of(true))).toEqual([["acknowledge", shared]]);
    expect(await tell("ended", 2, of(true))).toEqual([["resolve", expect.not.stringMatching(shared)]]);
    const last = await tell("ended", 1, of(false));
    expect(last[0]).toEqual(["resolve", shared]);
    await channel.stop();
  });

  test("if the second of two is not accepted, both are sent again, and that changes nothing", async () => {
    await using far = await startService(pagerdutyDialect(routingKey));
    const channel = made({ type: "pagerduty", routingKey, apiUrl: far.url });
    const both = message([change("fired", { id: 1 }), change("fired", { id: 2 })]);
    const sending = far.next().then(() => far.fault({ status: 503 }));
    expect(await channel.send(outgoing({ message: both }), never)).toMatchObject({ kind: "retry" });
    await sending;
    expect(await channel.send(outgoing({ message: both, attempt: 1 }), never)).toMatchObject({
      kind: "delivered",
    });
    const keys = far.taken.map((text) => (JSON.parse(text) as { dedup_key: string }).dedup_key);
    expect(new Set(keys).size).toBe(2);
    await channel.stop();
  });
});

describe("Alertmanager", () => {
  const settings = (url: string) => ({
    type: "alertmanager",
    url,
    user: "u",
    password: "a-password",
    labels: { team: "risk" },
  });
  interface Told {
    readonly labels: Record<string, string>;
    readonly endsAt: string;
  }

  test("a digest, which cannot be sent, is not reported as delivered", async () => {
    await using far = await startService(alertmanagerDialect("watch", "pass"));
    const channel = made({ type: "alertmanager", url: far.url, user: "watch", password: "pass" });
    const digest = message([], { content: { kind: "digest", sections: [{ title: "About", rows: [] }] } });
    const refused = { kind: "refused", failure: "rejected", channelBroken: false };
    expect(await channel.send(outgoing({ message: digest }), never)).toMatchObject(refused);
    expect(far.asked).toEqual([]);
    await channel.stop();
  });

  test("a rise ends the alert under its old level; an ending has its true time", async () => {
    await using far = await startService(alertmanagerDialect("u", "a-password"));
    const channel = made(settings(far.url));
    await channel.send(outgoing({ message: message([change("rose")]) }), never);
    await channel.send(outgoing({ message: message([change("ended")]) }), never);
    const [rose, ended] = far.taken.map((text) => JSON.parse(text) as Told[]);
    const at = new Date(atMs).toISOString();
    expect(rose!.map(({ labels, endsAt }) => [labels.severity, endsAt > at])).toEqual([
      ["info", false],
      ["warning", false],
      ["critical", true],
    ]);
    expect(ended).toMatchObject([
      { labels: { alertname: "LiquidationNear", team: "risk", wallet: "main", symbol: "SOL" }, endsAt: at },
    ]);
    await channel.stop();
  });

  test("two events of one rule are two alerts", async () => {
    await using far = await startService(alertmanagerDialect("u", "a-password"));
    const channel = made(settings(far.url));
    const event = (eventKey: string) => change("fired", { event: true, state: "ended", eventKey });
    await channel.send(outgoing({ message: message([event("a"), event("b")]) }), never);
    const told = JSON.parse(far.taken[0]!) as Told[];
    expect(new Set(told.map(({ labels }) => JSON.stringify(labels))).size).toBe(2);
    await channel.stop();
  });
});

describe("Slack", () => {
  const token = "xoxb-0123456789-abcdef";
  const settings = (url: string) => ({
    type: "slack",
    token,
    channel: "C0123456789",
    apiUrl: `${url}/api`,
    mention: { critical: "<!here>" },
  });

  test("a message whose blocks are refused goes as plain text", async () => {
    await using far = await startService(slackDialect(token, "C0123456789", true), { sends: slackSends });
    const channel = made(settings(far.url));
    expect(await channel.send(outgoing(), never)).toMatchObject({ kind: "delivered" });
    expect(far.asked).toHaveLength(2);
    expect(far.taken[0]).toContain("main: SOL long is 4.2 % from liquidation");
    await channel.stop();
  });

  test("the largest message whose blocks are refused names each alert in its plain text", async () => {
    await using far = await startService(slackDialect(token, "C0123456789", true), { sends: slackSends });
    const channel = made(settings(far.url));
    const summary = `main: SOL long ${"<y>".repeat(60)}`;
    const many = message(Array.from({ length: 50 }, (_, i) => change("fired", { id: i + 1, summary })));
    expect(await channel.send(outgoing({ message: many }), never)).toMatchObject({ kind: "delivered" });
    for (let id = 1; id <= 50; id++) expect(far.taken[0]).toContain(`FIRING critical #${id}: main: SOL`);
    await channel.stop();
  });

  test("an ending is in the thread of the first message, and a critical one in the channel as well", async () => {
    await using far = await startService(slackDialect(token, "C0123456789"), { sends: slackSends });
    const channel = made(settings(far.url));
    const first = message();
    const taken = await channel.send(outgoing({ message: first }), never);
    expect(taken).toMatchObject({ receipt: "1763696478.000001" });
    const inReplyTo = { messageId: first.id, receipt: "1763696478.000001", message: first };
    await channel.send(outgoing({ message: message([change("ended")]), inReplyTo }), never);
    expect(far.asked.map(({ json }) => json)).toMatchObject([
      { text: expect.stringMatching(/^<!here> \*FIRING critical/) },
      { text: expect.stringMatching(/^\*RESOLVED/), thread_ts: "1763696478.000001", reply_broadcast: true },
    ]);
    await channel.stop();
  });

  test("a mention about a critical alert, or a new alert, is never hidden in the thread of another alert", async () => {
    await using far = await startService(slackDialect(token, "C0123456789"), { sends: slackSends });
    const channel = made(settings(far.url));
    const first = message([change("fired", { severity: "warning" })]);
    const inReplyTo = { messageId: first.id, receipt: "1763696478.000001", message: first };
    const worse = change("worsened", { severity: "warning" });
    const shown: [string, AlertChange[], boolean][] = [
      ["a critical one beside news of the first", [change("fired", { id: 43 }), worse], true],
      ["a warning beside news of the first", [change("fired", { id: 43, severity: "warning" }), worse], true],
      ["nobody answered", [change("escalated", { severity: "warning" })], true],
      ["a critical reminder", [change("reminder")], true],
      ["a critical one that got worse", [change("worsened")], true],
      ["a warning that got worse", [worse], false],
      ["better", [change("fell", { severity: "warning" })], false],
      ["somebody saw it", [change("acknowledged")], false],
    ];
    for (const [, changes] of shown)
      await channel.send(outgoing({ message: message(changes), inReplyTo }), never);
    const broadcast = far.asked.map(
      ({ json }) => (json as { reply_broadcast?: boolean }).reply_broadcast === true,
    );
    expect(shown.map(([what], i) => [what, broadcast[i]])).toEqual(
      shown.map(([what, , loud]) => [what, loud]),
    );
    await channel.stop();
  });

  test("none of fifty alerts is omitted", async () => {
    await using far = await startService(slackDialect(token, "C0123456789"), { sends: slackSends });
    const channel = made(settings(far.url));
    const all = Array.from({ length: 50 }, (_, i) =>
      change("fired", { id: 100 + i, summary: `alert of wallet ${i}` }),
    );
    expect(await channel.send(outgoing({ message: message(all) }), never)).toMatchObject({
      kind: "delivered",
    });
    for (const { alert: one } of all) expect(far.taken[0]).toContain(`#${one.id}: ${one.summary}`);
    await channel.stop();
  });

  test("nothing in a text pings, links or formats", async () => {
    await using far = await startService(slackDialect(token, "C0123456789"), { sends: slackSends });
    const channel = made(settings(far.url));
    const summary = "<!channel> *bold* <https://evil.example|here> & more @here";
    await channel.send(
      outgoing({ message: message([change("reminder", { summary, severity: "info" })]) }),
      never,
    );
    const sent = far.asked[0]!.text;
    expect(sent).not.toContain("<!channel>");
    expect(sent).not.toContain("@here");
    expect(sent).not.toContain("<https://evil");
    expect(far.taken[0]).toContain("& more");
    await channel.stop();
  });

  test("the markup of a template works, and that of values is text", async () => {
    await using far = await startService(slackDialect(token, "C0123456789"), { sends: slackSends });
    const channel = made(settings(far.url));
    const symbol = "<!channel> *bold* <https://evil.example|here>";
    const two = [change("reminder", { symbol, severity: "info" }), change("fired", { id: 2, symbol })];
    for (const changes of [two.slice(0, 1), two]) {
      const sent = message(changes);
      const words = inWordsOf(sent, {
        title: "_{{ alert.symbol }}_",
        body: "<https://own.example|own> {{ alert.symbol }}",
      });
      await channel.send(outgoing({ message: words }), never);
    }
    for (const { text } of far.asked) {
      expect(text).not.toContain("<!channel>");
      expect(text).not.toContain("*bold*");
      expect(text).not.toContain("<https://evil");
      expect(text).toContain("<https://own.example|own> &lt;!channel&gt;");
      expect(text).toMatch(/(#42:|info:\*) _&lt;!channel&gt; .*_/);
    }
    await channel.stop();
  });

  test("text that no service would accept fits", async () => {
    await using far = await startService(slackDialect(token, "C0123456789"), { sends: slackSends });
    const channel = made(settings(far.url));
    const long = message(
      Array.from({ length: 50 }, (_, i) => change("fired", { id: i, description: "<&>".repeat(500) })),
    );
    expect(await channel.send(outgoing({ message: long }), never)).toMatchObject({ kind: "delivered" });
    expect(far.asked).toHaveLength(1);
    const own = inWordsOf(long, {
      title: "{{ alert.description }}",
      body: `${"*own* ".repeat(400)}{{ alert.description }}`,
    });
    expect(await channel.send(outgoing({ message: own }), never)).toMatchObject({ kind: "delivered" });
    expect(far.asked).toHaveLength(2);
    await channel.stop();
  });
});

describe("command", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-command-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const script = (name: string, text: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return file;
  };
  const environment = programEnvironment(process.env);

  test("reads the document on its standard input, prints the receipt, and sees nothing else of the environment", async () => {
    process.env.PERPWATCH_TEST_SECRET = "never";
    const out = path.join(folder, "out");
    const command = script("take", `cat > "$1"\nenv > "$1.env"\necho "taken $PERPWATCH_SEVERITY"\nexit 0`);
    const channel = made({ type: "command", command, args: [out] }, environment);
    expect(await channel.probe(never)).toMatchObject({ kind: "ok" });
    expect(await channel.send(outgoing(), never)).toEqual({ kind: "delivered", receipt: "taken critical" });
    const { readFileSync } = await import("node:fs");
    expect(JSON.parse(readFileSync(out, "utf8"))).toMatchObject({ version: 1, alerts: [{ id: alert().id }] });
    expect(readFileSync(`${out}.env`, "utf8")).not.toContain("PERPWATCH_TEST_SECRET");
    delete process.env.PERPWATCH_TEST_SECRET;
  });

  test("no shell: an argument is an argument", async () => {
    const command = script("say", 'printf "%s" "$1"');
    const channel = made({ type: "command", command, args: ["$(id); `id`"] }, environment);
    expect(await channel.send(outgoing(), never)).toEqual({ kind: "delivered", receipt: "$(id); `id`" });
  });

  test.each([
    ["exit 1", { kind: "retry", failure: "server-error" }],
    ["echo no route >&2; exit 75", { kind: "retry", detail: "fails ended with status 75: no route" }],
    ["exit 65", { kind: "refused", failure: "rejected", channelBroken: false }],
    ["kill -9 $$", { kind: "retry", detail: "fails was ended by SIGKILL" }],
  ])("%s", async (text, expected) => {
    const channel = made({ type: "command", command: script("fails", text) }, environment);
    expect(await channel.send(outgoing(), never)).toMatchObject(expected);
  });

  test("one that hangs is killed with its children, in time", async () => {
    const pid = path.join(folder, "pid");
    const command = script("hangs", `sleep 600 & echo $! > "${pid}"\nwait`);
    const channel = made({ type: "command", command, timeout: "300ms" }, environment);
    expect(await channel.send(outgoing(), never)).toMatchObject({ kind: "retry", failure: "timeout" });
    const { readFileSync } = await import("node:fs");
    const child = Number(readFileSync(pid, "utf8"));
    // A killed process has ended, or is a zombie until its parent collects it.
    const state = () => {
      try {
        return readFileSync(`/proc/${child}/stat`, "utf8").split(") ")[1]![0];
      } catch {
        return "gone";
      }
    };
    await expect.poll(state).toMatch(/Z|gone/);
  });

  test("an aborted attempt ends the program and rejects with the reason", async () => {
    const channel = made({ type: "command", command: script("waits", "sleep 600") }, environment);
    const stop = new AbortController();
    const reason = new Error("stopping");
    const sending = channel.send(outgoing(), stop.signal);
    stop.abort(reason);
    await expect(sending).rejects.toBe(reason);
  });

  test("one that does not exist or may not be run is a broken channel with its fix", async () => {
    const missing = made({ type: "command", command: path.join(folder, "nowhere") }, environment);
    expect(await missing.probe(never)).toMatchObject({
      kind: "failed",
      detail: expect.stringContaining("does not exist"),
    });
    expect(await missing.send(outgoing(), never)).toMatchObject({ kind: "refused", channelBroken: true });
    const file = path.join(folder, "plain");
    writeFileSync(file, "text", { mode: 0o644 });
    const plain = made({ type: "command", command: file }, environment);
    expect(await plain.send(outgoing(), never)).toMatchObject({ kind: "refused", channelBroken: true });
  });
});

/** JSON values whose conversion to a string throws. */
const hostile = { toString: 1, valueOf: null };

describe("answers with other types in place of texts and numbers", () => {
  const pushover = { type: "pushover", token: "a".repeat(30), userKey: "u".repeat(30) };
  const telegram = { type: "telegram", token: "123456789:abcdefghijklmnopqrstuvwxyzABCDEFGHI", chatId: -1 };
  const pagerduty = { type: "pagerduty", routingKey: "k".repeat(32) };
  test.each([
    ["Pushover", pushover, 200, { status: 1, receipt: hostile, request: hostile }, { kind: "delivered" }],
    ["Pushover", pushover, 400, { errors: [hostile] }, { kind: "refused" }],
    [
      "Pushover",
      pushover,
      400,
      { errors: ["no such user", 5] },
      { detail: "Pushover answered 400: no such user; 5" },
    ],
    ["Telegram", telegram, 200, { ok: true, result: { message_id: hostile } }, { kind: "delivered" }],
    [
      "Telegram",
      telegram,
      429,
      { description: hostile, parameters: { retry_after: hostile } },
      { kind: "retry" },
    ],
    [
      "Telegram",
      telegram,
      429,
      { parameters: { retry_after: "9" } },
      { failure: "rate-limited", afterMs: 9_000 },
    ],
    [
      ...(["PagerDuty", pagerduty, 202] as const),
      { status: "success", dedup_key: hostile, message: hostile },
      { kind: "delivered" },
    ],
    ["PagerDuty", pagerduty, 400, { message: hostile, errors: [hostile, [hostile]] }, { kind: "refused" }],
  ])("%s (%#)", async (_name, settings, status, body, expected) => {
    await using far = await startService(() => ({ status, body }));
    const channel = made({ ...settings, apiUrl: far.url });
    expect(await channel.send(outgoing({ message: message() }), never)).toMatchObject(expected);
    await channel.stop();
  });
});
