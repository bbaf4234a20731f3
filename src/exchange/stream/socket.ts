/**
 * One WebSocket to the exchange, until it ends: opened, read as text, ended for one reason. The caller (link.ts)
 * interprets the text, and decides on a reconnect.
 *
 * No compression: a small frame must not expand into a large one here. A frame above the limit ends the connection.
 */
import { WebSocket } from "ws";
import { retryAfterMs } from "../requests/retry-after.ts";

/** The reason for the end of a connection. */
export type SocketEnd =
  /** The handshake got an answer other than an upgrade. */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly body: string;
      readonly retryAfterMs: number | null;
    }
  /** Closed in order, by either side. 1006: without a close frame. */
  | { readonly kind: "closed"; readonly code: number; readonly reason: string }
  /** It never opened, or failed. */
  | { readonly kind: "failed"; readonly detail: string };

export interface SocketEvents {
  readonly onOpen: () => void;
  /** Called with whole text frames, in order. */
  readonly onText: (text: string) => void;
  /** Called for a binary frame, which is ignored. */
  readonly onBinary: () => void;
  /** Called for anything received: frames, pings, pongs. */
  readonly onHeard: () => void;
  /** Called once, as the last call. */
  readonly onEnd: (end: SocketEnd) => void;
}

export interface SocketOptions extends SocketEvents {
  readonly url: string;
  /** Null: anonymous. */
  readonly token: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly nowMs: () => number;
}

export interface StreamSocket {
  /** Returns false if the other side takes no more data, or it is not open. */
  send(text: string): boolean;
  ping(): void;
  /** Ends it at once; `onEnd` follows. */
  end(reason: string): void;
}

/** Opens a connection, or a test double. */
export type OpenSocket = (options: SocketOptions) => StreamSocket;

const PROTOCOL = "phoenix-jwt";
/** Maximum frame; a snapshot of a wallet with thousands of orders is far smaller. */
const maxFrameBytes = 8 * 1_048_576;
const maxUnsentBytes = 4 * 1_048_576;
const maxBody = 2_000;

export function openSocket(options: SocketOptions): StreamSocket {
  const { onEnd, onHeard } = options;
  let ended = false;
  let asked: string | null = null;
  const end = (why: SocketEnd) => {
    if (ended) return;
    ended = true;
    onEnd(asked === null ? why : { kind: "failed", detail: asked });
  };
  let socket: WebSocket;
  try {
    socket = new WebSocket(options.url, options.token === null ? [] : [PROTOCOL, options.token], {
      headers: { ...options.headers },
      perMessageDeflate: false,
      maxPayload: maxFrameBytes,
      followRedirects: false,
    });
  } catch {
    // A token that is invalid in a header; its text stays out of the message.
    queueMicrotask(() => end({ kind: "failed", detail: "the connection cannot be asked for" }));
    return { send: () => false, ping: () => {}, end: () => {} };
  }
  let failure = "the connection broke";
  socket.on("open", () => {
    onHeard();
    options.onOpen();
  });
  socket.on("message", (data, binary) => {
    if (ended) return;
    onHeard();
    if (binary) options.onBinary();
    else options.onText(String(data));
  });
  socket.on("ping", onHeard);
  socket.on("pong", onHeard);
  socket.on("unexpected-response", (_request, response) => {
    const { statusCode = 0, headers } = response;
    const wait = typeof headers["retry-after"] === "string" ? headers["retry-after"] : null;
    let body = "";
    const refused = () => {
      end({ kind: "refused", status: statusCode, body, retryAfterMs: retryAfterMs(wait, options.nowMs()) });
      socket.terminate();
    };
    response.setEncoding("utf8");
    response.on("data", (part: string) => {
      body += part;
      if (body.length > maxBody) {
        body = body.slice(0, maxBody);
        refused();
      }
    });
    response.on("end", refused);
    response.on("error", refused);
    response.on("aborted", refused);
  });
  socket.on("error", (error) => {
    failure = messageOf(error);
  });
  socket.on("close", (code, reason) => {
    if (code === 1006 || code === 1005) end({ kind: "failed", detail: failure });
    else end({ kind: "closed", code, reason: String(reason).slice(0, 123) });
  });
  return {
    send(text) {
      if (socket.readyState !== WebSocket.OPEN) return false;
      if (socket.bufferedAmount > maxUnsentBytes) return false;
      socket.send(text, () => {});
      return true;
    },
    ping() {
      if (socket.readyState === WebSocket.OPEN) socket.ping(undefined, undefined, () => {});
    },
    end(reason) {
      asked ??= reason;
      socket.terminate();
    },
  };
}

function messageOf(error: Error): string {
  const { code } = error as { code?: unknown };
  if (error.message !== "") return error.message;
  return typeof code === "string" ? code : "the connection broke";
}
