/**
 * A program that attacks a listener: `node listener-flood.ts KIND PORT MS [MANNER]`. It prints a line of JSON with its connections and
 * the answers by status at its end. A process of its own, so that it takes no time of whom it attacks or of who looks on.
 */
import { Agent, type AgentOptions, request } from "node:http";
import { request as requestOverTls, Agent as TlsAgent } from "node:https";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectOverTls } from "node:tls";

export const floods = [
  "pipelined",
  "pipelined, never read",
  "connections that say nothing",
  "connections from elsewhere",
  "slow headers",
  "slow bodies",
  "status without a pause",
  "metrics without a pause",
  "long queries without a pause",
  "a connection for each request",
  "passwords without a pause",
] as const;
export type Flood = (typeof floods)[number];

/** The way to the listener. `forged`: through a proxy, from another address each time; `wrong`: with a header that names none. */
export const manners = ["plain", "tls", "forged", "wrong"] as const;
export type Manner = (typeof manners)[number];

const counts: Record<string, number> = {};
const count = (what: string | number): void => {
  counts[what] = (counts[what] ?? 0) + 1;
};

if (import.meta.main) {
  const [kind, port, ms, manner = "plain"] = process.argv.slice(2);
  if (!manners.includes(manner as Manner)) throw new Error(`no manner ${manner}`);
  const endMs = performance.now() + Number(ms);
  await attack(kind as Flood, Number(port), manner as Manner, () => performance.now() < endMs);
  console.log(JSON.stringify(counts));
  process.exit(0);
}

async function attack(kind: Flood, port: number, manner: Manner, goesOn: () => boolean): Promise<void> {
  const isTls = manner === "tls";
  const host = manner === "forged" || manner === "wrong" ? "watch.example.org" : "localhost";
  const dial = (): Socket => {
    const to = { port, host: "127.0.0.1" };
    const socket = isTls ? connectOverTls({ ...to, rejectUnauthorized: false }) : connect(to);
    count("connections");
    socket.on("error", () => count("cut off"));
    return socket;
  };
  /** Returns the header by which a proxy names whom it asks for. */
  const forwarded = (): Record<string, string> => {
    const part = () => Math.floor(Math.random() * 256);
    if (manner === "forged")
      return { "x-forwarded-for": `127.0.0.1, ${part()}.${part()}.${part()}.${part()}` };
    return manner === "wrong" ? { "x-forwarded-for": `${part()}, nonsense` } : {};
  };
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const post = `POST /api/v1/session HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n`;
  /** Connections that send a bit each 100 ms, and are replaced when they are closed. */
  const slowly = async (first: string, bit: string, many: number) => {
    const open = new Set<Socket>();
    while (goesOn()) {
      while (open.size < many) {
        const socket = dial();
        open.add(socket);
        socket.on("close", () => open.delete(socket)).write(first);
        socket.resume();
      }
      for (const socket of open) if (bit !== "") socket.write(bit);
      await pause(100);
    }
  };
  const asking = async (path: string, many: number, options: AgentOptions, body?: () => string) => {
    const agent = isTls ? new TlsAgent({ ...options, rejectUnauthorized: false }) : new Agent(options);
    const one = async () => {
      while (goesOn()) count(await ask({ port, path, agent, headers: { host, ...forwarded() } }, body?.()));
    };
    await Promise.all(Array.from({ length: many }, one));
  };
  switch (kind) {
    case "pipelined":
    case "pipelined, never read":
      while (goesOn()) {
        const socket = dial();
        if (kind === "pipelined") socket.resume();
        socket.write(get("/api/v1/status").repeat(4_000));
        const closed = new Promise((done) => socket.once("close", done));
        await Promise.race([closed, pause(500)]);
        socket.destroy();
        count("tried");
      }
      return;
    case "connections that say nothing":
      return slowly("", "", 500);
    case "connections from elsewhere": {
      // TCP alone, 200 a second. Any address of 127.0.0.0/8 is ours on Linux; elsewhere the system refuses this one.
      const begunMs = performance.now();
      for (let made = 0; goesOn(); await pause(5))
        for (; made < (performance.now() - begunMs) / 5; made++) {
          count("connections");
          const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
          socket.on("error", () => count("cut off")).resume();
        }
      return;
    }
    case "slow headers":
      return slowly(`GET / HTTP/1.1\r\nHost: ${host}\r\nX: `, "x", 300);
    case "slow bodies":
      return slowly(post, "x", 300);
    case "status without a pause":
      return asking("/api/v1/status", 50, { keepAlive: true });
    case "metrics without a pause":
      return asking("/metrics", 50, { keepAlive: true });
    case "long queries without a pause":
      return asking("/api/v1/notifications?limit=5000", 50, { keepAlive: true });
    case "a connection for each request":
      return asking("/api/v1/alerts?limit=1000", 50, { keepAlive: false });
    case "passwords without a pause":
      return asking("/api/v1/session", 50, { keepAlive: true }, () =>
        JSON.stringify({ password: `guess ${Math.random()}` }),
      );
    default:
      throw new Error(`no flood ${kind satisfies never}`);
  }
}

interface Asking {
  readonly port: number;
  readonly path: string;
  readonly agent: Agent | TlsAgent;
  readonly headers: Readonly<Record<string, string>>;
}

/** @returns the status, or the error's code */
function ask({ agent, headers, ...to }: Asking, body?: string): Promise<number | string> {
  const how =
    body === undefined
      ? { headers }
      : { method: "POST", headers: { ...headers, "content-type": "application/json" } };
  const send = agent instanceof TlsAgent ? requestOverTls : request;
  return new Promise((resolve) => {
    const outgoing = send({ host: "127.0.0.1", ...to, agent, ...how }, (incoming) => {
      incoming.resume().once("close", () => resolve(incoming.statusCode ?? 0));
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    outgoing.end(body);
  });
}
