/** A server takes the arguments that a client may send: every endpoint's parameters, generated from the table itself. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { allEndpoints, endpoints } from "../../src/contract/endpoints.ts";
import { type Param, wireName } from "../../src/contract/params.ts";
import {
  ArgumentsRefused,
  argumentFromText,
  argumentNamed,
  checkArgs,
  decodeRequest,
  encodeRequest,
} from "../../src/contract/request.ts";
import { createRouter } from "../../src/contract/router.ts";
import { example } from "./example.ts";

const WALLET = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
const ACCOUNT = "6JMzcBHW9QMNkeXGLvD37tn4Y5gMrBiBTBVkUp6WEVye";
const router = createRouter(allEndpoints);
const base = new URL("http://exchange.invalid");

const word = fc.string({ minLength: 1, unit: "grapheme" }).filter((s) => s !== "." && s !== "..");
const ackItem = fc.oneof(
  fc.record({ type: fc.constantFrom("event", "admin", "general"), id: fc.nat() }),
  fc.record({
    type: fc.constant("event"),
    slot: fc.nat(),
    slotIndex: fc.nat(),
    instructionIndex: fc.nat(),
    eventIndex: fc.nat(),
    recipientIndex: fc.nat(),
  }),
);

/** Values that a parameter's description allows. */
function allowed(param: Param): fc.Arbitrary<unknown> {
  switch (param.type) {
    case "string":
      return word;
    case "key":
      return fc.constantFrom(WALLET, ACCOUNT, "11111111111111111111111111111111");
    case "integer":
      return fc.integer({ min: param.min ?? 0, max: param.max ?? 2 ** 31 });
    case "number":
      return fc.double({ min: param.min ?? 0, max: param.max ?? 1e9, noNaN: true });
    case "boolean":
      return fc.boolean();
    case "time":
      return fc.integer({ min: 1_600_000_000_000, max: 1_900_000_000_000 });
    case "choice":
      return fc.constantFrom(...(param.choices ?? []));
    case "list":
      return fc.array(fc.constantFrom("BTC", "SOL", "ETH-PERP", "ÄÖ&=?"), { minLength: 1, maxLength: 4 });
    case "json":
      return fc.array(ackItem, { minLength: 1, maxLength: 5 });
  }
}

function allowedArgs(endpoint: Endpoint): fc.Arbitrary<Record<string, unknown>> {
  const entries = Object.entries(endpoint.params);
  const required = entries.filter(([, param]) => param.required).map(([name]) => name);
  return fc
    .record(Object.fromEntries(entries.map(([name, param]) => [name, allowed(param)])), {
      requiredKeys: required,
    })
    .filter((args) => checkArgs(endpoint, args).every((problem) => problem.parameter !== null))
    .map((args) => ({ ...args }));
}

/** Through the router and the decoder, as a server sees the request. */
function arrive(request: { method: string; target: string; body: unknown }, nowMs: number | null = null) {
  const url = new URL(request.target, base);
  const match = router.match(request.method, url.pathname);
  if (match.kind !== "found") throw new Error(`${request.target}: ${match.kind}`);
  const body = request.body === null ? undefined : JSON.parse(JSON.stringify(request.body));
  const decoded = decodeRequest(match.endpoint, { path: match.path, query: url.searchParams, body }, nowMs);
  return { name: match.endpoint.name, decoded };
}

describe.each(allEndpoints.map((endpoint) => [endpoint.name, endpoint] as const))("%s", (name, endpoint) => {
  const entries = Object.entries(endpoint.params);

  test("allowed arguments arrive as they were sent, with constant defaults", () => {
    fc.assert(
      fc.property(allowedArgs(endpoint), (args) => {
        const { name: routed, decoded } = arrive(encodeRequest(endpoint, args));
        expect(routed).toBe(name);
        const defaults = Object.fromEntries(
          entries.filter(([, p]) => p.filled).map(([n, p]) => [n, p.default]),
        );
        expect(decoded).toEqual({ ok: true, args: { ...defaults, ...args } });
      }),
      { numRuns: 30 },
    );
  });

  const bounded = entries.flatMap(([n, p]) => [
    ...(p.min === null ? [] : [[n, p, p.min, p.min - 1] as const]),
    ...(p.max === null ? [] : [[n, p, p.max, p.max + 1] as const]),
  ]);
  if (bounded.length > 0)
    test("bounds are the same on both sides", () => {
      const plain = sample(endpoint);
      for (const [n, param, inside, outside] of bounded) {
        expect(checkArgs(endpoint, { ...plain, [n]: inside }).filter((p) => p.parameter === n)).toEqual([]);
        const problem = { parameter: n, message: expect.stringMatching(/must be at (least|most)/) };
        expect(() => encodeRequest(endpoint, { ...plain, [n]: outside })).toThrow(ArgumentsRefused);
        expect(checkArgs(endpoint, { ...plain, [n]: outside })).toContainEqual(problem);
        expect(serverOpinion(endpoint, { ...plain, [n]: outside })).toMatchObject({
          ok: false,
          problem: { status: 400, endpoint: name, message: expect.stringContaining(wireName(n, param)) },
        });
      }
    });

  const required = entries.filter(([, p]) => p.required);
  if (required.length > 0)
    test("what is required is missed on both sides", () => {
      const plain = sample(endpoint);
      for (const [n, param] of required) {
        const { [n]: _gone, ...rest } = plain;
        expect(checkArgs(endpoint, rest)).toContainEqual({ parameter: n, message: `${n}: required` });
        expect(serverOpinion(endpoint, rest)).toMatchObject({
          ok: false,
          problem: { message: expect.stringContaining(`${wireName(n, param)}: required`) },
        });
      }
    });
});

/** One allowed set of required arguments, plus what constraints ask for. */
function sample(endpoint: Endpoint): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(endpoint.params)) {
    if (param.required) args[name] = fc.sample(allowed(param), { numRuns: 1, seed: 7 })[0];
  }
  for (const rule of endpoint.constraints) if (rule.kind === "anyOf") args[rule.params[0]!] = 1;
  return args;
}

/** The server's reply to arguments that a client of ours would not send. */
function serverOpinion(endpoint: Endpoint, args: Record<string, unknown>) {
  const raw = {
    path: {} as Record<string, string>,
    query: new URLSearchParams(),
    body: {} as Record<string, unknown>,
  };
  for (const [name, value] of Object.entries(args)) {
    const param = endpoint.params[name]!;
    const wire = wireName(name, param);
    if (param.in === "path") raw.path[wire] = String(value);
    else if (param.in === "query") raw.query.set(wire, String(value));
    else raw.body[wire] = param.timeForm === "iso" ? new Date(value as number).toISOString() : value;
  }
  return decodeRequest(endpoint, raw);
}

describe("requests in detail", () => {
  test("spelling on the wire", () => {
    const request = encodeRequest(endpoints.orderbook, { symbol: "A/B C", includeSplines: true });
    expect(request).toEqual({
      method: "GET",
      path: "/v1/view/orderbook/A%2FB%20C",
      query: "include_splines=true",
      target: "/v1/view/orderbook/A%2FB%20C?include_splines=true",
      body: null,
    });
    expect(
      arrive({ method: "GET", target: "/v1/view/orderbook/SOL?includeSplines=true", body: null }).decoded,
    ).toEqual({ ok: true, args: { symbol: "SOL", includeSplines: true } });
    const stats = encodeRequest(endpoints.marketStats, { symbol: "SOL", startTime: 1_791_212_400_000 });
    expect(stats.query).toBe("start_time=2026-10-05T15%3A00%3A00.000Z");
  });

  test("lists go comma-separated and arrive repeated too", () => {
    const args = { traderPubkey: ACCOUNT, resolution: "1d", symbols: ["SOL", "BTC"] } as const;
    const { target } = encodeRequest(endpoints.marketPnl, args);
    expect(target).toContain("symbols=SOL%2CBTC");
    for (const query of ["symbols=SOL,BTC", "symbols=SOL&symbols=BTC"]) {
      const asked = arrive({
        method: "GET",
        target: `${target.split("?")[0]}?resolution=1d&${query}`,
        body: null,
      });
      expect(asked.decoded).toMatchObject({ ok: true, args: { symbols: ["SOL", "BTC"], limit: 1000 } });
    }
  });

  test.each([
    ["auth-login-wallet-request", "loginWallet"],
    ["auth-login-transaction-request", "loginWalletTransaction"],
    ["auth-refresh-request", "refresh"],
    ["build-register-request", "buildRegisterIxs"],
    ["notifications-ack-request", "ackNotifications"],
    ["notifications-ack-up-to-request", "ackUpTo"],
    ["referral-activate-tx-request", "activateReferralTx"],
    ["stop-loss-request", "placeStopLossOrder"],
  ] as const)("%s.json is a body of %s, read and written", (file, name) => {
    const endpoint: Endpoint = endpoints[name];
    const body = example(file);
    const path = { trader_pubkey: ACCOUNT };
    const decoded = decodeRequest(endpoint, { path, body });
    if (!decoded.ok) throw new Error(decoded.problem.message);
    const written = encodeRequest(endpoint, decoded.args).body;
    if (name === "ackUpTo") expect(written).toEqual({ beforeTimestamp: "2026-10-05T15:00:00.000Z" });
    else expect(written).toEqual(body);
  });

  test("a body may hold null for absent, and has to be an object", () => {
    const body = { ...(example("stop-loss-request") as object), quantity: null, feePayer: null };
    expect(decodeRequest(endpoints.placeStopLossOrder, { body })).toMatchObject({ ok: true });
    for (const bad of [[], "x", 7]) {
      expect(decodeRequest(endpoints.refresh, { body: bad })).toMatchObject({ ok: false });
    }
  });

  test("all mistakes at once, each by its name, none of a secret", () => {
    const args = { authority: "nope", limit: 0, colour: 1 } as unknown as { authority: string };
    expect(() => encodeRequest(endpoints.fundingHourly, args)).toThrow(
      'fundingHourly: colour: no such parameter; authority: must be a base58 public key of 32 bytes, found "nope"; ' +
        "limit: must be at least 1, found 0",
    );
    const secret = checkArgs(endpoints.refresh, { refreshToken: { token: "hidden" } });
    expect(JSON.stringify(secret)).not.toContain("hidden");
  });

  test("conditions over several parameters", () => {
    const year = 365 * 86_400_000;
    const rates = (startTime: number, endTime?: number) =>
      checkArgs(endpoints.fundingRates, { symbol: "SOL", startTime, endTime });
    expect(rates(0, year)).toEqual([]);
    expect(rates(0, year + 1)).toMatchObject([{ message: "startTime to endTime must be at most 365 days" }]);
    expect(rates(2, 1)).toMatchObject([{ message: "startTime must not be after endTime" }]);
    // Without an end a client cannot know; a server that says what time it is does.
    expect(rates(0)).toEqual([]);
    const asked = { method: "GET", target: "/v1/funding/SOL/rates?startTime=0", body: null };
    expect(arrive(asked, year + 1).decoded).toMatchObject({ ok: false });
    expect(arrive(asked, year).decoded).toMatchObject({ ok: true });
    const history = { authority: WALLET, startTime: 1, cursor: "x" };
    expect(checkArgs(endpoints.fundingHistory, history)).toMatchObject([
      { message: "startTime and cursor exclude each other" },
    ]);
  });

  test.each(["limit=ten", "limit=1e2", "limit=", "limit=1.5", "limit=99999999999999999999"])(
    "%s is refused",
    (query) => {
      const target = `/v1/users/${WALLET}/funding-hourly?${query}`;
      expect(arrive({ method: "GET", target, body: null }).decoded).toMatchObject({
        ok: false,
        problem: { status: 400 },
      });
    },
  );

  test("a command line names arguments as it likes", () => {
    expect(argumentNamed(endpoints.orderbook, "include_splines")).toBe("includeSplines");
    expect(argumentNamed(endpoints.orderbook, "includeSplines")).toBe("includeSplines");
    expect(argumentNamed(endpoints.traderView, "pubkey")).toBe("traderPubkey");
    expect(argumentNamed(endpoints.traderView, "colour")).toBeUndefined();
    expect(argumentFromText(endpoints.fundingHourly.params.limit, "20")).toBe(20);
    expect(argumentFromText(endpoints.fundingHourly.params.limit, "201")).toBeUndefined();
    expect(argumentFromText(endpoints.fundingRates.params.startTime, "2026-10-05T15:00:00Z")).toBe(
      1_791_212_400_000,
    );
  });
});

describe("routes", () => {
  test("literal segments win over parameters", () => {
    expect(router.match("GET", "/v1/market/commodity-calendar")).toMatchObject({
      endpoint: { name: "commodityCalendar" },
    });
    expect(router.match("GET", "/v1/market/SOL/market-calendar")).toMatchObject({
      endpoint: { name: "marketCalendar" },
    });
    expect(router.match("GET", "/v1/funding/overview")).toMatchObject({
      endpoint: { name: "fundingOverview" },
    });
    // A market that is called like a literal segment is still reached.
    expect(router.match("GET", "/v1/funding/overview/rates")).toMatchObject({
      endpoint: { name: "fundingRates" },
      path: { symbol: "overview" },
    });
  });
  test("404 and 405 differ", () => {
    expect(router.match("GET", "/v1/nothing")).toEqual({ kind: "unknown" });
    expect(router.match("GET", "/v1/view/trader/")).toEqual({ kind: "unknown" });
    expect(router.match("GET", "/v1/view/trader/%zz")).toEqual({ kind: "unknown" });
    expect(router.match("POST", "/v1/view/exchange")).toEqual({ kind: "otherMethod", allow: ["GET"] });
    expect(router.match("GET", "/v1/auth/refresh")).toEqual({ kind: "otherMethod", allow: ["POST"] });
  });
  test("two endpoints cannot have one route", () => {
    expect(() => createRouter([endpoints.market, endpoints.market])).toThrow("have one route");
  });
});
