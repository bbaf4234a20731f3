/**
 * Every secret of a daemon is marked, and every service repeats what it is sent, in each way of failing and in each encoding. Afterwards
 * no piece of a secret stands in the log, the database, the status, the metrics, the API, the console, or a message to somebody else.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import path from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { base58 } from "@scure/base";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { hashPassword } from "../../src/web/access/password.ts";
import { type Desk, desk, run, runProcess } from "../cli/run.ts";
import { alertmanagerDialect, ntfyDialect, pagerdutyDialect, webhookDialect } from "../support/dialects.ts";
import { type Program, startProgram } from "../support/program.ts";
import { Pushover } from "../support/pushover.ts";
import type { Dialect } from "../support/service.ts";
import { slackDialect, slackWebhookDialect } from "../support/slack.ts";
import { telegramDialect } from "../support/telegram.ts";
import {
  type Echo,
  echoHttp,
  echoMail,
  failures,
  type MailEcho,
  mailFailures,
  slowFailures,
} from "./echoing.ts";
import { isWhole, report } from "./measure.ts";
import { canary, encodings, SecretFinder } from "./secret-finder.ts";

const crashing = new URL("crashing.ts", import.meta.url).href;
const finder = new SecretFinder();
const mark = (name: string, length = 32, before = "") => {
  const made = canary(length);
  finder.add(name, made);
  return before + made;
};

const secrets = {
  discord: mark("Discord token", 40),
  discordHook: mark("Discord webhook", 40),
  slack: mark("Slack token", 32, "xoxb-"),
  slackApp: mark("Slack app token", 32, "xapp-"),
  slackHook: mark("Slack webhook", 32),
  telegram: mark("Telegram token", 35, "123456789:"),
  pushover: mark("Pushover token", 30),
  pushoverUser: mark("Pushover user", 30),
  pagerduty: mark("PagerDuty key", 32),
  ntfy: mark("ntfy token", 32, "tk_"),
  ntfyTopic: mark("ntfy topic", 24),
  alertmanager: mark("Alertmanager password", 32),
  webhook: mark("webhook secret", 32),
  webhookPath: mark("webhook path", 32),
  webhookQuery: mark("webhook query", 32),
  smtp: mark("SMTP password", 32),
  heartbeat: mark("heartbeat address", 32),
  failing: mark("heartbeat failure address", 32),
  rpcPath: mark("ledger path", 32),
  rpcQuery: mark("ledger query", 32),
  page: mark("page password", 32),
  passphrase: mark("keystore passphrase", 32),
};

interface Side {
  readonly echo: Echo;
  readonly arrived: string[];
}

let place: Desk;
let simulator: Simulator;
let exchange: Echo;
let rpc: Echo;
let mail: MailEcho;
let daemon: Program;
const sides = new Map<string, Side>();
/** The texts to be searched at the end, by where they stood. */
const said: [string, string][] = [];

/** A service that speaks a dialect while nothing fails. */
async function side(name: string, dialect: Dialect, own: readonly string[]): Promise<number> {
  const arrived: string[] = [];
  const echo = await echoHttp(
    async (incoming, body, response) => {
      const type = String(incoming.headers["content-type"] ?? "");
      let json: unknown;
      try {
        json = JSON.parse(body);
      } catch {
        json = undefined;
      }
      const parts = type.startsWith("multipart/form-data")
        ? await new Response(body, { headers: { "content-type": type } }).formData()
        : null;
      const form =
        parts === null
          ? undefined
          : Object.fromEntries([...parts].map(([key, value]) => [key, String(value)]));
      const asked = {
        ...{
          method: incoming.method ?? "",
          path: incoming.url ?? "",
          headers: incoming.headers,
          text: body,
          json,
        },
        ...(form === undefined ? {} : { form }),
      };
      const reply = await dialect(asked, (text) => void arrived.push(text));
      const isObject = typeof reply.body === "object";
      response.writeHead(reply.status, {
        "content-type": isObject ? "application/json" : "text/plain",
        ...reply.headers,
      });
      response.end(isObject ? JSON.stringify(reply.body) : (reply.body ?? ""));
    },
    () => own,
  );
  sides.set(name, { echo, arrived });
  return echo.port;
}

const discordDialect: Dialect = ({ method, path: at, text }, take) => {
  if (method === "POST" && /messages$|webhooks\//.test(at)) take(text);
  return {
    status: method === "POST" ? 200 : 404,
    body: { id: "123456789012345678", channel_id: "123456789012345678" },
  };
};

/** Passes requests on to the simulated exchange; tokens that it hands out are secrets from then on. */
function passedOn(incoming: IncomingMessage, body: string, response: ServerResponse): void {
  const { port } = new URL(simulator.url);
  const { method = "GET", url = "/", headers } = incoming;
  const outgoing = request({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
    const parts: Buffer[] = [];
    answer.on("data", (part: Buffer) => parts.push(part));
    answer.on("end", () => {
      const bytes = Buffer.concat(parts);
      if (url.startsWith("/v1/auth/"))
        // The last part of a token is what makes it one; the head of a JWT is the same for all.
        for (const [, field, value] of bytes
          .toString()
          .matchAll(/"((?:access|refresh)_token)":"([^"]{20,})"/g))
          finder.add(`exchange ${field} ${finder.all.size}`, value!.split(".").at(-1)!);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.end(bytes);
    });
  });
  outgoing.on("error", () => response.destroy());
  outgoing.end(body);
}

function config(passwordHash: string): string {
  const at = (name: string) => `http://127.0.0.1:${sides.get(name)!.echo.port}`;
  const wallets = simulator.traders.map(
    ({ name, keyFile, authority }, index) =>
      `  - { name: ${name}, ${index === 0 ? `keyFile: ${keyFile}` : `keystore: ${authority}`} }`,
  );
  const channels: Record<string, string> = {
    here: "{ type: console }",
    discord: `{ type: discord, token: ${secrets.discord}, channelId: "123456789012345678", apiUrl: "${at("discord")}/api", allow: { users: ["123456789012345678"] } }`,
    discordHook: `{ type: discord, webhookUrl: "${at("discordHook")}/api/webhooks/123456789012345678/${secrets.discordHook}" }`,
    slack: `{ type: slack, token: ${secrets.slack}, appToken: ${secrets.slackApp}, allow: { users: [U0123456789] }, channel: C0123456789, apiUrl: "${at("slack")}/api" }`,
    slackHook: `{ type: slack, webhookUrl: "${at("slackHook")}/services/T000/B000/${secrets.slackHook}" }`,
    telegram: `{ type: telegram, token: "${secrets.telegram}", chatId: -100123, allow: { users: [1] }, apiUrl: "${at("telegram")}" }`,
    pushover: `{ type: pushover, token: ${secrets.pushover}, userKey: ${secrets.pushoverUser}, apiUrl: "${at("pushover")}" }`,
    pagerduty: `{ type: pagerduty, routingKey: ${secrets.pagerduty}, apiUrl: "${at("pagerduty")}" }`,
    ntfy: `{ type: ntfy, url: "${at("ntfy")}", topic: ${secrets.ntfyTopic}, token: ${secrets.ntfy} }`,
    alertmanager: `{ type: alertmanager, url: "${at("alertmanager")}", user: watch, password: ${secrets.alertmanager} }`,
    webhook: `{ type: webhook, url: "${at("webhook")}/in/${secrets.webhookPath}?key=${secrets.webhookQuery}", secret: ${secrets.webhook} }`,
    mail: `{ type: email, smtp: { host: 127.0.0.1, port: ${mail.port}, secure: false, user: watch, password: ${secrets.smtp} }, from: w@example.org, to: [me@example.net] }`,
    duty: '{ type: rota, people: [slack, telegram], turn: "Mon 09:00" }',
    script: `{ type: command, command: ${process.execPath}, args: ["-e", "process.stdin.resume(); process.exitCode = 3; console.error('no')"] }`,
    // A TLS line to a port that speaks none.
    secure: `{ type: webhook, url: "https://127.0.0.1:${sides.get("webhook")!.echo.port}/in/${secrets.webhookPath}", secret: ${secrets.webhook} }`,
  };
  return [
    `exchange: { baseUrl: "http://127.0.0.1:${exchange.port}", requestsPerSecond: 200 }`,
    `ledger: { rpcUrl: "http://127.0.0.1:${rpc.port}/v2/${secrets.rpcPath}?api-key=${secrets.rpcQuery}" }`,
    "wallets:",
    ...wallets,
    "channels:",
    ...Object.entries(channels).map(([name, one]) => `  ${name}: ${one}`),
    `heartbeat: { url: "${at("heartbeat")}/ping/${secrets.heartbeat}", failUrl: "${at("heartbeat")}/ping/${secrets.failing}", every: 5s }`,
    "schedules: { traderState: { every: 1s }, markets: { every: 1s }, notifications: { every: 1s } }",
    "history: { path: ./p }",
    `dashboard: { listen: "127.0.0.1:0", passwordHash: "${passwordHash}" }`,
    "signer: { passphraseFile: ./passphrase }",
    "",
  ].join("\n");
}

beforeAll(async () => {
  place = desk();
  simulator = await startSimulator({
    port: 0,
    traders: 2,
    walk: true,
    keysDir: path.join(place.folder, "keys"),
  });
  for (const trader of simulator.traders) {
    const pair = Uint8Array.from(JSON.parse(readFileSync(trader.keyFile!, "utf8")) as number[]);
    const seed = pair.slice(0, 32);
    for (const form of [base58.encode(seed), base58.encode(pair), [...seed.slice(0, 8)].join(",")])
      finder.add(`key of ${trader.name}`, form);
    finder.add(`key of ${trader.name}, bytes`, Buffer.from(seed).toString("latin1"));
  }
  const token = (incoming: IncomingMessage) => [
    String(incoming.headers.authorization ?? "").replace(/^Bearer /, ""),
  ];
  exchange = await echoHttp(passedOn, token);
  exchange.way = { failure: "well", encoding: "plain" };
  rpc = await echoHttp(passedOn, ({ url = "" }) => [url.split(/[/?=]/)[2] ?? "", secrets.rpcQuery, url]);
  mail = await echoMail([secrets.smtp, `watch:${secrets.smtp}`, `\0watch\0${secrets.smtp}`]);
  const basic = `watch:${secrets.alertmanager}`;
  await side("discord", discordDialect, [secrets.discord]);
  await side("discordHook", discordDialect, [secrets.discordHook]);
  await side("slack", slackDialect(secrets.slack, "C0123456789"), [secrets.slack, secrets.slackApp]);
  await side("slackHook", slackWebhookDialect(`/services/T000/B000/${secrets.slackHook}`), [
    secrets.slackHook,
  ]);
  await side("telegram", telegramDialect(secrets.telegram, -100_123), [secrets.telegram]);
  const pushover = new Pushover({ token: secrets.pushover, user: secrets.pushoverUser });
  await side("pushover", pushover.dialect, [secrets.pushover, secrets.pushoverUser]);
  await side("pagerduty", pagerdutyDialect(secrets.pagerduty), [secrets.pagerduty]);
  await side("ntfy", ntfyDialect(secrets.ntfy, secrets.ntfyTopic), [secrets.ntfy, secrets.ntfyTopic]);
  await side("alertmanager", alertmanagerDialect("watch", secrets.alertmanager), [
    secrets.alertmanager,
    basic,
  ]);
  await side("webhook", webhookDialect(secrets.webhook), [
    secrets.webhookPath,
    secrets.webhookQuery,
    secrets.webhook,
  ]);
  await side("heartbeat", () => ({ status: 200 }), [secrets.heartbeat, secrets.failing]);
  place.write("config.yaml", config(await hashPassword(secrets.page)));
  place.write("passphrase", secrets.passphrase);
  const input = readFileSync(simulator.traders[1]!.keyFile!, "utf8");
  expect(await runProcess(["wallet", "import"], { ...place, input })).toMatchObject({ status: 0 });
}, 60_000);

afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]();
  for (const { echo } of sides.values()) await echo[Symbol.asyncDispose]();
  for (const one of [exchange, rpc, mail]) await one?.[Symbol.asyncDispose]();
  await simulator?.stop();
  place?.[Symbol.dispose]();
});

/** Asks the daemon over its socket. */
function ask(method: "GET" | "POST", at: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...{ socketPath: path.join(place.folder, "p.sock"), method, path: at, agent: false },
        headers: body === undefined ? {} : { "content-type": "application/json" },
      },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        answer.on("end", () => resolve(text));
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function start(format: string): Promise<void> {
  daemon = startProgram(["start", "--log-level", "debug", "--log-format", format], { folder: place.folder });
  await daemon.line((line) => line.includes("watching "), 60_000);
}

/** Logs in to the page in each way, right and wrong: what it hands out is a secret from then on. */
async function logIn(when: string): Promise<void> {
  const watching = [...daemon.stderr, ...daemon.stdout].join("\n");
  const page = /status page (http:\/\/127\.0\.0\.1:\d+)/.exec(watching)![1]!;
  const made = async (what: string, body: object, secretOf: (answer: string) => string) => {
    const secret = secretOf(await ask("POST", `/api/v1/access/${what}`, body));
    finder.add(`${what} ${when}`, secret.slice(-40));
    return secret;
  };
  const linkOf = (answer: string) => (JSON.parse(answer) as { url: string }).url.split("#login=")[1]!;
  const tokenOf = (answer: string) => (JSON.parse(answer) as { token: string }).token;
  const link = await made("links", {}, linkOf);
  const token = await made("tokens", { name: `canary-${when}`, rights: "act" }, tokenOf);
  const asked = async (at: string, headers: Record<string, string>, body?: string) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const method = body === undefined ? "GET" : "POST";
    const answer = await fetch(page + at, {
      method,
      headers: { ...headers, ...type },
      ...(body && { body }),
    });
    said.push([`${at} ${when}`, await answer.text()]);
    tried++;
    return answer;
  };
  const session = "/api/v1/session";
  const password = (text: string) => JSON.stringify({ password: text });
  const logins = [
    await asked(session, {}, password(secrets.page)),
    await asked(session, { "perpwatch-link": link }, "{}"),
  ];
  for (const [index, answer] of logins.entries()) {
    const cookie = answer.headers.get("set-cookie")!.split(";")[0]!;
    finder.add(`cookie ${index} ${when}`, cookie.split("=")[1]!);
    expect((await asked("/api/v1/status", { cookie })).status).toBe(200);
    expect((await asked("/api/v1/nothing", { cookie })).status).toBe(404);
  }
  const bearer = { authorization: `Bearer ${token}` };
  for (const at of ["/metrics", "/api/v1/status"]) expect((await asked(at, bearer)).status).toBe(200);
  expect((await asked("/api/v1/silences", bearer, `{ "${token}": `)).status).toBe(400);
  // A link that was used, a token with more, a body that is cut short, a password with more.
  for (const wrong of [
    await asked(session, { "perpwatch-link": link }, "{}"),
    await asked("/api/v1/status", { authorization: `Bearer ${token}x` }),
    await asked(session, {}, password(secrets.page).slice(0, -1)),
    await asked(session, {}, password(`${secrets.page}x`)),
  ])
    expect([400, 401]).toContain(wrong.status);
}

const channels = () => [...sides.keys()].filter((name) => name !== "heartbeat");

/** Each channel sends a test message. */
async function tests(what: string, names: readonly string[]): Promise<void> {
  const answers = await Promise.all(names.map((name) => ask("POST", `/api/v1/channels/${name}/test`, {})));
  for (const [index, answer] of answers.entries()) said.push([`test of ${names[index]}, ${what}`, answer]);
}

const shownPaths = [
  "/metrics",
  ...["status", "alerts", "silences", "notifications"].map((one) => `/api/v1/${one}`),
];

async function look(when: string): Promise<void> {
  for (const at of shownPaths) said.push([`${at} ${when}`, await ask("GET", at)]);
}

let tried = 0;
const startedMs = Date.now();

async function rounds(codes: readonly string[]): Promise<void> {
  for (const encoding of codes) {
    for (const failure of failures) {
      for (const { echo } of sides.values()) echo.way = { failure, encoding };
      exchange.way = { failure, encoding };
      await tests(`${failure}, ${encoding}`, [...channels(), "secure", "duty"]);
      tried += channels().length;
    }
    exchange.way = { failure: "well", encoding };
    for (const at of mailFailures) {
      mail.way = { at, encoding };
      await tests(`${at}, ${encoding}`, ["mail"]);
      tried++;
    }
    await look(encoding);
  }
}

/** One half before, one after a restart with another form of the log. */
const codes = isWhole ? Object.keys(encodings) : ["base64", "plain", "hex, upper", "base64 in lines"];

test("services that repeat credentials, in each way of failing and each encoding", {
  timeout: 900_000,
}, async () => {
  await start("json");
  await logIn("first");
  await rounds(codes.filter((_, index) => index % 2 === 0));
  // Alerts that are sent while everything fails.
  await ask("POST", "/api/v1/drill", { channels: null, by: "test" });
  if (isWhole)
    for (const failure of slowFailures) {
      for (const { echo } of sides.values()) echo.way = { failure, encoding: "plain" };
      await tests(failure, channels());
    }
  said.push(["log", daemon.stderr.join("\n")], ["console", daemon.stdout.join("\n")]);
  searchFiles("while it ran");
  await daemon.end("SIGTERM");
  await start("pretty");
  await logIn("later");
  await rounds(codes.filter((_, index) => index % 2 === 1));
  said.push(["pretty log", daemon.stderr.join("\n")], ["pretty console", daemon.stdout.join("\n")]);
});

test("an exchange that repeats tokens and signatures", { timeout: 300_000 }, async () => {
  const ways = (isWhole ? codes : ["plain", "base64"]).flatMap((encoding) =>
    failures.map((failure) => ({ failure, encoding })),
  );
  for (const way of ways) {
    exchange.way = way;
    const before = exchange.asked();
    // Polls that fail come more seldom.
    const endMs = Date.now() + 30_000;
    while (exchange.asked() < before + 1 && Date.now() < endMs)
      await new Promise((next) => setTimeout(next, 20));
    expect(exchange.asked(), `asked while it fails: ${way.failure}, ${way.encoding}`).toBeGreaterThan(before);
    tried += exchange.asked() - before;
  }
  await look("of a failing exchange");
  exchange.way = { failure: "well", encoding: "plain" };
});

test("a ledger that repeats its address, and commands", { timeout: 300_000 }, async () => {
  const asking = ["stop-loss", "--wallet", "main", "--symbol", "SOL", "--trigger-price", "170"];
  for (const encoding of codes)
    for (const failure of isWhole ? failures : (["401", "200 JSON", "302"] as const)) {
      rpc.way = { failure, encoding };
      const ran = await run(asking, at());
      said.push([`stop-loss, ${failure}, ${encoding}`, ran.stdout + ran.stderr]);
      tried++;
    }
  for (const { echo } of sides.values()) echo.way = { failure: "401", encoding: "base64" };
  for (const args of [
    ["status"],
    ["status", "--json"],
    ["alerts"],
    ["check"],
    ["check", "--online"],
    ["wallet", "list"],
  ]) {
    const ran = await run(args, at());
    said.push([args.join(" "), ran.stdout + ran.stderr]);
  }
});

const at = () => ({ folder: place.folder });

test("the daemon that tells of all this to services that are well", { timeout: 120_000 }, async () => {
  for (const { echo } of sides.values()) echo.way = { failure: "well", encoding: "plain" };
  mail.way = { at: "taken", encoding: "plain" };
  await ask("POST", "/api/v1/drill", { channels: null, by: "test" });
  const arrived = () => [...sides.values()].flatMap((one) => one.arrived);
  const endMs = Date.now() + 60_000;
  while (
    new Set([...sides].filter(([, one]) => one.arrived.length > 0).map(([name]) => name)).size < 6 &&
    Date.now() < endMs
  )
    await new Promise((next) => setTimeout(next, 100));
  expect(arrived().length).toBeGreaterThan(5);
  await look("at the end");
  await daemon.end("SIGTERM");
  said.push(["last log", daemon.stderr.join("\n")], ["last console", daemon.stdout.join("\n")]);
  for (const [name, one] of sides) {
    // A message to a service may hold that service's own secrets where its protocol has them: in the body of Pushover and PagerDuty.
    const text = one.arrived.join("\n");
    const found = finder.leaks(text).filter((secret) => !secret.toLowerCase().startsWith(name.toLowerCase()));
    expect(found, `messages at ${name}`).toEqual([]);
  }
  searchFiles("after it");
});

test.each(["exception", "rejection"])(
  "a daemon that an unexpected %s ends",
  { timeout: 90_000 },
  async (how) => {
    const env = {
      ...{ NODE_OPTIONS: `--import=${crashing}`, PERPWATCH_CRASH: how },
      PERPWATCH_CANARIES: [...finder.all.values()].filter((one) => !one.includes("\0")).join(" "),
    };
    await using crashed = startProgram(["start", "--log-level", "debug"], { folder: place.folder, env });
    await crashed.line((line) => line.includes("watching "), 60_000);
    process.kill(crashed.pid, "SIGUSR2");
    expect(await crashed.ended).toEqual({ status: 1, signal: null });
    const text = [...crashed.stderr, ...crashed.stdout].join("\n");
    // Told is what kind of error it was, and where it came from.
    expect(text).toMatch(/"level":"fatal".*TypeError ERR_INVALID_URL.*crashing\.ts:\d+/);
    said.push([`text of a crash by ${how}`, text]);
    searchFiles(`after a crash by ${how}`);
    tried++;
  },
);

test("no piece of a secret was said anywhere", () => {
  const found = said.flatMap(([where, text]) =>
    finder.leaks(text).map((secret) => `${where}: ${secret}: ${text.length < 600 ? text : ""}`),
  );
  report({
    attack: "canaries",
    ...{ inputs: tried, accepted: tried - found.length, refused: found.length },
    ...{ longestMs: Date.now() - startedMs, peakMb: process.memoryUsage().rss / 1_048_576 },
  });
  if (process.env.PERPWATCH_LEAKS !== undefined) writeFileSync(process.env.PERPWATCH_LEAKS, found.join("\n"));
  expect(found.slice(0, 40)).toEqual([]);
  expect(finder.all.size).toBeGreaterThan(25);
  expect(said.some(([, text]) => text.includes("401"))).toBe(true);
});

/** All files of the history, and what its tables hold once it is unpacked. */
function searchFiles(when: string): void {
  for (const name of readdirSync(place.folder)) {
    if (!/^p(?:-|$|\.)/.test(name) || name.endsWith(".sock")) continue;
    said.push([`${name} ${when}`, readFileSync(path.join(place.folder, name)).toString("latin1")]);
  }
  const database = new Database(path.join(place.folder, "p"), { readonly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as {
      name: string;
    }[];
    for (const { name } of tables) {
      const parts: string[] = [];
      for (const row of database.prepare(`SELECT * FROM "${name}"`).all() as Record<string, unknown>[])
        for (const value of Object.values(row)) {
          if (typeof value === "string") parts.push(value);
          if (Buffer.isBuffer(value)) parts.push(unpacked(value));
        }
      said.push([`table ${name} ${when}`, parts.join("\n")]);
    }
  } finally {
    database.close();
  }
}

function unpacked(value: Buffer): string {
  const start = value.indexOf(Buffer.from("28b52ffd", "hex"));
  try {
    return start < 0
      ? value.toString("latin1")
      : zstdDecompressSync(value.subarray(start)).toString("latin1");
  } catch {
    return value.toString("latin1");
  }
}
