/**
 * The HTTP server of an address that others can reach. Connections, requests and their times are bounded, so that whoever asks too
 * much is refused, and neither the daemon nor the others who ask are held up. Requests belong to a share by who asks and for what, and
 * no share can be used up by those of another: strangers leave those their place who are logged in.
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
import { bucket } from "./bucket.ts";
import { type HandshakeLimits, handshakeBounds } from "./handshakes.ts";
import { answerHeaders, jsonType } from "./headers.ts";
import { alive } from "./health.ts";
import type { DashboardLog } from "./log.ts";

/**
 * `known`: with a valid credential. Without one: `monitoring` for readiness and metrics, `logins` for logging in, `strangers` for
 * all else.
 */
export type Share = "known" | "monitoring" | "logins" | "strangers";

export interface ShareLimits {
  readonly requestsPerSecond: number;
  /** Requests at once after a pause. */
  readonly burst: number;
  readonly inFlight: number;
}

export interface Limits {
  /**
   * With one more, the one that has gone longest without an answer is closed: of those over which no credential came, where they are
   * more than half.
   */
  readonly connections: number;
  readonly requestsPerConnection: number;
  readonly inFlightPerConnection: number;
  readonly shares: Readonly<Record<Share, ShareLimits>>;
  readonly headersMs: number;
  readonly requestMs: number;
  /** From a request's headers to the end of its answer: whoever does not read is cut off. */
  readonly answerMs: number;
  readonly idleMs: number;
  readonly handshakes: HandshakeLimits;
}

export const usualLimits: Limits = {
  connections: 64,
  requestsPerConnection: 100,
  // Browsers open a second connection instead.
  inFlightPerConnection: 4,
  shares: {
    known: { requestsPerSecond: 50, burst: 100, inFlight: 32 },
    monitoring: { requestsPerSecond: 10, burst: 20, inFlight: 8 },
    logins: { requestsPerSecond: 20, burst: 50, inFlight: 8 },
    strangers: { requestsPerSecond: 50, burst: 100, inFlight: 32 },
  },
  headersMs: 5_000,
  requestMs: 10_000,
  answerMs: 15_000,
  idleMs: 5_000,
  handshakes: { perSecond: 20, burst: 64, addressPerSecond: 5, addressBurst: 16 },
};

/** The times of headers and requests are looked after this often, ms. */
const checkEveryMs = 1_000;
const tellEveryMs = 60_000;
const plainHeaders = { ...answerHeaders, "content-type": jsonType };

export interface LimitOptions {
  readonly clock: Clock;
  readonly log: DashboardLog;
  /** Returns true for a request with a valid credential. Asked for each request, so it has to be cheap. */
  readonly isKnown: (request: IncomingMessage) => boolean;
  /** Returns true for an address, as `addressGroup` has it, that somebody has logged in from. */
  readonly isKnownAddress: (address: string) => boolean;
  readonly limits?: Limits;
  /** PEM. Null or left out: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string } | null;
}

interface Connection {
  inFlight: number;
  asked: number;
  /** A valid credential came over it. */
  isKnown: boolean;
}

export function limitedServer(answer: RequestListener, options: LimitOptions): Server {
  const { clock, isKnown, isKnownAddress, limits = usualLimits, tls = null } = options;
  const { tell, end } = refusalLog(options);
  const shareOf = (request: IncomingMessage): Share =>
    isKnown(request) ? "known" : (sharesByPath[`${request.method} ${request.url}`] ?? "strangers");
  const shares = {
    known: openShare(clock, limits.shares.known),
    monitoring: openShare(clock, limits.shares.monitoring),
    logins: openShare(clock, limits.shares.logins),
    strangers: openShare(clock, limits.shares.strangers),
  };
  const takeHandshake = handshakeBounds(clock, limits.handshakes, isKnownAddress);
  /** By the socket of TCP. The one that was answered last stands last. */
  const connections = new Map<Socket, Connection>();
  /** Socket of TLS → the one below it. */
  const below = new WeakMap<Socket, Socket>();

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
    if (tls !== null && !takeHandshake(socket)) {
      tell("handshakes");
      socket.destroy();
      return;
    }
    const name = peerOf(socket);
    connections.set(socket, { inFlight: 0, asked: 0, isKnown: false });
    if (tls !== null) raws.set(name, socket);
    socket.once("close", () => {
      connections.delete(socket);
      if (raws.get(name) === socket) raws.delete(name);
    });
    if (connections.size <= limits.connections) return;
    tell("connections");
    close(oldest(connections));
  });
  server.once("close", end);
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

/** Requests without a credential. */
const sharesByPath: Readonly<Record<string, Share>> = {
  "GET /metrics": "monitoring",
  "GET /readyz": "monitoring",
  "POST /api/v1/session": "logins",
};

/** Half of the places are kept for connections over which a credential came. */
function oldest(connections: ReadonlyMap<Socket, Connection>): Socket {
  const strangers = [...connections].filter(([, { isKnown }]) => !isKnown);
  const [first] =
    strangers.length > connections.size / 2 ? strangers.map(([socket]) => socket) : connections.keys();
  return first!;
}

type Refusal = "connections" | "handshakes" | "inFlight" | "pipelined" | "tooMany";

/** Says at most once a minute that somebody asks too much; what was refused since is said a minute later at the latest. */
function refusalLog({ clock, log }: LimitOptions): { tell(why: Refusal): void; end(): void } {
  let counts: Partial<Record<Refusal, number>> = {};
  let toldMs = Number.NEGATIVE_INFINITY;
  let cancel = (): void => {};
  const write = (): void => {
    cancel();
    if (Object.keys(counts).length === 0) return;
    toldMs = clock.elapsedMs();
    log.warn(
      { refused: counts },
      "somebody asks the local address too much; what exceeds its limits is refused",
    );
    counts = {};
    cancel = clock.after(tellEveryMs, write);
  };
  return {
    tell(why) {
      counts[why] = (counts[why] ?? 0) + 1;
      if (clock.elapsedMs() - toldMs >= tellEveryMs) write();
    },
    end() {
      write();
      cancel();
    },
  };
}

function openShare(clock: Clock, { requestsPerSecond, burst }: ShareLimits) {
  return { take: bucket(clock, requestsPerSecond, burst), inFlight: 0 };
}
