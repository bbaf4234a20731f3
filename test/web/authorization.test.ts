/** Access to the daemon: the socket and its file, names in `Host`, and restrictive headers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { hostName } from "../../src/web/authorizer.ts";
import { askDaemon, createDashboard, DashboardError, type ListenSettings } from "../../src/web/index.ts";
import { FakeClock } from "../support/clock.ts";
import { listenWith, memoryStore, openDashboard, openLoggedIn, temporaryFolder } from "./open.ts";
import { nowMs, source } from "./world.ts";

const signal = new AbortController().signal;
const at = (
  socketPath: string,
  listen: Partial<ListenSettings> | null = null,
  parts: Partial<Parameters<typeof createDashboard>[0]> = {},
) =>
  createDashboard({
    ...{ listen: listen && listenWith(listen), socketPath, source: source(), store: memoryStore(), ...parts },
  });

const refusal = async (starting: Promise<unknown>): Promise<DashboardError> => {
  const error: unknown = await starting.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DashboardError)) throw new Error(`no DashboardError, but ${error}`);
  return error;
};

describe("the socket", () => {
  test("is its owner's only, and removed when the daemon stops", async () => {
    await using daemon = await openLoggedIn();
    const there = lstatSync(daemon.socketPath);
    expect([there.isSocket(), there.mode & 0o777]).toEqual([true, 0o600]);
    const mask = process.umask();
    expect(mask).not.toBe(0o177);
    await daemon.dashboard.stop();
    expect(existsSync(daemon.socketPath)).toBe(false);
    await daemon.dashboard.stop();
  });

  test("of a killed process is taken over", async () => {
    using temporary = temporaryFolder();
    const socketPath = path.join(temporary.folder, "perpwatch.sock");
    const program = `require("node:net").createServer().listen(process.argv[1], () => console.log("up"))`;
    const child = spawn(process.execPath, ["-e", program, socketPath], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(lstatSync(socketPath).isSocket()).toBe(true);
    const dashboard = at(socketPath);
    expect(await dashboard.start(signal)).toEqual({ url: null });
    expect(lstatSync(socketPath).mode & 0o777).toBe(0o600);
    const question = { socketPath, method: "GET", path: "/healthz" } as const;
    expect(await askDaemon(question)).toEqual({ kind: "answered", status: 200, body: { alive: true } });
    await dashboard.stop();
  });

  test("that answers prevents a second daemon, and keeps answering", async () => {
    await using first = await openLoggedIn();
    const error = await refusal(at(first.socketPath).start(signal));
    expect(error.failure).toBe("daemon-running");
    expect(error.message).toContain("another perpwatch answers here");
    expect((await first.overSocket("/healthz")).status).toBe(200);
  });

  test("never replaces another file", async () => {
    using temporary = temporaryFolder();
    const file = path.join(temporary.folder, "perpwatch.sock");
    writeFileSync(file, "precious");
    expect((await refusal(at(file).start(signal))).failure).toBe("not-a-socket");
    expect(readFileSync(file, "utf8")).toBe("precious");
  });

  test.each([
    ["too long a path", (folder: string) => path.join(folder, "x".repeat(120)), "path-too-long"],
    ["a folder that is not there", (folder: string) => path.join(folder, "none", "p.sock"), "io"],
  ])("%s is told", async (_name, place, failure) => {
    using temporary = temporaryFolder();
    const error = await refusal(at(place(temporary.folder)).start(signal));
    expect(error.failure).toBe(failure);
    expect(error.message).toContain(temporary.folder);
  });

  test("a page whose address is taken opens once that is free; the socket is open meanwhile", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    using temporary = temporaryFolder();
    const socketPath = path.join(temporary.folder, "perpwatch.sock");
    const lines: string[] = [];
    const keep = (_: object, text: string) => void lines.push(text);
    const clock = new FakeClock(nowMs);
    const dashboard = at(
      socketPath,
      { host: "127.0.0.1", port },
      { log: { debug: keep, info: keep, warn: keep, error: keep }, machine: clock },
    );
    expect(await dashboard.start(signal)).toEqual({ url: null });
    expect(lines).toEqual([
      expect.stringContaining(`dashboard.listen 127.0.0.1:${port}: another program listens there`),
      "the local API is open",
    ]);
    expect(await askDaemon({ socketPath, method: "GET", path: "/healthz" })).toMatchObject({
      kind: "answered",
    });
    expect(dashboard.link()).toBeNull();
    // Still taken.
    await clock.advance(30_000);
    await new Promise((resolve) => taken.close(resolve));
    while (dashboard.link() === null) await clock.advance(30_000);
    expect(lines).toEqual([...lines.slice(0, 2), "the page is open"]);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    await dashboard.stop();
    expect(existsSync(socketPath)).toBe(false);
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
  });

  test("a start that is aborted leaves nothing", async () => {
    using temporary = temporaryFolder();
    const socketPath = path.join(temporary.folder, "perpwatch.sock");
    await expect(at(socketPath).start(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    expect(existsSync(socketPath)).toBe(false);
  });
});

test("stopping does not wait for a silent connection", async () => {
  await using daemon = await openLoggedIn();
  const idle = connect(Number(new URL(daemon.url).port), "127.0.0.1");
  await once(idle, "connect");
  idle.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
  const closed = once(idle, "close");
  idle.on("error", () => {});
  idle.resume();
  await daemon.dashboard.stop();
  await closed;
});

describe("the name in Host", () => {
  test.each(["localhost", "127.0.0.1:PORT", "LOCALHOST.:PORT", "[::1]:PORT", "127.0.0.2"])(
    "%s",
    async (host) => {
      await using daemon = await openLoggedIn();
      const headers = { host: host.replace("PORT", new URL(daemon.url).port) };
      expect((await daemon.overTcp("/api/v1/status", { headers })).status).toBe(200);
    },
  );

  test.each([
    ...["evil.test", "127.0.0.1.evil.test", "localhost.evil.test:80", "evil.test:127.0.0.1"],
    ...["0.0.0.0", "192.168.1.4", "[::1].evil.test", "user@localhost"],
  ])("%j is refused for every request", async (host) => {
    await using daemon = await openLoggedIn();
    for (const page of ["/api/v1/status", "/", "/metrics", "/nowhere"]) {
      const reply = await daemon.overTcp(page, { headers: { host } });
      expect(reply.status).toBe(421);
      expect(reply.text).not.toContain("wallets");
    }
  });

  test("is ignored for probes, which only get their status", async () => {
    await using daemon = await openDashboard({}, { listen: { login: "never" } });
    const ask = (path: string, headers: Record<string, string> = {}) =>
      daemon.overTcp(path, { headers: { host: "10.1.2.3:8787", ...headers } });
    expect((await ask("/readyz")).json()).toEqual({ ready: true });
    expect((await ask("/healthz")).json()).toEqual({ alive: true });
    expect((await ask("/readyz", { cookie: "a=b" })).status).toBe(421);
    expect((await ask("/readyz", { authorization: "Bearer x" })).status).toBe(421);
    expect((await ask("/readyz", { "sec-fetch-site": "cross-site" })).status).toBe(403);
  });

  test("may not be missing", async () => {
    await using daemon = await openLoggedIn();
    const raw = connect(Number(new URL(daemon.url).port), "127.0.0.1", () => {
      raw.write("GET /api/v1/status HTTP/1.0\r\n\r\n");
    });
    let text = "";
    raw.on("data", (part) => {
      text += part;
    });
    await once(raw, "close");
    expect(text).toMatch(/^HTTP\/1\.1 421 /);
    expect(text).not.toContain("wallets");
  });

  test("any is accepted on the socket, which browsers cannot use", async () => {
    await using daemon = await openLoggedIn();
    expect((await daemon.overSocket("/healthz", { headers: { host: "perpwatch" } })).status).toBe(200);
  });

  test("on an address for others it is one of those allowed, by default that of listen", async () => {
    await using daemon = await openLoggedIn(
      {},
      { listen: { host: "127.0.0.1", behindProxy: true, allowedHosts: ["Watch.example.org"] } },
    );
    const status = async (host: string) =>
      (await daemon.overTcp("/api/v1/status", { headers: { host } })).status;
    expect(await status("watch.example.org")).toBe(200);
    expect(await status("other.example.org")).toBe(421);
  });

  test.each([
    ["LocalHost:80", "localhost"],
    ["[::1]:8787", "::1"],
    ["[::1]", "::1"],
    ["a.b.", "a.b"],
    ["", ""],
  ])("%j means %j", (host, name) => expect(hostName(host)).toBe(name));
});

describe("a request caused by another site", () => {
  const elsewhere = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };

  test.each([
    ["/api/v1/notifications?unacked&limit=5000", elsewhere],
    ["/api/v1/status", elsewhere],
    ["/metrics", elsewhere],
    ["/", elsewhere],
    ["/nowhere", elsewhere],
    // A frame or a window: only the page itself may be opened.
    ["/api/v1/alerts?limit=1000", link],
    ["/api/v1/alerts?x=/", link],
  ])("is refused: %s", async (page, headers) => {
    await using daemon = await openLoggedIn();
    const reply = await daemon.overTcp(page, { headers });
    expect([reply.status, reply.json()]).toEqual([
      403,
      {
        error:
          "another site made the browser ask this; open the page of perpwatch itself, or ask without a browser",
      },
    ]);
    expect(daemon.asked).toEqual([]);
  });

  test("a link to the page leads there", async () => {
    await using daemon = await openLoggedIn();
    for (const page of ["/", "/?from=wiki"]) {
      const reply = await daemon.overTcp(page, { headers: link });
      expect([reply.status, reply.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    }
  });

  test.each(["same-origin", "same-site", "none"])(
    "a request of its own page is answered: %s",
    async (site) => {
      await using daemon = await openLoggedIn();
      const headers = { "sec-fetch-site": site, "sec-fetch-mode": "cors" };
      expect((await daemon.overTcp("/api/v1/status", { headers })).status).toBe(200);
    },
  );
});

test("every answer has the restrictive headers", async () => {
  await using daemon = await openLoggedIn();
  for (const page of [
    "/",
    "/api/v1/status",
    "/metrics",
    "/healthz",
    "/icon.svg",
    "/nowhere",
    "/api/v1/alerts?limit=x",
  ]) {
    const { headers } = await daemon.overTcp(page, { headers: { origin: "https://evil.test" } });
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  }
});

describe("an answer of the framework or of Node has the form of all others", () => {
  const host = "Host: localhost\r\nConnection: close\r\n";
  const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\n${host}${more}\r\n`;
  const login = (more: string, body = "") =>
    `POST /api/v1/session HTTP/1.1\r\n${host}Content-Length: ${body.length}\r\n${more}\r\n${body}`;
  const json = "Content-Type: application/json\r\n";

  test.each([
    ["a path that cannot be decoded", 401, get("/%")],
    ["a path that is no UTF-8", 401, get("/api/v1/alerts/%ff?x=%")],
    ["a name in a path that is too long", 401, get(`/api/v1/rules/${"x".repeat(300)}/explanation`)],
    ["a path that is too long and cannot be decoded", 401, get(`/${"%".repeat(9_000)}`)],
    ["the path of a proxy", 401, get("http://localhost/api/v1/status")],
    ["a malformed path under another name", 421, get("/%").replace("localhost", "evil.test")],
    ["a malformed path for another site", 403, get("/%", "Sec-Fetch-Site: cross-site\r\n")],
    ["an upgrade", 401, get("/api/v1/status", "Connection: upgrade\r\nUpgrade: websocket\r\n")],
    ["an upgrade to HTTP/2", 401, get("/nowhere", "Connection: upgrade\r\nUpgrade: h2c\r\n")],
    ["OPTIONS", 401, get("/").replace("GET", "OPTIONS")],
    ["OPTIONS of all", 401, get("*").replace("GET", "OPTIONS")],
    ["TRACE", 401, get("/").replace("GET", "TRACE")],
    ["PROPFIND", 401, get("/").replace("GET", "PROPFIND")],
    ["QUERY", 401, get("/api/v1/status").replace("GET", "QUERY")],
    ["an expectation", 401, get("/api/v1/status", "Expect: nonsense\r\n")],
    ["another type of content", 415, login("Content-Type: text/xml\r\n", "<x/>")],
    ["a type of content that is none", 415, login("Content-Type: ;;;\r\n", "<x/>")],
    ["no type of content", 415, login("", "{}")],
    ["bad JSON", 400, login(json, '{"password":"a-secret')],
    ["JSON with a prototype", 400, login(json, '{"__proto__":{"link":"x"}}')],
    ["no JSON", 400, login(json)],
    ["a body that is too large", 413, login(json, " ".repeat(70_000))],
    ["a body of another length", 400, login(`${json}Content-Length: 7\r\n`, "{}")],
    ["a body of two lengths", 400, login(`${json}Transfer-Encoding: chunked\r\n`, "{}")],
    ["a bad chunk", 400, `${login(json).replace("Content-Length: 0", "Transfer-Encoding: chunked")}zz\r\n`],
    ["no HTTP", 400, "NONSENSE a-secret\r\n\r\n"],
    ["HTTP/2", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["TLS", 400, "\x16\x03\x01\x02\x00\x01\x00"],
    ["headers that are too large", 431, get("/", `X: ${"x".repeat(20_000)}\r\n`)],
    ["too many headers", 431, get("/api/v1/status", "X: x\r\n".repeat(2_500))],
  ] as const)("%s: %i", async (_, status, text) => {
    await using daemon = await openDashboard();
    const answer = await over(daemon.port, text);
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    const [first, ...lines] = head.split("\r\n");
    expect(first).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(": ", 1)[0]!.toLowerCase(), line.slice(line.indexOf(": ") + 2)]),
    );
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
    const said = JSON.parse(body) as object;
    expect(Object.keys(said).filter((key) => key !== "password")).toEqual(["error"]);
    expect(answer).not.toMatch(/a-secret|FST_|Fastify|node_modules/);
    expect(daemon.asked).toEqual([]);
  });

  test("CONNECT has none", async () => {
    await using daemon = await openDashboard();
    expect(await over(daemon.port, "CONNECT evil.test:443 HTTP/1.1\r\nHost: localhost\r\n\r\n")).toBe("");
  });

  test("a malformed path is reported as such when logged in, also on the socket", async () => {
    await using daemon = await openLoggedIn();
    for (const reply of [await daemon.overTcp("/%"), await daemon.overSocket("/%")]) {
      expect([reply.status, reply.json()]).toEqual([400, { error: "the path of this request is malformed" }]);
      expect(reply.headers["x-frame-options"]).toBe("DENY");
    }
  });
});

/** Sends a text and returns all data until the connection is closed. */
async function over(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let all = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    all += part;
  });
  socket.write(text, "latin1");
  await once(socket, "close");
  return all;
}
