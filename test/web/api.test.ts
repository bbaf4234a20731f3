import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { askDaemon } from "../../src/web/index.ts";
import { openLoggedIn } from "./open.ts";
import { nowMs, status } from "./world.ts";

describe("reading, on both listeners", () => {
  const cases: [path: string, asked: unknown[] | null][] = [
    ["/api/v1/alerts", ["alerts", { limit: 100 }]],
    [
      "/api/v1/alerts?state=firing&rule=LiquidationNear&wallet=main&severity=critical&limit=5",
      [
        "alerts",
        { state: "firing", rule: "LiquidationNear", wallet: "main", severity: "critical", limit: 5 },
      ],
    ],
    ["/api/v1/alerts/57", ["alert", 57]],
    ["/api/v1/notifications", ["notifications", { unacked: false, limit: 200 }]],
    ["/api/v1/notifications?unacked", ["notifications", { unacked: true, limit: 200 }]],
    [
      "/api/v1/notifications?wallet=main&unacked=true&limit=3",
      ["notifications", { wallet: "main", unacked: true, limit: 3 }],
    ],
    ["/api/v1/notifications?unacked=false", ["notifications", { unacked: false, limit: 200 }]],
  ];
  test.each(cases)("%s", async (path, asked) => {
    await using daemon = await openLoggedIn();
    const [socket, tcp] = [await daemon.overSocket(path), await daemon.overTcp(path)];
    expect([socket.status, tcp.status]).toEqual([200, 200]);
    expect(socket.json()).toEqual(tcp.json());
    expect(daemon.asked).toEqual([asked, asked]);
  });

  test("the status has the daemon's clock, and values that JSON cannot represent", async () => {
    await using daemon = await openLoggedIn();
    for (const reply of [await daemon.overSocket("/api/v1/status"), await daemon.overTcp("/api/v1/status")]) {
      expect(reply.headers["content-type"]).toMatch(/^application\/json/);
      const answer = reply.json() as { nowMs: number; watch: ReturnType<typeof status>["watch"] };
      expect(answer.nowMs).toBe(nowMs);
      const main = answer.watch.wallets.find(({ name }) => name === "main")!;
      expect(main.accounts[1]!.positions[0]!.figures.liquidationDistance).toBe("Infinity");
      expect(main.accounts[2]!.figures).toEqual({ marginRatio: "Infinity", equity: null });
      // Only infinities differ from the source's values.
      const back = JSON.parse(reply.text, (_key, value: unknown) =>
        value === "Infinity" ? Number.POSITIVE_INFINITY : value,
      );
      expect(back).toEqual({ ...status(), nowMs });
    }
  });

  test("an alert is returned with its history", async () => {
    await using daemon = await openLoggedIn();
    expect((await daemon.overTcp("/api/v1/alerts/57")).json()).toMatchObject({
      alert: { id: 57, rule: "LiquidationNear" },
      changes: [],
      owed: [],
      messages: [],
    });
  });
});

describe("large queries", () => {
  /** A source whose alerts and notifications are held until released. */
  async function held() {
    const under: { readonly limit: number; readonly go: () => void }[] = [];
    const hold = async ({ limit = 0 }: { readonly limit?: number }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      under.push({ limit, go: resolve });
      await promise;
      return [];
    };
    const daemon = await openLoggedIn({ alerts: hold, notifications: hold });
    const until = async (met: () => boolean) => {
      while (!met()) await new Promise((next) => setTimeout(next, 1));
    };
    return { daemon, under, until };
  }

  test("are answered one at a time over TCP, in order, and refused beyond 16 that wait", async () => {
    const { daemon, under, until } = await held();
    await using _closed = daemon;
    const replies: Promise<number>[] = [];
    const over: number[] = [];
    for (let limit = 1; limit <= 20; limit++) {
      const what = limit % 2 === 0 ? "alerts" : "notifications";
      const reply = daemon.overTcp(`/api/v1/${what}?limit=${limit}`);
      if (limit <= 17) replies.push(reply.then(({ status }) => status));
      else {
        const { status, json } = await reply;
        expect(json()).toEqual({ error: "16 such requests wait already; ask again when they are answered" });
        over.push(status);
      }
      // One after the other, so that their order is known.
      await daemon.overTcp("/healthz");
    }
    expect(over).toEqual([429, 429, 429]);
    for (let turn = 1; turn <= 17; turn++) {
      await until(() => under.length === turn);
      await daemon.overTcp("/healthz");
      expect(under.map(({ limit }) => limit).at(-1)).toBe(turn);
      expect(under.length).toBe(turn);
      under.at(-1)!.go();
    }
    expect(await Promise.all(replies)).toEqual(Array.from({ length: 17 }, () => 200));
    const next = daemon.overTcp("/api/v1/alerts");
    await until(() => under.length === 18);
    under.at(-1)!.go();
    expect((await next).status).toBe(200);
  });

  test("do not wait on the socket, nor do others for them", async () => {
    const { daemon, under, until } = await held();
    await using _closed = daemon;
    const replies = [
      daemon.overTcp("/api/v1/alerts"),
      daemon.overSocket("/api/v1/alerts"),
      daemon.overSocket("/api/v1/notifications"),
    ];
    await until(() => under.length === 3);
    expect((await daemon.overTcp("/api/v1/status")).status).toBe(200);
    for (const { go } of under) go();
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("that fail delay no other", async () => {
    let asked = 0;
    await using daemon = await openLoggedIn({
      alerts: async () => {
        if (++asked === 1) throw new Error("no");
        return [];
      },
    });
    expect((await daemon.overTcp("/api/v1/alerts")).status).toBe(500);
    expect((await daemon.overTcp("/api/v1/alerts?limit=x")).status).toBe(400);
    expect((await daemon.overTcp("/api/v1/alerts")).status).toBe(200);
  });

  test("are not run for clients that disconnected while waiting", async () => {
    const { daemon, under, until } = await held();
    await using _closed = daemon;
    const first = daemon.overTcp("/api/v1/alerts?limit=1");
    await until(() => under.length === 1);
    const gone = connect(Number(new URL(daemon.url).port), "127.0.0.1");
    gone.write("GET /api/v1/alerts?limit=2 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await daemon.overTcp("/healthz");
    const last = daemon.overTcp("/api/v1/alerts?limit=3");
    await daemon.overTcp("/healthz");
    gone.destroy();
    await daemon.overTcp("/healthz");
    under[0]!.go();
    await until(() => under.length === 2);
    expect(under[1]!.limit).toBe(3);
    under[1]!.go();
    expect([(await first).status, (await last).status]).toEqual([200, 200]);
  });
});

describe("what if", () => {
  test("one change or several", async () => {
    await using daemon = await openLoggedIn();
    await daemon.overSocket("/api/v1/what-if?wallet=main&price=SOL%3D-10%25&deposit=-20.5");
    await daemon.overSocket("/api/v1/what-if?wallet=main&account=0.1&price=A%3D1&price=B%3D2&close=C");
    const none = { account: null, prices: [], closes: [], depositUsd: 0 };
    expect(daemon.asked).toEqual([
      ["whatIf", { ...none, wallet: "main", prices: ["SOL=-10%"], depositUsd: -20.5 }],
      ["whatIf", { ...none, wallet: "main", account: "0.1", prices: ["A=1", "B=2"], closes: ["C"] }],
    ]);
  });

  test("is refused with the mistake", async () => {
    await using daemon = await openLoggedIn();
    const ask = async (query: string) => {
      const { status: code, text } = await daemon.overSocket(`/api/v1/what-if?${query}`);
      return [code, (JSON.parse(text) as { error?: string }).error];
    };
    expect(await ask("wallet=nobody")).toEqual([404, "no wallet is called nobody"]);
    expect(await ask("wallet=main&price=SOL%3Dx")).toEqual([400, "SOL=x: expected a price"]);
    expect((await ask("price=SOL%3D1"))[0]).toBe(400);
    expect((await ask("wallet=main&deposit=1e99"))[0]).toBe(400);
  });

  test("is answered over TCP to whoever has logged in", async () => {
    await using daemon = await openLoggedIn();
    expect((await daemon.overTcp("/api/v1/what-if?wallet=main")).status).toBe(200);
    expect((await daemon.overTcp("/api/v1/what-if?wallet=main", { headers: { cookie: "" } })).status).toBe(
      401,
    );
    expect(daemon.asked).toHaveLength(1);
  });
});

describe("changing, through the socket and by tokens that may act", () => {
  const cases: [path: string, body: unknown, status: number, answer: unknown, asked: unknown[]][] = [
    [
      ...(["/api/v1/alerts/57/ack", { by: "ann", comment: "on it" }, 200, { result: "done" }] as const),
      ["acknowledgeAlert", 57, "ann", "on it"],
    ],
    [
      ...(["/api/v1/alerts/57/ack", { by: "ann" }, 200, { result: "done" }] as const),
      ["acknowledgeAlert", 57, "ann", ""],
    ],
    [
      ...(["/api/v1/alerts/58/ack", { by: "ann" }, 409] as const),
      { error: "alert 58 has ended; there is nothing to acknowledge" },
      ["acknowledgeAlert", 58, "ann", ""],
    ],
    [
      ...(["/api/v1/alerts/9/ack", { by: "ann" }, 404, { error: "there is no alert 9" }] as const),
      ["acknowledgeAlert", 9, "ann", ""],
    ],
    [
      ...(["/api/v1/notifications/ack", { wallet: "main", keys: ["event/1/2/3/4/5"] }, 200] as const),
      { confirmed: ["event/1/2/3/4/5"], already: [], unknown: [], failed: [] },
      ["acknowledgeNotifications", { wallet: "main", keys: ["event/1/2/3/4/5"] }],
    ],
    [
      ...(["/api/v1/notifications/ack", { wallet: "main", upToMs: nowMs }, 200] as const),
      { confirmed: ["up to a time"], already: [], unknown: [], failed: [] },
      ["acknowledgeNotifications", { wallet: "main", upToMs: nowMs }],
    ],
    [
      ...(["/api/v1/notifications/ack", { wallet: "who", upToMs: 0 }, 404] as const),
      { error: "no wallet is called who" },
      ["acknowledgeNotifications", { wallet: "who", upToMs: 0 }],
    ],
    [
      ...(["/api/v1/channels/chat/test", undefined, 200, { kind: "delivered", receipt: "1187" }] as const),
      ["testChannel", "chat"],
    ],
    [
      ...(["/api/v1/channels/mail/test", undefined, 502] as const),
      {
        ...{ kind: "retry", failure: "timeout", detail: "no greeting within 10 s", afterMs: null },
        error: "mail did not take it (timeout): no greeting within 10 s",
      },
      ["testChannel", "mail"],
    ],
    [
      ...(["/api/v1/digest", { receivers: ["fax"] }, 404, { error: "no channel is called fax" }] as const),
      ["digest", ["fax"]],
    ],
    [
      ...(["/api/v1/channels/fax/test", undefined, 404, { error: "no channel is called fax" }] as const),
      ["testChannel", "fax"],
    ],
    [
      ...(["/api/v1/wallets/main/login", undefined, 200] as const),
      { result: "done", detail: "until 14:00" },
      ["login", "main"],
    ],
    [
      ...(["/api/v1/wallets/watched/login", undefined, 409] as const),
      { error: "watched has no key here, so it has no session: it is only watched" },
      ["login", "watched"],
    ],
    [
      ...(["/api/v1/wallets/main/logout", undefined, 502] as const),
      { error: "logout of main failed: the exchange is unreachable" },
      ["logout", "main"],
    ],
    [
      ...(["/api/v1/wallets/who%20else/logout", undefined, 404] as const),
      { error: "no wallet is called who else" },
      ["logout", "who else"],
    ],
  ];
  test.each(cases)("%s %j", async (path, body, code, answer, asked) => {
    await using daemon = await openLoggedIn();
    const reply = await daemon.overSocket(path, {
      method: "POST",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect([reply.status, reply.json()]).toEqual([code, answer]);
    expect(daemon.asked).toEqual([asked]);
    // Over TCP the same changes nothing, for a logged-in page and for a read-only token.
    const how = { method: "POST", body: JSON.stringify(body ?? {}) };
    const headers = { origin: daemon.url };
    const reading = { authorization: `Bearer ${await daemon.token("read")}`, cookie: "" };
    for (const as of [headers, reading])
      expect((await daemon.overTcp(path, { ...how, headers: as })).status).toBe(403);
    expect(daemon.asked).toHaveLength(1);
    const acting = { authorization: `Bearer ${await daemon.token("act")}`, cookie: "" };
    const acted = await daemon.overTcp(path, { ...how, headers: acting });
    expect([acted.status, acted.json()]).toEqual([code, answer]);
    expect(daemon.asked).toEqual([asked, asked]);
    expect(daemon.logged).toContainEqual({
      ...{ by: "act", method: "POST", path, status: code },
      message: "a program acted over the local address",
    });
  });

  test.each(["PUT", "DELETE", "PATCH", "OPTIONS"])("%s is refused over TCP", async (method) => {
    await using daemon = await openLoggedIn();
    const headers = { origin: daemon.url };
    expect((await daemon.overTcp("/api/v1/status", { method, headers })).status).toBe(403);
  });
});

describe("an invalid request is refused with the reason, and does not reach the daemon", () => {
  const post = { method: "POST" };
  const cases: [path: string, how: object, status: number, told: RegExp][] = [
    ["/api/v1/alerts?state=open", {}, 400, /^query\.state: .*"firing"\|"ended"/],
    ["/api/v1/alerts?limit=0&severity=bad", {}, 400, /query\.severity: .*; query\.limit: /],
    ["/api/v1/alerts?status=firing", {}, 400, /"status"/],
    ["/api/v1/alerts/first", {}, 400, /^path\.id/],
    ["/api/v1/alerts/57/ack", { ...post, body: "{}" }, 400, /^body\.by/],
    ["/api/v1/alerts/57/ack", post, 400, /^body\.by/],
    ["/api/v1/alerts/57/ack", { ...post, body: "{" }, 400, /JSON/],
    ["/api/v1/notifications/ack", { ...post, body: '{"wallet":"main"}' }, 400, /^body/],
    ["/api/v1/notifications/ack", { ...post, body: '{"wallet":"main","keys":[]}' }, 400, /^body/],
    ["/api/v1/alerts/57/ack", { ...post, body: JSON.stringify({ by: "x".repeat(70_000) }) }, 413, /large/],
    [
      "/api/v1/alerts/57/ack",
      { ...post, body: "by=ann", headers: { "content-type": "application/x-www-form-urlencoded" } },
      ...([415, /Media Type/] as const),
    ],
    ["/api/v1/secrets?x=1", {}, 404, /^there is no GET \/api\/v1\/secrets here$/],
  ];
  test.each(cases)("%s %j", async (path, how, code, told) => {
    await using daemon = await openLoggedIn();
    const reply = await daemon.overSocket(path, how);
    expect(reply.status).toBe(code);
    expect(reply.json()).toEqual({ error: expect.stringMatching(told) });
    expect(daemon.asked).toEqual([]);
  });

  test("an internal failure is logged, not returned", async () => {
    const fail = async () => {
      throw new Error("SELECT secret FROM keys");
    };
    await using daemon = await openLoggedIn({ alerts: fail });
    const reply = await daemon.overTcp("/api/v1/alerts");
    expect([reply.status, reply.text]).toEqual([
      500,
      '{"error":"the daemon failed to answer this; its log says why"}',
    ]);
    expect(daemon.warnings).toEqual(["a local request failed"]);
    expect((await daemon.overTcp("/healthz")).status).toBe(200);
  });
});

describe("health", () => {
  test("ready", async () => {
    await using daemon = await openLoggedIn();
    const [alive, ready] = [await daemon.overTcp("/healthz"), await daemon.overTcp("/readyz")];
    expect([alive.status, alive.json()]).toEqual([200, { alive: true }]);
    expect([ready.status, ready.json()]).toEqual([200, { ready: true, reasons: [] }]);
  });

  test("not ready, and why; alive all the same", async () => {
    const reasons = ["watched: trader state is 74 s old"];
    await using daemon = await openLoggedIn({ ready: () => ({ ready: false, reasons }) });
    const ready = await daemon.overTcp("/readyz");
    expect([ready.status, ready.json()]).toEqual([503, { ready: false, reasons }]);
    expect((await daemon.overTcp("/healthz")).status).toBe(200);
  });
});

describe("requests of a command", () => {
  test("an answer, a refusal, no daemon", async () => {
    await using daemon = await openLoggedIn();
    const { socketPath } = daemon;
    const ack = { socketPath, method: "POST", path: "/api/v1/alerts/57/ack" } as const;
    expect(await askDaemon({ ...ack, body: { by: "ann", comment: "" } })).toEqual({
      ...{ kind: "answered", status: 200, body: { result: "done" } },
    });
    expect(await askDaemon(ack)).toMatchObject({ kind: "answered", status: 400 });
    await daemon.dashboard.stop();
    expect(await askDaemon(ack)).toEqual({ kind: "noDaemon" });
  });
});
