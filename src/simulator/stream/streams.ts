/**
 * The stream: one WebSocket at `/v1/ws`, any number of subscriptions on it.
 *
 *   transaction ─► deltas of trader state, notifications (at once, in order)
 *   flush       ─► prices, statistics, candles, books, fills, status (whatever changed since the last flush), sessions that ended
 *
 * Nothing is replayed: a subscription of trader state begins with a snapshot, the price channels with the present.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import type { ChannelName } from "../../contract/stream/stream-channels.ts";
import { readSubscription } from "../../contract/stream/stream-frames.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Faults } from "../server/faults.ts";
import { errorReply } from "../server/reply.ts";
import type { RequestLog } from "../server/request-log.ts";
import { Refusal, type SeenToken, type Sessions, type TokenFault } from "../server/sessions.ts";
import type { Change, World } from "../state.ts";
import { tellAccounts, tellNotifications } from "./account-news.ts";
import { createAdmission, type Handshake, protocol } from "./admission.ts";
import { sendFirst } from "./first-messages.ts";
import { createMarketNews } from "./market-news.ts";
import { type Connection, keyOf, type StreamEnd, Subscribers, send, symbolOf } from "./subscribers.ts";

const pingMs = 25_000;
const maxSubscriptions = 5_000;

export interface StreamParts {
  readonly world: World;
  readonly sessions: Sessions;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly clock: Clock;
  readonly graceMs: number;
  readonly present: () => number;
}

/** Takes what the other end does. */
export interface StreamVisit {
  text(text: string): void;
  /** The connection has ended. */
  ended(): void;
}

export interface Streams {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** A connection from this process. @throws {Refusal}, or anything else where the connection ends without an answer */
  enter(handshake: Handshake, socket: StreamEnd): Promise<StreamVisit>;
  /** Sends what changed since the last time. */
  flush(): void;
  stop(): void;
}

export function createStreams(parts: StreamParts): Streams {
  const { world, clock } = parts;
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: 65_536,
    handleProtocols: (offered) => (offered.has(protocol) ? protocol : ([...offered][0] ?? false)),
  });
  const connections = new Set<Connection>();
  const subscribers = new Subscribers();
  const news = createMarketNews(world, subscribers);
  const admitted = createAdmission(parts);
  let nextClient = 1;

  const onChange = (change: Change) => {
    if (connections.size === 0) return;
    tellAccounts(change, world, subscribers);
    tellNotifications(change, world, subscribers);
  };
  world.listeners.add(onChange);
  let cancelPing = clock.after(pingMs, ping);

  function ping(): void {
    for (const { socket } of connections) if (socket.readyState === WebSocket.OPEN) socket.ping();
    cancelPing = clock.after(pingMs, ping);
  }

  function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    admitted({ target: request.url ?? "/", headers: request.headers }).then(
      (seen) => {
        // `phoenix-jwt=<token>` is no valid protocol name: such a client is answered without one.
        if (/[=:]/.test(request.headers["sec-websocket-protocol"] ?? "")) {
          delete request.headers["sec-websocket-protocol"];
        }
        server.handleUpgrade(request, socket, head, (open) => {
          const visit = join(open, seen);
          open.on("close", () => visit.ended());
          open.on("error", () => open.terminate());
          open.on("message", (data) => visit.text(String(data)));
        });
      },
      (error: unknown) => {
        if (!(error instanceof Refusal)) {
          socket.destroy();
          return;
        }
        const text = errorReply(error.status, error.code).text ?? "";
        const type = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}`;
        socket.end(`HTTP/1.1 ${error.status} Refused\r\n${type}\r\nConnection: close\r\n\r\n${text}`);
      },
    );
  }

  async function enter(handshake: Handshake, socket: StreamEnd): Promise<StreamVisit> {
    return join(socket, await admitted(handshake));
  }

  function join(socket: StreamEnd, token: SeenToken | null): StreamVisit {
    const clientId = `c-${nextClient++}`;
    const connection: Connection = { socket, clientId, token, subscriptions: new Set() };
    connections.add(connection);
    return {
      text(text) {
        parts.present();
        receive(connection, text);
      },
      ended() {
        connections.delete(connection);
        for (const key of connection.subscriptions) subscribers.leave(connection, key);
      },
    };
  }

  function receive(connection: Connection, text: string): void {
    const { clientId } = connection;
    let asked: ReturnType<typeof understood>;
    try {
      asked = understood(connection, text);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      send(connection, { channel: "error", error: error.code, code: error.status });
      return;
    }
    const { type, channel, params } = asked;
    const key = keyOf(channel, params);
    if (type === "unsubscribe") {
      subscribers.leave(connection, key);
      return;
    }
    // The snapshot that is about to go out holds what others have not been told yet.
    if (channel === "exchange") news.tellExchange();
    subscribers.join(connection, key);
    const subscription = { channel, ...params };
    send(connection, { channel: "subscriptionStatus", status: "subscribed", clientId, subscription });
    sendFirst({ world, news }, connection, channel, params);
  }

  /** @throws {Refusal} */
  function understood(connection: Connection, text: string) {
    let frame: unknown;
    try {
      frame = JSON.parse(text);
    } catch {
      throw new Refusal(400, "not JSON");
    }
    const read = readSubscription(frame);
    if (!read.ok) throw new Refusal(400, read.message);
    const { channel, params } = read;
    if (!world.observed && newerChannels.has(channel)) throw new Refusal(400, "unknown channel");
    for (const symbol of [symbolOf(params), ...((params.symbols as readonly string[] | undefined) ?? [])])
      if (typeof symbol === "string" && !world.markets.has(symbol.toUpperCase()))
        throw new Refusal(400, "unknown symbol");
    if (channel === "notifications") {
      if (!connection.token) throw new Refusal(401, "missing_access_token");
      if (connection.token.session?.role === "service") throw new Refusal(403, "user_only");
      if (connection.token.session?.wallet !== params.authority) throw new Refusal(403, "insufficient_role");
    }
    if (connection.subscriptions.size >= maxSubscriptions) throw new Refusal(429, "too many subscriptions");
    return read;
  }

  function flush(): void {
    if (connections.size === 0) {
      news.pass();
      return;
    }
    news.flush();
    for (const connection of connections) endSession(connection, world.nowMs, parts.graceMs);
  }

  function stop(): void {
    cancelPing();
    world.listeners.delete(onChange);
    for (const { socket } of connections) socket.terminate();
    server.close();
  }

  return { upgrade, enter, flush, stop };
}

/** Channels of newer servers, which a contract of the older ones does not name. */
const newerChannels: ReadonlySet<ChannelName> = new Set<ChannelName>(["marketStatsV2", "trades"]);

/** A socket outlives its token by the grace window, and its session not at all. */
function endSession({ socket, token }: Connection, nowMs: number, graceMs: number): void {
  if (!token) return;
  const { session, jti, expiresMs } = token;
  let code: TokenFault | null = null;
  if (!session || session.revoked) code = "session_missing";
  else if (session.expired.has(jti) || expiresMs + graceMs <= nowMs) code = "access_token_expired";
  if (code !== null) socket.close(4401, code);
}
