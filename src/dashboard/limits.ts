/**
 * The HTTP server of an address that others can reach. Connections, requests and their times are bounded, so that whoever asks too
 * much is refused, and neither the daemon nor the others who ask are held up.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../domain/clock.ts";
import type { DashboardLog } from "./log.ts";

export interface Limits {
  /** With one more, the one that has gone longest without an answer is closed. */
  readonly connections: number;
  readonly requestsPerConnection: number;
  readonly inFlightPerConnection: number;
  readonly inFlight: number;
  readonly requestsPerSecond: number;
  /** Requests at once after a pause. */
  readonly burst: number;
  readonly headersMs: number;
  readonly requestMs: number;
  readonly idleMs: number;
}

export const usualLimits: Limits = {
  connections: 64,
  requestsPerConnection: 100,
  // Browsers open a second connection instead.
  inFlightPerConnection: 4,
  inFlight: 32,
  requestsPerSecond: 50,
  burst: 100,
  headersMs: 5_000,
  requestMs: 10_000,
  idleMs: 5_000,
};

/** The times of headers and requests are looked after this often, ms. */
const checkEveryMs = 1_000;
const tellEveryMs = 60_000;
/** The part of the burst that is kept for those who ask after the health of the daemon. */
const keptForHealth = 0.2;

export interface LimitOptions {
  readonly clock: Clock;
  readonly log: DashboardLog;
  readonly limits?: Limits;
}

export function limitedServer(answer: RequestListener, options: LimitOptions): Server {
  const { clock, limits = usualLimits } = options;
  const tell = teller(options);
  const take = bucket(clock, limits);
  /** Requests in flight by connection; the one that was answered last stands last. */
  const connections = new Map<Socket, number>();
  let inFlight = 0;

  function ask(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const own = (connections.get(socket) ?? 0) + 1;
    if (own > limits.inFlightPerConnection) {
      tell("pipelined");
      socket.destroy();
      return;
    }
    if (inFlight >= limits.inFlight) {
      refuse("inFlight", response, 503);
      return;
    }
    if (!take(isHealth(request))) {
      refuse("tooMany", response, 429);
      return;
    }
    inFlight++;
    connections.set(socket, own);
    response.once("close", () => {
      inFlight--;
      const left = (connections.get(socket) ?? 1) - 1;
      const isOpen = connections.delete(socket);
      if (isOpen) connections.set(socket, left);
    });
    answer(request, response);
  }

  function refuse(why: Refusal, response: ServerResponse, status: number): void {
    tell(why);
    response.writeHead(status, {
      ...{ "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
      ...{ "retry-after": "1", connection: "close" },
    });
    response.end(JSON.stringify({ error: "too much is asked at once; ask again in a second" }));
  }

  const server = createServer(
    {
      connectionsCheckingInterval: checkEveryMs,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
    },
    ask,
  );
  server.maxRequestsPerSocket = limits.requestsPerConnection;
  server.on("dropRequest", (_request, socket) => {
    tell("pipelined");
    socket.destroy();
  });
  server.on("connection", (socket: Socket) => {
    connections.set(socket, 0);
    socket.once("close", () => connections.delete(socket));
    if (connections.size <= limits.connections) return;
    const [oldest] = connections.keys();
    tell("connections");
    oldest!.destroy();
  });
  return server;
}

type Refusal = "connections" | "inFlight" | "pipelined" | "tooMany";

/** Says at most once a minute that somebody asks too much. */
function teller({ clock, log }: LimitOptions): (why: Refusal) => void {
  let counts: Partial<Record<Refusal, number>> = {};
  let toldMs = Number.NEGATIVE_INFINITY;
  return (why) => {
    counts[why] = (counts[why] ?? 0) + 1;
    if (clock.elapsedMs() - toldMs < tellEveryMs) return;
    toldMs = clock.elapsedMs();
    log.warn(
      { refused: counts },
      "somebody asks the local address too much; what exceeds its limits is refused",
    );
    counts = {};
  };
}

/** Returns a function that takes one of the requests that may be answered now. */
function bucket(clock: Clock, { requestsPerSecond, burst }: Limits): (isHealth: boolean) => boolean {
  let left = burst;
  let atMs = clock.elapsedMs();
  return (isHealth) => {
    const nowMs = clock.elapsedMs();
    left = Math.min(burst, left + ((nowMs - atMs) / 1_000) * requestsPerSecond);
    atMs = nowMs;
    if (left < 1 + (isHealth ? 0 : burst * keptForHealth)) return false;
    left--;
    return true;
  };
}

function isHealth({ url }: IncomingMessage): boolean {
  return url === "/healthz" || url === "/readyz";
}
