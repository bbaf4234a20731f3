/**
 * The HTTP server of the TCP listener, with limits on connections, requests and durations. A client above a limit is
 * refused, without delaying the daemon or other clients. Requests belong to a share by caller and purpose, and no share
 * can use up another: anonymous requests cannot displace those of logged-in clients.
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
import type { Clock } from "../../domain/clock.ts";
import { answerHeaders, jsonType } from "../headers.ts";
import type { DashboardLog } from "../log.ts";
import { alive } from "../metrics/health.ts";
import { type HandshakeLimits, handshakeLimiter } from "./handshakes.ts";
import { tokenBucket } from "./token-bucket.ts";

/**
 * `known`: with a valid credential. Without one: `monitoring` for readiness and metrics, `logins` for logins,
 * `anonymous` for all others.
 */
export type Share = "known" | "monitoring" | "logins" | "anonymous";

export interface ShareLimits {
  readonly requestsPerSecond: number;
  /** Maximum burst. */
  readonly burst: number;
  readonly inFlight: number;
}

export interface Limits {
  /**
   * Above this the connection that was answered longest ago is closed: one of those without a credential if they are
   * more than half.
   */
  readonly connections: number;
  readonly requestsPerConnection: number;
  readonly inFlightPerConnection: number;
  readonly shares: Readonly<Record<Share, ShareLimits>>;
  readonly headersMs: number;
  readonly requestMs: number;
  /** Limit from a request's headers to the end of its answer. A client that does not read is disconnected. */
  readonly answerMs: number;
  readonly idleMs: number;
  readonly handshakes: HandshakeLimits;
}

export const defaultLimits: Limits = {
  connections: 64,
  requestsPerConnection: 100,
  // Browsers open another connection instead.
  inFlightPerConnection: 4,
  shares: {
    known: { requestsPerSecond: 50, burst: 100, inFlight: 32 },
    monitoring: { requestsPerSecond: 10, burst: 20, inFlight: 8 },
    logins: { requestsPerSecond: 20, burst: 50, inFlight: 8 },
    anonymous: { requestsPerSecond: 50, burst: 100, inFlight: 32 },
  },
  headersMs: 5_000,
  requestMs: 10_000,
  answerMs: 15_000,
  idleMs: 5_000,
  handshakes: { perSecond: 20, burst: 64, addressPerSecond: 5, addressBurst: 16 },
};

/** Interval of the checks of header and request times, ms. */
const checkEveryMs = 1_000;
const logEveryMs = 60_000;
const plainHeaders = { ...answerHeaders, "content-type": jsonType };

export interface LimitOptions {
  readonly clock: Clock;
  readonly log: DashboardLog;
  /** Returns true for a request with a valid credential. Called for each request, so it has to be cheap. */
  readonly isKnown: (request: IncomingMessage) => boolean;
  /** Returns true for an address (in the form of `addressGroup`) with an earlier login. */
  readonly isKnownAddress: (address: string) => boolean;
  readonly limits?: Limits;
  /** PEM. Null or left out: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | null;
}

interface Connection {
  inFlight: number;
  requestCount: number;
  /** True after a request with a valid credential. */
  isKnown: boolean;
}

export function limitedServer(answer: RequestListener, options: LimitOptions): Server {
  const { clock, isKnown, isKnownAddress, limits = defaultLimits, tls = null } = options;
  const { countRefusal, end } = refusalLog(options);
  const shareOf = (request: IncomingMessage): Share =>
    isKnown(request) ? "known" : (sharesByPath[`${request.method} ${request.url}`] ?? "anonymous");
  const shares = {
    known: openShare(clock, limits.shares.known),
    monitoring: openShare(clock, limits.shares.monitoring),
    logins: openShare(clock, limits.shares.logins),
    anonymous: openShare(clock, limits.shares.anonymous),
  };
  const takeHandshake = handshakeLimiter(clock, limits.handshakes, isKnownAddress);
  /** By TCP socket, in the order of their last answer. */
  const connections = new Map<Socket, Connection>();
  /** TLS socket → its TCP socket. */
  const tcpSockets = new WeakMap<Socket, Socket>();

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const own = connections.get(tcpSockets.get(socket) ?? socket);
    // The connection was closed while parsed requests remained.
    if (own === undefined) return;
    own.requestCount++;
    if (own.inFlight >= limits.inFlightPerConnection || own.requestCount > limits.requestsPerConnection) {
      countRefusal("pipelined");
      close(socket);
      return;
    }
    // Supervisors restart a process that does not answer this, so no limit applies; the answer costs nothing.
    if (request.method === "GET" && request.url === "/healthz") {
      track(socket, own, response);
      response.writeHead(200, plainHeaders).end(JSON.stringify(alive));
      return;
    }
    const name = shareOf(request);
    const share = shares[name];
    if (name === "known") own.isKnown = true;
    if (share.inFlight >= limits.shares[name].inFlight) {
      refuse("inFlight", response, 503);
      return;
    }
    if (!share.take()) {
      refuse("tooMany", response, 429);
      return;
    }
    share.inFlight++;
    track(socket, own, response, () => {
      share.inFlight--;
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
      const key = tcpSockets.get(socket) ?? socket;
      if (!connections.delete(key)) return;
      connections.set(key, own);
    });
  }

  /** @param socket of TCP or TLS */
  function close(socket: Socket): void {
    connections.delete(tcpSockets.get(socket) ?? socket);
    stopParsing(socket);
    socket.destroy();
  }

  function refuse(why: Refusal, response: ServerResponse, status: number): void {
    countRefusal(why);
    response.writeHead(status, { ...plainHeaders, "retry-after": "1", connection: "close" });
    response.end(JSON.stringify({ error: "too much is asked at once; ask again in a second" }));
  }

  const serverOptions = {
    connectionsCheckingInterval: checkEveryMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    // The request then reaches the authorizer, which refuses it.
    requireHostHeader: false,
  };
  const server =
    tls === null
      ? createHttpServer(serverOptions, handle)
      : createTlsServer({ ...serverOptions, ...tls, handshakeTimeout: limits.headersMs }, handle);
  // The last answer announces the close. HTTP/1.0 is limited by `requestCount` alone.
  server.maxRequestsPerSocket = limits.requestsPerConnection;
  server.on("dropRequest", (_request, socket) => {
    countRefusal("pipelined");
    close(socket as Socket);
  });
  server.on("checkExpectation", handle);
  const tcpSocketByPeer = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    if (tls !== null && !takeHandshake(socket)) {
      countRefusal("handshakes");
      socket.destroy();
      return;
    }
    const name = peerOf(socket);
    connections.set(socket, { inFlight: 0, requestCount: 0, isKnown: false });
    if (tls !== null) tcpSocketByPeer.set(name, socket);
    socket.once("close", () => {
      connections.delete(socket);
      if (tcpSocketByPeer.get(name) === socket) tcpSocketByPeer.delete(name);
    });
    if (connections.size <= limits.connections) return;
    countRefusal("connections");
    close(oldest(connections));
  });
  server.once("close", end);
  server.on("secureConnection", (socket: Socket) => {
    const tcpSocket = tcpSocketByPeer.get(peerOf(socket));
    if (tcpSocket === undefined || !connections.has(tcpSocket)) socket.destroy();
    else tcpSockets.set(socket, tcpSocket);
  });
  return server;
}

/**
 * Stops parsing of a closed connection. Node parses a whole chunk even if the connection is closed meanwhile; thousands
 * of requests in 64 KiB block the daemon for tens of ms. The parser has no documented way to stop it; without this only
 * the time is lost.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming?: unknown } | null };
  // 2: no body follows, and the request is skipped.
  if (parser && typeof parser.onIncoming === "function") parser.onIncoming = () => 2;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Shares of requests without a credential. */
const sharesByPath: Readonly<Record<string, Share>> = {
  "GET /metrics": "monitoring",
  "GET /readyz": "monitoring",
  "POST /api/v1/session": "logins",
};

/** Selects the connection to close. Half of the connections are reserved for those with a credential. */
function oldest(connections: ReadonlyMap<Socket, Connection>): Socket {
  const anonymousOnes = [...connections].filter(([, { isKnown }]) => !isKnown);
  const [first] =
    anonymousOnes.length > connections.size / 2
      ? anonymousOnes.map(([socket]) => socket)
      : connections.keys();
  return first!;
}

type Refusal = "connections" | "handshakes" | "inFlight" | "pipelined" | "tooMany";

/** Logs refusals at most once a minute; the last ones are logged a minute later at the latest. */
function refusalLog({ clock, log }: LimitOptions): { countRefusal(why: Refusal): void; end(): void } {
  let counts: Partial<Record<Refusal, number>> = {};
  let loggedMs = Number.NEGATIVE_INFINITY;
  let cancel = (): void => {};
  const write = (): void => {
    cancel();
    if (Object.keys(counts).length === 0) return;
    loggedMs = clock.elapsedMs();
    log.warn(
      { refused: counts },
      "somebody asks the local address too much; what exceeds its limits is refused",
    );
    counts = {};
    cancel = clock.after(logEveryMs, write);
  };
  return {
    countRefusal(why) {
      counts[why] = (counts[why] ?? 0) + 1;
      if (clock.elapsedMs() - loggedMs >= logEveryMs) write();
    },
    end() {
      write();
      cancel();
    },
  };
}

function openShare(clock: Clock, { requestsPerSecond, burst }: ShareLimits) {
  return { take: tokenBucket(clock, requestsPerSecond, burst), inFlight: 0 };
}
