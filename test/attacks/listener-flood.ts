/**
 * A program that attacks a listener: `node listener-flood.ts KIND PORT MS`. It prints a line of JSON with the answers by status at its
 * end. A process of its own, so that it takes no time of whom it attacks or of who looks on.
 */
import { Agent, type AgentOptions, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export const floods = [
  "pipelined",
  "pipelined, never read",
  "connections that say nothing",
  "slow headers",
  "slow bodies",
  "status without a pause",
  "metrics without a pause",
  "long queries without a pause",
  "a connection for each request",
  "passwords without a pause",
] as const;
export type Flood = (typeof floods)[number];

const counts: Record<string, number> = {};
const count = (what: string | number): void => {
  counts[what] = (counts[what] ?? 0) + 1;
};

if (import.meta.main) {
  const [kind, port, ms] = process.argv.slice(2);
  const endMs = performance.now() + Number(ms);
  await attack(kind as Flood, Number(port), () => performance.now() < endMs);
  console.log(JSON.stringify(counts));
  process.exit(0);
}

async function attack(kind: Flood, port: number, goesOn: () => boolean): Promise<void> {
  const dial = (): Socket => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => count("cut off"));
    return socket;
  };
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const post =
    "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n";
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
    const agent = new Agent(options);
    const one = async () => {
      while (goesOn()) count(await ask(port, path, agent, body?.()));
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
    case "slow headers":
      return slowly("GET / HTTP/1.1\r\nHost: localhost\r\nX: ", "x", 300);
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
  }
}

/** @returns the status, or the error's code */
function ask(port: number, path: string, agent: Agent, body?: string): Promise<number | string> {
  const how = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" } };
  return new Promise((resolve) => {
    const outgoing = request({ host: "127.0.0.1", port, path, agent, ...how }, (incoming) => {
      incoming.resume().once("close", () => resolve(incoming.statusCode ?? 0));
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    outgoing.end(body);
  });
}
