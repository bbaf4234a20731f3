/**
 * A daemon whose Discord answers with malice, over REST, to its webhook, or over its gateway: polls go on, another channel delivers,
 * memory and log stay bounded, nobody acts who may not, no secret is shown, and no redirect is followed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { type Desk, desk } from "../cli/run.ts";
import { webhookDialect } from "../support/dialects.ts";
import { startProgram } from "../support/program.ts";
import { type Service, startService } from "../support/service.ts";
import { Watched } from "../support/wait.ts";
import { ask, longestGap, memoryMb, pause, polls } from "./asking.ts";
import { type DiscordOrders, gatewaysOfMalice, ids, restOfMalice } from "./hostile-discord.ts";
import { isWhole, report } from "./measure.ts";
import { canary, SecretFinder } from "./secret-finder.ts";

const attackMs = isWhole ? 15_000 : 3_000;
/** The longest time between two polls of a schedule of one second, ms. */
const longestMs = 3_000;
const mostMb = 400;
/** The log of an attack. */
const mostLines = 200;
const mostLogged = 200_000;
/** Requests and connections that an attack brings forth. */
const mostAsked = 150;
const mostConnections = 12;
const program = fileURLToPath(new URL("hostile-discord.ts", import.meta.url));

/** The sample: what once did harm, or came near it. */
const sample: ReadonlySet<string> = new Set([
  ...["endless body", "large refusal", "beat 0", "beat of a century", "large frames", "reconnect at once"],
  "presses",
]);
const chosen = <T extends string>(all: readonly T[]) =>
  isWhole ? all : all.filter((one) => sample.has(one));

const finder = new SecretFinder();
const token = canary(40);
const hook = canary(40);
finder.add("Discord token", token);
finder.add("Discord webhook", hook);

let place: Desk;
let simulator: Simulator;
let server: ChildProcess;
let far: Service;
let port = "";
const said = new Watched<string>();

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, traders: 1, walk: true });
  far = await startService(webhookDialect("a-secret-of-24-characters"));
  server = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
  createInterface({ input: server.stdout! }).on("line", (line) => said.add(line));
  port = (await said.waitFor((line) => line.startsWith("port "), 30_000)).split(" ")[1]!;
}, 60_000);

afterAll(async () => {
  server?.kill("SIGKILL");
  await far?.[Symbol.asyncDispose]();
  await simulator?.stop();
});

function configure(): void {
  const api = `apiUrl: "http://127.0.0.1:${port}/api"`;
  place.write(
    "config.yaml",
    [
      `exchange: { baseUrl: "${simulator.url}", requestsPerSecond: 100 }`,
      `wallets: [{ name: main, authority: ${simulator.traders[0]!.authority} }]`,
      "channels:",
      `  chat: { type: discord, token: ${token}, channelId: "${ids.channel}", ${api}, allow: { users: ["${ids.user}"] } }`,
      `  hook: { type: discord, webhookUrl: "http://127.0.0.1:${port}/api/webhooks/${ids.application}/${hook}" }`,
      `  far: { type: webhook, url: "${far.url}/in", secret: a-secret-of-24-characters }`,
      "schedules: { traderState: { every: 1s, atRisk: 1s }, markets: { every: 1s } }",
      "history: { path: ./p }",
      "dashboard: { listen: off }",
      "",
    ].join("\n"),
  );
}

let orders = 0;
async function order(given: Partial<DiscordOrders>): Promise<void> {
  const before = orders++;
  server.stdin!.write(`${JSON.stringify({ rest: null, gateway: null, ...given })}\n`);
  await said.waitFor(
    (line) => line === "ready" && said.items.filter((one) => one === "ready").length > before,
    10_000,
  );
}

const counted = (from: number, start: string) =>
  said.items.slice(from).filter((line) => line.startsWith(start)).length;

async function attacked(name: string, given: Partial<DiscordOrders>): Promise<void> {
  place = desk();
  using _place = place;
  configure();
  await order(given);
  const before = said.items.length;
  await using daemon = startProgram(["start"], { folder: place.folder });
  onTestFailed(() => console.log(daemon.stderr.slice(-30).join("\n")));
  await daemon.line((line) => line.includes("watching "), 60_000);
  if (given.gateway !== undefined)
    await said.waitFor((line) => said.items.indexOf(line, before) >= 0 && line === "connected", 30_000);
  simulator.requests.clear();
  const fromMs = simulator.nowMs();
  let peakMb = 0;
  const tried = ["chat", "hook"].map((one) => ask(place.folder, `/api/v1/channels/${one}/test`, {}));
  const endMs = performance.now() + attackMs;
  do {
    peakMb = Math.max(peakMb, await memoryMb(place.folder));
    await pause(250);
  } while (performance.now() < endMs);
  // The other channel delivers meanwhile.
  expect(JSON.parse(await ask(place.folder, "/api/v1/channels/far/test", {}))).toMatchObject({
    kind: "delivered",
  });
  const answers = await Promise.all(tried);
  const toMs = simulator.nowMs();
  const gap = longestGap(simulator, 0, fromMs, toMs);
  const tries = polls(simulator, 0).length;
  report({ attack: name, polls: tries, longestMs: gap, peakMb });
  expect(gap).toBeLessThan(longestMs);
  expect(peakMb).toBeLessThan(mostMb);
  expect(JSON.parse(await ask(place.folder, "/api/v1/status"))).toMatchObject({ state: "running" });
  // Nothing was silenced: not by people who may not, and not by a button of a message that does not exist.
  expect(JSON.parse(await ask(place.folder, "/api/v1/silences"))).toMatchObject({ silences: [] });
  expect(counted(before, "trap")).toBe(0);
  expect(counted(before, "connected"), "connections").toBeLessThanOrEqual(mostConnections);
  if (given.gateway !== "presses") expect(counted(before, "asked"), "requests").toBeLessThan(mostAsked);
  const status = await ask(place.folder, "/api/v1/status");
  expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
  const log = daemon.stderr.join("\n");
  expect(daemon.stderr.filter((line) => /"level":"fatal"|fault of its own/.test(line))).toEqual([]);
  expect(daemon.stderr.length, "lines of the log").toBeLessThan(mostLines);
  expect(log.length, "characters of the log").toBeLessThan(mostLogged);
  expect(finder.leaks([log, daemon.stdout.join("\n"), status, ...answers].join("\n"))).toEqual([]);
}

describe(`for ${attackMs / 1_000} s: answers of Discord`, () => {
  test.each(chosen(restOfMalice))("%s", { timeout: attackMs + 120_000 }, (rest) =>
    attacked(`hostile Discord: ${rest}`, { rest }),
  );
});

describe(`for ${attackMs / 1_000} s: its gateway`, () => {
  test.each(chosen(gatewaysOfMalice))("%s", { timeout: attackMs + 120_000 }, (gateway) =>
    attacked(`hostile gateway: ${gateway}`, { gateway }),
  );
});
