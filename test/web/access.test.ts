/** Logins over TCP: links, sessions, tokens, and attempts without rights. Over real sockets, with a movable clock. */
import { connect } from "node:net";
import { text as wholeText } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { AccessEntry } from "../../src/domain/access.ts";
import { CommitFailed } from "../../src/domain/ports.ts";
import { Access } from "../../src/web/access/access.ts";
import { silentLog } from "../../src/web/log.ts";
import { handClock } from "../channels/hand-clock.ts";
import { type Asking, clock, cookieOf, memoryStore, type OpenOptions, openDashboard } from "./open.ts";
import { nowMs, status } from "./world.ts";

const minute = 60_000;
const day = 86_400_000;

async function opened(options: Omit<OpenOptions, "machine"> = {}) {
  const machine = handClock();
  const daemon = await openDashboard({}, { ...options, machine });
  const link = () => new URL(daemon.dashboard.link()!.url).hash.replace("#login=", "");
  return {
    ...daemon,
    ...{ machine, link },
    follow: (secret: string, headers: Record<string, string> = {}) =>
      daemon.overTcp("/api/v1/session", {
        method: "POST",
        headers: { ...headers, "perpwatch-link": secret },
      }),
    code: async (at: string, how: Asking = {}) => (await daemon.overTcp(at, how)).status,
  };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe("without a login", () => {
  test.each([
    ["/api/v1/status"],
    ["/api/v1/alerts"],
    ["/api/v1/silences"],
    ["/api/v1/notifications"],
    ["/api/v1/session"],
    ["/api/v1/what-if?wallet=main"],
    ["/nowhere"],
  ])("%s is refused, and states how to log in", async (at) => {
    await using daemon = await opened();
    const reply = await daemon.overTcp(at);
    expect([reply.status, reply.headers["www-authenticate"], reply.json()]).toEqual([
      401,
      "Bearer",
      {
        error: expect.stringMatching(/^this needs a login: perpwatch page .* perpwatch token new NAME/),
        password: false,
      },
    ]);
    expect(daemon.asked).toEqual([]);
  });

  test("health is open, readiness shows its status only, the page's document contains no data", async () => {
    await using daemon = await opened();
    expect((await daemon.overTcp("/healthz")).json()).toEqual({ alive: true });
    const ready = await daemon.overTcp("/readyz");
    expect([ready.status, ready.json()]).toEqual([200, { ready: true }]);
    const page = await daemon.overTcp("/");
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/8Xk4|LiquidationNear|perpwatch\.db/);
  });

  test("the body of a request is not read", async () => {
    await using daemon = await opened();
    const reply = await daemon.overTcp("/api/v1/alerts/57/ack", { method: "POST", body: "{" });
    expect(reply.status).toBe(401);
    expect(daemon.asked).toEqual([]);
  });

  test("no credential is needed on the socket", async () => {
    await using daemon = await opened();
    expect((await daemon.overSocket("/api/v1/status")).status).toBe(200);
    expect((await daemon.overSocket("/metrics")).text).toContain('wallet="main"');
  });
});

describe("/metrics", () => {
  const named = /wallet="[^"]+"|account=|main|watched|8Xk4/;

  test("on loopback has all figures but those of wallets, and those with a token", async () => {
    await using daemon = await opened();
    const open = await daemon.overTcp("/metrics");
    expect(open.status).toBe(200);
    expect(open.text).not.toMatch(named);
    for (const figure of [
      "perpwatch_ready ",
      'perpwatch_alerts_firing{severity="critical"}',
      "perpwatch_channel_waiting{",
      "perpwatch_market_",
      "process_cpu",
    ])
      expect(open.text).toContain(figure);
    const whole = await daemon.overTcp("/metrics", bearer(await daemon.token("read")));
    expect(whole.text).toMatch(/perpwatch_position_size\{wallet="main",account="main\/0\.0",symbol="SOL"\}/);
  });

  test("is closed behind a proxy, and to a request that came through one", async () => {
    await using proxied = await opened({
      listen: { behindProxy: true, allowedHosts: ["watch.example.org"] },
    });
    const headers = { host: "watch.example.org" };
    expect(await proxied.code("/metrics", { headers })).toBe(401);
    const token = await proxied.token("read");
    expect(await proxied.code("/metrics", { headers: { ...headers, ...bearer(token).headers } })).toBe(200);
    await using daemon = await opened();
    for (const header of ["x-forwarded-for", "forwarded", "via", "x-real-ip"])
      expect(await daemon.code("/metrics", { headers: { [header]: "127.0.0.1" } })).toBe(401);
  });
});

describe("frequent requests", () => {
  test.each([
    ["/api/v1/status", true],
    ["/metrics", true],
    ["/metrics", false],
  ])("%s is computed once a second (with a token: %j)", async (at, hasToken) => {
    let made = 0;
    const still = handClock(nowMs);
    const daemonStatus = () => {
      made++;
      return status();
    };
    await using daemon = await openDashboard({ status: daemonStatus }, { clock: still });
    const how = hasToken ? bearer(await daemon.token("read")) : {};
    const several = async (count: number) => {
      for (let index = 0; index < count; index++) expect((await daemon.overTcp(at, how)).status).toBe(200);
      return made;
    };
    expect(await several(20)).toBe(1);
    still.pass(999);
    expect(await several(1)).toBe(1);
    still.pass(1);
    expect(await several(2)).toBe(2);
  });
});

describe("a one-time link", () => {
  test("logs in once", async () => {
    await using daemon = await opened();
    const secret = daemon.link();
    const reply = await daemon.follow(secret);
    expect(reply.status).toBe(200);
    const again = await daemon.follow(secret);
    expect([again.status, again.headers["set-cookie"], again.json()]).toEqual([
      401,
      undefined,
      {
        error: expect.stringMatching(
          /^this link was used already, or is older than 10 minutes; perpwatch page/,
        ),
        password: false,
      },
    ]);
    const headers = { cookie: cookieOf(reply) };
    expect(await daemon.code("/api/v1/status", { headers })).toBe(200);
    expect((await daemon.overTcp("/api/v1/session", { headers })).json()).toEqual({
      by: "session",
      rights: "read",
    });
  });

  test("used twice at once logs in once", async () => {
    await using daemon = await opened();
    const secret = daemon.link();
    const replies = await Promise.all([daemon.follow(secret), daemon.follow(secret), daemon.follow(secret)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
  });

  test("logs in while anonymous requests use up the share of logins", async () => {
    await using daemon = await opened({ clock: { ...clock, elapsedMs: () => 0 } });
    const guess = () => daemon.code("/api/v1/session", { method: "POST", body: '{"password":"x"}' });
    while ((await guess()) !== 429);
    expect((await daemon.follow("A".repeat(43))).status).toBe(429);
    expect((await daemon.follow(daemon.link())).status).toBe(200);
  });

  test("in the body, as a page of an earlier version sends it, is not consumed, and a reload is requested", async () => {
    await using daemon = await opened();
    const link = daemon.link();
    const reply = await daemon.overTcp("/api/v1/session", { method: "POST", body: JSON.stringify({ link }) });
    expect([reply.status, reply.json()]).toEqual([
      400,
      {
        error: "this page is of an earlier version: reload it, then open the link again; it was not used up",
        password: false,
      },
    ]);
    expect((await daemon.follow(link)).status).toBe(200);
  });

  test("expires after 10 minutes", async () => {
    await using daemon = await opened();
    const [early, late] = [daemon.link(), daemon.link()];
    daemon.machine.pass(10 * minute - 1);
    expect((await daemon.follow(early)).status).toBe(200);
    daemon.machine.pass(1);
    expect((await daemon.follow(late)).status).toBe(401);
  });

  test("is not consumed by fetching its address, or by its secret elsewhere", async () => {
    await using daemon = await opened();
    const secret = daemon.link();
    for (const at of [
      "/",
      `/?login=${secret}`,
      `/api/v1/status?login=${secret}`,
      `/api/v1/status?token=${secret}`,
    ])
      await daemon.overTcp(at);
    expect(await daemon.code("/api/v1/status", bearer(secret))).toBe(401);
    expect(
      await daemon.code("/api/v1/status", {
        headers: { cookie: `perpwatch_session_${daemon.port}=${secret}` },
      }),
    ).toBe(401);
    expect((await daemon.follow(secret)).status).toBe(200);
  });

  test("of many the newest 20 are valid", async () => {
    await using daemon = await opened();
    const links = Array.from({ length: 21 }, daemon.link);
    expect((await daemon.follow(links[0]!)).status).toBe(401);
    expect((await daemon.follow(links[1]!)).status).toBe(200);
  });

  test.each([["x"], [""], ["A".repeat(43)], ["é".repeat(43)]])(
    "that is made up is refused: %j",
    async (secret) => {
      await using daemon = await opened();
      expect((await daemon.follow(secret)).status).toBe(401);
      expect(daemon.warnings).toEqual(["a login to the local address failed: wrong link"]);
    },
  );
});

describe("a session", () => {
  test("is a cookie unavailable to scripts and other sites, stored as a hash", async () => {
    await using daemon = await opened();
    const reply = await daemon.follow(daemon.link());
    expect(reply.headers["set-cookie"]).toEqual([
      expect.stringMatching(
        new RegExp(
          `^perpwatch_session_${daemon.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=\\d+$`,
        ),
      ),
    ]);
    const secret = cookieOf(reply).split("=")[1]!;
    const stored = [...daemon.store.entries.values()];
    expect(stored).toMatchObject([{ kind: "session", name: "link", rights: "read" }]);
    expect(JSON.stringify([stored, daemon.logged])).not.toContain(secret);
    expect(reply.text).not.toContain(secret);
  });

  test("ends 30 days after its last use, which is written at most once a minute", async () => {
    await using daemon = await opened();
    const headers = { cookie: cookieOf(await daemon.follow(daemon.link())) };
    const ask = () => daemon.code("/api/v1/status", { headers });
    const written = daemon.store.writes;
    for (let times = 0; times < 5; times++) {
      daemon.machine.pass(minute / 5);
      expect(await ask()).toBe(200);
    }
    expect(daemon.store.writes - written).toBe(1);
    daemon.machine.pass(30 * day - 1);
    expect(await ask()).toBe(200);
    daemon.machine.pass(30 * day - 1);
    expect(await ask()).toBe(200);
    daemon.machine.pass(30 * day);
    expect(await ask()).toBe(401);
  });

  test("ends by logging out, with its row, and no other does", async () => {
    await using daemon = await opened();
    const [one, other] = [await daemon.logIn(), await daemon.logIn()];
    const out = await daemon.overTcp("/api/v1/session", {
      method: "DELETE",
      headers: { ...one, origin: daemon.url },
    });
    expect([out.status, out.headers["set-cookie"]]).toEqual([
      200,
      [expect.stringMatching(/=; .*Max-Age=0$/)],
    ]);
    expect(await daemon.code("/api/v1/status", { headers: one })).toBe(401);
    expect(await daemon.code("/api/v1/status", { headers: other })).toBe(200);
    expect(daemon.store.entries.size).toBe(1);
  });

  test("survives a restart, until it expires", async () => {
    const store = memoryStore();
    let headers: Record<string, string>;
    {
      await using before = await opened({ store });
      headers = await before.logIn();
    }
    const session = [...store.entries.values()][0]!;
    store.entries.set("f".repeat(64), { ...session, hash: "f".repeat(64), expiresMs: session.createdMs - 1 });
    await using after = await opened({ store });
    const cookie = headers.cookie!.replace(/^\w+/, `perpwatch_session_${after.port}`);
    expect(await after.code("/api/v1/status", { headers: { cookie } })).toBe(200);
    // Expired entries are not kept.
    expect([...store.entries.keys()]).toEqual([session.hash]);
  });

  test("has its rights and maximum lifetime whatever is stored; malformed rows are not valid and are logged", async () => {
    const store = memoryStore();
    let headers: Record<string, string>;
    {
      await using before = await opened({ store });
      headers = await before.logIn();
    }
    const [session] = store.entries.values();
    store.entries.set(session!.hash, { ...session!, rights: "act", expiresMs: 1e15 });
    store.odd = 2;
    await using after = await opened({ store });
    expect(after.logged).toContainEqual({ rows: 2, message: expect.stringContaining("they open nothing") });
    const cookie = headers.cookie!.replace(/^\w+/, `perpwatch_session_${after.port}`);
    const as = { headers: { cookie, origin: after.url } };
    const post = { ...as, method: "POST", body: '{"by":"ann"}' };
    expect(await after.code("/api/v1/alerts/57/ack", post)).toBe(403);
    expect(after.asked).toEqual([]);
    after.machine.pass(30 * day);
    expect(await after.code("/api/v1/status", as)).toBe(401);
  });

  test("is found among other cookies; an invented one is not valid", async () => {
    await using daemon = await opened();
    const { cookie } = await daemon.logIn();
    const name = cookie.split("=")[0]!;
    const status = (text: string) => daemon.code("/api/v1/status", { headers: { cookie: text } });
    expect(await status(`theme=dark; ${name}=x;${cookie} ; a`)).toBe(200);
    expect(await status(cookie.replace(name, "perpwatch_session_1"))).toBe(401);
    expect(await status(`${name}=${"A".repeat(43)}; ${name}; =; ;`)).toBe(401);
  });

  test("is searched in the first eight cookies of its name", async () => {
    await using daemon = await opened();
    const { cookie } = await daemon.logIn();
    const name = cookie.split("=")[0]!;
    const others = (count: number) => `${name}=x; `.repeat(count);
    const status = (text: string) => daemon.code("/api/v1/status", { headers: { cookie: text } });
    expect(await status(others(7) + cookie)).toBe(200);
    expect(await status(others(8) + cookie)).toBe(401);
    expect(await status(`x${cookie}`)).toBe(401);
    // Another cookie, perhaps of another port, may contain its name any number of times.
    expect(await status(`theme=${`${name}=x.`.repeat(50)}; ${cookie}`)).toBe(200);
  });

  test("and a token are answered while anonymous requests are refused; so are metrics, and a login by link", async () => {
    await using daemon = await opened({ clock: { ...clock, elapsedMs: () => 0 } });
    const [session, token] = [await daemon.logIn(), await daemon.token("read")];
    for (let asked = 0; asked < 100; asked++) expect(await daemon.code("/")).toBe(200);
    const refused = await daemon.overTcp("/api/v1/status");
    expect([refused.status, refused.headers]).toEqual([
      429,
      expect.objectContaining({ "retry-after": "1", "x-frame-options": "DENY" }),
    ]);
    expect(await daemon.code("/api/v1/status", bearer("A".repeat(43)))).toBe(429);
    expect(await daemon.code("/api/v1/status", { headers: session })).toBe(200);
    expect(await daemon.code("/api/v1/status", bearer(token))).toBe(200);
    expect(await daemon.code("/metrics")).toBe(200);
    expect(await daemon.code("/readyz")).toBe(200);
    expect((await daemon.follow(daemon.link())).status).toBe(200);
  });

  test("reads, and changes nothing", async () => {
    await using daemon = await opened();
    const headers = { ...(await daemon.logIn()), origin: daemon.url };
    const post = { method: "POST", headers, body: '{"by":"ann"}' };
    expect(await daemon.code("/api/v1/alerts/57/ack", post)).toBe(403);
    expect(await daemon.code("/api/v1/alerts/57", { headers })).toBe(200);
    expect(daemon.asked).toEqual([["alert", 57]]);
  });

  test("of many the 200 that were used last stay valid", async () => {
    const [store, clock] = [memoryStore(), handClock()];
    const access = new Access({ store, clock, log: silentLog });
    const begin = async () => {
      clock.pass(minute);
      return (await access.newSession("password")).secret;
    };
    const [first, second] = [await begin(), await begin()];
    for (let times = 0; times < 198; times++) await begin();
    clock.pass(minute);
    // Used later than the second.
    expect(access.find(first, "session")).not.toBeNull();
    await begin();
    expect([access.find(first, "session"), access.find(second, "session")]).toEqual([
      expect.anything(),
      null,
    ]);
    expect(store.entries.size).toBe(200);
  });
});

describe("a page of another site, or another port of this machine", () => {
  const from = (daemon: { readonly url: string }): readonly (readonly [string, Record<string, string>])[] => [
    ["another site", { origin: "https://evil.test" }],
    ["another port", { origin: "http://127.0.0.1:1" }],
    ["another scheme", { origin: daemon.url.replace("http:", "https:") }],
    ["nowhere", { origin: "null" }],
    ["another site, by its fetch metadata", { "sec-fetch-site": "cross-site" }],
    ["another port, by its fetch metadata", { origin: daemon.url, "sec-fetch-site": "same-site" }],
  ];

  test("neither logs in nor out nor acts with the cookie", async () => {
    await using daemon = await opened();
    const session = await daemon.logIn();
    const secret = daemon.link();
    for (const [name, headers] of from(daemon)) {
      const reply = await daemon.follow(secret, headers);
      expect([name, reply.status, reply.headers["set-cookie"]]).toEqual([name, 403, undefined]);
      const as = { headers: { ...session, ...headers } };
      const post = { ...as, method: "POST", body: "{}" };
      expect([name, await daemon.code("/api/v1/session", { ...as, method: "DELETE" })]).toEqual([name, 403]);
      expect([name, await daemon.code("/api/v1/digest", post)]).toEqual([name, 403]);
    }
    // A browser without either header is too old to be distinguished.
    expect(await daemon.code("/api/v1/session", { method: "DELETE", headers: session })).toBe(403);
    expect(daemon.asked).toEqual([]);
    expect(await daemon.code("/api/v1/status", { headers: session })).toBe(200);
    expect(
      (await daemon.follow(secret, { origin: daemon.url, "sec-fetch-site": "same-origin" })).status,
    ).toBe(200);
  });

  test("under another name gets no answer, also when logged in", async () => {
    await using daemon = await opened();
    const session = await daemon.logIn();
    const headers = { ...session, host: "evil.test", origin: "http://evil.test" };
    expect(await daemon.code("/api/v1/status", { headers })).toBe(421);
    expect((await daemon.follow(daemon.link(), headers)).status).toBe(421);
  });
});

describe("a token", () => {
  test("with read reads, with act changes, as a header only", async () => {
    await using daemon = await opened();
    const [read, act] = [await daemon.token("read"), await daemon.token("act")];
    const post = { method: "POST", body: '{"by":"ci"}' };
    expect(await daemon.code("/api/v1/alerts/57", bearer(read))).toBe(200);
    const refused = await daemon.overTcp("/api/v1/alerts/57/ack", { ...post, ...bearer(read) });
    expect([refused.status, refused.json()]).toEqual([
      403,
      { error: "the token read may only read; perpwatch token new NAME --rights act makes one that may act" },
    ]);
    for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"])
      expect(await daemon.code("/api/v1/alerts/57/ack", { ...bearer(read), method })).toBe(403);
    expect(await daemon.code("/api/v1/alerts/57/ack", { ...post, ...bearer(act) })).toBe(200);
    expect(daemon.asked.map(([name]) => name)).toEqual(["alert", "acknowledgeAlert"]);
    for (const at of [`?token=${act}`, `?access_token=${act}`, `?authorization=Bearer%20${act}`])
      expect(await daemon.code(`/api/v1/status${at}`)).toBe(401);
    expect(
      await daemon.code("/api/v1/status", { headers: { cookie: `perpwatch_session_${daemon.port}=${act}` } }),
    ).toBe(401);
    expect(JSON.stringify([...daemon.store.entries, daemon.logged])).not.toContain(act);
  });

  test("that is revoked or has expired is not valid, and is logged", async () => {
    await using daemon = await opened();
    const revoked = await daemon.token("read");
    const short = await daemon.token("act", { forMs: day });
    expect(await daemon.code("/api/v1/status", bearer(revoked))).toBe(200);
    const revoke = await daemon.overSocket("/api/v1/access/tokens/read/revoke", {
      method: "POST",
      body: "{}",
    });
    expect(revoke.json()).toEqual({ result: "revoked" });
    expect(await daemon.code("/api/v1/status", bearer(revoked))).toBe(401);
    daemon.machine.pass(day - 1);
    expect(await daemon.code("/api/v1/status", bearer(short))).toBe(200);
    daemon.machine.pass(1);
    const reply = await daemon.overTcp("/api/v1/status", bearer(short));
    expect([reply.status, reply.json()]).toEqual([
      401,
      { error: expect.stringMatching(/^this token is not valid/) },
    ]);
    expect(daemon.logged.slice(-2)).toEqual(
      Array(2).fill({
        ...{ address: "127.0.0.1", with: "token" },
        message: "a login to the local address failed: wrong token",
      }),
    );
    // The name of an expired token can be reused.
    expect(await daemon.code("/api/v1/status", bearer(await daemon.token("act")))).toBe(200);
  });

  test.each([["Bearer"], ["Bearer  "], ["bearer x y"], ["Bearer é"], [`Bearer ${"A".repeat(43)}`]])(
    "that is none is refused, also beside a good session: %j",
    async (authorization) => {
      await using daemon = await opened();
      const headers = {
        ...(await daemon.logIn()),
        authorization: Buffer.from(authorization).toString("latin1"),
      };
      expect(await daemon.code("/api/v1/status", { headers })).toBe(401);
    },
  );

  test("of another scheme is a proxy's, and is ignored", async () => {
    await using daemon = await opened();
    const headers = { ...(await daemon.logIn()), authorization: "Basic YTpi" };
    expect(await daemon.code("/api/v1/status", { headers })).toBe(200);
    expect(await daemon.code("/api/v1/status", { headers: { authorization: "Basic YTpi" } })).toBe(401);
  });

  test("cannot make tokens or links, nor list them", async () => {
    await using daemon = await opened();
    const act = await daemon.token("act");
    const post = { method: "POST", body: '{"name":"more"}', ...bearer(act) };
    for (const at of ["tokens", "links", "sessions/end", "tokens/act/revoke"])
      expect(await daemon.code(`/api/v1/access/${at}`, post)).toBe(404);
    expect(await daemon.code("/api/v1/access/tokens", bearer(act))).toBe(404);
  });

  test("has a name of its own, and there are 100 at most", async () => {
    await using daemon = await opened();
    const make = async (name: string) =>
      (await daemon.overSocket("/api/v1/access/tokens", { method: "POST", body: JSON.stringify({ name }) }))
        .status;
    expect([await make("a"), await make("a"), await make("a b"), await make("")]).toEqual([
      200, 409, 400, 400,
    ]);
    expect(await Promise.all([make("b"), make("b")])).toEqual([200, 409]);
    for (let more = 2; more < 100; more++) expect(await make(`t${more}`)).toBe(200);
    expect(await make("one-too-many")).toBe(409);
  });

  test("in two headers is the first only", async () => {
    await using daemon = await opened();
    const act = await daemon.token("act");
    const socket = connect(daemon.port, "127.0.0.1");
    socket.end(
      `GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nAuthorization: Bearer ${act}\r\nConnection: close\r\n\r\n`,
    );
    expect(await wholeText(socket)).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe("login: never", () => {
  test("lets this machine read, and nobody act without a token", async () => {
    await using daemon = await opened({ listen: { login: "never" } });
    expect(await daemon.code("/api/v1/status")).toBe(200);
    expect((await daemon.overTcp("/metrics")).text).toContain('wallet="main"');
    expect((await daemon.overTcp("/readyz")).json()).toEqual({ ready: true, reasons: [] });
    expect((await daemon.overTcp("/api/v1/session")).json()).toEqual({ by: "anyone", rights: "read" });
    const post = { method: "POST", body: '{"by":"ci"}' };
    expect(await daemon.code("/api/v1/alerts/57/ack", post)).toBe(403);
    expect(daemon.asked).toEqual([]);
    expect(
      await daemon.code("/api/v1/alerts/57/ack", { ...post, ...bearer(await daemon.token("act")) }),
    ).toBe(200);
    expect(daemon.dashboard.link()).toEqual({ url: daemon.url, expiresMs: null });
  });

  test("does not apply to requests that a proxy forwarded", async () => {
    await using daemon = await opened({ listen: { login: "never" } });
    const reply = await daemon.overTcp("/api/v1/status", { headers: { "x-forwarded-for": "203.0.113.7" } });
    expect([reply.status, reply.json()]).toEqual([
      401,
      { error: expect.stringMatching(/^this came through a proxy.*dashboard\.behindProxy: true/) },
    ]);
  });
});

describe("a table that cannot be read or written", () => {
  const full = new CommitFailed("full", "the disk is full");

  test("does not prevent a login by link, and delays nothing", async () => {
    const store = memoryStore();
    store.failing = new Error("malformed");
    await using daemon = await opened({ store });
    expect(daemon.warnings).toEqual([expect.stringMatching(/stored sessions and tokens cannot be read/)]);
    expect((await daemon.overTcp("/healthz")).status).toBe(200);
    expect((await daemon.overSocket("/api/v1/status")).status).toBe(200);
    store.failing = full;
    const headers = await daemon.logIn();
    expect(await daemon.code("/api/v1/status", { headers })).toBe(200);
    daemon.machine.pass(2 * minute);
    expect(await daemon.code("/api/v1/status", { headers })).toBe(200);
    const out = { method: "DELETE", headers: { ...headers, origin: daemon.url } };
    const told = await daemon.overTcp("/api/v1/session", out);
    expect([told.status, told.headers["set-cookie"], told.json()]).toEqual([
      503,
      [expect.stringMatching(/=; .*Max-Age=0$/)],
      { error: expect.stringMatching(/^you are logged out, .* after a restart: the disk is full/) },
    ]);
    expect(await daemon.code("/api/v1/status", { headers })).toBe(401);
  });

  test("does not keep a session that was logged out, once it can be written again", async () => {
    const store = memoryStore();
    await using daemon = await opened({ store });
    const [one, other] = [await daemon.logIn(), await daemon.logIn()];
    store.failing = full;
    const out = { method: "DELETE", headers: { ...one, origin: daemon.url } };
    expect(await daemon.code("/api/v1/session", out)).toBe(503);
    const end = () => daemon.overSocket("/api/v1/access/sessions/end", { method: "POST", body: "{}" });
    const ended = await end();
    expect([ended.status, ended.json()]).toEqual([
      503,
      { error: expect.stringMatching(/^all sessions have ended, but .* after a restart: the disk is full/) },
    ]);
    expect(await daemon.code("/api/v1/status", { headers: other })).toBe(401);
    expect(store.entries.size).toBe(2);
    store.failing = null;
    expect((await end()).json()).toEqual({ ended: 2 });
    expect(store.entries.size).toBe(0);
  });

  test("does not keep a session that was logged out after the next login", async () => {
    const store = memoryStore();
    await using daemon = await opened({ store });
    const headers = await daemon.logIn();
    store.failing = full;
    await daemon.code("/api/v1/session", { method: "DELETE", headers: { ...headers, origin: daemon.url } });
    store.failing = null;
    await daemon.logIn();
    expect(store.entries.size).toBe(1);
  });

  test("does not restore a revoked token beside another of its name", async () => {
    const store = memoryStore();
    await using daemon = await opened({ store });
    const post = async (at: string, body: object = {}) =>
      (await daemon.overSocket(`/api/v1/access/tokens${at}`, { method: "POST", body: JSON.stringify(body) }))
        .status;
    await daemon.token("read");
    const remove = store.removeAccess;
    store.removeAccess = () => Promise.reject(full);
    expect(await post("/read/revoke")).toBe(503);
    expect(await post("", { name: "read" })).toBe(503);
    expect(store.entries.size).toBe(1);
    store.removeAccess = remove;
    expect(await post("", { name: "read" })).toBe(200);
    expect(store.entries.size).toBe(1);
    expect(await post("/read/revoke")).toBe(200);
    expect(store.entries.size).toBe(0);
  });

  test("creates no token that a restart would lose, and revokes at once", async () => {
    const store = memoryStore();
    await using daemon = await opened({ store });
    const token = await daemon.token("read");
    store.failing = full;
    const post = (at: string, body: object = {}) =>
      daemon.overSocket(`/api/v1/access/tokens${at}`, { method: "POST", body: JSON.stringify(body) });
    const made = await post("", { name: "new" });
    expect([made.status, made.json()]).toEqual([
      503,
      { error: "the token was not made: the disk is full; run this again when that is fixed" },
    ]);
    const revoked = await post("/read/revoke");
    expect([revoked.status, revoked.json()]).toEqual([
      503,
      {
        error: expect.stringMatching(
          /^the token is valid no more, but would be again after a restart: the disk is full/,
        ),
      },
    ]);
    expect(await daemon.code("/api/v1/status", bearer(token))).toBe(401);
    store.failing = null;
    expect((await post("/read/revoke")).status).toBe(200);
    expect(store.entries.size).toBe(0);
    expect((await post("", { name: "new" })).status).toBe(200);
  });

  test("that fails unexpectedly fails no request", async () => {
    const store = memoryStore();
    await using daemon = await opened({ store });
    const headers = await daemon.logIn();
    store.saveAccess = (): Promise<AccessEntry & never> => Promise.reject(new TypeError("a mistake"));
    daemon.machine.pass(2 * minute);
    expect(await daemon.code("/api/v1/status", { headers })).toBe(200);
  });
});
