/**
 * Attacks on the page's address of a daemon that runs: polls of the exchange go on, who is logged in is answered meanwhile, and
 * afterwards it answers as before. Without a login, with one, over TLS and behind a proxy. PERPWATCH_ATTACK_MS sets how long each
 * attack lasts, PERPWATCH_GAP_MS the bound of the time between two polls: 1500 on a quiet machine.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { request as requestOverTls, Agent as TlsAgent } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { text as wholeText } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { hashPassword } from "../../src/web/access/password.ts";
import { askDaemon } from "../../src/web/index.ts";
import { type Desk, desk } from "../cli/run.ts";
import { type Program, startProgram } from "../support/program.ts";
import { memoryMb, pause } from "./asking.ts";
import { type Flood, floods, type Manner } from "./listener-flood.ts";
import { isWhole, report } from "./measure.ts";

const attackMs = Number(process.env.PERPWATCH_ATTACK_MS ?? 4_000);
/** The longest time between two polls of a schedule of one second, ms. */
const longestMs = Number(process.env.PERPWATCH_GAP_MS ?? 3_000);
const program = fileURLToPath(new URL("listener-flood.ts", import.meta.url));

const fixtures = new URL("../web/fixtures/", import.meta.url);
const password = "correct horse battery";

interface Setting {
  readonly name: string;
  /** The rest of `dashboard:`. */
  readonly dashboard: string;
  readonly manners: readonly Manner[];
}

const settings: readonly Setting[] = [
  // Floods get as far as what costs: with a login all but passwords end at the door.
  { name: "login: never", dashboard: "login: never", manners: ["plain"] },
  { name: "with a login", dashboard: "login: always", manners: ["plain"] },
  {
    name: "over TLS",
    dashboard: "tls: { certFile: page.crt, keyFile: page.key }, allowedHosts: [localhost]",
    manners: ["tls"],
  },
  {
    name: "behind a proxy",
    dashboard: "behindProxy: true, allowedHosts: [watch.example.org]",
    manners: ["forged", "wrong"],
  },
];

/** During this one others get new connections. */
const fromElsewhere = "connections from elsewhere";

/** The floods of a sample, of all settings but the first: those that could reach further there. Settings and manners take turns among them. */
const sample: readonly Flood[] = [
  fromElsewhere,
  "slow bodies",
  "status without a pause",
  "a connection for each request",
  "passwords without a pause",
];

/** Those of them that come without a login as well: the others reach no further there. */
const plain: ReadonlySet<Flood> = new Set([fromElsewhere, "passwords without a pause"]);

let place: Desk;
let simulator: Simulator;
let daemon: Program;
let port: number;
let token: string;

async function begin(setting: Setting): Promise<void> {
  place = desk();
  simulator = await startSimulator({
    port: 0,
    traders: 4,
    walk: true,
    keysDir: path.join(place.folder, "keys"),
  });
  port = await freePort();
  for (const name of ["crt", "key"])
    place.write(`page.${name}`, readFileSync(new URL(`first-test-only.${name}`, fixtures), "utf8"));
  chmodSync(path.join(place.folder, "page.key"), 0o600);
  const wallets = simulator.traders.map(({ name, keyFile }) => `  - { name: ${name}, keyFile: ${keyFile} }`);
  place.write(
    "config.yaml",
    [
      `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000, streams: off }`,
      ...["wallets:", ...wallets],
      "channels: { here: { type: console } }",
      "schedules: { traderState: { every: 1s }, notifications: { every: 1s } }",
      "history: { path: ./p }",
      `dashboard: { listen: 127.0.0.1:${port}, ${setting.dashboard}, passwordHash: "${await hashPassword(password)}" }`,
      "",
    ].join("\n"),
  );
  daemon = startProgram(["start"], { folder: place.folder });
  await daemon.line((line) => line.includes("signed in by message"));
  const made = await askDaemon({
    socketPath: path.join(place.folder, "p.sock"),
    method: "POST",
    path: "/api/v1/access/tokens",
    body: { name: "t" },
  });
  token = (made as { body: { token: string } }).body.token;
}

async function end(): Promise<void> {
  await daemon?.[Symbol.asyncDispose]();
  await simulator?.stop();
  place?.[Symbol.dispose]();
}

/** Asks over TLS or through a proxy as the manner says, with the token or without. @returns the status, or the error's code */
function askWith(agent: Agent, manner: Manner, at: string, hasToken: boolean): Promise<number | string> {
  const isProxied = manner === "forged" || manner === "wrong";
  const headers = {
    host: isProxied ? "watch.example.org" : "localhost",
    ...(isProxied && { "x-forwarded-for": "192.0.2.1" }),
    ...(hasToken && { authorization: `Bearer ${token}` }),
  };
  const to = { host: "127.0.0.1", port, path: at, agent, headers };
  return new Promise((resolve) => {
    const answered = (incoming: IncomingMessage) => {
      incoming.resume().once("close", () => resolve(incoming.statusCode ?? 0));
    };
    const outgoing = manner === "tls" ? requestOverTls(to, answered) : request(to, answered);
    outgoing.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    outgoing.end();
  });
}

const keptAlive = (manner: Manner): Agent =>
  manner === "tls"
    ? new TlsAgent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
    : new Agent({ keepAlive: true, maxSockets: 1 });

/** Polls go on, the token is answered over the connection that it has, and afterwards all is as before. */
async function attacked(kind: Flood, manner: Manner, name: string): Promise<void> {
  const agent = keptAlive(manner);
  while ((await askWith(agent, manner, "/api/v1/status", true)) !== 200) await pause(200);
  simulator.requests.clear();
  const args = [program, kind, String(port), String(attackMs), manner];
  const attacker = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const said = wholeText(attacker.stdout);
  const exit = once(attacker, "exit");
  const asked: (number | string)[] = [];
  const probed: (number | string)[] = [];
  // Fewer than a connection may bring.
  for (let tries = 0; tries < 40 && attacker.exitCode === null; tries++) {
    await pause(Math.min(attackMs / 45, 2_000));
    asked.push(await askWith(agent, manner, "/api/v1/status", true));
    if (kind !== fromElsewhere || tries % 4 !== 0) continue;
    const probe = keptAlive(manner);
    probed.push(await askWith(probe, manner, "/healthz", false));
    probe.destroy();
  }
  expect(await exit).toEqual([0, null]);
  const endMs = simulator.nowMs();
  const counts = JSON.parse(await said) as Record<string, number>;
  const gap = longestGap(attackMs, endMs);
  const polls = simulator.requests.query("/v1/trader/state/*").requests.length;
  const peakMb = await memoryMb(place.folder);
  report({ attack: `${name}, ${kind}, ${manner}`, polls, longestMs: gap, peakMb });
  console.log(`answers: ${JSON.stringify(counts)}`);
  expect(Object.values(counts).reduce((sum, one) => sum + one, 0)).toBeGreaterThan(10);
  expect(asked.length).toBeGreaterThan(20);
  expect(asked).toEqual(asked.map(() => 200));
  expect(probed).toEqual(probed.map(() => 200));
  expect(gap).toBeLessThan(longestMs);
  agent.destroy();
  for (const at of ["/healthz", "/api/v1/status"]) {
    const after = keptAlive(manner);
    for (let tries = 0; (await askWith(after, manner, at, true)) !== 200; tries++) {
      expect([at, tries]).toEqual([at, expect.closeTo(0, -2)]);
      await pause(200);
    }
    after.destroy();
  }
  expect(daemon.stderr.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
}

const others = settings.slice(1).map((setting, at) => ({ name: setting.name, setting, at }));

describe.each(others)(`for ${attackMs / 1_000} s, $name`, ({ setting, at }) => {
  beforeAll(() => begin(setting), 60_000);
  afterAll(end);
  const { manners } = setting;
  const attacks = isWhole
    ? manners.flatMap((manner) => floods.map((kind) => ({ kind, manner })))
    : sample
        .filter((_, index) => (index + at) % 2 === 0)
        .map((kind, index) => ({ kind, manner: manners[index % manners.length]! }));
  test.each(attacks)("$kind, $manner", { timeout: attackMs + 60_000 }, ({ kind, manner }) =>
    attacked(kind, manner, setting.name),
  );
});

describe(`for ${attackMs / 1_000} s`, () => {
  beforeAll(() => begin(settings[0]!), 60_000);
  afterAll(end);
  test.each(isWhole ? floods : floods.filter((kind) => !sample.includes(kind) || plain.has(kind)))(
    "%s: polls go on, and the page answers afterwards",
    { timeout: attackMs + 60_000 },
    (kind) => attacked(kind, "plain", settings[0]!.name),
  );

  test("after all those guesses a token is taken at once, and the right password within a minute", {
    timeout: 90_000,
  }, async () => {
    const login = (body: object) =>
      fetch(`http://127.0.0.1:${port}/api/v1/session`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`http://127.0.0.1:${port}/api/v1/status`, { headers })).status).toBe(200);
    for (let tries = 0; ; tries++) {
      const reply = await login({ password });
      if (reply.status === 200) break;
      expect([reply.status, tries]).toEqual([429, expect.any(Number)]);
      const waitMs = Number(reply.headers.get("retry-after")) * 1_000;
      expect(waitMs).toBeLessThanOrEqual(60_000);
      expect(tries).toBeLessThan(10);
      await new Promise((next) => setTimeout(next, waitMs));
    }
    const failed = daemon.stderr.filter((line) => line.includes("a login to the local address failed"));
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThanOrEqual(
      10 * (1 + Math.ceil((floods.length * (attackMs + 5_000)) / 60_000)),
    );
    expect(failed[0]).toContain('"address":"127.0.0.1"');
    expect(failed.join()).not.toContain("guess");
  });

  test("one line a minute says that somebody asks too much", () => {
    const lines = daemon.stderr.filter((line) => line.includes("asks the local address too much"));
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(1 + Math.ceil((floods.length * (attackMs + 5_000)) / 60_000));
  });
});

/** The longest time without a poll of some wallet's state, from when the attack began to a moment, ms. */
function longestGap(lastedMs: number, endMs: number): number {
  const { requests } = simulator.requests.query("/v1/trader/state/*");
  const byPath = Map.groupBy(requests, (one) => `${one.path}?${one.query}`);
  expect(byPath.size).toBeGreaterThanOrEqual(simulator.traders.length);
  const gaps = [...byPath.values()].flatMap((polls) => {
    const times = [endMs - lastedMs, ...polls.map(({ atMs }) => atMs), endMs];
    return times.slice(1).map((ms, index) => ms - times[index]!);
  });
  return Math.round(Math.max(...gaps));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return free;
}
