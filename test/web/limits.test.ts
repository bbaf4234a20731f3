/** Limits of the TCP listener: clients above a limit are refused, and others are still answered. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/domain/clock.ts";
import { cachedAnswer } from "../../src/web/cached-answer.ts";
import { handshakeLimiter } from "../../src/web/limits/handshakes.ts";
import {
  defaultLimits,
  type LimitOptions,
  type Limits,
  limitedServer,
  type ShareLimits,
} from "../../src/web/limits/limits.ts";
import { runOneAtATime } from "../../src/web/limits/query-runner.ts";
import { silentLog } from "../../src/web/log.ts";
import { FakeClock } from "../support/clock.ts";
import { secured } from "../support/tls.ts";
import { openDashboard, openLoggedIn } from "./open.ts";
import { status } from "./world.ts";

/** A server with a stopped clock. */
async function opened(
  limits: Partial<Limits> = {},
  answer: RequestListener = (_, to) => to.end("yes"),
  tls: LimitOptions["tls"] = null,
) {
  const warnings: object[] = [];
  let elapsedMs = 0;
  const server = limitedServer(answer, {
    clock: { ...systemClock(), elapsedMs: () => elapsedMs },
    log: { debug: () => {}, info: () => {}, warn: (fields) => void warnings.push(fields), error: () => {} },
    isKnown: ({ headers }) => headers.authorization === "known",
    isKnownAddress: () => false,
    limits: { ...defaultLimits, ...limits },
    tls,
  });
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    warnings,
    port,
    pass: (ms: number) => {
      elapsedMs += ms;
    },
    ask: async (path = "/", how: RequestInit = {}) =>
      (await fetch(`http://127.0.0.1:${port}${path}`, how)).status,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const known = { headers: { authorization: "known" } };

/** Limits of all shares. */
function shares(of: Partial<ShareLimits>): Limits["shares"] {
  const one = { ...defaultLimits.shares.anonymous, ...of };
  return { known: one, monitoring: one, logins: one, anonymous: one };
}

/** A connection, and all data received until it was closed. */
async function dial(port: number): Promise<{ readonly socket: Socket; readonly all: Promise<string> }> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  return { socket, all: closed.then(() => text) };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const answers = (text: string) => text.match(/HTTP\/1\.1 \d+/g) ?? [];

describe("a connection", () => {
  test("with thousands of requests at once is closed, and makes the daemon work once", async () => {
    let made = 0;
    await using daemon = await openLoggedIn({
      status: () => {
        made++;
        return status();
      },
    });
    const { socket, all } = await dial(Number(new URL(daemon.url).port));
    socket.write(get("/api/v1/status").repeat(4_000));
    expect(answers(await all).length).toBeLessThanOrEqual(defaultLimits.inFlightPerConnection);
    expect(made).toBeLessThanOrEqual(1);
    expect((await daemon.overTcp("/healthz")).status).toBe(200);
    expect(daemon.warnings).toHaveLength(1);
  });

  test.each([
    ["answers", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "close"],
    // Its answers do not announce the last one.
    ["answers in HTTP/1.0", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive"],
  ])(
    "is closed after its number of %s, however long it may be idle",
    async (_, text, last) => {
      await using server = await opened({ requestsPerConnection: 3, idleMs: 60_000 }, (_request, to) =>
        to.setHeader("content-length", 3).end("yes"),
      );
      const { socket, all } = await dial(server.port);
      for (let index = 0; index < 3; index++) {
        socket.write(text);
        await once(socket, "data");
      }
      socket.write(text);
      const told = await all;
      expect(answers(told)).toHaveLength(3);
      expect(told.match(/(?<=^connection: )[\w-]+/gim)).toEqual(["keep-alive", "keep-alive", last]);
    },
    10_000,
  );

  test.each([
    ["sends nothing", ""],
    ["sends headers without end", "GET / HTTP/1.1\r\nHost: localhost\r\nX: "],
    ["sends a body without end", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"],
  ])("that %s is closed", async (_, text) => {
    await using server = await opened({ headersMs: 300, requestMs: 600 }, (request, to) => {
      request.resume().once("end", () => to.end());
    });
    const { socket, all } = await dial(server.port);
    socket.write(text);
    expect(answers(await all)).toEqual(["HTTP/1.1 408"]);
  });

  test("that does not end is closed by the current time limits", async () => {
    await using daemon = await openDashboard();
    const timed = async (text: string) => {
      const { socket, all } = await dial(daemon.port);
      const startMs = performance.now();
      socket.write(text);
      const dawdling = setInterval(() => socket.write("x"), 500);
      const told = await all;
      clearInterval(dawdling);
      return [answers(told), performance.now() - startMs] as const;
    };
    const login = "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    const [headers, body] = await Promise.all([
      timed("GET / HTTP/1.1\r\nHost: localhost\r\nX: "),
      timed(`${login}Content-Length: 10000\r\n\r\n{`),
    ]);
    expect([headers[0], body[0]]).toEqual([["HTTP/1.1 408"], ["HTTP/1.1 408"]]);
    expect(headers[1]).toBeLessThan(8_000);
    expect(body[1]).toBeLessThan(13_000);
  }, 30_000);

  test("above the maximum closes the one that was answered longest ago", async () => {
    await using server = await opened({ connections: 4 });
    const first = await dial(server.port);
    const silent = await dial(server.port);
    first.socket.write(get("/"));
    await once(first.socket, "data");
    const more = [await dial(server.port), await dial(server.port)];
    expect(await server.ask()).toBe(200);
    expect(await silent.all).toBe("");
    expect([first, ...more].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
    for (const { socket } of [first, ...more]) socket.destroy();
    expect(server.warnings).toEqual([{ refused: { connections: 1 } }]);
  });
});

test("a connection with a credential stays open while anonymous ones exceed the maximum", async () => {
  await using server = await opened({ connections: 4 });
  const mine = await dial(server.port);
  mine.socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: known\r\n\r\n");
  await once(mine.socket, "data");
  const anonymous = [];
  for (let index = 0; index < 12; index++) anonymous.push(await dial(server.port));
  mine.socket.write(get("/"));
  await once(mine.socket, "data");
  for (const { socket } of [mine, ...anonymous]) socket.destroy();
});

test("anonymous clients have half of the connections", async () => {
  await using server = await opened({ connections: 4 });
  const open = [];
  for (let index = 0; index < 8; index++) {
    const one = await dial(server.port);
    one.socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: known\r\n\r\n");
    await once(one.socket, "data");
    open.push(one);
  }
  expect(await server.ask()).toBe(200);
  for (const { socket } of open) socket.destroy();
});

test.each([
  ["HTTP/1.0, kept alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"],
  ["without a host", "GET / HTTP/1.1\r\n\r\n"],
  ["that expect something", "GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n"],
  ["in the shortest form", "GET / HTTP/1.1\r\nHost:a\r\n\r\n"],
  ["after their health", "GET /healthz HTTP/1.1\r\nHost:a\r\n\r\n"],
])("thousands of requests %s in one piece are not handled", async (_, text) => {
  let answered = 0;
  await using server = await opened({}, (_request, to) => {
    answered++;
    to.end();
  });
  const { socket, all } = await dial(server.port);
  socket.write(text.repeat(3_000));
  expect(answers(await all).length).toBeLessThanOrEqual(defaultLimits.inFlightPerConnection);
  expect(answered).toBeLessThanOrEqual(defaultLimits.inFlightPerConnection);
  expect(await server.ask("/healthz")).toBe(200);
});

test("a client that does not read an answer is disconnected, and others are answered meanwhile", async () => {
  const large = Buffer.alloc(6_000_000);
  await using server = await opened({ answerMs: 500, shares: shares({ inFlight: 4 }) }, (request, to) =>
    to.end(request.url === "/large" ? large : "yes"),
  );
  const deaf = await Promise.all([dial(server.port), dial(server.port)]);
  for (const { socket } of deaf) {
    socket.pause();
    socket.write(get("/large").repeat(2));
  }
  while ((await server.ask()) !== 503) await pause(5);
  expect(await server.ask("/healthz")).toBe(200);
  while ((await server.ask()) === 503) await pause(20);
  for (const { socket } of deaf) socket.destroy();
});

describe("requests", () => {
  test("above the rate are refused; /healthz is always answered", async () => {
    await using server = await opened({ shares: shares({ burst: 8, requestsPerSecond: 3 }) });
    const several = async (count: number, path?: string) => {
      const found = [];
      for (let index = 0; index < count; index++) found.push(await server.ask(path));
      return found;
    };
    expect(await several(9)).toEqual([...Array(8).fill(200), 429]);
    expect(await several(5, "/healthz")).toEqual(Array(5).fill(200));
    server.pass(1_000);
    expect(await several(5)).toEqual([200, 200, 200, 429, 429]);
    server.pass(3_600_000);
    expect(await several(9)).toEqual([...Array(8).fill(200), 429]);
    // One line a minute.
    expect(server.warnings).toEqual([{ refused: { tooMany: 1 } }, { refused: { tooMany: 3 } }]);
  });

  const each = [
    ["with a credential", "/", known],
    ["for readiness", "/readyz", {}],
    ["for metrics", "/metrics", {}],
    ["to log in", "/api/v1/session", { method: "POST" }],
  ] as const;

  test.each(each)("%s have a share that anonymous requests cannot use up", async (_, path, how) => {
    await using server = await opened({ shares: shares({ burst: 3 }) });
    for (let index = 0; index < 10; index++) await server.ask();
    expect(await server.ask()).toBe(429);
    const codes = [];
    for (let index = 0; index < 4; index++) codes.push(await server.ask(path, how));
    expect(codes).toEqual([200, 200, 200, 429]);
  });

  test.each(each)("%s are answered while too many anonymous requests are in flight", async (_, path, how) => {
    await using server = await opened({ shares: shares({ inFlight: 1 }) }, (request, to) => {
      if (request.url !== "/held") to.end();
    });
    const held = await dial(server.port);
    held.socket.write(get("/held"));
    while ((await server.ask()) !== 503) await pause(5);
    expect(await server.ask(path, how)).toBe(200);
    held.socket.destroy();
  });

  test("that are refused after the line of a minute are counted in a later one", async () => {
    const clock = new FakeClock();
    const warnings: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
    const server = limitedServer((_, to) => to.end(), {
      ...{ clock, log, isKnown: () => false, isKnownAddress: () => false },
      limits: { ...defaultLimits, shares: shares({ burst: 1 }) },
    });
    server.listen({ host: "127.0.0.1", port: 0 });
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const several = async (count: number) => {
      for (let index = 0; index < count; index++) await fetch(`http://127.0.0.1:${port}/`);
    };
    await several(4);
    expect(warnings).toEqual([{ refused: { tooMany: 1 } }]);
    await clock.advance(60_000);
    expect(warnings).toEqual([{ refused: { tooMany: 1 } }, { refused: { tooMany: 2 } }]);
    await clock.advance(600_000);
    expect(warnings).toHaveLength(2);
    await several(2);
    await several(1);
    server.close();
    server.closeAllConnections();
    await once(server, "close");
    expect(warnings.slice(2)).toEqual([{ refused: { tooMany: 1 } }, { refused: { tooMany: 1 } }]);
  });

  test("in flight are limited over all connections, and released when a client disconnects", async () => {
    const held: (() => void)[] = [];
    const arrived = { now: Promise.withResolvers<void>() };
    await using server = await opened({ shares: shares({ inFlight: 2 }) }, (request, to) => {
      if (request.url === "/held") held.push(() => to.end());
      else to.end();
      arrived.now.resolve();
    });
    const holders = [];
    for (let index = 0; index < 2; index++) {
      arrived.now = Promise.withResolvers();
      const one = await dial(server.port);
      one.socket.write(get("/held"));
      await arrived.now.promise;
      holders.push(one);
    }
    expect(await server.ask()).toBe(503);
    holders[0]!.socket.destroy();
    await holders[0]!.all;
    while ((await server.ask()) === 503) await pause(5);
    holders[1]!.socket.destroy();
  });
});

describe("over TLS", () => {
  const [cert, key] = ["crt", "key"].map((ending) =>
    readFileSync(new URL(`fixtures/first-test-only.${ending}`, import.meta.url), "utf8"),
  );
  const tls = { cert: cert!, key: key! };
  const isServed = (port: number) =>
    secured(port, cert!).then(
      (socket) => Boolean(socket.destroy()),
      () => false,
    );

  test("handshakes are limited: they take the main thread's time", async () => {
    const handshakes = { ...defaultLimits.handshakes, perSecond: 2, burst: 3 };
    await using server = await opened({ handshakes }, undefined, tls);
    const several = async (count: number) => {
      const served = [];
      for (let index = 0; index < count; index++) served.push(await isServed(server.port));
      return served;
    };
    expect(await several(5)).toEqual([true, true, true, false, false]);
    expect(server.warnings).toEqual([{ refused: { handshakes: 1 } }]);
    server.pass(1_000);
    expect(await several(3)).toEqual([true, true, false]);
  });

  test("silent connections from one address do not keep another from being served", async () => {
    await using server = await opened({}, undefined, tls);
    const silent: Socket[] = [];
    for (let index = 0; index < 300; index++) {
      const socket = connect({ port: server.port, host: "127.0.0.1", localAddress: "127.0.0.2" });
      socket.on("error", () => {});
      await once(socket, "connect");
      silent.push(socket);
    }
    const served = [];
    for (let index = 0; index < 10; index++) served.push(await isServed(server.port));
    for (const socket of silent) socket.destroy();
    expect(served).toEqual(Array(10).fill(true));
    expect(server.warnings).toEqual([{ refused: { handshakes: 1 } }]);
  });

  test("above the maximum, the connection that was answered longest ago is closed", async () => {
    await using server = await opened({ connections: 2 }, undefined, tls);
    const [first, second] = [await secured(server.port, cert!), await secured(server.port, cert!)];
    const answered = new Promise((resolve) => first.once("data", resolve));
    first.write(get("/"));
    await answered;
    const closed = new Promise((resolve) => second.once("close", resolve));
    const third = await secured(server.port, cert!);
    await closed;
    for (const socket of [first, third]) {
      const again = new Promise((resolve) => socket.once("data", resolve));
      socket.write(get("/"));
      expect(String(await again)).toMatch(/^HTTP\/1\.1 200 /);
      socket.destroy();
    }
  });

  test("thousands of requests in one piece are not handled", async () => {
    let made = 0;
    const count: RequestListener = (_request, to) => {
      made++;
      to.end();
    };
    await using server = await opened({}, count, tls);
    const socket = await secured(server.port, cert!);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume().write(get("/").repeat(3_000));
    await closed;
    expect(made).toBeLessThanOrEqual(defaultLimits.inFlightPerConnection);
  });
});

describe("handshakes", () => {
  const peer = (remoteAddress: string, localAddress = "192.0.2.1") => ({ remoteAddress, localAddress });
  const limits = { perSecond: 20, burst: 64, addressPerSecond: 5, addressBurst: 16 };
  const opened = (known: readonly string[] = [], of: Partial<typeof limits> = {}) => {
    let elapsedMs = 0;
    const take = handshakeLimiter(
      { ...systemClock(), elapsedMs: () => elapsedMs },
      ...([{ ...limits, ...of }, (address: string) => known.includes(address)] as const),
    );
    return {
      take,
      several: (count: number, of: Parameters<typeof take>[0]) =>
        Array.from({ length: count }, () => take(of)).filter(Boolean).length,
      pass: (ms: number) => {
        elapsedMs += ms;
      },
    };
  };

  test.each([
    ["an address", ["203.0.113.7", "::ffff:203.0.113.7"]],
    ["a /64 of IPv6", ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2"]],
    ["an address of loopback", ["127.0.0.1", "::ffff:127.0.0.1"]],
  ])("of %s are limited", (_, [one, other]) => {
    const { several, pass } = opened();
    expect(several(10, peer(one!)) + several(10, peer(other!))).toBe(16);
    pass(1_000);
    expect(several(20, peer(other!))).toBe(5);
  });

  test("of all addresses are limited, separately from known ones and this machine", () => {
    const { several, take, pass } = opened(["203.0.113.1", "2001:db8:0:1::/64"]);
    let taken = 0;
    for (let index = 0; index < 200; index++) taken += several(3, peer(`198.51.100.${index}`));
    expect(taken).toBe(64);
    expect(take(peer("203.0.113.2"))).toBe(false);
    for (const known of ["203.0.113.1", "2001:db8:0:1::9"]) expect(several(20, peer(known))).toBe(16);
    const own = ["127.0.0.1", "127.0.0.2", "::ffff:127.0.0.3"].map((one) => several(20, peer(one)));
    expect([...own, several(20, peer("192.0.2.1"))]).toEqual([16, 16, 16, 16]);
    // This machine has no more than its share.
    expect(take(peer("127.0.0.4"))).toBe(false);
    expect(take(peer("::1", "::1"))).toBe(false);
    pass(1_000);
    taken = 0;
    for (let index = 0; index < 200; index++) taken += several(3, peer(`198.51.100.${index}`));
    expect(taken).toBe(20);
  });

  test("are counted for a thousand addresses", () => {
    const { several } = opened([], { burst: 10_000 });
    expect(several(20, peer("203.0.113.7"))).toBe(16);
    for (let index = 0; index < 999; index++) several(1, peer(`10.0.${index >> 8}.${index & 255}`));
    expect(several(1, peer("203.0.113.7"))).toBe(0);
    for (let index = 0; index < 1_000; index++) several(1, peer(`10.1.${index >> 8}.${index & 255}`));
    expect(several(1, peer("203.0.113.7"))).toBe(1);
  });
});

describe("expensive answers", () => {
  test("the status is computed once a second for any number of requests", async () => {
    let made = 0;
    const clock = new FakeClock();
    const ask = cachedAnswer(clock, () => ++made);
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
    await clock.advance(999);
    expect(await ask()).toBe(1);
    await clock.advance(1);
    expect(await Promise.all([ask(), ask()])).toEqual([2, 2]);
  });

  test("one that failed is computed again at once", async () => {
    let made = 0;
    const ask = cachedAnswer(new FakeClock(), () => {
      if (++made === 1) throw new Error("broken");
      return made;
    });
    await expect(ask()).rejects.toThrow("broken");
    expect(await ask()).toBe(2);
  });

  test("the runner waits four times a query's duration before the next", async () => {
    const clock = new FakeClock();
    const runQuery = runOneAtATime(clock);
    const begun: number[] = [];
    const request = { raw: { socket: { destroyed: false } } } as never;
    const query = async () => {
      begun.push(clock.elapsedMs());
      await clock.sleep(50);
    };
    const both = Promise.all([runQuery(request, query), runQuery(request, query)]);
    await clock.advance(2_000);
    await both;
    expect(begun).toEqual([0, 250]);
  });
});
