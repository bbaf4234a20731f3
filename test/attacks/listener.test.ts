/**
 * Attacks on the page's address of a daemon that runs: polls of the exchange go on, and afterwards it answers as before.
 * PERPWATCH_ATTACK_MS sets how long each attack lasts.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { text as wholeText } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashPassword } from "../../src/dashboard/access/password.ts";
import { askDaemon } from "../../src/dashboard/index.ts";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { type Desk, desk } from "../cli/run.ts";
import { type Program, startProgram } from "../support/program.ts";
import { floods } from "./listener-flood.ts";

const attackMs = Number(process.env.PERPWATCH_ATTACK_MS ?? 6_000);
/** The longest time between two polls of a schedule of one second, ms. */
const longestMs = 3_000;
const program = fileURLToPath(new URL("listener-flood.ts", import.meta.url));

let place: Desk;
let simulator: Simulator;
let daemon: Program;
let port: number;

beforeAll(async () => {
  place = desk();
  simulator = await startSimulator({
    port: 0,
    traders: 4,
    walk: true,
    keysDir: path.join(place.folder, "keys"),
  });
  port = await freePort();
  const wallets = simulator.traders.map(({ name, keyFile }) => `  - { name: ${name}, keyFile: ${keyFile} }`);
  place.write(
    "config.yaml",
    [
      `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000, streams: off }`,
      ...["wallets:", ...wallets],
      "channels: { here: { type: console } }",
      "schedules: { traderState: { every: 1s }, notifications: { every: 1s } }",
      "history: { path: ./p }",
      // Floods get as far as what costs: without a login all but passwords would end at the door.
      `dashboard: { listen: 127.0.0.1:${port}, login: never, passwordHash: "${await hashPassword("correct horse battery")}" }`,
      "",
    ].join("\n"),
  );
  daemon = startProgram(["start"], { folder: place.folder });
  await daemon.line((line) => line.includes("signed in by message"));
}, 60_000);

afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]();
  await simulator?.stop();
  place?.[Symbol.dispose]();
});

describe(`for ${attackMs / 1_000} s`, () => {
  test.each(floods)(
    "%s: polls go on, and the page answers afterwards",
    { timeout: attackMs + 60_000 },
    async (kind) => {
      simulator.requests.clear();
      const args = [program, kind, String(port), String(attackMs)];
      const attacker = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      const said = wholeText(attacker.stdout);
      await once(attacker, "exit");
      const { atMs } = { atMs: simulator.nowMs() };
      const counts = await said;
      const gap = longestGap(attackMs, atMs);
      console.log(`${kind}: longest time between two polls ${gap} ms; answers: ${counts.trim()}`);
      expect(gap).toBeLessThan(longestMs);
      expect(await answered("/healthz")).toEqual({ alive: true });
      expect(await answered("/api/v1/status")).toMatchObject({ state: "running" });
      expect(daemon.stderr.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
    },
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
    const socketPath = path.join(place.folder, "p.sock");
    const made = await askDaemon({
      socketPath,
      method: "POST",
      path: "/api/v1/access/tokens",
      body: { name: "t" },
    });
    const { token } = (made as { body: { token: string } }).body;
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`http://127.0.0.1:${port}/api/v1/status`, { headers })).status).toBe(200);
    for (let tries = 0; ; tries++) {
      const reply = await login({ password: "correct horse battery" });
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

/** Asks until it is answered with 200: what an attack has left may still be refused. */
async function answered(at: string): Promise<unknown> {
  for (let tries = 0; ; tries++) {
    const response = await fetch(`http://127.0.0.1:${port}${at}`).catch((error: Error) => error);
    if (response instanceof Response && response.status === 200) return response.json();
    if (tries === 50) throw new Error(`${at}: ${response instanceof Response ? response.status : response}`);
    await new Promise((next) => setTimeout(next, 200));
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return free;
}
