/**
 * A gateway that fails in every possible way must not end the process: nothing that discord.js throws, rejects or
 * leaves without a listener may be uncaught.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { DiscordGateway, type GatewayOptions } from "../../src/channels/discord/interactions/gateway.ts";
import { type LocalDiscord, startDiscord } from "../support/discord.ts";
import { Watched } from "../support/wait.ts";
import { handClock } from "./hand-clock.ts";

const escaped: unknown[] = [];
const note = (error: unknown) => void escaped.push(error);

beforeEach(() => {
  escaped.length = 0;
  process.on("uncaughtException", note).on("unhandledRejection", note);
});

afterEach(() => {
  process.off("uncaughtException", note).off("unhandledRejection", note);
});

/** Behaviour of a socket at an upgrade request. */
type Manner = "silent" | "reset" | "refuse";

/** A gateway over plain TCP that never completes an upgrade. */
class Wall implements AsyncDisposable {
  readonly asked = new Watched<Socket>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  closed = 0;

  constructor(manner: Manner) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        this.closed += 1;
        this.asked.changed();
      });
      socket.once("data", () => {
        this.asked.add(socket);
        if (manner === "reset") socket.resetAndDestroy();
        if (manner === "refuse") socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n");
      });
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** @returns after the given number of upgrade requests */
  async askedTimes(count: number): Promise<void> {
    await this.asked.waitFor(() => this.asked.items.length >= count);
  }

  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reset();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Makes Discord return this gateway address. */
function gatewayAt(discord: LocalDiscord, url: string): void {
  const limit = { total: 1_000, remaining: 999, reset_after: 86_400_000, max_concurrency: 1 };
  const body = { url, shards: 1, session_start_limit: limit };
  discord.clearFaults();
  discord.fail({ path: "/gateway/bot", times: 1e9, effect: { kind: "status", status: 200, body } });
}

/** Returns after all events that the kernel has queued were handled. */
async function settled(discord: LocalDiscord): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await (await fetch(`${discord.apiUrl}/v10/gateway`)).text();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function rig(more: Partial<GatewayOptions> = {}) {
  const discord = await startDiscord();
  const clock = handClock();
  const troubles = new Watched<string>();
  const { apiUrl, token } = discord;
  const warn = (fields: object) => {
    if ("why" in fields) troubles.add(String(fields.why));
  };
  const connected = new Watched<string>();
  const log = { debug: () => {}, info: (_fields: object, words: string) => connected.add(words), warn };
  const gateway = new DiscordGateway({ apiUrl, token, clock, random: () => 0.5, log, ...more });
  return {
    ...{ discord, clock, gateway, troubles, connected },
    async [Symbol.asyncDispose]() {
      await gateway.stop();
      await discord.close();
      await new Promise((resolve) => setImmediate(resolve));
      expect(escaped).toEqual([]);
    },
  };
}

describe("stopped while it connects", () => {
  test("to a server that answers nothing and then resets: again and again", async () => {
    await using one = await rig();
    await using wall = await new Wall("silent").listen();
    gatewayAt(one.discord, wall.url);
    for (let round = 1; round <= 5; round++) {
      one.gateway.start();
      await wall.askedTimes(round);
      const stopped = one.gateway.stop();
      wall.reset();
      await stopped;
      await settled(one.discord);
    }
    expect(escaped).toEqual([]);
  });

  test("it leaves no connection open", async () => {
    await using one = await rig();
    await using wall = await new Wall("silent").listen();
    gatewayAt(one.discord, wall.url);
    one.gateway.start();
    await wall.askedTimes(1);
    await one.gateway.stop();
    await wall.asked.waitFor(() => wall.closed === 1);
  });

  test("before its session is ready: it closes normally, without the timeout", async () => {
    await using one = await rig();
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    gatewayAt(one.discord, `ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const identified = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<number>();
    server.on("connection", (socket) => {
      socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 41_250 } }));
      socket.on("message", () => identified.resolve());
      socket.on("close", closed.resolve);
    });
    one.gateway.start();
    await identified.promise;
    await one.gateway.stop();
    expect(await closed.promise).toBe(1_000);
    server.close();
  });

  test("at any step of it, and started at once again: one connection results", async () => {
    await using one = await rig();
    for (let turns = 0; turns < 12; turns++) {
      one.gateway.start();
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      void one.gateway.stop();
    }
    one.gateway.start();
    const open = () => one.discord.gateway.sessions.filter((session) => session.open);
    // A stop that was not awaited may still be closing.
    await one.discord.gateway.waitForSession(() => open().length === 1);
    await settled(one.discord);
    expect(open()).toHaveLength(1);
    expect(one.gateway.state).toBe("online");
  });

  test("the process ends by itself, without an error", async () => {
    await using one = await rig();
    await using wall = await new Wall("silent").listen();
    gatewayAt(one.discord, wall.url);
    const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program], {
      env: { ...process.env, API_URL: one.discord.apiUrl, TOKEN: one.discord.token },
      stdio: ["pipe", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const ended = once(child, "exit");
    await wall.askedTimes(1);
    child.stdin.end();
    const [code] = await ended;
    expect({ code, said }).toEqual({ code: 0, said: expect.not.stringContaining("Error") });
  });
});

/** Connects, and stops when its input ends. */
const program = `
  import { DiscordGateway } from ${JSON.stringify(new URL("../../src/channels/discord/interactions/gateway.ts", import.meta.url).href)};
  import { systemClock } from ${JSON.stringify(new URL("../../src/domain/clock.ts", import.meta.url).href)};
  const { API_URL: apiUrl, TOKEN: token } = process.env;
  const none = () => {};
  const log = { debug: none, info: none, warn: none };
  const gateway = new DiscordGateway({ apiUrl, token, clock: systemClock(), random: Math.random, log });
  gateway.start();
  process.stdin.resume().on("end", () => void gateway.stop());
`;

describe("an outage", () => {
  test("there is no hello, and discord.js reconnects by itself: the sockets that it left are terminated", async () => {
    await using one = await rig({ helloTimeoutMs: 50 });
    await using wall = await new Wall("silent").listen();
    gatewayAt(one.discord, wall.url);
    one.gateway.start();
    await wall.askedTimes(2);
    await wall.asked.waitFor(() => wall.closed === 1);
    wall.reset();
    await settled(one.discord);
    expect(escaped).toEqual([]);
  });

  test("everything is reset at any moment of discord.js' own attempts", async () => {
    await using one = await rig({ helloTimeoutMs: 50 });
    await using wall = await new Wall("silent").listen();
    gatewayAt(one.discord, wall.url);
    one.gateway.start();
    for (let round = 1; round <= 3; round++) {
      await wall.askedTimes(round);
      // Dropped by discord.js and not replaced yet.
      await new Promise((resolve) => setTimeout(resolve, 150));
      wall.reset();
      await settled(one.discord);
    }
    expect(escaped).toEqual([]);
  });

  test.each(["reset", "refuse"] as const)(
    "every connection meets a %s: it waits, and comes back",
    async (manner) => {
      await using one = await rig();
      await using wall = await new Wall(manner).listen();
      gatewayAt(one.discord, wall.url);
      one.gateway.start();
      await one.clock.asked();
      one.clock.pass(6_000);
      await one.clock.asked();
      expect(one.gateway.state).toBe("waiting");
      one.discord.clearFaults();
      one.clock.pass(12_000);
      await one.discord.gateway.waitForSession();
    },
  );

  test.each([
    ["refuses connections", "ws://127.0.0.1:1"],
    ["is no address", "not an address"],
    ["is empty", ""],
    ["is of another kind", "ftp://127.0.0.1"],
    ["carries a fragment", "ws://127.0.0.1:1/#here"],
  ])("the gateway's address %s: it waits, and comes back", async (_what, url) => {
    await using one = await rig();
    gatewayAt(one.discord, url);
    one.gateway.start();
    await one.clock.asked();
    expect(one.troubles.items).toHaveLength(1);
    one.discord.clearFaults();
    one.clock.pass(6_000);
    await one.discord.gateway.waitForSession();
  });

  test("an answer about the gateway that has nothing in it", async () => {
    await using one = await rig();
    one.discord.fail({ path: "/gateway/bot", effect: { kind: "status", status: 200, body: {} } });
    one.gateway.start();
    await one.clock.asked();
    one.clock.pass(6_000);
    await one.discord.gateway.waitForSession();
  });
});

describe("a gateway that talks nonsense", () => {
  const hello = { op: 10, d: { heartbeat_interval: 100 } };
  const ready = (d: object) => ({ op: 0, s: 1, t: "READY", d });
  const me = { id: "1100000000000000001", username: "perpwatch", discriminator: "0" };

  test.each<[string, readonly unknown[]]>([
    ["a hello without a body", [{ op: 10, d: null }]],
    ["an invalid session without a body", [hello, { op: 9, d: null }]],
    ["bytes that are no compressed packet", [Buffer.from("nonsense")]],
    ["text that is no packet", ["nonsense", "null", "7", '{"op":0}', '{"op":"x"}']],
    ["a ready without a body", [hello, ready(JSON.parse("null"))]],
    ["a ready without anything in it", [hello, ready({})]],
    ["a ready without guilds", [hello, ready({ user: me, session_id: "1", resume_gateway_url: "ws://x" })]],
    ["one too big a frame", [hello, "x".repeat(2_000_000)]],
  ])("%s", async (_what, packets) => {
    await using one = await rig({ helloTimeoutMs: 200 });
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    gatewayAt(one.discord, `ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const heard = Promise.withResolvers<void>();
    server.on("connection", (socket) => {
      for (const packet of packets) {
        const raw = typeof packet === "string" || Buffer.isBuffer(packet);
        socket.send(raw ? packet : JSON.stringify(packet));
      }
      // Answered by a socket only after it has read all that came before.
      socket.ping();
      socket.on("pong", () => heard.resolve());
      socket.on("close", () => heard.resolve());
    });
    one.gateway.start();
    await heard.promise;
    await settled(one.discord);
    for (const socket of server.clients) socket.terminate();
    await one.gateway.stop();
    server.close();
    expect(escaped).toEqual([]);
  });

  const beat = (heartbeat_interval: unknown) => ({ op: 10, d: { heartbeat_interval } });
  test.each<[string, readonly unknown[]]>([
    ["heartbeats without a pause", [beat(0)]],
    ["heartbeats of a negative time", [beat(-1)]],
    ["heartbeats once in a century", [beat(3e12)]],
    ["heartbeats after a text", [beat("41250")]],
    ["a frame of 2 MB", [hello, "x".repeat(2_000_000)]],
    ["frames without end", [hello, ...Array.from({ length: 1_001 }, () => ({ op: 11 }))]],
  ])("%s end the connection, and the next one comes after a wait", async (_what, packets) => {
    await using one = await rig();
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    gatewayAt(one.discord, `ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    let connections = 0;
    server.on("connection", (socket) => {
      connections++;
      for (const packet of packets) socket.send(typeof packet === "string" ? packet : JSON.stringify(packet));
    });
    one.gateway.start();
    await one.clock.asked();
    expect({ connections, state: one.gateway.state }).toEqual({ connections: 1, state: "waiting" });
    one.discord.clearFaults();
    one.clock.pass(6_000);
    await one.discord.gateway.waitForSession();
    server.close();
  });

  test("dispatches that the bot does not use have no effect", async () => {
    await using one = await rig();
    one.gateway.start();
    await one.discord.gateway.waitForSession();
    for (const type of ["MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE", "MESSAGE_DELETE", "NEW"]) {
      one.discord.gateway.dispatch(type, {});
      one.discord.gateway.dispatch(type, JSON.parse("null"));
    }
    one.discord.gateway.drop(4000);
    await one.discord.gateway.waitForSession(({ resumed, open }) => resumed && open);
  });

  test("an address to resume at that is none", async () => {
    await using one = await rig();
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    gatewayAt(one.discord, `ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("connection", (socket) => {
      socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 41_250 } }));
      socket.on("message", () => {
        const d = {
          user: me,
          guilds: [],
          session_id: "1",
          resume_gateway_url: "nowhere",
          application: { id: "1" },
        };
        socket.send(JSON.stringify(ready(d)), () => socket.close(4000));
      });
    });
    one.gateway.start();
    await one.clock.asked();
    one.discord.clearFaults();
    one.clock.pass(6_000);
    await one.discord.gateway.waitForSession();
    server.close();
  });
});
