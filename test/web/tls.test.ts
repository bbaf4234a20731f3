/** The page over TLS, and behind a TLS proxy. The certificates are for tests only. */
import { readFileSync } from "node:fs";
import { connect as dial } from "node:net";
import { describe, expect, test } from "vitest";
import type { ListenSettings } from "../../src/web/index.ts";
import { secured } from "../support/tls.ts";
import { cookieOf, listenWith, openDashboard } from "./open.ts";

const pair = (name: string) => {
  const read = (ending: string) =>
    readFileSync(new URL(`fixtures/${name}-test-only.${ending}`, import.meta.url), "utf8");
  return { cert: read("crt"), key: read("key") };
};
const [first, second] = [pair("first"), pair("second")];

const opened = (of: Partial<ListenSettings> = {}) => openDashboard({}, { listen: { tls: first, ...of } });

test("its link, its cookie and its API are of HTTPS", async () => {
  await using daemon = await opened();
  expect(daemon.url).toBe(`https://127.0.0.1:${daemon.port}`);
  const { url } = daemon.dashboard.link()!;
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/#login=/);
  const link = { "perpwatch-link": new URL(url).hash.replace("#login=", "") };
  const from = (origin: string) =>
    daemon.overTcp("/api/v1/session", { method: "POST", headers: { origin, ...link } });
  expect((await from(daemon.url.replace("https", "http"))).status).toBe(403);
  const reply = await from(daemon.url);
  expect(reply.headers["set-cookie"]).toEqual([
    expect.stringMatching(/; HttpOnly; SameSite=Strict; .*; Secure$/),
  ]);
  const headers = { cookie: cookieOf(reply) };
  expect((await daemon.overTcp("/api/v1/status", { headers })).status).toBe(200);
  expect((await daemon.overTcp("/healthz")).json()).toEqual({ alive: true });
});

test("nothing is answered without TLS", async () => {
  await using daemon = await opened();
  await expect(fetch(`http://127.0.0.1:${daemon.port}/healthz`)).rejects.toThrow();
});

describe("a reload", () => {
  test("takes another certificate, password and names, for new connections", async () => {
    await using daemon = await opened();
    (await secured(daemon.port, first.cert)).destroy();
    await expect(secured(daemon.port, second.cert)).rejects.toThrow();
    const session = await daemon.logIn();
    daemon.dashboard.reload(
      listenWith({ tls: second, passwordHash: "scrypt$changed", allowedHosts: ["watch.example.org"] }),
    );
    (await secured(daemon.port, second.cert)).destroy();
    await expect(secured(daemon.port, first.cert)).rejects.toThrow();
    const ask = (headers: Record<string, string>) =>
      daemon.overTcpWith(second.cert, "/api/v1/status", { headers });
    expect((await ask({ host: "watch.example.org" })).json()).toMatchObject({ password: true });
    expect((await ask(session)).status).toBe(200);
  });

  test("does not change what needs a restart: login, address, TLS or not", async () => {
    await using daemon = await openDashboard();
    const changed = { login: "never", tls: first, behindProxy: true, port: 1 } as const;
    daemon.dashboard.reload(listenWith({ ...changed, allowedHosts: ["watch.example.org"] }));
    expect((await daemon.overTcp("/api/v1/status")).status).toBe(401);
    const headers = { host: "watch.example.org" };
    expect((await daemon.overTcp("/api/v1/status", { headers })).status).toBe(421);
    daemon.dashboard.reload(null);
    expect((await daemon.overTcp("/healthz")).status).toBe(200);
  });
});

test("connections without a handshake do not block others", async () => {
  await using daemon = await opened();
  const silent = Array.from({ length: 64 }, () => dial(daemon.port, "127.0.0.1"));
  const closed = silent.map((socket) => new Promise<void>((resolve) => socket.on("close", () => resolve())));
  for (const socket of silent) socket.on("error", () => {}).resume();
  await Promise.all(silent.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
  // One of them is closed for each new one, as soon as a handshake is possible.
  for (;;) {
    const reply = await daemon.overTcp("/healthz").catch(() => null);
    if (reply?.status === 200) break;
    await new Promise((next) => setTimeout(next, 50));
  }
  await Promise.any(closed);
  for (const socket of silent) socket.destroy();
  await Promise.all(closed);
});

describe("behind a proxy", () => {
  const proxied = { tls: null, behindProxy: true, allowedHosts: ["watch.example.org"] };

  test("the page has its name, its cookie is Secure, and actions come from a page of that name", async () => {
    await using daemon = await opened(proxied);
    const { url } = daemon.dashboard.link()!;
    expect(url).toMatch(/^https:\/\/watch\.example\.org\/#login=/);
    const link = { "perpwatch-link": new URL(url).hash.replace("#login=", "") };
    const as = (origin: string, host = "watch.example.org") =>
      daemon.overTcp("/api/v1/session", { method: "POST", headers: { origin, host, ...link } });
    expect((await as("https://evil.test")).status).toBe(403);
    expect((await as("http://watch.example.org")).status).toBe(403);
    expect((await as("https://watch.example.org", "evil.test")).status).toBe(421);
    // A proxy may send its own name.
    const reply = await as("https://watch.example.org", "127.0.0.1:8787");
    expect(reply.headers["set-cookie"]).toEqual([expect.stringMatching(/; Secure$/)]);
  });

  test("nothing counts as of this machine", async () => {
    await using daemon = await opened(proxied);
    const headers = { host: "watch.example.org" };
    for (const at of ["/metrics", "/api/v1/status"])
      expect((await daemon.overTcp(at, { headers })).status).toBe(401);
    expect((await daemon.overTcp("/readyz", { headers })).json()).toEqual({ ready: true });
  });
});
