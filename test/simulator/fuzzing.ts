/**
 * Sends mutated requests and stream messages to a simulator: valid ones with parts changed, cut, swapped or repeated.
 * Each has to be answered as in the contract: never with a server error, always with JSON that states the mistake. The
 * n-th request of a seed is always the same.
 */
import http from "node:http";
import net from "node:net";
import { WebSocket } from "ws";
import { allEndpoints, channels, type Endpoint, type Param, wireName } from "../../src/contract/index.ts";
import { type Random, seededRandom } from "../../src/domain/clock.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { signIn } from "./support.ts";

export interface FuzzReport {
  readonly requests: number;
  readonly messages: number;
  /** Number of answers by status; "closed" for connections closed without an answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Number of stream answers by kind (data, an acceptance, an error), and of closed connections. */
  readonly frames: Readonly<Record<string, number>>;
}

/** A request with a forbidden answer. */
export class Stumbled extends Error {
  override readonly name = "Stumbled";
}

interface Fuzzed {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
}

const atOnce = 16;
const rawShare = 0.03;
/** Control calls that do not change the simulator's configuration. */
const controls = [
  "position",
  "collateral",
  "order",
  "notification",
  "session",
  "market",
  "mark-price",
  "role",
];

/**
 * @param count requests and messages together; a third are messages
 * @throws {Stumbled}
 */
export async function fuzz(simulator: Simulator, seed: number, count: number): Promise<FuzzReport> {
  const messages = Math.floor(count / 3);
  const requests = count - messages;
  const statuses = await fuzzRequests(simulator, seed, requests);
  const frames = await fuzzMessages(simulator, seed, messages);
  await healthy(simulator, seed);
  return { requests, messages, statuses, frames };
}

async function fuzzRequests(simulator: Simulator, seed: number, count: number) {
  const statuses: Record<string, number> = {};
  const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce });
  const { hostname, port } = new URL(simulator.url);
  let next = 0;
  let bearer = "";
  const worker = async () => {
    while (next < count) {
      const index = next++;
      // It signs out now and then.
      if (index % 50 === 0) bearer = (await signIn(simulator)).access_token;
      const random = seededRandom(seed + index * 7919);
      const request = requestOf(simulator, random, bearer);
      const shown = `seed ${seed}, request ${index}: ${request.method} ${request.path.slice(0, 400)} ${request.body?.toString("latin1").slice(0, 400) ?? ""}`;
      let outcome: string;
      if (random() < rawShare)
        outcome = await sendRaw(hostname, Number(port), rawBytes(random, request), shown);
      else outcome = await send(hostname, Number(port), agent, request, shown);
      statuses[outcome] = (statuses[outcome] ?? 0) + 1;
      if (index % 500 === 499) await healthy(simulator, seed);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, worker));
  } finally {
    agent.destroy();
  }
  return statuses;
}

/** Checks that the simulator still works. */
async function healthy(simulator: Simulator, seed: number): Promise<void> {
  const answer = await fetch(`${simulator.url}/v1/view/exchange/status`);
  const status = (await answer.json()) as { active?: unknown };
  if (answer.status !== 200 || typeof status.active !== "boolean")
    throw new Stumbled(
      `seed ${seed}: the simulator is not itself any more: ${answer.status} ${JSON.stringify(status)}`,
    );
}

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
const below = (random: Random, most: number): number => Math.floor(random() * most);

function oddTexts(simulator: Simulator): string[] {
  const { authority, traderPda } = simulator.traders[0]!;
  return [
    ...["", " ", "-1", "0", "1", "1e9", "1.5", "NaN", "Infinity", "null", "undefined", "true", "[]", "{}"],
    ...["\u0000", "..", ".", "/", "//", "%", "%zz", "\ud800", "ü", "😀", "a".repeat(3_000), "9".repeat(40)],
    ...[
      "__proto__",
      "constructor",
      "toString",
      "2026-01-01T00:00:00Z",
      "1d",
      "SOL",
      "sol",
      "limit",
      "active",
    ],
    ...["9007199254740993", "18446744073709551615", "-9223372036854775808", "1,2,3", "1759676400000", "12,5"],
    ...["b2xkZXIsMQ", "bmV3ZXIsMQ", "b2xkZXIsOTk5OTk5OTk5OTk5OTk5", authority, traderPda, `${authority}1`],
  ];
}

const oddValues: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e300, -1e300, 2 ** 53, "", "x", [], {}, [[]], [{}], { a: { b: [1] } }],
  ...[[null], ["x", 1], { __proto__: null, type: "event", id: 1 }, [{ type: "event", id: -1 }], "\u0000"],
];

/** A valid value of a parameter. */
function fitting(simulator: Simulator, random: Random, name: string, param: Param): unknown {
  const trader = pick(random, simulator.traders);
  if (name === "traderPubkey") return trader.traderPda;
  if (name === "symbol" || name === "marketSymbol") return pick(random, [...simulator.world.markets.keys()]);
  switch (param.type) {
    case "key":
      return trader.authority;
    case "integer":
    case "number":
      return (param.min ?? 0) + below(random, Math.min(param.max ?? 1_000, 1_000));
    case "boolean":
      return random() < 0.5;
    case "time":
      return simulator.world.nowMs - below(random, 1e9);
    case "choice":
      return pick(random, param.choices ?? ["x"]);
    case "list":
      return "SOL,BTC";
    case "json":
      return [{ type: pick(random, ["event", "admin", "general"]), id: below(random, 1e6) }];
    default:
      return pick(random, ["x", "1h", "5m", "EXAMPLE", "b2xkZXIsMw"]);
  }
}

/** A request of the table, with some of its parts wrong. */
function requestOf(simulator: Simulator, random: Random, bearer: string): Fuzzed {
  const odd = oddTexts(simulator);
  const roll = random();
  if (roll < 0.08) return controlOf(simulator, random);
  if (roll < 0.12) return rpcOf(simulator, random);
  const endpoint: Endpoint = pick(random, allEndpoints);
  const wrongness = random() * 0.5;
  let { path } = endpoint;
  const query: string[] = [];
  const body: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(endpoint.params)) {
    const wire = wireName(name, param);
    if (!param.required && random() < 0.4) continue;
    const wrong = random() < wrongness;
    const value = wrong ? pick(random, odd) : fitting(simulator, random, name, param);
    if (param.in === "path") path = path.replace(`{${wire}}`, () => encoded(random, String(value)));
    else if (param.in === "query") query.push(`${encoded(random, wire)}=${encoded(random, String(value))}`);
    else body[wire] = wrong && random() < 0.7 ? pick(random, oddValues) : value;
  }
  while (random() < wrongness / 2)
    query.push(`${encoded(random, pick(random, odd))}=${encoded(random, pick(random, odd))}`);
  if (random() < wrongness / 3) path = bent(random, path);
  const target = query.length === 0 ? path : `${path}?${query.join("&")}`;
  const method =
    random() < 0.06
      ? pick(random, ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
      : endpoint.method;
  const headers: Record<string, string> = {};
  if (random() < 0.85)
    headers.authorization =
      random() < 0.85
        ? `Bearer ${bearer}`
        : pick(random, ["Bearer", "Basic eDp5", "Bearer x y", `Bearer ${bearer.slice(0, -3)}`, ""]);
  if (random() < 0.1) headers["content-type"] = pick(random, ["text/plain", "application/xml", "x"]);
  const text = method === "GET" || method === "HEAD" ? null : bodyOf(random, body);
  return { method, path: target, headers, body: text };
}

function controlOf(simulator: Simulator, random: Random): Fuzzed {
  const body = {
    // The session of the first one is in use.
    trader: pick(random, simulator.traders.slice(1)).name,
    symbol: pick(random, ["SOL", "BTC", "ETH", "GOLD", "NONE"]),
    ...{ size: "1.5", price: "150", amount: "2500", side: "bid", action: "expire-access", role: "user" },
    ...{ status: "active", source: "general", notificationType: "x", subaccountIndex: below(random, 3) },
  };
  const entries = Object.entries(body).map(([name, value]) => [
    name,
    random() < 0.15 ? pick(random, oddValues) : value,
  ]);
  const kept = entries.filter(() => random() < 0.8);
  return {
    method: "POST",
    path: `/sim/${pick(random, controls)}`,
    headers: {},
    body: bodyOf(random, Object.fromEntries(kept)),
  };
}

function rpcOf(simulator: Simulator, random: Random): Fuzzed {
  const methods = [
    "getLatestBlockhash",
    "getAccountInfo",
    "sendTransaction",
    "simulateTransaction",
    "getSignatureStatuses",
    "getSlot",
  ];
  const parameter = () => (random() < 0.5 ? pick(random, oddTexts(simulator)) : pick(random, oddValues));
  const call = {
    jsonrpc: "2.0",
    id: random() < 0.9 ? below(random, 100) : pick(random, oddValues),
    method: random() < 0.9 ? pick(random, methods) : parameter(),
    params: random() < 0.9 ? Array.from({ length: below(random, 4) }, parameter) : parameter(),
  };
  return {
    method: "POST",
    path: "/rpc",
    headers: {},
    body: bodyOf(random, random() < 0.9 ? call : [call, 1]),
  };
}

function bodyOf(random: Random, value: unknown): Buffer {
  const roll = random();
  if (roll < 0.02) return Buffer.from(JSON.stringify(pick(random, oddValues)));
  if (roll < 0.03) return Buffer.from(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
  if (roll < 0.033) return Buffer.alloc(1_048_577 + below(random, 1_000), " ");
  const bytes = Buffer.from(JSON.stringify(value));
  return roll < 0.15 ? mutated(random, bytes) : bytes;
}

/** Some bytes changed, cut out, repeated or cut off. */
function mutated(random: Random, bytes: Buffer): Buffer {
  let out = Buffer.from(bytes);
  for (let i = 0; i <= below(random, 4); i++) {
    const at = below(random, out.length + 1);
    const to = Math.min(out.length, at + below(random, 12));
    const way = random();
    if (way < 0.4 && at < out.length) out[at] = below(random, 256);
    else if (way < 0.6) out = Buffer.concat([out.subarray(0, at), out.subarray(to)]);
    else if (way < 0.8) out = Buffer.concat([out.subarray(0, to), out.subarray(at)]);
    else out = out.subarray(0, at);
  }
  return out;
}

/** Percent-encoded, sometimes wrongly or not at all. */
function encoded(random: Random, text: string): string {
  const safe = encodeURIComponent(text.toWellFormed());
  const roll = random();
  if (roll < 0.9) return safe;
  if (roll < 0.95) return safe.slice(0, -1);
  return text.replace(/[^\u0021-\u007e]/g, "%ff").replace(/[#?&/]/g, "");
}

function bent(random: Random, path: string): string {
  const parts = path.split("/");
  const at = below(random, parts.length);
  const roll = random();
  if (roll < 0.3) parts.splice(at, 1);
  else if (roll < 0.6) parts.splice(at, 0, parts[at] ?? "");
  else if (roll < 0.8) parts[at] = (parts[at] ?? "").toUpperCase();
  else parts.push("", "x");
  const bentPath = parts.join("/");
  return bentPath.startsWith("/") ? bentPath : `/${bentPath}`;
}

function send(
  host: string,
  port: number,
  agent: http.Agent,
  request: Fuzzed,
  shown: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const { method, path, headers, body } = request;
    const length = body === null ? {} : { "content-length": String(body.length) };
    const sent = http.request(
      {
        host,
        port,
        agent,
        method,
        path: path.replace(/[^\u0021-\u00ff]/g, "%ff"),
        headers: { ...headers, ...length },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const wrong = misanswered(method, response.statusCode ?? 0, Buffer.concat(chunks).toString("utf8"));
          if (wrong) reject(new Stumbled(`${shown}: ${wrong}`));
          else resolve(String(response.statusCode));
        });
      },
    );
    sent.setTimeout(20_000, () => sent.destroy(new Stumbled(`${shown}: no answer`)));
    sent.on("error", (error: NodeJS.ErrnoException) => {
      // The answer may be lost when a body is refused while it is being sent.
      if (body !== null && body.length > 1_048_576 && error.code !== undefined) resolve("closed");
      else reject(error instanceof Stumbled ? error : new Stumbled(`${shown}: ${error.message}`));
    });
    sent.end(body ?? undefined);
  });
}

/** The defect of an answer; null: none. */
function misanswered(method: string, status: number, text: string): string | null {
  if (status >= 500) return `${status} ${text.slice(0, 300)}`;
  if (method === "HEAD" || status === 204) return null;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return `${status} with what is no JSON: ${text.slice(0, 100)}`;
  }
  if (status >= 400 && typeof (json as { error?: unknown }).error !== "string")
    return `${status} without an error`;
  return null;
}

/** The request as bytes, with defects. */
function rawBytes(random: Random, { method, path, body }: Fuzzed): Buffer {
  const head = `${method} ${path.replace(/[^\u0021-\u007e]/g, "%ff")} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body?.length ?? 0}\r\n\r\n`;
  return mutated(random, Buffer.concat([Buffer.from(head), body ?? Buffer.alloc(0)]));
}

/** The connection ends after any answer. */
function sendRaw(host: string, port: number, bytes: Buffer, shown: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = net.connect(port, host, () => socket.end(bytes));
    socket.setTimeout(20_000, () => {
      socket.destroy();
      reject(new Stumbled(`${shown}: a raw connection that does not end`));
    });
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? "closed";
      if (/^5/.test(status)) reject(new Stumbled(`${shown}: raw, ${text.slice(0, 300)}`));
      else resolve(status);
    });
  });
}

async function fuzzMessages(simulator: Simulator, seed: number, count: number) {
  const bearer = (await signIn(simulator)).access_token;
  const frames: Record<string, number> = { data: 0, accepted: 0, refused: 0, closed: 0 };
  const url = `${simulator.url.replace("http", "ws")}/v1/ws`;
  const share = Math.ceil(count / 4);
  const one = async (part: number) => {
    const random = seededRandom(seed + 1_000_003 * (part + 1));
    let socket: WebSocket | null = null;
    for (let index = 0; index < share; index++) {
      socket ??= await connected(url, random() < 0.5 ? ["phoenix-jwt", bearer] : [], frames);
      const { data, tooLarge } = messageOf(simulator, random);
      const pong = new Promise<boolean>((resolve) => {
        socket?.once("pong", () => resolve(true));
        socket?.once("close", () => resolve(false));
      });
      socket.send(data);
      socket.ping();
      if (await pong) continue;
      frames.closed! += 1;
      if (!tooLarge) {
        const text = data.toString("latin1").slice(0, 300);
        throw new Stumbled(`seed ${seed}, part ${part}, message ${index} closed the stream: ${text}`);
      }
      socket = null;
    }
    socket?.terminate();
  };
  await Promise.all([0, 1, 2, 3].map(one));
  return frames;
}

async function connected(
  url: string,
  protocols: string[],
  frames: Record<string, number>,
): Promise<WebSocket> {
  const socket = new WebSocket(url, protocols);
  socket.setMaxListeners(0);
  socket.on("error", () => {});
  socket.on("message", (data) => {
    const { channel } = JSON.parse(String(data)) as { channel?: string };
    const kind = channel === "error" ? "refused" : channel === "subscriptionStatus" ? "accepted" : "data";
    frames[kind]! += 1;
  });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("close", reject));
  return socket;
}

function messageOf(simulator: Simulator, random: Random): { data: Buffer; tooLarge: boolean } {
  const odd = oddTexts(simulator);
  const [name, row] = pick(random, Object.entries(channels));
  const wrongness = random() * 0.5;
  const subscription: Record<string, unknown> = {
    channel: random() < wrongness / 3 ? pick(random, odd) : name,
  };
  for (const [parameter, it] of Object.entries(row.params)) {
    if (random() < wrongness / 3) continue;
    if (random() < wrongness)
      subscription[parameter] = random() < 0.5 ? pick(random, odd) : pick(random, oddValues);
    else if (it.type === "key") subscription[parameter] = pick(random, simulator.traders).authority;
    else if (it.type === "integer") subscription[parameter] = below(random, 2);
    else if (it.type === "boolean") subscription[parameter] = random() < 0.5;
    else if (it.type === "timeframe") subscription[parameter] = pick(random, ["1s", "1m", "1h", "1d"]);
    else subscription[parameter] = pick(random, [...simulator.world.markets.keys()]);
  }
  const type =
    random() < wrongness / 3 ? pick(random, odd) : pick(random, ["subscribe", "subscribe", "unsubscribe"]);
  const frame = random() < wrongness / 4 ? pick(random, oddValues) : { type, subscription };
  const roll = random();
  if (roll < 0.003) return { data: Buffer.alloc(70_000, "x"), tooLarge: true };
  if (roll < 0.02) return { data: Buffer.from("[".repeat(20_000)), tooLarge: false };
  const bytes = Buffer.from(JSON.stringify(frame));
  return { data: roll < 0.2 ? mutated(random, bytes) : bytes, tooLarge: false };
}
