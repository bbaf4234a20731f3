/** One call on a real socket: what is sent, what comes back, and what is made of everything that can go wrong. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { Pool } from "undici";
import { describe, expect, test } from "vitest";
import { BadRecord, createHttp, ExchangeError, lanes } from "../../src/exchange/index.ts";
import { testKey } from "./local-exchange.ts";
import { main, type Rig, rig, traderPubkey } from "./rig.ts";

const example = (name: string) =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, "../contract/examples", name), "utf8")) as unknown;

const STATUS = "/v1/view/exchange/status";
const authority = testKey().address;
const STATE = `/v1/trader/state/${authority}`;

async function open(options: Parameters<typeof rig>[0] = {}): Promise<Rig> {
  const made = await rig({ wallets: [], ...options });
  made.venue.routes.set(STATUS, example("exchange-status.json"));
  made.venue.routes.set(STATE, example("trader-state-snapshot.json"));
  return made;
}

/** The error of a promise that has to fail, time passing meanwhile. */
async function failure(set: Rig, promise: Promise<unknown>): Promise<ExchangeError> {
  const outcome = await set.clock.finish(
    promise.then(
      () => null,
      (error: unknown) => error,
    ),
  );
  expect(outcome).toBeInstanceOf(ExchangeError);
  return outcome as ExchangeError;
}

describe("what is sent", () => {
  test("method, path, query, who asks; no bearer without a wallet", async () => {
    await using set = await open();
    await set.clock.finish(set.exchange.client.traderState({ authority, traderPdaIndex: 3 }));
    const [seen] = set.venue.seen;
    expect(seen).toMatchObject({
      method: "GET",
      path: STATE,
      query: "?traderPdaIndex=3",
      authorization: null,
    });
    expect(seen!.headers["x-phoenix-client"]).toBe("language=typescript;sdk=perpwatch;version=0.0.0-test");
    expect(seen!.headers.accept).toBe("application/json");
  });

  test("a path before /v1 is kept", async () => {
    await using set = await open();
    const http = createHttp({ baseUrl: `${set.venue.url}/proxy/`, version: "0", clock: set.clock });
    const request = { method: "GET", target: "/v1/x", body: null, bearer: null, limitMs: 1_000 } as const;
    await set.clock.finish(http.send(request));
    expect(set.venue.seen.at(-1)!.path).toBe("/proxy/v1/x");
    await http.close();
  });

  test.each([
    ["https://exchange.example", 1],
    ["http://127.0.0.1:1", 0],
  ])(
    "a time years ahead of ours is not taken from %s where it is another machine",
    async (baseUrl, times) => {
      const aheadMs = 3 * 365 * 86_400_000;
      await using set = await open({ aheadMs });
      const refused: number[] = [];
      const http = createHttp({
        ...{ baseUrl, version: "0", clock: set.clock, dispatcher: new Pool(set.venue.url) },
        onTimeRefused: (offsetMs) => refused.push(offsetMs),
      });
      const request = { method: "GET", target: STATUS, body: null, bearer: null, limitMs: 1_000 } as const;
      for (let i = 0; i < 5; i++) {
        await set.clock.finish(http.send(request));
        await set.clock.advance(1_000);
      }
      expect(refused).toHaveLength(times);
      expect(Math.abs(http.offsetMs + (times === 0 ? aheadMs : 0))).toBeLessThan(2_000);
      await http.close();
    },
  );

  test("arguments that do not fit are refused before anything leaves", async () => {
    await using set = await open();
    await expect(set.exchange.client.traderState({ authority: "nobody" })).rejects.toThrow("authority");
    expect(set.venue.seen).toEqual([]);
  });

  test("connections are kept: a hundred polls need one", async () => {
    await using set = await open();
    for (let i = 0; i < 100; i++) {
      await set.clock.finish(set.exchange.client.exchangeStatus());
      await set.clock.advance(1_000);
    }
    expect(set.venue.seen).toHaveLength(100);
    expect(set.venue.connections).toBe(1);
  });
});

describe("what comes back", () => {
  test("integers beyond 2^53 survive, in quotes or bare", async () => {
    await using set = await open();
    const text = readFileSync(
      path.join(import.meta.dirname, "../contract/examples/trader-state-snapshot.json"),
      "utf8",
    );
    const wire = JSON.parse(text) as {
      snapshot: { subaccounts: { positions: { basePositionLots?: unknown }[] }[] };
    };
    const position = wire.snapshot.subaccounts.flatMap((one) => one.positions)[0]!;
    expect(position.basePositionLots).toBeDefined();
    position.basePositionLots = "@";
    const marked = JSON.stringify(wire);
    for (const literal of ["9007199254740993", '"9007199254740993"', "-9223372036854775807"]) {
      set.venue.fault(STATE, { body: marked.replace('"@"', literal) });
      const state = await set.clock.finish(set.exchange.client.traderState({ authority }));
      const read = state.snapshot.subaccounts.flatMap((one) => one.positions)[0]!.basePositionLots;
      expect(read).toBe(BigInt(literal.replaceAll('"', "")));
    }
  });

  test("a wrong type names endpoint and field, keeps the body, and is told once", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { body: { ...(example("exchange-status.json") as object), active: "perhaps" } });
    const error = await failure(set, set.exchange.client.exchangeStatus());
    expect(error).toBeInstanceOf(BadRecord);
    expect(error.message).toContain("exchangeStatus: active");
    expect(error).toMatchObject({ reason: "bad-record", retryable: false, status: 200 });
    expect((error as BadRecord).body()).toContain('"perhaps"');
    expect(set.badRecords).toHaveLength(1);
    expect(set.badRecords[0]).toMatchObject({ endpoint: "exchangeStatus", wallet: null });
    expect(set.badRecords[0]!.fields[0]!.path).toBe("active");
    expect(set.venue.seen).toHaveLength(1);
  });

  test("a row that does not fit costs only itself", async () => {
    await using set = await open();
    const rows = example("exchange-markets.json") as { symbol: unknown }[];
    const bent = rows.map((row, at) => (at === 1 ? { ...row, symbol: 7 } : row));
    set.venue.routes.set("/v1/view/exchange/markets", bent);
    const left: number[] = [];
    const onRejected = (places: readonly number[]) => void left.push(...places);
    const markets = await set.clock.finish(set.exchange.client.markets({}, { onRejected }));
    expect(markets).toHaveLength(rows.length - 1);
    expect(left).toEqual([1]);
    expect(set.badRecords).toHaveLength(1);
    expect(set.badRecords[0]!.problem).toContain("[1].symbol");
    expect(JSON.parse(set.badRecords[0]!.body()!)).toEqual(bent[1]);
  });

  test("a row that repeats the token is kept without it", async () => {
    await using set = await open({ wallets: [main] });
    set.exchange.start();
    await set.clock.finish(set.exchange.client.notifications({ traderPubkey }, { wallet: "main" }));
    const token = set.exchange.sessions.of("main")!.peek()!;
    const rows = example("exchange-markets.json") as { symbol: unknown }[];
    const pieces = [token, token.slice(5, 30), Buffer.from(token).toString("base64")];
    const bent = rows.map((row, at) => (at === 1 ? { ...row, symbol: 7, pieces } : row));
    set.venue.routes.set("/v1/view/exchange/markets", bent);
    await set.clock.finish(set.exchange.client.markets({}, { wallet: "main" }));
    expect(set.venue.seen.at(-1)!.authorization).toBe(`Bearer ${token}`);
    expect(JSON.parse(set.badRecords[0]!.body()!)).toMatchObject({ symbol: 7, pieces: ["…", "…", "…"] });
  });

  test("fields that nobody knows pass", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { body: { ...(example("exchange-status.json") as object), moon: "full" } });
    await expect(set.clock.finish(set.exchange.client.exchangeStatus())).resolves.toMatchObject({
      moon: "full",
    });
  });

  test.each([
    ["truncated JSON", '{"active": tr'],
    ["an empty answer", ""],
    ["a page of HTML", "<html>moved</html>"],
  ])("%s is a bad record", async (_name, body) => {
    await using set = await open();
    set.venue.fault(STATUS, { body });
    const error = await failure(set, set.exchange.client.exchangeStatus());
    expect(error).toBeInstanceOf(BadRecord);
    expect((error as BadRecord).body()).toBe(body);
  });

  test("success without the record is a bad record, with another status it is success", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { status: 204, body: "" });
    expect(await failure(set, set.exchange.client.exchangeStatus())).toMatchObject({
      reason: "bad-record",
      status: 204,
    });
    set.venue.fault(STATUS, { status: 203, body: example("exchange-status.json") });
    await set.clock.finish(set.exchange.client.exchangeStatus());
  });

  test("the body of a sign-in is not kept, whatever is wrong with it", async () => {
    await using set = await open();
    set.venue.fault("/v1/auth/login/wallet", { body: { access_token: "a.b.c" } });
    const error = await failure(
      set,
      set.exchange.client.loginWallet({ authority, signature: "x", nonceId: "y" }),
    );
    expect(error).toBeInstanceOf(BadRecord);
    expect((error as BadRecord).body()).toBeNull();
    expect(set.badRecords[0]!.body()).toBeNull();
  });

  test("an answer that is larger than any record is not read to its end", async () => {
    await using set = await open();
    const http = createHttp({ baseUrl: set.venue.url, version: "0", clock: set.clock, maxBytes: 1_000 });
    set.venue.fault(STATUS, { body: "x".repeat(100_000) });
    const request = { method: "GET", target: STATUS, body: null, bearer: null, limitMs: 1_000 } as const;
    await expect(set.clock.finish(http.send(request))).rejects.toMatchObject({ kind: "tooLarge" });
    await http.close();
  });
});

describe("what goes wrong", () => {
  test.each([
    ["500", { status: 500, body: { error: "boom" } }, "server-error", true, "exchangeStatus: 500 boom"],
    ["503 without a body", { status: 503, body: "" }, "server-error", true, "exchangeStatus: 503"],
    [
      "404 in prose",
      { status: 404, body: { error: "No such thing: X" } },
      "refused",
      false,
      "404 No such thing: X",
    ],
    ["400", { status: 400, body: { error: "invalid_request" } }, "refused", false, "400 invalid_request"],
    [
      "400 with a reason",
      { status: 400, body: { error: "invalid_request", message: "limit: must be at most 200" } },
      "refused",
      false,
      "400 invalid_request: limit: must be at most 200",
    ],
    [
      "403 final",
      { status: 403, body: { error: "insufficient_role" } },
      "refused",
      false,
      "insufficient_role",
    ],
    ["301", { status: 301, headers: { location: "http://x.example/" } }, "refused", false, "301"],
  ] as const)("%s", async (_name, answer, reason, retryable, text) => {
    await using set = await open();
    set.venue.fault(STATUS, answer, 9);
    const error = await failure(set, set.exchange.client.exchangeStatus());
    expect(error).toMatchObject({ reason, retryable, status: answer.status, endpoint: "exchangeStatus" });
    expect(error.message).toContain(text);
    expect(set.venue.seen).toHaveLength(retryable ? 3 : 1);
  });

  test("a refusal of any length is told in bounded time, without the token", async () => {
    await using set = await open({ wallets: [main] });
    set.exchange.start();
    await set.clock.finish(set.exchange.client.notifications({ traderPubkey }, { wallet: "main" }));
    const token = set.exchange.sessions.of("main")!.peek()!;
    const base64 = Buffer.from(token).toString("base64");
    const long = ["a", "\\", "a-", "\u{e0041}", "ab "].map((part) => part.repeat(1_000_000));
    for (const said of [...long, `no ${token.slice(9, 40)} x`, `no ${base64} x`]) {
      set.venue.fault(STATUS, { status: 400, body: { error: said, message: `\u{1f3f4}${said}` } });
      const asked = set.exchange.client.exchangeStatus({}, { wallet: "main" });
      const { message } = await failure(set, asked);
      expect(message.length).toBeLessThan(500);
      expect(message).not.toContain(token.slice(12, 24));
      expect(message).not.toContain(base64.slice(12, 24));
    }
  });

  test("whoever was sent a signature or nothing secret at a sign-in is quoted by a few plain words", async () => {
    await using set = await open({ wallets: [main] });
    const { client } = set.exchange;
    const refused = async (path: string, error: string, asked: () => Promise<unknown>) => {
      set.venue.fault(path, { status: 403, body: { error } });
      return (await failure(set, asked())).message;
    };
    const login = () => client.loginWallet({ authority, signature: "5".repeat(88), nonceId: "y" });
    const said = "This wallet is blocked in your region.";
    expect(await refused("/v1/auth/login/wallet", said, login)).toBe(`loginWallet: 403 ${said}`);
    for (const other of [
      `it is blocked${" and so on".repeat(6)}`,
      "see evil.example",
      "no\u202ewallet here",
      "abcdefghijklmnopqr x",
    ])
      expect(await refused("/v1/auth/login/wallet", other, login)).toBe("loginWallet: 403");
    const refresh = () => client.refresh({ refreshToken: "some words" });
    expect(await refused("/v1/auth/refresh", said, refresh)).toBe("refresh: 403");
    const nonce = () => client.authNonce({ authority });
    expect(await refused("/v1/auth/nonce", said, nonce)).toBe(`authNonce: 403 ${said}`);
    for (const other of ["sign in at https://evil.example/login now", "Not in region X\u202e1"])
      expect(await refused("/v1/auth/nonce", other, nonce)).toBe("authNonce: 403");
  });

  test("whoever was sent credentials is quoted by code only, and by none that looks like one of them", async () => {
    await using set = await open();
    const token = "rt_f3a1c9b27d4e480aa1c0550e8400e29b";
    const echoed = [
      token,
      token.slice(3),
      Buffer.from(token).toString("hex"),
      "a_".repeat(31),
      "x".repeat(41),
    ];
    for (const error of echoed) {
      set.venue.fault("/v1/auth/refresh", { status: 401, body: { error } });
      const { message } = await failure(set, set.exchange.client.refresh({ refreshToken: token }));
      expect(message).toBe("refresh: 401");
    }
    const login = () =>
      set.exchange.client.loginWallet({ authority, signature: "signed-text", nonceId: "y" });
    set.venue.fault("/v1/auth/login/wallet", {
      status: 400,
      body: { error: "invalid_request", message: "no: txet-dengis" },
    });
    expect((await failure(set, login())).message).toBe("loginWallet: 400 invalid_request");
    set.venue.fault("/v1/auth/login/wallet", { status: 400, body: { error: "no: txet-dengis" } });
    expect((await failure(set, login())).message).toBe("loginWallet: 400");
  });

  test("a read is repeated after a failure, with a pause that grows", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { status: 503 });
    set.venue.fault(STATUS, { kind: "drop" });
    await set.clock.finish(set.exchange.client.exchangeStatus());
    const at = set.venue.seen.map((one) => one.atMs);
    expect(at).toHaveLength(3);
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(0.85 * 250);
    expect(at[2]! - at[1]!).toBeGreaterThanOrEqual(0.85 * 500);
    expect(at[2]!).toBeLessThan(1_000);
  });

  test("a hang-up, before and in the middle of the answer", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { kind: "drop" }, 3);
    expect(await failure(set, set.exchange.client.exchangeStatus())).toMatchObject({
      reason: "unreachable",
      status: null,
      sent: true,
    });
    set.venue.fault(STATUS, { kind: "cut", body: '{"active":' }, 3);
    expect(await failure(set, set.exchange.client.exchangeStatus())).toMatchObject({ reason: "unreachable" });
    expect(set.venue.seen).toHaveLength(6);
  });

  test("nobody at home", async () => {
    await using set = await open();
    await set.venue[Symbol.asyncDispose]();
    const error = await failure(set, set.exchange.client.exchangeStatus());
    expect(error).toMatchObject({ reason: "unreachable", sent: false });
    expect(error.message).toContain("ECONNREFUSED");
  });

  test("an exchange that never answers costs the deadline and no more", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { kind: "hang" }, 9);
    const startMs = set.clock.elapsedMs();
    const error = await failure(set, set.exchange.client.exchangeStatus({}, { deadlineMs: 4_000 }));
    expect(error).toMatchObject({ reason: "timeout", code: "timeout" });
    expect(set.clock.elapsedMs() - startMs).toBe(4_000);
    expect(set.exchange.http.inFlight).toBe(0);
  });

  test("a slow answer within the deadline is an answer", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { kind: "late", ms: 3_000 });
    await set.clock.finish(set.exchange.client.exchangeStatus({}, { deadlineMs: 4_000 }));
    expect(set.venue.seen).toHaveLength(1);
  });

  test("a caller that gives up gets its own reason", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { kind: "hang" }, 9);
    const abort = new AbortController();
    set.clock.after(700, () => abort.abort(new Error("shutting down")));
    const call = set.exchange.client.exchangeStatus({}, { signal: abort.signal });
    await expect(set.clock.finish(call)).rejects.toThrow("shutting down");
    await expect(set.exchange.client.exchangeStatus({}, { signal: abort.signal })).rejects.toThrow(
      "shutting down",
    );
  });

  test("waiting for the ceiling counts against the deadline", async () => {
    await using set = await open({ requestsPerSecond: 1 });
    const calls = [1, 2, 3].map(() =>
      set.exchange.client.exchangeStatus({}, { deadlineMs: 1_500 }).then(
        () => "read",
        (error: ExchangeError) => `${error.reason} ${error.code} ${error.sent}`,
      ),
    );
    expect(await set.clock.finish(Promise.all(calls))).toEqual(["read", "read", "rate-limited budget false"]);
  });
});

describe("429", () => {
  test("waits for Retry-After with a fraction, then goes on at half the rate", async () => {
    await using set = await open({ requestsPerSecond: 40 });
    set.venue.fault(STATUS, {
      status: 429,
      headers: { "retry-after": "1.5" },
      body: { error: "rate_limited" },
    });
    await set.clock.finish(set.exchange.client.exchangeStatus());
    const [first, second] = set.venue.seen;
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(1_500);
    expect(second!.atMs - first!.atMs).toBeLessThan(1_700);
    expect(set.exchange.budget.ratePerSecond).toBeLessThan(21);
  });

  test("an HTTP date is meant in the exchange's time", async () => {
    await using set = await open({ aheadMs: 3_600_000 });
    const date = new Date(set.clock.nowMs() + 3_600_000 + 5_000).toUTCString();
    set.venue.fault(STATUS, { status: 429, headers: { "retry-after": date } });
    await set.clock.finish(set.exchange.client.exchangeStatus());
    const [first, second] = set.venue.seen;
    expect(second!.atMs - first!.atMs).toBeGreaterThan(3_500);
    expect(second!.atMs - first!.atMs).toBeLessThan(6_000);
  });

  test("holds everybody back, whatever they ask", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { status: 429, headers: { "retry-after": "3" } }, 1);
    const first = set.exchange.client.exchangeStatus().catch(() => null);
    await set.clock.advance(10);
    const atRisk = set.exchange.client.traderState({ authority }, { lane: lanes.atRisk });
    await set.clock.finish(Promise.all([first, atRisk]));
    expect(set.venue.asked(STATE)[0]!.atMs).toBeGreaterThanOrEqual(3_000);
  });

  test("the time limit begins when the request is sent: waiting for the budget does not count", async () => {
    await using set = await open({ requestsPerSecond: 0.1 });
    const { client, budget } = set.exchange;
    const waits: boolean[] = [];
    const onWait = (waiting: boolean) => void waits.push(waiting);
    const patient = { deadlineMs: 3_000, waitMs: Number.POSITIVE_INFINITY, onWait };
    const startMs = set.clock.elapsedMs();
    await set.clock.finish(Promise.all([0, 1, 2, 3].map(() => client.exchangeStatus({}, { ...patient }))));
    expect(set.clock.elapsedMs() - startMs).toBeGreaterThan(25_000);
    expect(waits.filter((waiting) => waiting)).toHaveLength(3);
    expect(waits).toHaveLength(6);
    expect(budget.waiting).toBe(0);
  });

  test("a request that waited for the budget longer than its time limit has all of that limit for its answer", async () => {
    await using set = await open({ requestsPerSecond: 0.1 });
    const { client } = set.exchange;
    await set.clock.finish(client.exchangeStatus());
    set.venue.fault(STATUS, { kind: "late", ms: 2_500 });
    const patient = { deadlineMs: 3_000, waitMs: Number.POSITIVE_INFINITY };
    await set.clock.finish(client.exchangeStatus({}, patient));
    expect(set.venue.seen).toHaveLength(2);
  });

  test("a wait that does not fit the deadline is not begun", async () => {
    await using set = await open();
    set.venue.fault(STATUS, { status: 429, headers: { "retry-after": "30" } });
    const startMs = set.clock.elapsedMs();
    const error = await failure(set, set.exchange.client.exchangeStatus({}, { deadlineMs: 5_000 }));
    expect(error).toMatchObject({ reason: "rate-limited", retryAfterMs: 30_000 });
    expect(set.clock.elapsedMs()).toBe(startMs);
  });
});

describe("an endpoint that refuses everything with 429, whatever its Retry-After,", () => {
  test.each([
    ["is absent", undefined],
    ["is 0", "0"],
    ["is empty", ""],
    ["is negative", "-5"],
    ["is 1e12", "1e12"],
    ["is a number of thirty digits", "9".repeat(30)],
    ["is a date in the past", "Thu, 01 Jan 1970 00:00:00 GMT"],
    ["is a date in the far future", "Fri, 31 Dec 9999 23:59:59 GMT"],
    ["stands there twice", ["0", "86400"]],
    ["is no date", "Mon, tomorrow"],
  ] as const)(
    "holds others up for 5 s at most and is not asked without end: it %s",
    async (_name, header) => {
      await using set = await open({ requestsPerSecond: 20 });
      const headers = header === undefined ? {} : { "retry-after": header as string };
      set.venue.fault(STATUS, { status: 429, headers }, Number.POSITIVE_INFINITY);
      const { client } = set.exchange;
      const stop = new AbortController();
      const { signal } = stop;
      const every = async (ms: number, run: () => Promise<unknown>) => {
        while (!signal.aborted) {
          await run().catch(() => {});
          await set.clock.sleep(ms, signal).catch(() => {});
        }
      };
      const answeredMs: number[] = [];
      const work = [
        every(2_000, () => client.exchangeStatus({}, { signal })),
        every(500, async () => {
          await client.traderState(
            { authority },
            { lane: lanes.state, signal, waitMs: Number.POSITIVE_INFINITY },
          );
          answeredMs.push(set.clock.elapsedMs());
        }),
      ];
      await set.clock.advance(120_000);
      stop.abort(new Error("end of the test"));
      await set.clock.finish(Promise.all(work));
      const gaps = answeredMs.map((atMs, i) => atMs - (answeredMs[i - 1] ?? 0));
      expect(Math.max(...gaps)).toBeLessThan(5_000);
      expect(answeredMs.length).toBeGreaterThan(190);
      // Three attempts every two seconds at most; the schedules of a daemon back off on top of that.
      const asked = set.venue.asked(STATUS).map(({ atMs }) => atMs);
      expect(asked.length).toBeLessThan(160);
      expect(asked.filter((atMs, i) => i > 0 && atMs - asked[i - 1]! < 150)).toEqual([]);
    },
  );
});

describe("what is not safe is sent once", () => {
  test("a sign-in that fails is not repeated; an acknowledgement is", async () => {
    await using set = await open({ wallets: [main] });
    set.venue.fault("/v1/auth/login/wallet", { status: 503 }, 9);
    await failure(set, set.exchange.client.loginWallet({ authority, signature: "x", nonceId: "y" }));
    expect(set.venue.asked("/v1/auth/login/wallet")).toHaveLength(1);
    set.venue.heal();

    const ack = `/v1/traders/${traderPubkey}/notifications/ack/notifications`;
    set.venue.fault(ack, { kind: "lose" });
    const items = [{ type: "admin" as const, id: 7 }];
    await set.clock.finish(
      set.exchange.client.ackNotifications({ traderPubkey, items: items as never }, { wallet: "main" }),
    );
    expect(set.venue.asked(ack)).toHaveLength(2);
  });
});
