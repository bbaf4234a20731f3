/**
 * The stream: one WebSocket at `/v1/ws`, any number of subscriptions on it.
 *
 *   transaction ─► deltas of trader state, notifications (at once, in order)
 *   flush       ─► prices, statistics, candles, books, fills, status (whatever changed since the last flush), sessions that ended
 *
 * Nothing is replayed: a subscription of trader state begins with a snapshot, the price channels with the present.
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { type ChannelName, readSubscription, TIMEFRAMES } from "../contract/streams.ts";
import type { Clock } from "../domain/clock.ts";
import { type Delta, deltaOf } from "./answers/delta.ts";
import { publicFill, publicTrade } from "./answers/history.ts";
import { notificationItem } from "./answers/notifications.ts";
import {
  type BookChannel,
  bookMessage,
  candleMessage,
  marketMessage,
  mids,
  type PriceChannel,
  statsV2Message,
  statusMessage,
} from "./answers/prices.ts";
import { stateSnapshot } from "./answers/trader.ts";
import { createExchangeFeed } from "./exchange-feed.ts";
import type { Faults } from "./faults.ts";
import { currentRate } from "./funding.ts";
import { errorReply } from "./reply.ts";
import type { RequestLog } from "./request-log.ts";
import { Refusal, type SeenToken, type Sessions, type TokenFault } from "./sessions.ts";
import type { Change, Market, World } from "./state.ts";
import { present as ledgerPresent } from "./world.ts";

const path = "/v1/ws";
const protocol = "phoenix-jwt";
const pingMs = 25_000;
/** A reader that lags this far behind is cut off. */
const maxBufferedBytes = 8_388_608;
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

/** The exchange's end of a connection: a WebSocket, or what stands in for one. */
export interface StreamEnd {
  /** As a WebSocket's: 1 while it is open. */
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(text: string): void;
  ping(): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/** Takes what the other end does. */
export interface StreamVisit {
  text(text: string): void;
  /** The connection has ended. */
  ended(): void;
}

/** A handshake from this process. */
export interface Handshake {
  /** Path and query. */
  readonly target: string;
  /** By lower-case names. */
  readonly headers: IncomingHttpHeaders;
}

export interface Streams {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** A connection from this process. @throws {Refusal}, or anything else where the connection ends without an answer */
  enter(handshake: Handshake, socket: StreamEnd): Promise<StreamVisit>;
  /** Sends what changed since the last time. */
  flush(): void;
  stop(): void;
}

interface Connection {
  readonly socket: StreamEnd;
  readonly clientId: string;
  /** Null: anonymous. */
  readonly token: SeenToken | null;
  /** Keys. */
  readonly subscriptions: Set<string>;
}

/** The last message about a market. */
interface Sent {
  mark: number;
  oracle: number;
  rate: number;
  fills: number;
  book: number;
}

export function createStreams(parts: StreamParts): Streams {
  const { world, sessions, faults, log, clock } = parts;
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: 65_536,
    handleProtocols: (offered) => (offered.has(protocol) ? protocol : ([...offered][0] ?? false)),
  });
  const connections = new Set<Connection>();
  const subscribers = new Map<string, Set<Connection>>();
  const sent = new Map<string, Sent>();
  const exchangeFeed = createExchangeFeed(world);
  let status = { ...world.exchange };
  let nextClient = 1;
  let nextStatus = 1;

  const onChange = (change: Change) => {
    if (connections.size === 0) return;
    tellAccounts(change);
    tellNotifications(change);
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

  /** As `admit`, with its line in the log of requests. */
  async function admitted({ target, headers }: Handshake): Promise<SeenToken | null> {
    const [asked = "", query = ""] = target.split("?");
    const entry = { atMs: parts.present(), method: "GET", path: asked, query, status: 0 };
    log.note(entry);
    try {
      const seen = await admit(headers, asked);
      entry.status = 101;
      return seen;
    } catch (error) {
      if (error instanceof Refusal) entry.status = error.status;
      throw error;
    }
  }

  /** The token that a handshake brings, judged; null: anonymous. @throws {Refusal}, or anything else to hang up */
  async function admit(headers: IncomingHttpHeaders, asked: string): Promise<SeenToken | null> {
    if (asked !== path) throw new Refusal(404, `No such path: ${asked.slice(0, 200)}`);
    const fault = faults.take("GET", asked);
    if (fault?.drop) throw new Error("dropped");
    if (fault?.status) throw new Refusal(fault.status, fault.error ?? `fault ${fault.status}`);
    const token = tokenOf(headers);
    return token === null ? null : accepted(token);
  }

  async function accepted(token: string): Promise<SeenToken> {
    const seen = await sessions.inspect(token);
    const code = sessions.standing(seen);
    if (code !== null) throw new Refusal(401, code);
    return seen;
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
        for (const key of connection.subscriptions) leave(connection, key);
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
      leave(connection, key);
      return;
    }
    // The snapshot that is about to go out holds what others have not been told yet.
    if (channel === "exchange") tellExchange();
    connection.subscriptions.add(key);
    const all = subscribers.get(key);
    if (all) all.add(connection);
    else subscribers.set(key, new Set([connection]));
    const subscription = { channel, ...params };
    send(connection, { channel: "subscriptionStatus", status: "subscribed", clientId, subscription });
    begin(connection, channel, params);
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

  function leave(connection: Connection, key: string): void {
    connection.subscriptions.delete(key);
    const all = subscribers.get(key);
    all?.delete(connection);
    if (all?.size === 0) subscribers.delete(key);
  }

  /** The first messages of a new subscription. */
  function begin(
    connection: Connection,
    channel: ChannelName,
    params: Readonly<Record<string, unknown>>,
  ): void {
    switch (channel) {
      case "traderState": {
        const authority = params.authority as string;
        const traderPdaIndex = params.traderPdaIndex as number;
        const wallet = world.wallets.get(authority);
        const { slot } = ledgerPresent(world);
        const snapshot = stateSnapshot(world, wallet, traderPdaIndex);
        send(connection, { channel, authority, traderPdaIndex, slot, messageType: "snapshot", ...snapshot });
        return;
      }
      case "marketStatsV2":
        send(connection, statsV2Message(world, params.symbols as readonly string[] | undefined));
        return;
      case "marketStats":
      case "market":
      case "markPrice":
      case "fundingRate":
        for (const market of world.markets.values()) {
          if (concerns(params.symbol, market)) send(connection, marketMessage(world, channel, market));
        }
        return;
      case "allMids":
        send(connection, mids(world));
        return;
      case "candles":
      case "orderbook":
      case "l2Book":
        for (const market of world.markets.values()) {
          if (!concerns(symbolOf(params), market)) continue;
          const message =
            channel === "candles"
              ? candleMessage(world, market, params.timeframe as string)
              : bookMessage(world, channel, market, params.bypassExecutionBand === true);
          if (message !== null) send(connection, message);
        }
        return;
      case "exchange":
        send(connection, exchangeFeed.snapshot(params.encoding === "json" ? "json" : "base64+zstd"));
        return;
      default:
    }
  }

  function tellAccounts(change: Change): void {
    const byOwner = new Map<string, { authority: string; pdaIndex: number; deltas: Delta[] }>();
    for (const [account, what] of change.accounts) {
      const { authority } = account.wallet;
      const key = keyOf("traderState", { authority, traderPdaIndex: account.pdaIndex });
      if (!subscribers.has(key)) continue;
      const owner = byOwner.get(key) ?? { authority, pdaIndex: account.pdaIndex, deltas: [] };
      owner.deltas.push(deltaOf(world, account, what));
      byOwner.set(key, owner);
    }
    for (const [key, { authority, pdaIndex, deltas }] of byOwner) {
      const message = {
        channel: "traderState",
        authority,
        traderPdaIndex: pdaIndex,
        slot: change.slot,
        messageType: "delta",
        deltas,
      };
      broadcast(key, message);
    }
  }

  function tellNotifications(change: Change): void {
    for (const { wallet, notification } of change.notifications) {
      const account = notification.account ?? world.wallets.get(wallet)?.accounts.get("0.0");
      broadcast(keyOf("notifications", { authority: wallet }), {
        channel: "notification",
        payload: { ...notificationItem(notification), acked: false },
        authority: wallet,
        traderPubkey: account?.address ?? null,
        traderPdaIndex: account?.pdaIndex ?? 0,
      });
    }
  }

  function flush(): void {
    if (connections.size === 0) {
      // Who connects later is told what changes from then on.
      sent.clear();
      status = { ...world.exchange };
      exchangeFeed.changes();
      return;
    }
    let midsMoved = false;
    const statsMoved = new Set<string>();
    for (const market of world.markets.values()) {
      const { symbol } = market.spec;
      const now: Sent = {
        mark: market.markTicks,
        oracle: market.oracleTicks,
        rate: currentRate(market),
        fills: market.fills.last,
        book: market.bookSequence,
      };
      const before = sent.get(symbol);
      sent.set(symbol, now);
      const moved = before?.mark !== now.mark;
      midsMoved ||= moved;
      if (moved) tellMarket("markPrice", market);
      if (before?.rate !== now.rate) tellMarket("fundingRate", market);
      if (moved || before?.oracle !== now.oracle || before?.rate !== now.rate) {
        tellMarket("marketStats", market);
        tellMarket("market", market);
        statsMoved.add(symbol);
      }
      if (moved || before?.book !== now.book) tellBook(market);
      if (moved || before?.fills !== now.fills) tellCandles(market);
      if (before && before.fills !== now.fills) {
        const fills = market.fills.since(before.fills).map((it) => publicFill(world, symbol, it));
        const trades = market.fills.since(before.fills).map((it) => publicTrade(world, symbol, it));
        broadcast(keyOf("trades", { symbol }), { channel: "trades", symbol, trades });
        const message = { channel: "fills", symbol, fills };
        broadcast(keyOf("fills", {}), message);
        broadcast(keyOf("fills", { marketSymbol: symbol }), message);
      }
    }
    if (midsMoved) broadcast(keyOf("allMids", {}), mids(world));
    if (statsMoved.size > 0) tellStatsV2(statsMoved);
    tellStatus();
    tellExchange();
    for (const connection of connections) endSession(connection);
  }

  /** Each subscription is sent the markets that moved, of those that it is about. */
  function tellStatsV2(moved: ReadonlySet<string>): void {
    for (const key of subscribers.keys()) {
      if (!key.startsWith("marketStatsV2 ")) continue;
      const wanted = key.split(" ")[3] ?? "";
      const some = [...moved].filter((symbol) => wanted === "" || wanted.split(",").includes(symbol));
      if (some.length > 0) broadcast(key, statsV2Message(world, some));
    }
  }

  function tellMarket(channel: PriceChannel, market: Market): void {
    const keys = [keyOf(channel, { symbol: market.spec.symbol })];
    if (channel === "marketStats") keys.push(keyOf(channel, {}));
    if (!keys.some((key) => subscribers.has(key))) return;
    const message = marketMessage(world, channel, market);
    for (const key of keys) broadcast(key, message);
  }

  function tellBook(market: Market): void {
    for (const channel of ["orderbook", "l2Book"] as const satisfies readonly BookChannel[]) {
      for (const bypassExecutionBand of [false, true]) {
        const key = keyOf(channel, { symbol: market.spec.symbol, bypassExecutionBand });
        if (subscribers.has(key)) broadcast(key, bookMessage(world, channel, market, bypassExecutionBand));
      }
    }
  }

  function tellExchange(): void {
    for (const message of exchangeFeed.changes()) broadcast(keyOf("exchange", {}), message);
  }

  function tellCandles(market: Market): void {
    for (const timeframe of TIMEFRAMES) {
      const key = keyOf("candles", { symbol: market.spec.symbol, timeframe });
      if (!subscribers.has(key)) continue;
      const message = candleMessage(world, market, timeframe);
      if (message !== null) broadcast(key, message);
    }
  }

  function tellStatus(): void {
    const now = { ...world.exchange };
    const previous = status;
    status = now;
    const same =
      now.active === previous.active &&
      now.gated === previous.gated &&
      now.withdrawalsAvailable === previous.withdrawalsAvailable;
    if (same) return;
    broadcast(keyOf("exchangeStatus", {}), statusMessage(world, `es-${nextStatus++}`, previous));
  }

  /** A socket outlives its token by the grace window, and its session not at all. */
  function endSession({ socket, token }: Connection): void {
    if (!token) return;
    const { session, jti, expiresMs } = token;
    let code: TokenFault | null = null;
    if (!session || session.revoked) code = "session_missing";
    else if (session.expired.has(jti) || expiresMs + parts.graceMs <= world.nowMs)
      code = "access_token_expired";
    if (code !== null) socket.close(4401, code);
  }

  function broadcast(key: string, message: object): void {
    const all = subscribers.get(key);
    if (!all) return;
    const text = JSON.stringify(message);
    for (const connection of all) sendText(connection, text);
  }

  const send = (connection: Connection, message: object) => sendText(connection, JSON.stringify(message));

  function sendText({ socket }: Connection, text: string): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (socket.bufferedAmount > maxBufferedBytes) socket.terminate();
    else socket.send(text);
  }

  function stop(): void {
    cancelPing();
    world.listeners.delete(onChange);
    for (const { socket } of connections) socket.terminate();
    server.close();
  }

  return { upgrade, enter, flush, stop };
}

/** The market of a subscription, under any of its names. */
const symbolOf = (params: Readonly<Record<string, unknown>>): unknown =>
  params.symbol ?? params.marketSymbol ?? params.coin;

/** Channels of newer servers, which a contract of the older ones does not name. */
const newerChannels: ReadonlySet<ChannelName> = new Set<ChannelName>(["marketStatsV2", "trades"]);

/** One key for a subscription, however its symbol was written. How a snapshot is encoded is no part of it. */
function keyOf(channel: ChannelName, params: Readonly<Record<string, unknown>>): string {
  const symbol = symbolOf(params);
  const symbols = Array.isArray(params.symbols) ? params.symbols.map(String).sort() : [symbol ?? ""];
  const symbolKey = symbols.join(",").toUpperCase();
  const form = `${params.timeframe ?? ""}${params.bypassExecutionBand === true ? "whole" : ""}`;
  return `${channel} ${params.authority ?? ""} ${params.traderPdaIndex ?? ""} ${symbolKey} ${form}`;
}

const concerns = (symbol: unknown, market: Market): boolean =>
  typeof symbol !== "string" || symbol.toUpperCase() === market.spec.symbol;

/** `phoenix-jwt, <token>`, `phoenix-jwt=<token>`, `phoenix-jwt:<token>`, or a bearer header; null: anonymous. */
function tokenOf(headers: IncomingHttpHeaders): string | null {
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((it) => it.trim());
  for (const [index, one] of offered.entries()) {
    if (one === protocol) return offered[index + 1] ?? null;
    const joined = /^phoenix-jwt[=:](.+)$/.exec(one);
    if (joined) return joined[1] as string;
  }
  return /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? "")?.[1] ?? null;
}
