/** The local Discord's gateway: hello, identify, ready, heartbeats, resume, and going away on demand. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { Watched } from "./wait.ts";

export interface GatewaySession {
  readonly sessionId: string;
  readonly intents: number;
  readonly resumed: boolean;
  /** Heartbeats acknowledged on this connection. */
  heartbeats: number;
  open: boolean;
}

export interface LocalGateway {
  /** Connections that identified or resumed, oldest first. */
  readonly sessions: readonly GatewaySession[];
  waitForSession(fits?: (session: GatewaySession) => boolean, timeoutMs?: number): Promise<GatewaySession>;
  /** Connections ever tried, refused ones among them. */
  readonly attempts: number;
  /** While true, connections are refused with 503 and `GET /gateway/bot` answers 503. */
  down: boolean;
  /** Closes every connection with this code (default 1001, "going away"). */
  drop(code?: number): void;
  /** Sends a dispatch to every ready connection. */
  dispatch(type: string, data: object): void;
}

const opcodes = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  invalidSession: 9,
  hello: 10,
  ack: 11,
} as const;

export class Gateway implements LocalGateway {
  readonly #watched = new Watched<GatewaySession>();
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #ready = new Map<WebSocket, GatewaySession>();
  readonly #known = new Set<string>();
  readonly #options: {
    token: () => string;
    user: object;
    applicationId: string;
    url: () => string;
    heartbeatMs: number;
  };
  #sequence = 0;
  #count = 0;
  down = false;
  attempts = 0;

  constructor(options: {
    token: () => string;
    user: object;
    applicationId: string;
    url: () => string;
    heartbeatMs: number;
  }) {
    this.#options = options;
  }

  get sessions(): readonly GatewaySession[] {
    return this.#watched.items;
  }

  waitForSession(fits: (session: GatewaySession) => boolean = (session) => session.open, timeoutMs?: number) {
    return this.#watched.waitFor(fits, timeoutMs);
  }

  drop(code = 1001): void {
    for (const socket of this.#server.clients) socket.close(code);
  }

  dispatch(type: string, data: object): void {
    for (const socket of this.#ready.keys()) this.#dispatch(socket, type, data);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.attempts += 1;
    if (this.down) {
      socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n");
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (connection) => this.#accept(connection));
  }

  close(): void {
    for (const socket of this.#server.clients) socket.terminate();
    this.#server.close();
  }

  #send(socket: WebSocket, op: number, d: unknown, more: object = {}): void {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify({ op, d, s: null, t: null, ...more }));
  }

  #dispatch(socket: WebSocket, type: string, data: unknown): void {
    this.#sequence += 1;
    this.#send(socket, opcodes.dispatch, data, { s: this.#sequence, t: type });
  }

  #accept(socket: WebSocket): void {
    this.#send(socket, opcodes.hello, { heartbeat_interval: this.#options.heartbeatMs });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      const session = this.#ready.get(socket);
      this.#ready.delete(socket);
      if (session === undefined) return;
      session.open = false;
      this.#watched.changed();
    });
    socket.on("message", (bytes) => {
      let packet: { op?: unknown; d?: unknown };
      try {
        packet = JSON.parse(String(bytes));
      } catch {
        socket.close(4002, "Decode error");
        return;
      }
      this.#receive(socket, packet.op, (packet.d ?? {}) as Record<string, unknown>);
    });
  }

  #receive(socket: WebSocket, op: unknown, data: Record<string, unknown>): void {
    const session = this.#ready.get(socket);
    switch (op) {
      case opcodes.heartbeat:
        this.#send(socket, opcodes.ack, null);
        if (session === undefined) return;
        session.heartbeats += 1;
        this.#watched.changed();
        return;
      case opcodes.identify: {
        if (session !== undefined) {
          socket.close(4005, "Already authenticated");
          return;
        }
        if (data.token !== this.#options.token()) {
          socket.close(4004, "Authentication failed");
          return;
        }
        if (!Number.isInteger(data.intents)) {
          socket.close(4013, "Invalid intents");
          return;
        }
        this.#count += 1;
        const sessionId = `session-${this.#count}`;
        this.#known.add(sessionId);
        this.#open(socket, {
          sessionId,
          intents: Number(data.intents),
          resumed: false,
          heartbeats: 0,
          open: true,
        });
        this.#dispatch(socket, "READY", {
          v: 10,
          user: this.#options.user,
          guilds: [],
          session_id: sessionId,
          resume_gateway_url: this.#options.url(),
          shard: data.shard,
          application: { id: this.#options.applicationId, flags: 0 },
        });
        return;
      }
      case opcodes.resume: {
        const sessionId = String(data.session_id);
        if (data.token !== this.#options.token()) {
          socket.close(4004, "Authentication failed");
          return;
        }
        if (!this.#known.has(sessionId)) {
          this.#send(socket, opcodes.invalidSession, false);
          return;
        }
        this.#open(socket, { sessionId, intents: 0, resumed: true, heartbeats: 0, open: true });
        this.#dispatch(socket, "RESUMED", {});
        return;
      }
      default:
        if (session === undefined) socket.close(4003, "Not authenticated");
    }
  }

  #open(socket: WebSocket, session: GatewaySession): void {
    this.#ready.set(socket, session);
    this.#watched.add(session);
  }
}
