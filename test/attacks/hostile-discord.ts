/**
 * A Discord that answers its bot with malice, over REST and its gateway: `node hostile-discord.ts`. Prints its port; each line on its
 * standard input is a JSON value { rest, gateway } with the ways of answering from then on. Prints `asked PATH` for each request to REST
 * that is not about a registration, and `connected` for each connection to the gateway.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { WebSocket } from "ws";
import { serve } from "./hostile-service.ts";

export const restOfMalice = [
  ...["endless body", "slow body", "silence", "large body", "large refusal", "gzip bomb", "redirect"],
  ...["malformed", "wrong types", "deep", "Retry-After of a year", "limit of a year", "wait below zero"],
  ...["cut", "no HTTP", "huge headers", "no id", "gateway elsewhere"],
] as const;
export type RestMalice = (typeof restOfMalice)[number];

export const gatewaysOfMalice = [
  ...["beat 0", "beat 1", "beat below zero", "beat of a century", "beat of text", "no hello", "large frames"],
  ...["huge head", "unknown operations", "reconnect at once", "invalid sessions", "invalid without a word"],
  ...["ready again and again", "close at once", "beats asked for", "presses", "dispatches", "no JSON"],
] as const;
export type GatewayMalice = (typeof gatewaysOfMalice)[number];

export interface DiscordOrders {
  readonly rest: RestMalice | null;
  readonly gateway: GatewayMalice | null;
}

export const ids = {
  ...{ bot: "1100000000000000001", guild: "1100000000000000002", channel: "1100000000000000003" },
  ...{ application: "1100000000000000006", user: "1100000000000000008" },
} as const;

const json = { "content-type": "application/json" };
const million = "x".repeat(1_000_000);
const bomb = import.meta.main ? gzipSync(Buffer.alloc(200_000_000)) : Buffer.alloc(0);
let port = 0;
let made = 0n;

const bot = {
  id: ids.bot,
  username: "perpwatch",
  discriminator: "0",
  bot: true,
  avatar: null,
  global_name: null,
};

/** The answers of a Discord that is well. */
function well({ method, url = "" }: IncomingMessage, response: ServerResponse): unknown {
  const send = (body: unknown, status = 200) => {
    response.writeHead(status, json);
    response.end(JSON.stringify(body));
  };
  if (/gateway\/bot/.test(url)) return send(gatewayAt(`ws://127.0.0.1:${port}/gateway`));
  if (/users\/@me$/.test(url)) return send(bot);
  if (/applications\/@me$/.test(url)) return send({ id: ids.application });
  if (/commands$/.test(url)) return send([]);
  if (/members\//.test(url)) return send({ user: bot, roles: [] });
  if (/guilds\/\d+$/.test(url)) return send({ id: ids.guild, roles: [{ id: ids.guild, permissions: "8" }] });
  if (/channels\/\d+$/.test(url))
    return send({ id: ids.channel, type: 0, guild_id: ids.guild, name: "alerts" });
  if (method === "GET") return send([]);
  made += 1n;
  return send({ id: String(1_187_000_000_000_000_000n + made), channel_id: ids.channel, author: bot });
}

const gatewayAt = (url: string) => ({
  ...{ url, shards: 1 },
  session_start_limit: { total: 1_000, remaining: 1_000, reset_after: 0, max_concurrency: 1 },
});

function malign(
  rest: RestMalice,
  incoming: IncomingMessage,
  response: ServerResponse,
  elsewhere: string,
): unknown {
  const { socket } = incoming;
  const send = (text: string, status = 200, headers: Record<string, string | number> = {}) => {
    response.writeHead(status, { ...json, ...headers });
    response.end(text);
  };
  const bit = (act: () => void, everyMs: number) => {
    const timer = setInterval(act, everyMs);
    socket.on("close", () => clearInterval(timer));
  };
  switch (rest) {
    case "endless body": {
      response.writeHead(200, json);
      const more = () => {
        while (!socket.destroyed && response.write(million));
      };
      response.on("drain", more);
      more();
      return;
    }
    case "slow body":
      response.writeHead(200, json);
      return bit(() => response.write(" "), 100);
    case "silence":
      return;
    case "large body":
      return send(`{"id":"1","content":"${"x".repeat(50_000_000)}"}`);
    case "large refusal":
      return send(
        `{"code":50035,"message":"${"\\\\".repeat(5_000_000)}","errors":{"a":${"[".repeat(50_000)}`,
        400,
      );
    case "gzip bomb":
      response.writeHead(200, { ...json, "content-encoding": "gzip" });
      response.end(bomb);
      return;
    case "redirect":
      return send("", 307, { location: `${elsewhere}${incoming.url}` });
    case "malformed":
      return send('{"id": "1187');
    case "wrong types":
      return send(
        '{"id":{"toString":1},"url":5,"shards":"x","guild_id":[],"session_start_limit":null,"roles":1}',
      );
    case "deep":
      return send(`${'{"errors":['.repeat(100_000)}1${"]}".repeat(100_000)}`, 400);
    case "Retry-After of a year":
      return send("{}", 503, { "retry-after": 31_536_000 });
    case "limit of a year":
      return send('{"retry_after":31536000,"global":true,"message":"wait"}', 429, {
        "retry-after": 31_536_000,
      });
    case "wait below zero":
      return send('{"retry_after":-1e308,"message":"wait"}', 429, { "retry-after": "-1e308" });
    case "cut":
      response.writeHead(200, { ...json, "content-length": 1_000 });
      response.write('{"id":', () => socket.destroy());
      return;
    case "no HTTP":
      socket.end("\0\xff".repeat(10_000));
      return;
    case "huge headers":
      socket.write("HTTP/1.1 200 OK\r\n");
      return bit(() => socket.write(`X: ${"y".repeat(100_000)}\r\n`), 5);
    case "no id":
      return send("null");
    case "gateway elsewhere":
      if (/gateway\/bot/.test(incoming.url ?? "")) return send(JSON.stringify(gatewayAt(elsewhere)));
      return well(incoming, response);
  }
}

const hello = (interval: unknown) => ({ op: 10, d: { heartbeat_interval: interval } });
const ready = {
  ...{ op: 0, s: 1, t: "READY" },
  d: {
    ...{ v: 10, user: bot, guilds: [], session_id: "s", shard: [0, 1] },
    application: { id: ids.application, flags: 0 },
  },
};

/** Presses and commands in forms that Discord never sends, and by people who may not. */
function* presses(): Generator<object> {
  const people = [ids.user, "1100000000000000999", "9".repeat(40), "", 5, null];
  const wishes = [
    ...[
      "pw:ack:1:abc:1",
      "pw:all:abcdefghij:1",
      "pw:mute:1:a:8:critical",
      "pw:tell:999999999999999:zzzzzzzzzz",
    ],
    ...["pw:ack:__proto__:1", "x".repeat(100), "x".repeat(1_000_000), "\u202e\n\0", "pw:ack:-1:a"],
  ];
  for (let id = 1; ; id++) {
    const person = people[id % people.length];
    yield {
      ...{ id: String(id), application_id: ids.application, type: id % 3 === 0 ? 2 : 3 },
      ...{ token: id % 5 === 0 ? "../../../channels/1/messages" : `t${id}`, channel_id: ids.channel },
      member: { user: { id: person, username: "\u202eanna\n".repeat(50) }, roles: [] },
      message: { id: "1187000000000000001" },
      data: {
        ...{ custom_id: wishes[id % wishes.length], name: ["silence", "ack", "status", "x"][id % 4] },
        options: [
          { name: "for", value: "9".repeat(300) },
          { name: "alert", value: -1e300 },
        ],
      },
    };
  }
}

/** One connection to the gateway. */
function greet(one: WebSocket, socket: Socket, gateway: GatewayMalice | null): unknown {
  one.on("error", () => {});
  const say = (value: unknown) => {
    if (one.readyState === WebSocket.OPEN && socket.writableLength < 20_000_000)
      one.send(JSON.stringify(value));
  };
  const repeat = (act: () => void, everyMs: number) => {
    const timer = setInterval(() => {
      if (one.readyState !== WebSocket.OPEN) clearInterval(timer);
      else if (socket.writableLength < 5_000_000) act();
    }, everyMs);
  };
  const goReady = () =>
    say({ ...ready, d: { ...ready.d, resume_gateway_url: `ws://127.0.0.1:${port}/gateway` } });
  one.on("message", (bytes) => {
    const { op } = JSON.parse(String(bytes)) as { op: number };
    if (op === 1) say({ op: 11 });
    if (op === 2) goReady();
    if (op === 6) say({ op: 0, s: 2, t: "RESUMED", d: {} });
    if (op !== 2 && op !== 6) return;
    if (gateway === "reconnect at once") say({ op: 7, d: null });
    if (gateway === "invalid sessions") say({ op: 9, d: op === 2 });
    if (gateway === "invalid without a word") say({ op: 9 });
    if (gateway === "close at once") one.close(4_000);
    if (gateway === "ready again and again") repeat(goReady, 2);
    if (gateway === "presses") {
      const all = presses();
      repeat(() => say({ op: 0, s: 3, t: "INTERACTION_CREATE", d: all.next().value }), 3);
    }
    if (gateway === "dispatches")
      repeat(() => {
        for (let many = 0; many < 200; many++)
          say({ op: 0, s: many, t: ["GUILD_CREATE", "MESSAGE_CREATE", "__proto__", 5][many % 4], d: null });
      }, 5);
  });
  switch (gateway) {
    case "beat 0":
      return say(hello(0));
    case "beat 1":
      return say(hello(1));
    case "beat below zero":
      return say(hello(-5));
    case "beat of a century":
      return say(hello(3e12));
    case "beat of text":
      return say(hello({ toString: 1 }));
    case "no hello":
      return;
    case "no JSON":
      return repeat(() => one.send("{".repeat(10_000)), 5);
    case "large frames":
      return repeat(() => one.send(`{"op":0,"t":"X","s":1,"d":[${"{},".repeat(10_000_000)}{}]}`), 500);
    case "huge head":
      // A head that announces 2^40 bytes, and the bytes.
      socket.write(Buffer.from("817f0000010000000000", "hex"));
      return repeat(() => socket.write(million), 2);
    case "unknown operations":
      return repeat(() => {
        for (const op of [3, 4, 8, 12, 99, -1, 1e300, "10", null, [], { a: 1 }])
          say({ op, d: {}, s: "x", t: {} });
      }, 3);
    case "beats asked for":
      say(hello(41_250));
      return repeat(() => {
        for (let many = 0; many < 100; many++) say({ op: 1, d: null });
      }, 3);
    default:
      return say(hello(41_250));
  }
}

if (import.meta.main)
  await serve<DiscordOrders>({
    listens(at) {
      port = at;
    },
    answer(incoming, response, orders, elsewhere) {
      const rest = orders?.rest ?? null;
      if (rest === null) well(incoming, response);
      else malign(rest, incoming, response, elsewhere);
    },
    greet: (one, socket, orders) => greet(one, socket, orders?.gateway ?? null),
  });
