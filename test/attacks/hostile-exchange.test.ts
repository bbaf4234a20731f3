/**
 * A daemon whose exchange answers for one wallet, or on its stream, with malice: the other wallet is polled all the while, memory stays
 * bounded, no redirect is followed, and when it ends all goes on by itself.
 */
import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { type Desk, desk } from "../cli/run.ts";
import { type Program, startProgram } from "../support/program.ts";
import { Watched } from "../support/wait.ts";
import { ask, longestGap, memoryMb, pause, polls } from "./asking.ts";
import { answersOfMalice, type Orders, streamsOfMalice } from "./hostile-server.ts";
import { isWhole, report } from "./measure.ts";

const attackMs = isWhole ? 20_000 : 3_500;
/** The longest time between two polls of a schedule of one second, ms. */
const longestMs = 3_000;
const maxMb = 400;
const program = fileURLToPath(new URL("hostile-server.ts", import.meta.url));

/** The sample: what once did harm, or came near it. */
const sample: ReadonlySet<string> = new Set([
  ...["endless body", "slow headers", "gzip bomb", "redirect", "many entries", "deep", "long refusal"],
  ...["compressed bomb", "endless pings", "known channels", "close codes"],
]);
const chosen = <T extends string>(all: readonly T[]): readonly T[] =>
  isWhole ? all : all.filter((one) => sample.has(one));

let place: Desk;
let simulator: Simulator;
let server: ChildProcess;
let daemon: Program;
const said = new Watched<string>();

beforeAll(async () => {
  place = desk();
  simulator = await startSimulator({
    port: 0,
    traders: 2,
    walk: true,
    keysDir: path.join(place.folder, "keys"),
  });
  server = spawn(process.execPath, [program, simulator.url], { stdio: ["pipe", "pipe", "inherit"] });
  createInterface({ input: server.stdout! }).on("line", (line) => said.add(line));
  const port = (await said.waitFor((line) => line.startsWith("port "), 30_000)).split(" ")[1];
  const wallets = simulator.traders.map(({ name, keyFile }) => `  - { name: ${name}, keyFile: ${keyFile} }`);
  place.write(
    "config.yaml",
    [
      `exchange: { baseUrl: "http://127.0.0.1:${port}", requestsPerSecond: 100 }`,
      ...["wallets:", ...wallets],
      "channels: { here: { type: console } }",
      "schedules: { traderState: { every: 1s, atRisk: 1s }, markets: { every: 1s } }",
      "history: { path: ./p }",
      "dashboard: { listen: off }",
      "",
    ].join("\n"),
  );
  daemon = startProgram(["start"], { folder: place.folder });
  await daemon.line((line) => line.includes("signed in by message"), 60_000);
}, 90_000);

afterAll(async () => {
  server?.kill("SIGKILL");
  await daemon?.[Symbol.asyncDispose]();
  await simulator?.stop();
  place?.[Symbol.dispose]();
});

let orders = 0;
async function order(given: Partial<Orders>): Promise<void> {
  const before = orders++;
  server.stdin!.write(`${JSON.stringify({ http: null, stream: null, victim: "", ...given })}\n`);
  await said.waitFor(
    (line) => line === "ready" && said.items.filter((one) => one === "ready").length > before,
    10_000,
  );
}

const polled = (index: number) => polls(simulator, index);

async function attacked(name: string, given: Partial<Orders>): Promise<void> {
  onTestFailed(() => console.log(daemon.stderr.slice(-30).join("\n")));
  simulator.requests.clear();
  await order(given);
  const fromMs = simulator.nowMs();
  let peakMb = 0;
  const endMs = performance.now() + attackMs;
  while (performance.now() < endMs) {
    peakMb = Math.max(peakMb, await memoryMb(place.folder));
    await pause(250);
  }
  const toMs = simulator.nowMs();
  const gap = longestGap(simulator, 0, fromMs, toMs);
  const tries = polled(0).length;
  report({ attack: name, polls: tries, longestMs: gap, peakMb });
  expect(gap).toBeLessThan(longestMs);
  expect(peakMb).toBeLessThan(maxMb);
  await order({});
  // Both are polled again, by themselves.
  const backMs = simulator.nowMs();
  const patienceMs = performance.now() + 90_000;
  while (![0, 1].every((index) => polled(index).some((ms) => ms > backMs)) && performance.now() < patienceMs)
    await pause(50);
  expect([0, 1].map((index) => polled(index).some((ms) => ms > backMs))).toEqual([true, true]);
  expect(JSON.parse(await ask(place.folder, "/api/v1/status"))).toMatchObject({ state: "running" });
  expect(said.items.filter((line) => line.startsWith("trap"))).toEqual([]);
  expect(daemon.stderr.filter((line) => /"level":"fatal"|should not have happened/.test(line))).toEqual([]);
}

describe(`for ${attackMs / 1_000} s: answers about one wallet`, () => {
  test.each(chosen(answersOfMalice.filter((one) => !/year/.test(one))))(
    "%s",
    { timeout: attackMs + 150_000 },
    (http) => attacked(`hostile HTTP: ${http}`, { http, victim: simulator.traders[1]!.authority }),
  );
});

describe(`for ${attackMs / 1_000} s: streams`, () => {
  test.each(chosen(streamsOfMalice))("%s", { timeout: attackMs + 150_000 }, (stream) =>
    attacked(`hostile stream: ${stream}`, { stream }),
  );
});

test("Retry-After of a year", { timeout: attackMs + 150_000 }, () =>
  attacked("hostile HTTP: Retry-After of a year", {
    http: "Retry-After of a year",
    victim: simulator.traders[1]!.authority,
  }),
);

// The exchange's word about the pace holds for all: nothing is asked for five minutes, and somebody hears of it.
test.each(isWhole ? ["refused for a year"] : [])(
  "%s: what is not read is an alert",
  { timeout: 200_000 },
  async () => {
    await order({ http: "refused for a year", victim: "" });
    await daemon.line((line) => line.includes('"rule":"Blind"'), 150_000);
    await order({});
  },
);
