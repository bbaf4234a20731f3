/** The contract of every channel as one suite; each channel provides a simulated service that misbehaves. */
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Channel } from "../../src/channels/channel.ts";
import type { ChannelLog } from "../../src/channels/log.ts";
import {
  type ChannelSettings,
  capacitiesOf,
  channelSettings,
  createChannels,
} from "../../src/channels/registry.ts";
import { planOf } from "../../src/channels/rota/plan.ts";
import { rotaSettings } from "../../src/channels/rota/settings.ts";
import { maxNamed, maxReported } from "../../src/domain/alerts/delivery.ts";
import { seededRandom, systemClock } from "../../src/domain/clock.ts";
import { alertmanagerDialect, ntfyDialect, pagerdutyDialect, webhookDialect } from "../support/dialects.ts";
import { type DiscordMessage, startDiscord } from "../support/discord.ts";
import { Pushover } from "../support/pushover.ts";
import { type Dialect, type Reply, type ServiceOptions, startService } from "../support/service.ts";
import { slackDialect, slackSends, slackWebhookDialect } from "../support/slack.ts";
import { startSmtp } from "../support/smtp.ts";
import { telegramDialect } from "../support/telegram.ts";
import { change, message, outgoing } from "./messages.ts";
import { inWordsOf } from "./wording.ts";

interface FarSide extends AsyncDisposable {
  readonly settings: unknown;
  /** Channels that it sends by, by name. */
  readonly others?: Readonly<Record<string, unknown>>;
  readonly secrets: readonly string[];
  /** Received messages, as text. */
  readonly arrived: () => readonly string[];
  /** Sets the behaviour for the next attempt or all further ones: refused for now, refused for good, denied, unanswered. */
  readonly busy: () => void;
  readonly unwell: () => void;
  readonly refusing: () => void;
  readonly denying: () => void;
  readonly hanging: () => void;
  /** Resolves when the hanging attempt has reached the service. */
  readonly reached: () => Promise<unknown>;
  readonly gone: () => Promise<void>;
  readonly out?: Writable;
}

/** All text of a message and its files. */
const withFiles = ({ text, files }: Pick<DiscordMessage, "text" | "files">) =>
  [text, ...files.map(({ data }) => String(data))].join("\n");

async function bot(): Promise<FarSide> {
  const discord = await startDiscord();
  const { token, channelId, apiUrl } = discord;
  const path = `/channels/${channelId}/messages`;
  const status = (code: number, body?: object) => () =>
    void discord.fail({ path, method: "POST", times: 9, effect: { kind: "status", status: code, body } });
  return {
    settings: { type: "discord", token, channelId, apiUrl },
    secrets: [token],
    arrived: () => discord.messages.map(withFiles),
    busy: () => void discord.fail({ effect: { kind: "rateLimit", retryAfterMs: 1_500 } }),
    unwell: status(503),
    refusing: status(400, { message: "Invalid Form Body", code: 50035 }),
    denying: status(401, { message: `401: Unauthorized, not ${token}`, code: 0 }),
    hanging: () => void discord.fail({ effect: { kind: "hang" } }),
    reached: () => discord.waitForRequest((request) => request.path === path),
    gone: () => discord.close(),
    [Symbol.asyncDispose]: () => discord.close(),
  };
}

async function webhook(): Promise<FarSide> {
  const discord = await startDiscord();
  const secret = discord.webhookUrl.split("/").at(-1) ?? "";
  const status = (code: number, body?: object) => () =>
    void discord.fail({ path: "/webhooks/*", times: 9, effect: { kind: "status", status: code, body } });
  return {
    settings: { type: "discord", webhookUrl: discord.webhookUrl },
    secrets: [secret, discord.webhookUrl],
    arrived: () => discord.messages.map(withFiles),
    busy: () => void discord.fail({ effect: { kind: "rateLimit", retryAfterMs: 1_500 } }),
    unwell: status(503),
    refusing: status(400, { message: "Invalid Form Body", code: 50035 }),
    denying: status(401, { message: `Invalid Webhook Token ${secret}`, code: 50027 }),
    hanging: () => void discord.fail({ effect: { kind: "hang" } }),
    reached: () => discord.waitForRequest(({ method }) => method === "POST"),
    gone: () => discord.close(),
    [Symbol.asyncDispose]: () => discord.close(),
  };
}

async function email(): Promise<FarSide> {
  const password = "mail-s3cret-never-to-be-shown";
  const smtp = await startSmtp({ auth: { user: "watch", password } });
  const { host, port } = smtp;
  let reached: Promise<unknown> = Promise.resolve();
  return {
    settings: {
      type: "email",
      smtp: { host, port, secure: false, user: "watch", password },
      from: "perpwatch <watch@example.org>",
      to: ["me@example.net"],
    },
    secrets: [
      password,
      Buffer.from(password).toString("base64"),
      Buffer.from(`\0watch\0${password}`).toString("base64"),
    ],
    arrived: () => smtp.mails.map(({ subject, text }) => `${subject}\n${text}`),
    busy: () => void smtp.fail({ at: "rcpt", code: 450, message: "4.7.1 Greylisted, try again later" }),
    unwell: () => void smtp.fail({ at: "data", code: 451, message: "4.3.0 Local error" }),
    refusing: () => void smtp.fail({ at: "data", code: 554, message: "5.7.1 No" }),
    denying: () =>
      void smtp.fail({
        at: "auth",
        code: 535,
        message: `5.7.8 Not ${password}, ${Buffer.from(`\0watch\0${password}`).toString("base64")}`,
      }),
    hanging: () => {
      reached = smtp.fail({ at: "data", hang: true }).used;
    },
    reached: () => reached,
    gone: () => smtp.close(),
    [Symbol.asyncDispose]: () => smtp.close(),
  };
}

interface OverHttp {
  readonly dialect: Dialect;
  readonly options?: ServiceOptions;
  readonly settings: (url: string) => unknown;
  readonly secrets: readonly string[];
  /** The service's own answers; by default the usual statuses. */
  readonly busy?: Reply;
  readonly unwell?: Reply;
  readonly refusing?: Reply;
  readonly denying?: Reply;
}

/** A channel that posts by plain HTTP, with its service's behaviour. */
const overHttp = (how: OverHttp) => async (): Promise<FarSide> => {
  const service = await startService(how.dialect, how.options);
  let reached: Promise<unknown> = Promise.resolve();
  return {
    settings: how.settings(service.url),
    secrets: how.secrets,
    arrived: () => service.taken,
    busy: () => service.fault(how.busy ?? { status: 429, headers: { "retry-after": "1.5" } }),
    unwell: () => service.fault(how.unwell ?? { status: 503, body: "upstream is away" }),
    refusing: () => service.fault(how.refusing ?? { status: 400, body: "malformed" }),
    denying: () => service.fault(how.denying ?? { status: 401, body: `not with ${how.secrets[0]}` }),
    hanging: () => {
      service.fault("hang");
      reached = service.next();
    },
    reached: () => reached,
    gone: () => service.close(),
    [Symbol.asyncDispose]: () => service.close(),
  };
};

const hookSecret = "hook-s3cret-never-to-be-shown";
const program = overHttp({
  dialect: webhookDialect(hookSecret),
  settings: (url) => ({ type: "webhook", url: `${url}/in/b4d-path-secret`, secret: hookSecret }),
  secrets: [hookSecret, "b4d-path-secret"],
});
const botToken = "123456789:AAF-telegram-token-never-shown";
const telegram = overHttp({
  dialect: telegramDialect(botToken, -100_123),
  options: { sends: ({ path }) => /\/send(Message|Document)$/.test(path) },
  settings: (apiUrl) => ({ type: "telegram", token: botToken, chatId: -100_123, apiUrl }),
  secrets: [botToken],
  busy: {
    status: 429,
    body: { ok: false, description: "Too Many Requests: retry after 1.5", parameters: { retry_after: 1.5 } },
  },
  denying: { status: 401, body: { ok: false, error_code: 401, description: "Unauthorized" } },
});
const ntfyToken = "tk_never_to_be_shown_in_any_detail";
const ntfy = overHttp({
  dialect: ntfyDialect(ntfyToken, "perp-alerts"),
  settings: (url) => ({ type: "ntfy", url, topic: "perp-alerts", token: ntfyToken }),
  secrets: [ntfyToken],
});
const routingKey = "R0123456789abcdefNEVERSHOWN01234";
const pagerduty = overHttp({
  dialect: pagerdutyDialect(routingKey),
  settings: (apiUrl) => ({ type: "pagerduty", routingKey, apiUrl }),
  secrets: [routingKey],
  denying: {
    status: 400,
    body: { status: "invalid event", message: "Event object is invalid", errors: ["Invalid routing key"] },
  },
});
const pushoverToken = "aTokenNeverToBeShown0123456789";
const userKey = "uKeyNeverToBeShownAnywhere0123";
const pushover = overHttp({
  dialect: new Pushover({ token: pushoverToken, user: userKey }).dialect,
  options: { sends: ({ path }) => path.endsWith("/messages.json") },
  settings: (apiUrl) => ({ type: "pushover", token: pushoverToken, userKey, apiUrl }),
  secrets: [pushoverToken, userKey],
  denying: { status: 400, body: { token: "invalid", errors: ["application token is invalid"], status: 0 } },
});
const password = "alertmanager-s3cret-never-shown";
const alertmanager = overHttp({
  dialect: alertmanagerDialect("watch", password),
  settings: (url) => ({ type: "alertmanager", url, user: "watch", password }),
  secrets: [password, Buffer.from(`watch:${password}`).toString("base64")],
});
const slackToken = "xoxb-never-to-be-shown-0123456789";
const slack = overHttp({
  dialect: slackDialect(slackToken, "C0123456789"),
  options: { sends: slackSends },
  settings: (url) => ({ type: "slack", token: slackToken, channel: "C0123456789", apiUrl: `${url}/api` }),
  secrets: [slackToken],
  busy: { status: 429, body: { ok: false, error: "ratelimited" }, headers: { "retry-after": "1.5" } },
  unwell: { status: 200, body: { ok: false, error: "internal_error" } },
  refusing: { status: 200, body: { ok: false, error: "msg_too_long" } },
  denying: { status: 200, body: { ok: false, error: "token_revoked" } },
});
const slackPath = "/services/T000/B000/never-to-be-shown";
const slackWebhook = overHttp({
  dialect: slackWebhookDialect(slackPath),
  options: { sends: slackSends },
  settings: (url) => ({ type: "slack", webhookUrl: `${url}${slackPath}` }),
  secrets: [slackPath],
  refusing: { status: 400, body: "msg_too_long" },
  denying: { status: 403, body: "invalid_token" },
});

async function terminal(): Promise<FarSide> {
  const lines: string[] = [];
  let stuck = false;
  const out = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      if (stuck) return;
      lines.push(String(chunk));
      done();
    },
  });
  const nothing = () => {};
  return {
    settings: { type: "console" },
    secrets: [],
    arrived: () => lines,
    busy: nothing,
    unwell: nothing,
    refusing: nothing,
    denying: nothing,
    hanging: () => {
      stuck = true;
    },
    reached: async () => {},
    gone: async () => void out.destroy(),
    out,
    [Symbol.asyncDispose]: async () => void out.destroy(),
  };
}

/** A rota of one person with a Slack bot. */
async function rota(): Promise<FarSide> {
  const far = await slack();
  return {
    ...far,
    settings: { type: "rota", people: ["anna"], turn: "Mon 09:00" },
    others: { anna: far.settings },
  };
}

const parsedOf = (settings: Readonly<Record<string, unknown>> = {}): Record<string, ChannelSettings> =>
  Object.fromEntries(Object.entries(settings).map(([name, one]) => [name, channelSettings.parse(one)]));

interface Rig extends AsyncDisposable {
  readonly channel: Channel;
  readonly far: FarSide;
  readonly logged: () => string;
}

async function rig(start: () => Promise<FarSide>): Promise<Rig> {
  const far = await start();
  const logged: string[] = [];
  const line = (fields: object, text: string) => void logged.push(`${JSON.stringify(fields)} ${text}`);
  const log: ChannelLog = { debug: line, info: line, warn: line };
  const settings: ChannelSettings = channelSettings.parse(far.settings);
  const all = { ...parsedOf(far.others), chat: settings };
  const plan = () => planOf(rotaSettings.parse(far.settings), "UTC");
  const channels = createChannels(all, plan, {
    clock: systemClock(),
    random: seededRandom(1),
    out: far.out ?? new Writable({ write: (_chunk, _encoding, done) => done() }),
    log,
  });
  const channel = channels.get("chat")!;
  const close = async () => {
    for (const one of channels.values()) await one.stop();
    await far[Symbol.asyncDispose]();
  };
  return { channel, far, logged: () => logged.join("\n"), [Symbol.asyncDispose]: close };
}

const never = new AbortController().signal;
/** Channels for programs: their data is in fields, not in lines for people. */
const forPrograms = ["webhook", "pagerduty", "alertmanager"];
/** Removes the boundary between mail parts, which differs on each attempt. */
const withoutTime = (text: string) => text.replaceAll(/--_NmP-[\w-]+/g, "");
const services = {
  webhook: program,
  telegram,
  ntfy,
  slack,
  "Slack webhook": slackWebhook,
  PagerDuty: pagerduty,
  Pushover: pushover,
  Alertmanager: alertmanager,
};
const networked = { "Discord bot": bot, "Discord webhook": webhook, email, rota, ...services };
const all = { ...networked, console: terminal };

describe.each(Object.entries(all))("%s", (name, start) => {
  test("delivers a complete message with its id and sender, and returns a receipt", async () => {
    await using one = await rig(start);
    expect(await one.channel.start(never)).toMatchObject({ kind: "ok" });
    const sent = message();
    const result = await one.channel.send(outgoing({ message: sent }), never);
    expect(result).toMatchObject({ kind: "delivered", receipt: expect.stringMatching(/.+/) });
    const [text = ""] = one.far.arrived();
    expect(text).toContain("main: SOL long is 4.2 % from liquidation");
    expect(text).toMatch(/2026-11-21[ T]03:41:18/);
    if (one.channel.kind !== "console") {
      expect(text).toContain("perpwatch on nuc");
      expect(text).toContain(sent.id);
    }
    if (forPrograms.includes(one.channel.kind)) return;
    expect(text).toContain("FIRING critical: main: SOL long");
    expect(text).toContain("#42");
    expect(text).toContain("2026-11-21 03:41:18 UTC");
    if (one.channel.kind !== "console") expect(text).toContain(`perpwatch on nuc · ${sent.id}`);
  });

  test("sends the text of its templates, the same on every attempt, for any values", async () => {
    await using one = await rig(start);
    await one.channel.start(never);
    const title = 'Near"It @everyone\u202e';
    const facts = { event: { title } };
    const sent = inWordsOf(message([change("fired", {}, { facts })]), {
      title: "Own title of {{ alert.wallet }}",
      body: "Own body: {{ event.title }} {{ usd(trader.equity) }} {{ ago(alert.at) }}",
    });
    await one.channel.send(outgoing({ message: sent }), never);
    const [first = ""] = one.far.arrived();
    expect(first).toContain("Own title of main");
    expect(first).toContain("Own body: ");
    expect(first).toContain("just now");
    expect(first).not.toContain("main: SOL long is 4.2 % from liquidation");
    expect(first).not.toContain("\u202e");
    if (name.startsWith("Discord")) expect(first).not.toContain("@everyone");
    if (!forPrograms.includes(one.channel.kind)) {
      expect(first).toContain("FIRING critical:");
      // Figures belong to the default body.
      expect(first).not.toContain("$126.55");
    }
    await one.channel.send(outgoing({ message: sent, attempt: 1 }), never);
    for (const again of one.far.arrived().slice(1)) expect(withoutTime(again)).toBe(withoutTime(first));
  });

  test("template text of any length fits the service's limits", async () => {
    await using one = await rig(start);
    await one.channel.start(never);
    const description = "<&>[*_]`@é🦀\n".repeat(500);
    const changes = Array.from({ length: 50 }, (_, i) => change("fired", { id: i + 1, description }));
    const written = {
      title: "{{ alert.description }}".repeat(20),
      body: "**own** {{ alert.description }}".repeat(20),
    };
    for (const some of [changes.slice(0, 1), changes]) {
      const sent = inWordsOf(message(some), written);
      const result = await one.channel.send(outgoing({ message: sent }), never);
      expect(result).toMatchObject({ kind: "delivered" });
      if (one.channel.kind !== "console") expect(one.far.arrived().at(-1)).toContain(sent.id);
    }
  });

  test("names each alert of the largest message", async () => {
    await using one = await rig(start);
    await one.channel.start(never);
    const { maxNamed: most = maxNamed, isNeverFolded = false } = one.channel;
    const count = isNeverFolded ? maxReported : most;
    const long = "<&>[*_]`@é🦀 ".repeat(40);
    const changes = Array.from({ length: count }, (_, i) => {
      const id = 1_000 + i;
      const parts = {
        id,
        summary: `${id} happened: ${long}`,
        description: long,
        severity: "info",
        event: true,
      } as const;
      return change("fired", { ...parts, eventKey: `event:${id}` }, { id });
    });
    const tally = Array.from({ length: 20 }, (_, i) => ({
      rule: `Rule${"x".repeat(40)}${i}`,
      wallet: "main",
      count: 9,
    }));
    for (const folded of [undefined, { folded: "storm", tally }] as const) {
      const sent = message(changes, { content: { ...folded } });
      const before = one.far.arrived().length;
      expect(await one.channel.send(outgoing({ message: sent }), never)).toMatchObject({ kind: "delivered" });
      const said = one.far.arrived().slice(before).join("\n");
      const unnamed = changes.filter(({ alertId }) => !new RegExp(`\\b${alertId} happened`).test(said));
      expect(unnamed.map(({ alertId }) => alertId)).toEqual([]);
      if (one.channel.kind !== "console") expect(said).toContain(sent.id);
    }
  });

  test("a late message says so", async () => {
    await using one = await rig(start);
    await one.channel.start(never);
    const late = { heldMs: 840_000, because: "status 503" };
    await one.channel.send(outgoing({ late }), never);
    // The document for programs is the same on every attempt; lateness is in its header (webhook.test.ts).
    if (one.channel.kind === "webhook") return;
    expect(one.far.arrived()[0]).toContain("Delivered late: held 14m, because status 503.");
  });

  test("an aborted attempt rejects at once with the reason", async () => {
    await using one = await rig(start);
    one.far.hanging();
    const stop = new AbortController();
    const sending = one.channel.send(outgoing(), stop.signal);
    const outcome = sending.then(
      () => "settled",
      (error: unknown) => error,
    );
    await one.far.reached();
    const reason = new Error("deadline");
    stop.abort(reason);
    expect(await outcome).toBe(reason);
    await expect(one.channel.send(outgoing(), AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  test("an unreachable service is a retry", async () => {
    await using one = await rig(start);
    await one.far.gone();
    expect(await one.channel.probe(never)).toMatchObject({ kind: "failed", failure: "unreachable" });
    expect(await one.channel.send(outgoing(), never)).toMatchObject({
      kind: "retry",
      failure: "unreachable",
    });
  });

  test("its capacity is known before it is created", async () => {
    await using one = await rig(start);
    const known = capacitiesOf(parsedOf({ chat: one.far.settings, ...one.far.others }));
    const { isNeverFolded, maxNamed, apart, edits, byAccount } = one.channel;
    const none = { isNeverFolded: undefined, maxNamed: undefined, apart: undefined };
    const more = { edits: undefined, byAccount: undefined };
    expect({ ...none, ...more, ...known.get("chat") }).toEqual({
      ...{ isNeverFolded, maxNamed, apart, edits, byAccount },
    });
  });

  test("stops unstarted, and twice", async () => {
    await using one = await rig(start);
    await one.channel.stop();
    await one.channel.start(never);
    await one.channel.stop();
    await one.channel.stop();
  });
});

describe.each(Object.entries(networked))("%s, far away", (name, start) => {
  test("is rate limited: retry, after the stated time if there is one", async () => {
    await using one = await rig(start);
    one.far.busy();
    const result = await one.channel.send(outgoing(), never);
    expect(result).toMatchObject({ kind: "retry", failure: "rate-limited" });
    if (name !== "email") expect(result).toMatchObject({ afterMs: 1_500 });
    expect(one.far.arrived()).toEqual([]);
  });

  test("gets a server error: retry, and nothing arrived", async () => {
    await using one = await rig(start);
    one.far.unwell();
    const sent = outgoing();
    expect(await one.channel.send(sent, never)).toMatchObject({ kind: "retry", failure: "server-error" });
    expect(one.far.arrived()).toEqual([]);
  });

  test("has one message refused: only this message", async () => {
    await using one = await rig(start);
    one.far.refusing();
    const result = await one.channel.send(outgoing(), never);
    expect(result).toMatchObject({ kind: "refused", failure: "rejected", channelBroken: false });
  });

  test("is denied: the channel is broken, and no text contains its secret", async () => {
    await using one = await rig(start);
    one.far.denying();
    const result = await one.channel.send(outgoing(), never);
    expect(result).toMatchObject({ kind: "refused", failure: "authentication", channelBroken: true });
    one.far.denying();
    const probed = await one.channel.probe(never);
    const told = JSON.stringify([result, probed]) + one.logged();
    for (const secret of one.far.secrets) expect(told).not.toContain(secret);
  });
});
