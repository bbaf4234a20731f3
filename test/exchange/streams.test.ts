import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { seededRandom } from "../../src/domain/clock.ts";
import type { WalletSession } from "../../src/exchange/index.ts";
import { createStreams } from "../../src/exchange/stream/streams.ts";
import { FakeClock } from "../support/clock.ts";
import { type StreamRig, streamRig } from "./stream-rig.ts";

/** Both connections stand and are subscribed. */
async function connected(rig: StreamRig): Promise<void> {
  rig.streams.common.subscribe("marketStats", {});
  rig.streams.common.subscribe("traderState", { authority: rig.authority, traderPdaIndex: 0 });
  await rig.clock.finish(rig.exchange.start());
  rig.streams.start();
  await rig.until(
    "both connections",
    () => rig.streams.connected && rig.streams.streamsNotifications("main"),
  );
}

const marks = (rig: StreamRig, symbol: string): number[] =>
  rig.messages.flatMap(({ message }) =>
    message.channel === "marketStats" && message.message.symbol === symbol ? [message.message.markPrice] : [],
  );
const snapshots = (rig: StreamRig): number =>
  rig.messages.filter(
    ({ message }) => message.channel === "traderState" && message.message.messageType === "snapshot",
  ).length;

describe("two connections", () => {
  test("bring everything: what is public on one, the wallet's inbox on its own", async () => {
    await using rig = await streamRig();
    await connected(rig);
    expect(rig.line.open).toBe(2);
    await rig.soon("the snapshot", () => snapshots(rig) === 1);
    await rig.control("mark-price", { symbol: "SOL", price: "170" });
    await rig.soon("the mark", () => marks(rig, "SOL").includes(170));
    await rig.soon("the notification", () =>
      rig.messages.some(({ wallet, message }) => wallet === "main" && message.channel === "notifications"),
    );
    expect(
      rig.messages.every(
        ({ wallet, message }) => (wallet === "main") === (message.channel === "notifications"),
      ),
    ).toBe(true);
    expect(rig.line.made).toBe(2);
    expect(rig.streams.status()).toMatchObject([
      { wallet: null, connected: true, subscriptions: 2, refused: 0, reconnects: 0, badFrames: 0 },
      { wallet: "main", connected: true, subscriptions: 1, refused: 0, reconnects: 0, badFrames: 0 },
    ]);
  });

  test("are one where no wallet has a session", async () => {
    await using rig = await streamRig({ anonymous: true });
    rig.streams.common.subscribe("marketStats", {});
    rig.streams.start();
    await rig.soon("prices", () => marks(rig, "SOL").length > 0);
    expect(rig.line.made).toBe(1);
    expect(rig.streams.of("main")).toBeUndefined();
  });
});

describe("a connection that is lost", () => {
  test("comes back by itself and subscribes to everything again", async () => {
    await using rig = await streamRig();
    await connected(rig);
    await rig.soon("the snapshot", () => snapshots(rig) === 1);
    await rig.clock.advance(15_000);
    rig.line.cut();
    await rig.soon("both lost", () => rig.events.filter((one) => one.startsWith("down")).length === 2);
    expect(rig.streams.connected).toBe(false);
    await rig.until(
      "both again",
      () => rig.events.includes("up null again") && rig.events.includes("up main again"),
    );
    await rig.soon("a snapshot anew", () => snapshots(rig) === 2);
    await rig.control("mark-price", { symbol: "SOL", price: "171" });
    await rig.soon("the mark", () => marks(rig, "SOL").includes(171));
    expect(rig.streams.status().map((one) => one.reconnects)).toEqual([1, 1]);
  });

  test("is tried again later and later, never at the same beat, and not forgotten", async () => {
    await using rig = await streamRig({ anonymous: true });
    rig.streams.common.subscribe("marketStats", {});
    await rig.control("fault", { path: "/v1/ws", status: 503 });
    rig.streams.start();
    const triedMs: number[] = [];
    let seen = 0;
    await rig.until("eight attempts", () => {
      const downs = rig.events.filter((one) => one.startsWith("down null")).length;
      for (; seen < downs; seen++) triedMs.push(rig.clock.elapsedMs());
      return seen >= 8;
    });
    const gaps = triedMs.slice(1).map((ms, index) => ms - triedMs[index]!);
    for (const [index, gap] of gaps.entries()) {
      const most = Math.min(10_000, 500 * 2 ** index);
      expect(gap).toBeGreaterThanOrEqual(most / 2 - 100);
      expect(gap).toBeLessThanOrEqual(most + 200);
    }
    // Half of it is chance.
    expect(gaps.some((gap, index) => gap < 0.9 * Math.min(10_000, 500 * 2 ** index))).toBe(true);
    rig.simulator.faults.clear();
    await rig.until("connected", () => rig.streams.connected, 15_000);
    await rig.soon("prices", () => marks(rig, "SOL").length > 0);
  });

  test("that opens and closes in a circle is not asked for all the time", async () => {
    const clock = new FakeClock();
    await using server = await circle((socket) => socket.close(1012, "restart"));
    const streams = plainStreams(server.url, clock);
    streams.start();
    for (let passed = 0; passed < 60_000; passed += 500) {
      await clock.advance(500);
      await new Promise((next) => setTimeout(next, 2));
    }
    // At 10 s apart in the end, not twice a second.
    expect(server.opened()).toBeGreaterThan(5);
    expect(server.opened()).toBeLessThan(16);
    await streams.stop();
  });

  test("where there is no stream is looked for once a minute", async () => {
    await using rig = await streamRig({ anonymous: true });
    await rig.control("fault", { path: "/v1/ws", status: 404 });
    rig.streams.start();
    await rig.until("two attempts", () => rig.events.length >= 2);
    expect(rig.clock.elapsedMs()).toBeGreaterThanOrEqual(60_000);
    expect(rig.events[0]).toContain("404");
  });
});

describe("liveness", () => {
  test("a line that goes silent without ending is found out by a ping, and given up", async () => {
    await using rig = await streamRig();
    await connected(rig);
    rig.line.frozen = true;
    const fromMs = rig.clock.elapsedMs();
    await rig.until("found out", () => rig.events.some((one) => one.includes("a ping was not answered")));
    const tookMs = rig.clock.elapsedMs() - fromMs;
    expect(tookMs).toBeGreaterThanOrEqual(10_000);
    expect(tookMs).toBeLessThanOrEqual(31_000);
    rig.line.frozen = false;
    await rig.until("connected again", () => rig.streams.connected);
  });

  test("a line that answers pings and tells nothing stays open and is called quiet, once a minute", async () => {
    await using rig = await streamRig({ anonymous: true });
    rig.streams.common.subscribe("exchangeStatus", {});
    rig.streams.start();
    await rig.until("connected", () => rig.streams.connected);
    await rig.until("quiet", () => rig.events.includes("quiet null"), 61_000);
    expect(rig.streams.common.quietMs).toBeGreaterThanOrEqual(60_000);
    await rig.until(
      "quiet again",
      () => rig.events.filter((one) => one === "quiet null").length === 2,
      61_000,
    );
    expect(rig.events.filter((one) => one.startsWith("down"))).toEqual([]);
    // Pings and pongs went to and fro all the while, and are nothing that was told.
    expect(rig.streams.status()[0]).toMatchObject({ connected: true, lastToldMs: null });
  });
});

describe("a session", () => {
  test("whose token expires on an open connection is renewed before, and the connection with it", async () => {
    await using rig = await streamRig({ accessTtlMs: 120_000, graceMs: 5_000 });
    await connected(rig);
    await rig.until("the next token", () => rig.events.includes("up main again"), 130_000);
    expect(rig.events.find((one) => one.startsWith("down main"))).toContain("its token was renewed");
    expect(rig.exchange.sessions.figures.logins).toBe(1);
    await rig.until("subscribed again", () => rig.streams.streamsNotifications("main"));
    await rig.control("mark-price", { symbol: "SOL", price: "170" });
    await rig.soon("the notification", () =>
      rig.messages.some(({ message }) => message.channel === "notifications"),
    );
  });

  test("that is revoked closes the connection, is signed in anew, and the connection comes back at once", async () => {
    await using rig = await streamRig();
    await connected(rig);
    await rig.control("session", { authority: rig.authority, action: "revoke" });
    await rig.soon("closed", () => rig.events.some((one) => one.includes("4401 session_missing")));
    const fromMs = rig.clock.elapsedMs();
    await rig.until("up again", () => rig.events.includes("up main again"));
    expect(rig.clock.elapsedMs() - fromMs).toBeLessThan(1_000);
    expect(rig.exchange.sessions.figures.logins).toBe(2);
    // The other connection has no session to lose.
    expect(rig.events).not.toContain("up null again");
  });

  test("that is over leaves its own connection down, and none that is missing", async () => {
    await using rig = await streamRig();
    await connected(rig);
    const session = rig.exchange.sessions.of("main")!;
    await rig.clock.finish(session.logout());
    rig.line.cut();
    await rig.soon("both lost", () => rig.events.filter((one) => one.startsWith("down")).length === 2);
    expect(rig.streams.connected).toBe(false);
    await rig.until("the common one again", () => rig.streams.connected);
    expect(rig.streams.of("main")!.connected).toBe(false);
    await rig.clock.finish(session.login({ endMs: rig.clock.elapsedMs() + 10_000 }));
    expect(rig.streams.connected).toBe(false);
    rig.streams.signedIn("main");
    await rig.until("both", () => rig.streams.connected && rig.streams.streamsNotifications("main"));
  });

  test("that is refused at the handshake is renewed and tried once more", async () => {
    await using rig = await streamRig();
    await rig.clock.finish(rig.exchange.start());
    await rig.until("signed in", () => rig.exchange.sessions.of("main")!.signedIn);
    await rig.control("session", { authority: rig.authority, action: "expire-access" });
    rig.streams.start();
    await rig.until("up", () => rig.events.includes("up main"), 2_000);
    expect(rig.events.find((one) => one.startsWith("down main"))).toContain("401 access_token_expired");
  });

  test.each<[string, Refusing]>([
    ["401 at the handshake", { status: 401, body: { error: "invalid_access_token" } }],
    ["403 at the handshake", { status: 403, body: "<html>blocked</html>" }],
    ["409 at the handshake", { status: 409, body: {} }],
    ["a closing with 4401", { close: [4401, ""] }],
    ["a closing with 4403", { close: [4403, ""] }],
    ["a closing with 1008", { close: [1008, "too many connections"] }],
    ["a closing with 1008 that takes its time", { close: [1008, "too many"], afterMs: 15_000 }],
    ["a closing for the token", { close: [4000, "access_jti_mismatch"] }],
    ["a frame with 403", { frame: { channel: "error", error: "insufficient_role", code: 403 } }],
  ])("that the stream refuses (%s) is renewed once, and reads go on in it", async (_how, refusing) => {
    await using rig = await streamRig();
    await using server = await refuser(refusing, rig.clock);
    const downs: string[] = [];
    const streams = createStreams({
      ...quiet,
      baseUrl: server.url,
      clock: rig.clock,
      random: seededRandom(5),
      sessions: rig.exchange.sessions,
      wallets: [{ name: "main", authority: rig.authority }],
      listener: {
        ...quiet.listener,
        down: (wallet, detail, why) => void (wallet && downs.push(`${why}: ${detail}`)),
      },
    });
    await rig.clock.finish(rig.exchange.start());
    await rig.until("signed in", () => rig.exchange.sessions.of("main")!.signedIn);
    streams.of("main")!.start();
    await rig.until("refused, and at once again", () => downs.length >= 2, 40_000);
    const traderPubkey = rig.simulator.traders[0]!.traderPda;
    const failures: unknown[] = [];
    const fromMs = rig.clock.elapsedMs();
    for (let read = 1; read <= 48; read++) {
      const asked = rig.exchange.client.notifications(
        { traderPubkey },
        { wallet: "main", deadlineMs: 8_000 },
      );
      await rig.clock.finish(asked.catch((error: unknown) => void failures.push(error)));
      while (rig.clock.elapsedMs() < fromMs + read * 5_000) {
        await rig.clock.advance(1_000);
        await new Promise((next) => setTimeout(next, 2));
      }
    }
    expect(failures).toEqual([]);
    // No read had to wait for a token either.
    expect(rig.clock.elapsedMs() - fromMs).toBeLessThan(241_000);
    expect(rig.exchange.sessions.figures).toMatchObject({ logins: 1, refreshes: 1 });
    // Then it is looked for like a stream that is not there: after a minute, after two more, …
    expect(downs.length).toBeGreaterThanOrEqual(4);
    expect(downs.length).toBeLessThanOrEqual(5);
    for (const down of downs) expect(down).toMatch(/^refused: /);
    await streams.stop();
  });
});

describe("frames", () => {
  test("that are hostile are counted, told with channel and field, and cost only themselves", async () => {
    const clock = new FakeClock();
    const good = {
      channel: "exchangeStatus",
      id: "1",
      notificationType: "exchange_status_changed",
      data: { exchangeStatusBits: 129, previousExchangeStatusBits: 128, active: true, gated: false },
      createdAt: "2026-03-01T12:00:00Z",
    };
    const frames = [
      "",
      "{",
      "[".repeat(200_000),
      "null",
      "[]",
      '"text"',
      '{"channel":"marketStats","symbol":"SOL"}',
      '{"channel":"traderState","authority":7}',
      '{"channel":"__proto__"}',
      '{"channel":"constructor","type":{}}',
      '{"channel":"error","error":{"a":1},"code":[]}',
      '{"type":"subscriptionError","subscription":{"channel":"toString"}}',
      JSON.stringify({ ...good, data: { ...good.data, active: "yes" } }),
      JSON.stringify({ ...good, surprise: { deep: [1, 2, 3] } }),
    ];
    await using server = await circle((socket) => {
      for (const frame of frames) socket.send(frame);
      socket.send(Buffer.from([1, 2, 3]), { binary: true });
      socket.send(JSON.stringify(good));
    });
    const told: unknown[] = [];
    const bad: string[] = [];
    const streams = plainStreams(server.url, clock, {
      message: (_wallet, { message }) => void told.push(message),
      badFrame: ({ endpoint, fields }) => void bad.push(`${endpoint} ${fields[0]?.path ?? "-"}`),
    });
    streams.start();
    await patience(() => told.length === 2);
    expect(bad.sort()).toEqual(
      [
        "stream exchangeStatus data.active",
        "stream frame -",
        "stream frame -",
        "stream frame -",
        "stream frame -",
        "stream marketStats markPrice",
        "stream traderState authority",
      ].map((one) =>
        one.startsWith("stream marketStats") ? expect.stringMatching(/^stream marketStats \w+$/) : one,
      ),
    );
    expect(streams.status()[0]).toMatchObject({ connected: true, badFrames: 7, frames: frames.length + 1 });
    await streams.stop();
  });

  test("that cannot be taken are told of as lost, so that somebody asks, and cost only themselves", async () => {
    const good = {
      channel: "exchangeStatus",
      id: "1",
      notificationType: "exchange_status_changed",
      data: { exchangeStatusBits: 129, previousExchangeStatusBits: 128, active: true, gated: false },
      createdAt: "2026-03-01T12:00:00Z",
    };
    await using server = await circle((socket) => {
      for (const id of ["1", "2", "3"]) socket.send(JSON.stringify({ ...good, id }));
    });
    const told: string[] = [];
    const streams = plainStreams(server.url, new FakeClock(), {
      message: (_wallet, { message }) => {
        const { id } = message as { id: string };
        if (id !== "3") throw new Error(`no place for ${id}`);
        told.push(`taken ${id}`);
      },
      misfit: (_wallet, { channel, frame }) => {
        const { id } = frame as { id: string };
        told.push(`lost ${channel} ${id}`);
        if (id === "2") throw new Error("nor for its loss");
      },
      badFrame: ({ problem }) => void told.push(problem),
    });
    streams.start();
    await patience(() => told.includes("taken 3"));
    expect(told).toEqual([
      ...["stream exchangeStatus: could not be taken: no place for 1", "lost exchangeStatus 1"],
      ...["stream exchangeStatus: could not be taken: no place for 2", "lost exchangeStatus 2"],
      "stream exchangeStatus: could not be taken: nor for its loss",
      "taken 3",
    ]);
    await streams.stop();
  });

  test("that are too large end the connection, which comes back", async () => {
    const clock = new FakeClock();
    await using server = await circle((socket) => socket.send("x".repeat(9 * 1_048_576)));
    const streams = plainStreams(server.url, clock);
    streams.start();
    await patience(() => streams.status()[0]!.detail.includes("payload"));
    await clock.advance(600);
    await patience(() => server.opened() === 2);
    await streams.stop();
  });
});

test("nothing of a token stands in what is told", async () => {
  await using rig = await streamRig();
  await connected(rig);
  await rig.control("session", { authority: rig.authority, action: "revoke" });
  await rig.until("up again", () => rig.events.includes("up main again"));
  const token = rig.exchange.sessions.of("main")!.peek()!;
  expect(JSON.stringify([rig.events, rig.streams.status(), rig.badFrames])).not.toContain(
    token.slice(10, 40),
  );
});

test.each<[string, (token: string) => Refusing]>([
  ["a closing for the session", (token) => ({ close: [4401, `no session of ${token}`] })],
  ["a closing for another reason", (token) => ({ close: [1011, `failed for ${token}`] })],
  ["a handshake refused for the session", (token) => ({ status: 401, body: { error: token } })],
  ["a handshake refused for another reason", (token) => ({ status: 500, body: { error: token } })],
  ["a frame", (token) => ({ frame: { channel: "error", error: `${token} is old`, code: 403 } })],
])("nor anything of a token without a form, where the exchange repeats it: %s", async (_how, refusing) => {
  const token = "opaque_token_9f8e7d6c5b4a";
  const clock = new FakeClock();
  await using server = await refuser(refusing(token), clock);
  const session = {
    access: async () => token,
    another: async () => token,
    accepted: () => {},
    peek: () => token,
    expiresInMs: null,
  } as unknown as WalletSession;
  const told: string[] = [];
  const streams = createStreams({
    ...quiet,
    baseUrl: server.url,
    clock,
    random: seededRandom(5),
    sessions: { of: () => session },
    wallets: [{ name: "main", authority: "8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K" }],
    listener: { ...quiet.listener, down: (_wallet, detail) => void told.push(detail) },
  });
  streams.of("main")!.start();
  while (told.length === 0) {
    await clock.advance(1);
    await new Promise((next) => setTimeout(next, 2));
  }
  expect(JSON.stringify([told, streams.status()])).not.toContain(token);
  expect(told[0]).toContain("…");
  await streams.stop();
});

test("a frame that cannot be read is kept without the token", async () => {
  const token = "opaque_token_9f8e7d6c5b4a";
  await using server = await circle((socket) => {
    socket.send(`no JSON, ${token}`);
    socket.send(JSON.stringify({ channel: "exchangeStatus", id: [Buffer.from(token).toString("base64")] }));
  });
  const session = {
    access: async () => token,
    accepted: () => {},
    peek: () => token,
    expiresInMs: null,
  } as unknown as WalletSession;
  const kept: (string | null)[] = [];
  const streams = createStreams({
    ...quiet,
    baseUrl: server.url,
    clock: new FakeClock(),
    random: seededRandom(5),
    sessions: { of: () => session },
    wallets: [{ name: "main", authority: "8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K" }],
    listener: { ...quiet.listener, badFrame: ({ body }) => void kept.push(body()) },
  });
  streams.of("main")!.start();
  await patience(() => kept.length === 2);
  expect(kept).toEqual(["no JSON, …", '{"channel":"exchangeStatus","id":["…"]}']);
  await streams.stop();
});

const quiet = {
  version: "0.0.0-test",
  sessions: { of: () => undefined },
  wallets: [],
  listener: { message() {}, misfit() {}, up() {}, down() {}, quiet() {}, badFrame() {} },
};

function plainStreams(
  url: string,
  clock: FakeClock,
  listener: Partial<Parameters<typeof createStreams>[0]["listener"]> = {},
) {
  return createStreams({
    ...quiet,
    baseUrl: url,
    clock,
    random: seededRandom(3),
    listener: { ...quiet.listener, ...listener },
  });
}

/** A server that does one thing to whoever connects. */
async function circle(welcome: (socket: WebSocket) => void) {
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    handleProtocols: (offered) => [...offered][0] ?? false,
  });
  await once(server, "listening");
  let opened = 0;
  server.on("connection", (socket) => {
    opened++;
    socket.on("error", () => {});
    welcome(socket);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    opened: () => opened,
    async [Symbol.asyncDispose]() {
      for (const socket of server.clients) socket.terminate();
      server.close();
    },
  };
}

type Refusing =
  | { readonly status: number; readonly body: unknown }
  | { readonly close: readonly [number, string]; readonly afterMs?: number }
  | { readonly frame: unknown };

/** A server that has every stream refused in one way. */
async function refuser(how: Refusing, clock: FakeClock) {
  if ("close" in how)
    return circle((socket) => void clock.after(how.afterMs ?? 0, () => socket.close(...how.close)));
  if ("frame" in how)
    return circle((socket) => {
      socket.on("message", () => socket.send(JSON.stringify(how.frame)));
    });
  const server = createServer();
  server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {});
    const body = typeof how.body === "string" ? how.body : JSON.stringify(how.body);
    const head = [`HTTP/1.1 ${how.status} No`, `Content-Length: ${body.length}`, "Connection: close"];
    socket.end([...head, "", body].join("\r\n"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

async function patience(met: () => boolean): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!met()) {
    if (performance.now() > endMs) throw new Error("not seen");
    await new Promise((next) => setTimeout(next, 1));
  }
}
