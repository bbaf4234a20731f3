/**
 * The output of the daemon and of commands when its reader disappears: a closed terminal, a pipe without a reader, a
 * full disk.
 */

import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { startProgram } from "../support/program.ts";
import { startInTerminal } from "../support/terminal.ts";
import { Watched } from "../support/wait.ts";
import { type Desk, desk, run } from "./run.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

let simulator: Simulator;
let keys: Desk;
const posts = new Watched<string>();
let receiver: Server;
beforeAll(async () => {
  keys = desk();
  simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: keys.folder });
  receiver = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("end", () => {
      posts.add(body);
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await simulator.stop();
  keys[Symbol.dispose]();
});

/** A desk with a console channel and a webhook that works. */
function home(more = ""): Desk {
  const place = desk();
  place.write("config.yaml", configuration(more));
  return place;
}

function configuration(more: string): string {
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  return [
    `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
    `wallets: [ { name: main, keyFile: ${simulator.traders[0]!.keyFile} } ]`,
    `channels: { here: { type: console }, hook: { type: webhook, url: "${hook}" } }`,
    "history: { path: ./p }",
    "dashboard: { listen: off }",
    "schedules: { exchangeStatus: { every: 1s } }",
    more,
    "",
  ].join("\n");
}

interface Status {
  readonly running: boolean;
  readonly channels: readonly { readonly name: string; readonly working: boolean }[];
  readonly watch: { readonly rules: number };
}
const statusOf = async (place: Desk) => (await run(["status", "--json"], place)).json() as Status;

/** Halts trading on the exchange, which causes a message, until `told` resolves. */
async function whileHalted(told: Promise<unknown>): Promise<void> {
  await simulator.call("exchange", { active: false });
  try {
    await told;
  } finally {
    await simulator.call("exchange", { active: true });
  }
}

test.each(["pretty", "json"])(
  "a closed terminal is told on the other channels; the daemon goes on, reloads and stops cleanly (%s log)",
  async (format) => {
    using place = home();
    posts.items.length = 0;
    await using terminal = startInTerminal(["start", "--log-format", format], { folder: place.folder });
    const ended = terminal.status.then((status) => Promise.reject(new Error(`it ended with ${status}`)));
    ended.catch(() => {});
    await terminal.line((line) => line.includes("watching main"));
    terminal.kill("SIGHUP");
    await terminal.line((line) => line.includes("nothing that a running daemon takes has changed"));
    await terminal.close();
    const told = posts.waitFor((post) => post.includes("The channel here does not take messages"), 40_000);
    await whileHalted(Promise.race([told, ended]));
    expect(await told).toContain("the terminal that perpwatch was started in was closed");
    const before = await statusOf(place);
    expect(before).toMatchObject({
      running: true,
      channels: [
        { name: "here", working: false },
        { name: "hook", working: true },
      ],
    });
    // A later signal means a reload again, as its effect shows.
    place.write("config.yaml", configuration('rules: ["shipped:margin"]'));
    for (;;) {
      terminal.kill("SIGHUP");
      const { rules } = (await Promise.race([statusOf(place), ended])).watch;
      if (rules < before.watch.rules) break;
    }
    terminal.kill("SIGTERM");
    expect(await terminal.status).toBe(0);
  },
);

test("the demonstration ends with its terminal", async () => {
  using place = desk();
  await using terminal = startInTerminal(["start"], { folder: place.folder });
  await terminal.line((line) => line.includes("watching"));
  await terminal.close();
  expect(await terminal.status).toBe(0);
});

test("without a reader of its output it stops cleanly", async () => {
  using place = home();
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("watching main"));
  daemon.deafen();
  posts.items.length = 0;
  const told = posts.waitFor((post) => post.includes("The channel here does not take messages"), 40_000);
  await whileHalted(told);
  expect(await told).toContain("the program that read the output has ended");
  expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
});

test("a command whose output cannot be written fails with that reason", async () => {
  using place = home();
  const full = openSync("/dev/full", "w");
  try {
    const child = spawnSync(process.execPath, [main, "rules", "vocabulary"], {
      cwd: place.folder,
      stdio: ["ignore", full, "pipe"],
      encoding: "utf8",
    });
    expect(child.stderr).toMatch(/^perpwatch: the output cannot be written: ENOSPC/);
    expect(child.status).toBe(1);
  } finally {
    closeSync(full);
  }
});
