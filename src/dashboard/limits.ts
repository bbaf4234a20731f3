/**
 * The HTTP server of an address that others can reach. Connections, requests and their times are bounded, so that whoever asks too
 * much is refused, and neither the daemon nor the others who ask are held up.
 */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Clock } from "../domain/clock.ts";
import { alive } from "./health.ts";
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
  /** From a request's headers to the end of its answer: whoever does not read is cut off. */
  readonly answerMs: number;
  readonly idleMs: number;
  /** TLS handshakes, which cost about a millisecond of the daemon's own thread each. */
  readonly handshakesPerSecond: number;
  readonly handshakeBurst: number;
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
  answerMs: 15_000,
  idleMs: 5_000,
  handshakesPerSecond: 20,
  handshakeBurst: 64,
};

/** The times of headers and requests are looked after this often, ms. */
const checkEveryMs = 1_000;
const tellEveryMs = 60_000;
/** The part of the burst that is kept for those who ask whether the daemon is ready. */
const keptForReadiness = 0.2;
const plainHeaders = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

export interface LimitOptions {
  readonly clock: Clock;
  readonly log: DashboardLog;
  readonly limits?: Limits;
  /** PEM. Null or left out: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | null;
}

interface Connection {
  inFlight: number;
  asked: number;
}

export function limitedServer(answer: RequestListener, options: LimitOptions): Server {
  const { clock, limits = usualLimits, tls = null } = options;
  const tell = teller(options);
  const takeRequest = bucket(clock, limits.requestsPerSecond, limits.burst);
  const takeHandshake = bucket(clock, limits.handshakesPerSecond, limits.handshakeBurst);
  const take = (isReadiness: boolean) => takeRequest(isReadiness ? 0 : limits.burst * keptForReadiness);
  /** By the socket of TCP. The one that was answered last stands last. */
  const connections = new Map<Socket, Connection>();
  /** Socket of TLS → the one below it. */
  const below = new WeakMap<Socket, Socket>();
  let inFlight = 0;

  function ask(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const own = connections.get(below.get(socket) ?? socket);
    // It was closed, and something of it was read already.
    if (own === undefined) return;
    own.asked++;
    if (own.inFlight >= limits.inFlightPerConnection || own.asked > limits.requestsPerConnection) {
      tell("pipelined");
      close(socket);
      return;
    }
    // Supervisors restart what does not answer this, so nothing is in its way; it costs nothing.
    if (request.method === "GET" && request.url === "/healthz") {
      track(socket, own, response);
      response.writeHead(200, plainHeaders).end(JSON.stringify(alive));
      return;
    }
    if (inFlight >= limits.inFlight) {
      refuse("inFlight", response, 503);
      return;
    }
    if (!take(request.url === "/readyz")) {
      refuse("tooMany", response, 429);
      return;
    }
    inFlight++;
    track(socket, own, response, () => {
      inFlight--;
    });
    answer(request, response);
  }

  function track(socket: Socket, own: Connection, response: ServerResponse, ended?: () => void): void {
    own.inFlight++;
    const cancel = clock.after(limits.answerMs, () => close(socket));
    response.once("close", () => {
      cancel();
      own.inFlight--;
      ended?.();
      const key = below.get(socket) ?? socket;
      if (!connections.delete(key)) return;
      connections.set(key, own);
    });
  }

  /** @param socket of TCP or of TLS */
  function close(socket: Socket): void {
    connections.delete(below.get(socket) ?? socket);
    stopParsing(socket);
    socket.destroy();
  }

  function refuse(why: Refusal, response: ServerResponse, status: number): void {
    tell(why);
    response.writeHead(status, { ...plainHeaders, "retry-after": "1", connection: "close" });
    response.end(JSON.stringify({ error: "too much is asked at once; ask again in a second" }));
  }

  const times = {
    connectionsCheckingInterval: checkEveryMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    // It comes here as well then, and is refused by its name.
    requireHostHeader: false,
  };
  const server =
    tls === null
      ? createHttpServer(times, ask)
      : createTlsServer({ ...times, ...tls, handshakeTimeout: limits.headersMs }, ask);
  // The last answer says that it is; HTTP/1.0 is counted by `asked` alone.
  server.maxRequestsPerSocket = limits.requestsPerConnection;
  server.on("dropRequest", (_request, socket) => {
    tell("pipelined");
    close(socket as Socket);
  });
  server.on("checkExpectation", ask);
  const raws = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    if (tls !== null && !takeHandshake(0)) {
      tell("handshakes");
      socket.destroy();
      return;
    }
    const name = peerOf(socket);
    connections.set(socket, { inFlight: 0, asked: 0 });
    if (tls !== null) raws.set(name, socket);
    socket.once("close", () => {
      connections.delete(socket);
      if (raws.get(name) === socket) raws.delete(name);
    });
    if (connections.size <= limits.connections) return;
    const [oldest] = connections.keys();
    tell("connections");
    close(oldest!);
  });
  server.on("secureConnection", (socket: Socket) => {
    const raw = raws.get(peerOf(socket));
    if (raw === undefined || !connections.has(raw)) socket.destroy();
    else below.set(socket, raw);
  });
  return server;
}

/**
 * Node parses all that came in one piece, even of a connection that is closed: thousands of requests in 64 KiB hold the daemon up
 * for tens of ms. The parser has no documented end; without this it is slower, and nothing else.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming?: unknown } | null };
  // 2: no body follows, and nothing is made of it.
  if (parser && typeof parser.onIncoming === "function") parser.onIncoming = () => 2;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

type Refusal = "connections" | "handshakes" | "inFlight" | "pipelined" | "tooMany";

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

/** Returns a function that takes one of what may be had now, unless fewer than so many would be left. */
function bucket(clock: Clock, perSecond: number, burst: number): (kept: number) => boolean {
  let left = burst;
  let atMs = clock.elapsedMs();
  return (kept) => {
    const nowMs = clock.elapsedMs();
    left = Math.min(burst, left + ((nowMs - atMs) / 1_000) * perSecond);
    atMs = nowMs;
    if (left < 1 + kept) return false;
    left--;
    return true;
  };
}
