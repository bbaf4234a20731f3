/** Subscriptions of the connections to the stream, and the sending of messages to them. */
import { WebSocket } from "ws";
import type { ChannelName } from "../../contract/stream/stream-channels.ts";
import type { SeenToken } from "../server/sessions.ts";

/** A reader that lags this far behind is cut off. */
const maxBufferedBytes = 8_388_608;

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

export interface Connection {
  readonly socket: StreamEnd;
  readonly clientId: string;
  /** Null: anonymous. */
  readonly token: SeenToken | null;
  /** Keys. */
  readonly subscriptions: Set<string>;
}

export class Subscribers {
  readonly #byKey = new Map<string, Set<Connection>>();

  /** The keys of the subscriptions that somebody has. */
  keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  join(connection: Connection, key: string): void {
    connection.subscriptions.add(key);
    const all = this.#byKey.get(key);
    if (all) all.add(connection);
    else this.#byKey.set(key, new Set([connection]));
  }

  leave(connection: Connection, key: string): void {
    connection.subscriptions.delete(key);
    const all = this.#byKey.get(key);
    all?.delete(connection);
    if (all?.size === 0) this.#byKey.delete(key);
  }

  broadcast(key: string, message: object): void {
    const all = this.#byKey.get(key);
    if (!all) return;
    const text = JSON.stringify(message);
    for (const connection of all) sendText(connection, text);
  }
}

export function send(connection: Connection, message: object): void {
  sendText(connection, JSON.stringify(message));
}

function sendText({ socket }: Connection, text: string): void {
  if (socket.readyState !== WebSocket.OPEN) return;
  if (socket.bufferedAmount > maxBufferedBytes) socket.terminate();
  else socket.send(text);
}

/** One key for a subscription, however its symbol was written. How a snapshot is encoded is no part of it. */
export function keyOf(channel: ChannelName, params: Readonly<Record<string, unknown>>): string {
  const symbol = symbolOf(params);
  const symbols = Array.isArray(params.symbols) ? params.symbols.map(String).sort() : [symbol ?? ""];
  const symbolKey = symbols.join(",").toUpperCase();
  const form = `${params.timeframe ?? ""}${params.bypassExecutionBand === true ? "whole" : ""}`;
  return `${channel} ${params.authority ?? ""} ${params.traderPdaIndex ?? ""} ${symbolKey} ${form}`;
}

/** The market of a subscription, under any of its names. */
export const symbolOf = (params: Readonly<Record<string, unknown>>): unknown =>
  params.symbol ?? params.marketSymbol ?? params.coin;
