/** Slack's Socket Mode: addresses for one connection each, hello, envelopes that have to be answered, and asking for another connection. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { Watched } from "./wait.ts";

const taken = z.strictObject({ envelope_id: z.string() });

export interface SlackEnvelope {
  readonly id: string;
  readonly frame: string;
  /** Connections over which it was answered, by number. */
  readonly takenOver: number[];
}

export interface SlackConnection {
  readonly number: number;
  readonly socket: WebSocket;
  open: boolean;
}

export class SlackSockets implements AsyncDisposable {
  readonly #server: WebSocketServer;
  readonly #tickets = new Set<string>();
  readonly connections = new Watched<SlackConnection>();
  readonly envelopes = new Watched<SlackEnvelope>();
  /** Frames that Slack does not know. */
  readonly wrong: string[] = [];
  #count = 0;

  constructor(server: WebSocketServer) {
    this.#server = server;
    server.on("connection", (socket, request) => this.#accept(socket, request.url ?? ""));
  }

  /** An address for one connection. */
  address(): string {
    const ticket = `t1ck3t-never-to-be-shown-${++this.#count}`;
    this.#tickets.add(ticket);
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/link/?ticket=${ticket}&app_id=A1`;
  }

  /** Sends an envelope over a connection. @param over its number; left out: the newest */
  send(payload: object, over?: number): SlackEnvelope {
    const id = `e${++this.#count}-4f1d`;
    const frame = JSON.stringify({
      ...{ type: "interactive", envelope_id: id, accepts_response_payload: false, payload },
    });
    const envelope: SlackEnvelope = { id, frame, takenOver: [] };
    this.envelopes.add(envelope);
    this.#to(over).socket.send(frame);
    return envelope;
  }

  /** Sends an envelope once more, as when its answer got lost. */
  again(envelope: SlackEnvelope): void {
    this.#to(undefined).socket.send(envelope.frame);
  }

  /** Anything else. */
  say(frame: string): void {
    this.#to(undefined).socket.send(frame);
  }

  disconnect(reason: "warning" | "refresh_requested" | "link_disabled"): void {
    this.say(JSON.stringify({ type: "disconnect", reason, debug_info: { host: "applink-1" } }));
  }

  drop(): void {
    for (const { socket } of this.connections.items) socket.terminate();
  }

  connected(number: number): Promise<SlackConnection> {
    return this.connections.waitFor((one) => one.number === number);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.drop();
    await new Promise((done) => this.#server.close(done));
  }

  #to(number: number | undefined): SlackConnection {
    const open = this.connections.items.filter((one) => one.open);
    const found = number === undefined ? open.at(-1) : open.find((one) => one.number === number);
    if (found === undefined) throw new Error("nobody is connected");
    return found;
  }

  #accept(socket: WebSocket, url: string): void {
    const ticket = new URL(url, "ws://slack").searchParams.get("ticket") ?? "";
    if (!this.#tickets.delete(ticket)) {
      socket.close(1008, "ticket is used");
      return;
    }
    const number = this.connections.items.length + 1;
    const connection: SlackConnection = { number, socket, open: true };
    socket.on("close", () => {
      connection.open = false;
      this.connections.changed();
    });
    socket.on("message", (data) => this.#take(String(data), connection));
    const hello = { type: "hello", num_connections: 1, debug_info: {}, connection_info: { app_id: "A1" } };
    socket.send(JSON.stringify(hello));
    this.connections.add(connection);
  }

  #take(text: string, { number, socket }: SlackConnection): void {
    const frame = taken.safeParse(JSON.parse(text));
    const envelope = this.envelopes.items.find(({ id }) => id === frame.data?.envelope_id);
    if (envelope === undefined) {
      this.wrong.push(text);
      socket.close(1008, "unknown frame");
      return;
    }
    envelope.takenOver.push(number);
    this.envelopes.changed();
  }
}

/** @param isMute pings are not answered */
export async function startSlackSockets(isMute = false): Promise<SlackSockets> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, autoPong: !isMute });
  await once(server, "listening");
  return new SlackSockets(server);
}
