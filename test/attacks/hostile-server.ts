/**
 * A server in front of a simulated exchange that answers some requests, and all streams, with malice: `node hostile-server.ts UPSTREAM`.
 * Prints its port; each line on its standard input is a JSON value { http, stream, victim } with the ways of answering from then on.
 * A process of its own, so that it takes no time of whom it attacks or of who looks on.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { WebSocket, WebSocketServer } from "ws";

export const answersOfMalice = [
  ...[
    "endless body",
    "slow headers",
    "slow body",
    "huge headers",
    "gzip bomb",
    "said to be gzip",
    "redirect",
    "too large",
    "long refusal",
  ],
  ...[
    "wrong type",
    "two keys",
    "many entries",
    "deep",
    "no numbers",
    "long numbers",
    "wrong length",
    "cut",
    "no HTTP",
    "empty",
  ],
  ...["silence", "Retry-After of a year", "refused for a year", "interim answers", "strange status"],
] as const;
export type Malice = (typeof answersOfMalice)[number];

export const streamsOfMalice = [
  ...[
    "huge frames",
    "compressed bomb",
    "endless pings",
    "many messages",
    "close codes",
    "no UTF-8",
    "no frames",
    "silent",
  ],
  ...["fragments without end", "masked frames", "known channels", "slow handshake"],
] as const;
export type StreamMalice = (typeof streamsOfMalice)[number];

export interface Orders {
  readonly http: Malice | null;
  readonly stream: StreamMalice | null;
  /** Requests whose address holds this are answered with malice. */
  readonly victim: string;
}

const json = { "content-type": "application/json" };
const million = "x".repeat(1_000_000);
const bomb = import.meta.main ? gzipSync(Buffer.alloc(200_000_000)) : Buffer.alloc(0);

if (import.meta.main) await serve(process.argv[2]!);

async function serve(upstream: string): Promise<void> {
  let orders: Orders = { http: null, stream: null, victim: "" };
  // Whoever follows a redirect, with credentials or without, comes here.
  const trap = createServer((incoming, response) => {
    console.log(`trap ${incoming.url} ${incoming.headers.authorization ?? "-"}`);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(trap, "listening");
  const elsewhere = `http://127.0.0.1:${(trap.address() as AddressInfo).port}`;

  const { hostname, port } = new URL(upstream);
  const server = createServer(async (incoming, response) => {
    const { http, victim } = orders;
    incoming.on("error", () => {});
    response.on("error", () => {});
    if (http !== null && (incoming.url ?? "").includes(victim)) {
      incoming.resume();
      return malign(http, incoming, response, elsewhere);
    }
    const { method = "GET", url = "/", headers } = incoming;
    const outgoing = request({ hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true });
  server.on("upgrade", (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on("error", () => {});
    const { stream } = orders;
    if (stream === null) {
      const up = connect(Number(port), hostname, () => {
        const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${value}`);
        up.write([`GET ${incoming.url} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
        up.write(head);
        socket.pipe(up).pipe(socket);
      });
      up.on("error", () => socket.destroy());
      socket.on("close", () => up.destroy());
      return;
    }
    if (stream === "slow handshake") {
      const timer = setInterval(() => socket.write("x"), 200);
      return void socket.on("close", () => clearInterval(timer));
    }
    if (stream === "no frames")
      return void socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nX: ${"y".repeat(4_000)}\r\n\r\n${"\xff".repeat(4_000)}`,
      );
    sockets.handleUpgrade(incoming, socket, head, (one) =>
      flood(stream, one, socket, () => orders.stream === stream),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  console.log(`port ${(server.address() as AddressInfo).port}`);
  for await (const line of createInterface({ input: process.stdin })) {
    orders = JSON.parse(line) as Orders;
    // Nothing of what was begun goes on.
    server.closeAllConnections();
    for (const one of sockets.clients) one.terminate();
    console.log("ready");
  }
  process.exit(0);
}

function malign(http: Malice, incoming: IncomingMessage, response: ServerResponse, elsewhere: string): void {
  const { socket } = incoming;
  const bit = (text: string, everyMs: number) => {
    const timer = setInterval(
      () => (response.headersSent ? response.write(text) : socket.write(text)),
      everyMs,
    );
    socket.on("close", () => clearInterval(timer));
  };
  const send = (text: string, headers: Record<string, string | number> = json, status = 200) => {
    response.writeHead(status, headers);
    response.end(text);
  };
  switch (http) {
    case "endless body": {
      response.writeHead(200, json);
      const more = () => {
        while (!socket.destroyed && response.write(million));
      };
      response.on("drain", more);
      more();
      return;
    }
    case "slow headers":
      socket.write("HTTP/1.1 200 OK\r\nX: ");
      bit("y", 100);
      return;
    case "slow body":
      response.writeHead(200, json);
      bit(" ", 100);
      return;
    case "huge headers":
      socket.write("HTTP/1.1 200 OK\r\n");
      bit(`X: ${"y".repeat(100_000)}\r\n`, 5);
      return;
    case "gzip bomb":
      response.writeHead(200, { ...json, "content-encoding": "gzip" });
      response.end(bomb);
      return;
    case "said to be gzip":
      send("{}", { ...json, "content-encoding": "gzip, br, deflate" });
      return;
    case "redirect":
      send(
        "",
        { location: `${elsewhere}${incoming.url}` },
        [301, 302, 307, 308][Math.floor(Math.random() * 4)],
      );
      return;
    case "too large":
      send(`"${"x".repeat(20_000_000)}"`);
      return;
    case "long refusal":
      send(`{"error":"${"a".repeat(15_000_000)}","message":"${"\\\\".repeat(500_000)}"}`, json, 400);
      return;
    case "wrong type":
      send("<html>{}</html>", { "content-type": "text/html; charset=utf-16" });
      return;
    case "two keys":
      send(
        '{"slot":1,"slot":"2","__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"snapshot":{},"snapshot":null}',
      );
      return;
    case "many entries":
      send(
        `{"items":[${'{"id":1,"__proto__":{}},'.repeat(100_000)}{}],"snapshot":{"subaccounts":[${"{},".repeat(100_000)}{}]}}`,
      );
      return;
    case "deep":
      send(`${'{"snapshot":['.repeat(200_000)}9007199254740993${"]}".repeat(200_000)}`);
      return;
    case "no numbers":
      send(
        '{"slot":1e999,"slotIndex":-1e999,"snapshot":{"subaccounts":[{"subaccountIndex":"NaN"}]},"items":[{"id":1e400}]}',
      );
      return;
    case "long numbers":
      send(`{"slot":${"9".repeat(1_000_000)},"slotIndex":"${"9".repeat(1_000_000)}"}`);
      return;
    case "wrong length":
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"a":1}HTTP/1.1 200 OK\r\n\r\n`);
      return;
    case "cut":
      response.writeHead(200, { ...json, "content-length": 1_000 });
      response.write('{"slot":', () => socket.destroy());
      return;
    case "no HTTP":
      socket.end("\0\xff".repeat(10_000));
      return;
    case "empty":
      socket.end();
      return;
    case "silence":
      return;
    case "Retry-After of a year":
      send("{}", { ...json, "retry-after": 31_536_000 }, 503);
      return;
    case "refused for a year":
      send("{}", { ...json, "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" }, 429);
      return;
    case "interim answers":
      bit("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 2);
      return;
    case "strange status":
      socket.end("HTTP/1.1 999 \x01\r\nContent-Length: 0\r\n\r\n");
      return;
  }
}

/** Attacks over a stream that was accepted. */
function flood(stream: StreamMalice, one: WebSocket, socket: Socket, goesOn: () => boolean): void {
  one.on("error", () => {});
  const repeat = (act: () => void, everyMs: number) => {
    const timer = setInterval(() => {
      if (goesOn() && one.readyState === WebSocket.OPEN) act();
      else clearInterval(timer);
    }, everyMs);
  };
  const pressed = () => socket.writableLength > 5_000_000;
  switch (stream) {
    case "huge frames":
      // A head that announces 2^53 bytes, and the bytes.
      socket.write(Buffer.from("817f0020000000000000", "hex"));
      repeat(() => pressed() || socket.write(million), 2);
      return;
    case "compressed bomb":
      repeat(() => pressed() || one.send(Buffer.alloc(30_000_000), { compress: true, binary: false }), 500);
      return;
    case "endless pings":
      repeat(() => {
        for (let many = 0; many < 2_000 && !pressed(); many++) one.ping("x".repeat(100));
      }, 5);
      return;
    case "many messages":
      repeat(() => {
        for (let many = 0; many < 1_000 && !pressed(); many++) one.send('{"channel":"unknown","a":1}');
      }, 5);
      return;
    case "known channels":
      repeat(() => {
        for (let many = 0; many < 300 && !pressed(); many++) {
          one.send('{"channel":"allMids","mids":{"SOL":1e999,"__proto__":1},"slot":1}');
          one.send('{"channel":"error","error":"x","code":{"toString":1}}');
          one.send('{"type":"subscriptionError","code":"a","message":"no","subscription":{}}');
        }
      }, 5);
      return;
    case "close codes": {
      const codes = [1000, 1001, 1008, 1011, 1013, 4401, 4403, 4000];
      one.close(codes[Math.floor(Math.random() * codes.length)], "access_token_expired");
      return;
    }
    case "no UTF-8":
      socket.write(Buffer.from([0x81, 4, 0xff, 0xfe, 0xc3, 0x28]));
      return;
    case "fragments without end":
      socket.write(Buffer.from([0x01, 1, 0x7b]));
      repeat(
        () =>
          pressed() ||
          socket.write(Buffer.concat([Buffer.from("007f00000000000f4240", "hex"), Buffer.alloc(1_000_000)])),
        2,
      );
      return;
    case "masked frames":
      socket.write(Buffer.from([0x81, 0x81, 1, 2, 3, 4, 5]));
      return;
    default:
      return;
  }
}
