/** A Slack whose Socket Mode, and a Telegram whose updates are malice: `node hostile-slack.ts`; see hostile-service.ts. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { serve } from "./hostile-service.ts";

/** Frames are as large as the daemon reads them. */
export const socketsOfMalice = [
  ...["answers unread", "envelopes", "junk", "large frames", "deep", "pings", "fragments"],
  ...["presses", "presses of somebody allowed", "hello and gone", "disconnects"],
] as const;
export type SocketMalice = (typeof socketsOfMalice)[number];

export const updatesOfMalice = [
  "updates",
  "presses",
  "presses of somebody allowed",
  "one at a time",
  "deep",
] as const;
export type UpdateMalice = (typeof updatesOfMalice)[number];

export interface SlackOrders {
  readonly socket: SocketMalice | null;
  readonly updates: UpdateMalice | null;
}

export const ids = { channel: "C0123456789", user: "U0123456789", chat: 5, person: 7 } as const;

let port = 0;
let number = 0;

/** An unmasked frame. */
function frame(text: string, operation = 1, isLast = true): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.alloc(payload.length < 126 ? 2 : payload.length < 65_536 ? 4 : 10);
  head[0] = (isLast ? 0x80 : 0) | operation;
  head[1] = payload.length < 126 ? payload.length : payload.length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(payload.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

const repeated = (count: number, make: () => Buffer) => Buffer.concat(Array.from({ length: count }, make));

function press(user: string): Buffer {
  const id = `p${++number}`;
  const payload = {
    ...{ type: "block_actions", user: { id: user, username: "anna\u202e\n" }, channel: { id: ids.channel } },
    actions: [{ action_id: `pw:ack:${number}:abc:1` }],
  };
  return frame(JSON.stringify({ type: "interactive", envelope_id: id, payload }));
}

/** Writes without end, as fast as it is read. Prints `sent BYTES` at the end of the connection. */
function pump(one: WebSocket, socket: Socket, next: () => Buffer): void {
  let sent = 0;
  socket.on("close", () => console.log(`sent ${sent}`));
  const go = () => {
    if (one.readyState !== WebSocket.OPEN || socket.destroyed) return;
    const bytes = next();
    sent += bytes.length;
    if (socket.write(bytes)) setImmediate(go);
    else socket.once("drain", go);
  };
  go();
}

function greet(one: WebSocket, socket: Socket, malice: SocketMalice | null): unknown {
  one.send(JSON.stringify({ type: "hello" }));
  const envelopes = () =>
    repeated(500, () => frame(JSON.stringify({ type: "x", envelope_id: "e".repeat(199) })));
  const same = (bytes: Buffer) => pump(one, socket, () => bytes);
  switch (malice) {
    case null:
      return;
    case "answers unread":
      socket.pause();
      return same(envelopes());
    case "envelopes":
      return same(envelopes());
    case "junk":
      return same(repeated(4_000, () => frame("{}")));
    case "large frames":
      return same(
        frame(JSON.stringify({ type: "x", payload: Array.from({ length: 31_000 }, (_, i) => [i]) })),
      );
    case "deep":
      return same(frame(`{"type":"x","payload":${"[".repeat(125_000)}${"]".repeat(125_000)}}`));
    case "pings":
      return same(repeated(500, () => frame("x".repeat(100), 9)));
    case "fragments":
      return same(Buffer.concat([frame("{", 1, false), repeated(10_000, () => frame(" ", 0, false))]));
    case "presses":
      return pump(one, socket, () => repeated(200, () => press("U0000000666")));
    case "presses of somebody allowed":
      return pump(one, socket, () => repeated(200, () => press(ids.user)));
    case "hello and gone":
      return one.close();
    case "disconnects":
      return one.send(JSON.stringify({ type: "disconnect", reason: "refresh_requested" }));
  }
}

/** Updates of a megabyte. */
function updates(malice: UpdateMalice | null): string {
  if (malice === null) return '{"ok":true,"result":[]}';
  if (malice === "deep")
    return `{"ok":true,"result":[{"update_id":${++number},"x":${"[".repeat(500_000)}${"]".repeat(500_000)}}]}`;
  const parts: string[] = [];
  for (let length = 0; length < 1_000_000; length += parts.at(-1)!.length) {
    const id = ++number;
    const from = malice === "presses" ? 9 : ids.person;
    const query = {
      ...{ id: `${id}`, from: { id: from, first_name: "anna" }, data: `pw:ack:${id}:abc:1` },
      message: { message_id: 1, chat: { id: ids.chat } },
    };
    parts.push(JSON.stringify({ update_id: id, ...(malice === "updates" ? {} : { callback_query: query }) }));
    if (malice === "one at a time") break;
  }
  return `{"ok":true,"result":[${parts.join(",")}]}`;
}

function answer(
  { url = "" }: IncomingMessage,
  response: ServerResponse,
  orders: SlackOrders | null,
): unknown {
  const send = (body: object | string) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
  const malice = orders?.updates ?? null;
  if (/connections\.open$/.test(url)) return send({ ok: true, url: `ws://127.0.0.1:${port}/socket` });
  if (/getUpdates$/.test(url)) {
    if (malice === null) setTimeout(() => send(updates(null)), 1_000);
    else send(updates(malice));
    return;
  }
  if (/\/bot/.test(url)) return send({ ok: true, result: { message_id: 3, username: "bot" } });
  return send({ ok: true, ts: "1763696478.000001", channel: ids.channel });
}

if (import.meta.main)
  await serve<SlackOrders>({
    listens(at) {
      port = at;
    },
    answer,
    greet: (one, socket, orders) => greet(one, socket, orders?.socket ?? null),
  });
