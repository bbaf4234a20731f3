/**
 * `npm run bench:simulator`: what the simulator serves on one core, alive (prices move, 1,000 traders act).
 *
 *   requests   trader states a second, over 64 connections                       target: 5,000
 *              beside it a bare HTTP server that sends as many bytes: what the machine has to give just then
 *   streams    500 subscribers with two updates a second each, of either kind:   target: under half a core
 *              trader state (every message its own) and mark prices (one for all)
 *
 *   npm run bench:simulator -- [seconds of each part] [--json FILE]
 *
 * The simulator runs in a process of its own, held on one core, the load on another, where the system can do that.
 * Nothing here passes or fails: other work on the machine shows in the figures, so its load is printed.
 */
import { once } from "node:events";
import fs from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { Pool } from "undici";
import { WebSocket } from "ws";
import { trade } from "../../src/simulator/accounts/trade.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { transact } from "../../src/simulator/ledger/transaction.ts";
import type { World } from "../../src/simulator/state.ts";
import { load, machine } from "./daemon/machine.ts";
import { end, type Started, start } from "./daemon/process.ts";
import { table } from "./daemon/tables.ts";

const traders = 1_000;
const subscribers = 500;
const warmUpRequests = 15_000;
const updatesPerSecond = 2;
/** Prices move at every step. */
const stepMs = 1_000 / updatesPerSecond;

interface Ready {
  readonly url: string;
  readonly authorities: readonly string[];
}
interface Usage {
  readonly cpuS: number;
  readonly rssMiB: number;
}
interface StreamResult {
  readonly messagesPerSecond: number;
  readonly core: number;
}
interface RequestResult {
  readonly perSecond: number;
  readonly perCpuSecond: number;
  readonly bytes: number;
  readonly core: number;
}
interface Results {
  requests?: RequestResult;
  bare?: RequestResult;
  idle?: { core: number; rssMiB: number };
  traderState?: StreamResult;
  markPrice?: StreamResult;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    serve: { type: "boolean", default: false },
    bare: { type: "string" },
    json: { type: "string" },
  },
});
if (values.serve) await serve();
else if (values.bare !== undefined) serveBare(Number(values.bare));
else await measure(Number(positionals[0] ?? 10));

/** The measured process: a simulator, and on demand somebody who makes its first accounts trade. */
async function serve(): Promise<void> {
  const simulator = await startSimulator({ traders, stepMs });
  const { url } = simulator;
  const authorities = simulator.traders.map((it) => it.authority);
  console.log(JSON.stringify({ url, authorities } satisfies Ready));
  let stopTrading = () => {};
  process.on("message", (message) => {
    if (message === "usage") tellUsage();
    else {
      stopTrading();
      stopTrading =
        message === "trade" ? tradeOn(simulator.world, authorities.slice(0, subscribers)) : () => {};
    }
  });
  process.on("disconnect", () => void simulator.stop().then(() => process.exit(0)));
}

function tellUsage(): void {
  const { user, system } = process.cpuUsage();
  const usage: Usage = { cpuS: (user + system) / 1e6, rssMiB: process.memoryUsage().rss / 2 ** 20 };
  process.send?.(usage);
}

/** The same text to whoever asks, whatever he asks. */
function serveBare(bytes: number): void {
  const text = JSON.stringify("x".repeat(bytes - 2));
  const server = createServer((_request, response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": text.length });
    response.end(text, "latin1");
  });
  server.listen(0, "127.0.0.1", () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    console.log(JSON.stringify({ url, authorities: ["anybody"] } satisfies Ready));
  });
  process.on("message", tellUsage);
  process.on("disconnect", () => process.exit(0));
}

/** One lot to and fro, each account twice a second, spread over the second. */
function tradeOn(world: World, authorities: readonly string[]): () => void {
  const tickMs = 20;
  const each = (authorities.length * updatesPerSecond * tickMs) / 1_000;
  const market = world.markets.get("SOL")!;
  const terms = { liquidity: "taker", tradeType: "market", instructionType: "PlaceMarketOrder" } as const;
  const startedAt = performance.now();
  let done = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / tickMs) * each;
    for (; done < due; done++) {
      const account = world.wallets.get(authorities[done % authorities.length]!)?.accounts.get("0.0");
      const lots = Math.floor(done / authorities.length) % 2 ? -1n : 1n;
      if (account) transact(world, (tx) => trade(world, tx, market, account, lots, market.markTicks, terms));
    }
  }, tickMs);
  return () => clearInterval(timer);
}

async function measure(seconds: number): Promise<void> {
  const on = machine();
  const [own, others] = on.pinned ? [0, 1] : [null, null];
  console.log(`${on.model}, ${on.cores} cores, ${on.memoryGiB} GiB, ${on.platform}, Node ${on.node}`);
  const held = on.pinned ? "the simulator on one core, the load on another" : "not held on one core";
  console.log(`${new Date().toISOString()}, load ${load().toFixed(2)}; ${held}`);
  if (on.pinned && others !== null) await pinSelf(others);
  const server = start([import.meta.filename, "--serve"], own);
  const ready = JSON.parse(await server.line) as Ready;
  const results: Results = {};
  results.requests = await requests(server, ready, seconds);
  const bare = start([import.meta.filename, "--bare", String(Math.round(results.requests.bytes))], own);
  results.bare = await requests(bare, JSON.parse(await bare.line) as Ready, seconds);
  await end(bare);
  results.idle = await idle(server, seconds);
  server.child.send("trade");
  results.traderState = await streams(server, ready, seconds, (index) => ({
    channel: "traderState",
    authority: ready.authorities[index],
    traderPdaIndex: 0,
  }));
  server.child.send("rest");
  results.markPrice = await streams(server, ready, seconds, () => ({ channel: "markPrice", symbol: "BTC" }));
  await end(server);
  console.log(`\n${shown(results)}\n\nload now ${load().toFixed(2)}`);
  if (values.json !== undefined)
    fs.writeFileSync(values.json, `${JSON.stringify({ machine: on, load: load(), ...results }, null, 2)}\n`);
}

/** Keeps the load off the simulator's core. */
async function pinSelf(core: number): Promise<void> {
  const { spawnSync } = await import("node:child_process");
  spawnSync("taskset", ["-a", "-p", "-c", String(core), String(process.pid)]);
}

async function usage({ child }: Started): Promise<Usage> {
  child.send("usage");
  const [answer] = (await once(child, "message")) as [Usage];
  return answer;
}

/** @returns seconds that passed, and those that the simulator worked */
async function during(server: Started, act: () => Promise<void>) {
  const before = await usage(server);
  const from = performance.now();
  await act();
  const tookS = (performance.now() - from) / 1_000;
  return { tookS, cpuS: (await usage(server)).cpuS - before.cpuS };
}

async function requests(server: Started, { url, authorities }: Ready, seconds: number) {
  const pool = new Pool(url, { connections: 64, pipelining: 1 });
  let count = 0;
  let bytes = 0;
  const run = async (untilMs: number) => {
    while (performance.now() < untilMs) {
      const authority = authorities[count++ % authorities.length]!;
      const { statusCode, body } = await pool.request({
        path: `/v1/trader/state/${authority}`,
        method: "GET",
      });
      if (statusCode !== 200) throw new Error(String(statusCode));
      bytes += (await body.arrayBuffer()).byteLength;
    }
  };
  const all = async (ms: number) => {
    const untilMs = performance.now() + ms;
    await Promise.all(Array.from({ length: 64 }, () => run(untilMs)));
  };
  // Until everything on the way was compiled, however slow the machine is just then.
  while (count < warmUpRequests) await all(500);
  [count, bytes] = [0, 0];
  const { tookS, cpuS } = await during(server, () => all(seconds * 1_000));
  await pool.close();
  return { perSecond: count / tookS, perCpuSecond: count / cpuS, bytes: bytes / count, core: cpuS / tookS };
}

async function idle(server: Started, seconds: number) {
  const { tookS, cpuS } = await during(
    server,
    () => new Promise((done) => setTimeout(done, seconds * 1_000)),
  );
  return { core: cpuS / tookS, rssMiB: (await usage(server)).rssMiB };
}

async function streams(
  server: Started,
  { url }: Ready,
  seconds: number,
  subscription: (index: number) => object,
): Promise<StreamResult> {
  let messages = 0;
  const sockets: WebSocket[] = [];
  for (let index = 0; index < subscribers; index++) {
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws`);
    socket.on("message", () => {
      messages += 1;
    });
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "subscribe", subscription: subscription(index) }));
    sockets.push(socket);
  }
  await new Promise((done) => setTimeout(done, 2_000));
  messages = 0;
  const { tookS, cpuS } = await during(
    server,
    () => new Promise((done) => setTimeout(done, seconds * 1_000)),
  );
  const result = { messagesPerSecond: messages / tookS, core: cpuS / tookS };
  for (const socket of sockets) socket.terminate();
  return result;
}

function shown({ requests, bare, idle, traderState, markPrice }: Results): string {
  const whole = (value: number) => Math.round(value).toLocaleString("en-US");
  const percent = (value: number) => `${(value * 100).toFixed(1)} %`;
  const requestRow = (name: string, it: RequestResult | undefined) => {
    if (!it) return [];
    const { bytes, perSecond, perCpuSecond, core } = it;
    return [[`${name}, ${whole(bytes)} bytes each`, whole(perSecond), whole(perCpuSecond), percent(core)]];
  };
  const streamRow = (name: string, it: StreamResult | undefined) =>
    it
      ? [
          [
            `${subscribers} subscribers, ${name}`,
            `${whole(it.messagesPerSecond)} messages`,
            "",
            percent(it.core),
          ],
        ]
      : [];
  return table(
    `A simulator with ${whole(traders)} traders, on one core`,
    ["", "a second", "a second of processor time", "of the core"],
    [
      ...requestRow("trader states", requests),
      ...requestRow("a bare HTTP server", bare),
      ...(idle ? [[`nobody asks, ${whole(idle.rssMiB)} MiB`, "", "", percent(idle.core)]] : []),
      ...streamRow("trader state", traderState),
      ...streamRow("mark price", markPrice),
    ],
  );
}
