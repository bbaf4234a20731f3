/**
 * Both sides of the table, over a real socket: for every endpoint, arguments within its bounds are accepted by client and
 * simulator alike and come back as records that the schemas accept; arguments outside are refused by both: by the
 * client before anything is sent, by the simulator with 400 and a code when they are sent all the same.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ArgumentsRefused,
  allEndpoints,
  checkArgs,
  type Endpoint,
  type Param,
  TIMEFRAMES,
  wireName,
} from "../../src/contract/index.ts";
import { seededRandom, systemClock } from "../../src/domain/clock.ts";
import {
  type BadRecordReport,
  createExchange,
  type Exchange,
  ExchangeError,
} from "../../src/exchange/index.ts";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { testSigner } from "../exchange/local-exchange.ts";
import { MemorySessions } from "../exchange/rig.ts";
import { ask, signIn } from "../simulator/support.ts";

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const day = 86_400_000;
/** Codes with which the simulator says that a request as such cannot be. */
const requestCodes = ["invalid_request", "invalid_pubkey", "malformed_json"];
/**
 * Endpoints whose arguments are made by somebody: a signature, a transaction, a token. Any other text is refused for what it
 * is.
 */
const needMore = new Set([
  "loginWallet",
  "loginWalletTransaction",
  "refresh",
  "logout",
  "sendRegisterIxs",
  "activateReferralTx",
  "activateReferral",
  "activateInvite",
  "placeStopLossOrder",
]);

let simulator: Simulator;
let exchange: Exchange;
const badRecords: BadRecordReport[] = [];
const cursors = new Map<string, string[]>();
type Args = Record<string, unknown>;
type Call = (args: Args, call?: object) => Promise<unknown>;

function open(store = new MemorySessions()): Exchange {
  return createExchange({
    settings: { baseUrl: simulator.url, requestsPerSecond: 10_000 },
    version: "0.0.0-test",
    clock: systemClock(),
    random: seededRandom(seed),
    wallets: [{ name: "main", key: testSigner(simulator.keyOf("main")), login: "message" }],
    store,
    onSession: () => {},
    onTrouble: () => {},
    onBadRecord: (report) => void badRecords.push(report),
  });
}
const method = (on: Exchange, name: string): Call => (on.client as unknown as Record<string, Call>)[name]!;
const main = { wallet: "main", deadlineMs: 10_000 };
const asked = () => simulator.requests.query(undefined).total;

beforeAll(async () => {
  simulator = await startSimulator({ seed: 4, traders: 3, speed: 0, pastMs: 6 * 3_600_000 });
  exchange = open();
  for (const endpoint of allEndpoints.filter((it) => it.paging !== null)) {
    const page = (await method(exchange, endpoint.name)({ ...plain(endpoint), limit: 1 }, main)) as Args;
    const found = [endpoint.paging?.older.field, endpoint.paging?.newer?.field]
      .map((field) => page[field ?? ""])
      .filter((it) => typeof it === "string");
    cursors.set(endpoint.name, found);
  }
});
afterAll(async () => {
  await exchange.stop();
  await simulator.stop();
});

/** Wallet, account, market and the rest by argument name, as they are in this world. */
function known(name: string): unknown[] | undefined {
  const trader = simulator.traders[1]!;
  switch (name) {
    case "traderAuthority":
      // Nobody has registered it yet.
      return [WalletKey.fromSeed(new Uint8Array(32).fill(9)).address];
    case "authority":
      return [simulator.traders[0]!.authority, trader.authority, "11111111111111111111111111111111"];
    case "traderPubkey":
      return [simulator.traders[0]!.traderPda];
    case "symbol":
      return ["SOL", "btc", "GOLD"];
    case "marketCalendarId":
      return ["simulated_commodities"];
    case "timeframe":
      return [...TIMEFRAMES];
    default:
      return undefined;
  }
}

function plain(endpoint: Endpoint): Args {
  const required = Object.entries(endpoint.params).filter(([, it]) => it.required);
  const args = Object.fromEntries(required.map(([name, param]) => [name, example(endpoint, name, param)]));
  return endpoint.name === "placeStopLossOrder" ? { ...args, numBaseLots: 1 } : args;
}

function example(endpoint: Endpoint, name: string, param: Param): unknown {
  if (name === "symbol" && endpoint.path.includes("calendar")) return "GOLD";
  const [first] = known(name) ?? [];
  if (first !== undefined) return first;
  switch (param.type) {
    case "key":
      return simulator.traders[0]!.authority;
    case "integer":
    case "number":
      return param.min ?? 1;
    case "choice":
      return param.choices?.[0];
    case "json":
      return [{ type: "event", id: 1 }];
    case "time":
      return simulator.world.nowMs;
    default:
      return "x";
  }
}

/** Values that a parameter's description allows, in this world. */
function allowed(endpoint: Endpoint, name: string, param: Param): fc.Arbitrary<unknown> {
  if (name === "symbol" && endpoint.path.includes("calendar")) return fc.constantFrom("GOLD", "gold");
  const there = known(name);
  if (there) return fc.constantFrom(...there);
  if (name === "cursor" || name.endsWith("Cursor")) {
    const newer = name === "prevCursor";
    const fitting = (cursors.get(endpoint.name) ?? []).filter(
      (it) =>
        (name === "cursor" && endpoint.paging?.older.argument === "cursor") ||
        Buffer.from(it, "base64url").toString().startsWith("newer") === newer,
    );
    return fitting.length > 0 ? fc.constantFrom(...fitting) : fc.constant(undefined);
  }
  const word = fc.string({ minLength: 1, unit: "grapheme" }).filter((it) => it !== "." && it !== "..");
  const now = simulator.world.nowMs;
  switch (param.type) {
    case "string":
      return word;
    case "key":
      return fc.uint8Array({ minLength: 32, maxLength: 32 }).map(() => simulator.traders[2]!.authority);
    case "integer":
      return fc.integer({ min: param.min ?? 0, max: param.max ?? 2 ** 31 - 1 });
    case "number":
      return fc.double({ min: param.min ?? 0, max: param.max ?? 1e9, noNaN: true });
    case "boolean":
      return fc.boolean();
    case "time":
      return fc.integer({ min: now - 364 * day, max: now + 3_600_000 });
    case "choice":
      return fc.constantFrom(...(param.choices ?? []));
    case "list":
      return fc.array(fc.constantFrom("BTC", "sol", "NONE", "ÄÖ&=?"), { minLength: 1, maxLength: 4 });
    case "json":
      return fc.array(fc.record({ type: fc.constantFrom("event", "admin", "general"), id: fc.nat() }), {
        minLength: 1,
        maxLength: 5,
      });
  }
}

function inBounds(endpoint: Endpoint): fc.Arbitrary<Args> {
  const entries = Object.entries(endpoint.params);
  return fc
    .record(Object.fromEntries(entries.map(([name, param]) => [name, allowed(endpoint, name, param)])), {
      requiredKeys: entries.filter(([, it]) => it.required).map(([name]) => name),
    })
    .map((args) => Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined)))
    .filter((args) => checkArgs(endpoint, args).length === 0);
}

interface Violation {
  readonly what: string;
  readonly args: Args;
}

/** Everything that the table forbids, one at a time. */
function violations(endpoint: Endpoint): Violation[] {
  const base = plain(endpoint);
  const now = simulator.world.nowMs;
  const out: Violation[] = [];
  const add = (what: string, args: Args) => out.push({ what, args: { ...base, ...args } });
  for (const [name, param] of Object.entries(endpoint.params)) {
    if (param.required && param.in !== "path") {
      const { [name]: _, ...rest } = base;
      out.push({ what: `${name} missing`, args: rest });
    }
    if (param.min !== null) add(`${name} below ${param.min}`, { [name]: param.min - 1 });
    if (param.max !== null) add(`${name} above ${param.max}`, { [name]: param.max + 1 });
    for (const wrong of wrongFor(param)) add(`${name} is ${JSON.stringify(wrong)}`, { [name]: wrong });
  }
  for (const rule of endpoint.constraints) {
    if (rule.kind === "range") {
      add(`${rule.from} after ${rule.to}`, { [rule.from]: now, [rule.to]: now - 1 });
      if (rule.maxMs === null) continue;
      add("a range that is too long", { [rule.from]: now - rule.maxMs - 1, [rule.to]: now });
      add("a range up to now that is too long", { [rule.from]: now - rule.maxMs - day });
    } else if (rule.kind === "exclusive") {
      const [one, other] = rule.params as [string, string];
      const value = (name: string) => example(endpoint, name, endpoint.params[name]!);
      add(`${one} and ${other}`, { [one]: value(one), [other]: value(other) });
    } else {
      out.push({
        what: `none of ${rule.params.join(", ")}`,
        args: Object.fromEntries(Object.entries(base).filter(([name]) => !rule.params.includes(name))),
      });
    }
  }
  return out;
}

function wrongFor(param: Param): unknown[] {
  switch (param.type) {
    case "string":
      return param.in === "path" ? [] : [""];
    case "key":
      return ["abc", "0OIl", "1".repeat(33), "1".repeat(31), `${"z".repeat(44)}`];
    case "integer":
      return ["one", 1.5, 2 ** 53, ""];
    case "number":
      return ["one", ""];
    case "boolean":
      return ["maybe", 1];
    case "time":
      return ["soon", -1];
    case "choice":
      return ["none of them", ""];
    case "list":
      return [[], [""]];
    case "json":
      return [[], "x", [{ type: "event" }], [{ type: "mystery", id: 1 }]];
  }
}

/** A request as it stands, without anybody having looked at it. */
function rawRequest(endpoint: Endpoint, args: Args): { path: string; method: string; raw?: string } {
  let path = endpoint.path;
  const query = new URLSearchParams();
  const body: Args = {};
  let hasBody = false;
  for (const [name, param] of Object.entries(endpoint.params)) {
    hasBody ||= param.in === "body";
    const value = args[name];
    if (value === undefined) continue;
    const iso = param.timeForm === "iso" && typeof value === "number" && value >= 0;
    const written = iso ? new Date(value).toISOString() : value;
    const wire = wireName(name, param);
    if (param.in === "path") path = path.replace(`{${wire}}`, encodeURIComponent(String(value)));
    else if (param.in === "query") query.append(wire, String(written));
    else body[wire] = written;
  }
  const text = query.toString();
  return {
    path: text === "" ? path : `${path}?${text}`,
    method: endpoint.method,
    ...(hasBody ? { raw: JSON.stringify(body) } : {}),
  };
}

describe.each(allEndpoints.map((it) => [it.name, it] as const))(`%s, seed ${seed}`, (name, endpoint) => {
  test("arguments within bounds are accepted by both sides", async () => {
    badRecords.length = 0;
    const call = method(exchange, name);
    await fc.assert(
      fc.asyncProperty(inBounds(endpoint), async (args) => {
        try {
          await call(args, main);
        } catch (error) {
          if (!needMore.has(name) || !(error instanceof ExchangeError)) throw error;
          // Understood, and then refused for what it holds.
          expect(requestCodes).not.toContain(error.code);
          expect(error.status).toBeLessThan(500);
        }
      }),
      { seed, numRuns: Object.keys(endpoint.params).length === 0 ? 1 : 12 },
    );
    expect(badRecords).toEqual([]);
  });

  test("arguments outside are refused by both", async () => {
    const call = method(exchange, name);
    const bearer = endpoint.session === "required" ? (await signIn(simulator)).access_token : null;
    for (const { what, args } of violations(endpoint)) {
      const before = asked();
      await expect(call(args, main), `the client lets pass: ${what}`).rejects.toThrow(ArgumentsRefused);
      expect(asked(), `something was sent: ${what}`).toBe(before);
      const { path, ...request } = rawRequest(endpoint, args);
      const answer = await ask(simulator, path, { ...request, ...(bearer === null ? {} : { bearer }) });
      expect([answer.status, answer.json?.error], `${what}: ${path} ${request.raw ?? ""}`).toEqual([
        400,
        expect.stringMatching(/^invalid_(request|pubkey): ./),
      ]);
      expect(Object.keys(answer.json)).toEqual(["error"]);
    }
  });
});

test("bad arguments are refused before anybody signs in for them", async () => {
  const fresh = open();
  const before = asked();
  await expect(method(fresh, "notifications")({ traderPubkey: "abc" }, main)).rejects.toThrow(
    ArgumentsRefused,
  );
  expect(asked()).toBe(before);
  await fresh.stop();
});
