/** A simulator in this process on a real socket, with stopped time, and a minimal client. */
import { once } from "node:events";
import { base58 } from "@scure/base";
import { WebSocket } from "ws";
import {
  type ChannelName,
  type EndpointName,
  endpoints,
  parseJson,
  parseReply,
  readFrame,
  subscribeFrame,
} from "../../src/contract/index.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../src/simulator/simulator.ts";

export const start = "2026-10-05T15:00:00Z";

/** The world changes by control calls only. */
export function quiet(options: SimulatorOptions = {}): Promise<Simulator> {
  return startSimulator({ seed: 7, speed: 0, walk: false, startMs: Date.parse(start), ...options });
}

// biome-ignore lint/suspicious/noExplicitAny: tests read JSON of every shape
type Json = any;
type Message = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Json;
}

export async function ask(
  simulator: Simulator,
  path: string,
  options: {
    method?: string;
    body?: unknown;
    raw?: string;
    bearer?: string;
    headers?: Record<string, string>;
  } = {},
): Promise<Answer> {
  const { method, body, raw, bearer, headers } = options;
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(simulator.url + path, {
    method: method ?? (sent === undefined ? "GET" : "POST"),
    headers: { ...headers, ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }) },
    ...(sent === undefined ? {} : { body: sent }),
  });
  const text = await response.text();
  let json: unknown;
  try {
    json = parseJson(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, headers: response.headers, text, json };
}

/** A control call over the socket; throws on refusal. */
export async function sim(simulator: Simulator, call: string, body: unknown = {}): Promise<Json> {
  const answer = await ask(simulator, `/sim/${call}`, { body });
  if (answer.status !== 200) throw new Error(`${call}: ${answer.status} ${answer.text}`);
  return answer.json;
}

/** Reads a path and checks the reply against the contract's schema. */
export async function read(
  simulator: Simulator,
  name: EndpointName,
  path: string,
  bearer?: string,
): Promise<Json> {
  const answer = await ask(simulator, path, bearer === undefined ? {} : { bearer });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  const reply = parseReply(endpoints[name] as never, answer.json);
  if (!reply.ok) throw new Error(reply.problem.message);
  if (reply.rejected.length > 0) throw new Error(reply.rejected[0]?.problem.message);
  return parseJson(answer.text);
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Signs in as a trader of the simulator. */
export async function signIn(simulator: Simulator, name = "main"): Promise<Tokens> {
  const key = simulator.keyOf(name);
  const nonce = await ask(simulator, `/v1/auth/nonce?wallet_pubkey=${key.address}`);
  const signature = base58.encode(key.sign(new TextEncoder().encode(nonce.json.message)));
  const body = { wallet_pubkey: key.address, nonce_id: nonce.json.nonce_id, signature };
  const answer = await ask(simulator, "/v1/auth/login/wallet", { body });
  if (answer.status !== 200) throw new Error(`login: ${answer.status} ${answer.text}`);
  return answer.json;
}

/** A connection that checks messages against the contract; `next` waits for a message of a channel. */
export async function connect(simulator: Simulator, token?: string) {
  const socket = new WebSocket(
    `${simulator.url.replace("http", "ws")}/v1/ws`,
    token === undefined ? [] : ["phoenix-jwt", token],
  );
  const waiting: { channel: string; found: (message: Message) => void }[] = [];
  const kept: { channel: string; message: Message }[] = [];
  socket.on("message", (data, binary) => {
    if (binary) throw new Error("a binary frame");
    const frame = readFrame(parseJson(String(data)));
    if (frame.kind === "misfit" || frame.kind === "unknown") throw new Error(JSON.stringify(frame));
    const channel = frame.kind === "control" ? "control" : frame.channel;
    const message = (frame.kind === "control" ? frame : frame.message) as unknown as Message;
    const at = waiting.findIndex((it) => it.channel === channel);
    if (at >= 0) waiting.splice(at, 1)[0]!.found(message);
    else kept.push({ channel, message });
  });
  await once(socket, "open");
  const next = (channel: ChannelName | "control"): Promise<Message> => {
    const at = kept.findIndex((it) => it.channel === channel);
    if (at >= 0) return Promise.resolve(kept.splice(at, 1)[0]!.message);
    return new Promise((found) => waiting.push({ channel, found }));
  };
  const subscribe = async (name: ChannelName, params: object) => {
    socket.send(JSON.stringify(subscribeFrame(name, params as never)));
    return next("control");
  };
  return { socket, next, subscribe, kept };
}
