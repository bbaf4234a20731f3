/**
 * The part of a list that is answered: the default limit, the end that a limit cuts off, the order, and the bounds of a
 * time window. All follow from the contract.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EndpointName, encodeRequest, endpoints } from "../../src/contract/index.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { ask, quiet, read, sim } from "./support.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

// biome-ignore lint/suspicious/noExplicitAny: tests read JSON of every shape
type Row = any;

let simulator: Simulator;
let now: number;
let known: Record<string, unknown>;

beforeAll(async () => {
  // Long enough that every default limit applies.
  simulator = await quiet({ traders: 2, pastMs: 50 * day });
  now = simulator.world.nowMs;
  const { authority, traderPda } = simulator.traders[0]!;
  known = { authority, traderPubkey: traderPda, symbol: "SOL", timeframe: "1m", resolution: "1m" };
  const trader = "main";
  for (let i = 0; i < 105; i++) {
    await sim(simulator, "collateral", { trader, amount: String(20_000 + i) });
    const [side, price] = i % 2 ? ["ask", "100"] : ["bid", "200"];
    await sim(simulator, "order", { trader, symbol: "SOL", side, price, size: "0.1" });
    await sim(simulator, "advance", { ms: minute });
  }
  // More than a page of liquidations, each in another account.
  for (let i = 0; i < 101; i++) {
    const own = { trader, subaccountIndex: 2 + i, symbol: "GOLD" };
    await sim(simulator, "collateral", { ...own, symbol: undefined, amount: "400" });
    await sim(simulator, "position", { ...own, size: "1", entryPrice: "2411.6" });
  }
  await sim(simulator, "mark-price", { symbol: "GOLD", price: "2090" });
  now = simulator.nowMs();
}, 60_000);
afterAll(() => simulator.stop());

/** The arguments of a request besides the required ones. */
async function get(name: EndpointName, args: object = {}): Promise<Row> {
  const required = Object.entries(endpoints[name].params).filter(([, it]) => it.required);
  const base = Object.fromEntries(required.filter(([it]) => it in known).map(([it]) => [it, known[it]]));
  const limited = required.some(([it]) => it === "limit") ? { limit: 1000 } : {};
  return read(
    simulator,
    name,
    encodeRequest(endpoints[name] as never, { ...base, ...limited, ...args } as never).target,
  );
}

const seconds = (it: Row) => it.timestamp * 1000;
const iso = (field: string) => (it: Row) => Date.parse(it[field]);
const ended = (it: Row) => it.endTime * 1000;

interface Rule {
  readonly name: EndpointName;
  readonly rows: (reply: Row) => Row[];
  readonly at: (row: Row) => number;
  readonly first: "oldest" | "newest";
  /** The rows that a limit keeps. */
  readonly keeps: "oldest" | "newest";
  /** The number of rows without a limit; null: the contract does not state it. */
  readonly default: number | null;
  readonly limit?: "perMarketLimit";
  readonly args?: () => object;
}

const itself = (reply: Row) => reply;
const data = (reply: Row) => reply.data;
const events = (reply: Row) => reply.events;
const of = (symbol: string) => (reply: Row) =>
  (reply.series ?? reply).find((it: Row) => it.symbol === symbol).points;

/** Leaves out the cumulative gain, which differs with fewer points. */
const periods = (reply: Row) => reply.points.map(({ cumulativeReturn: _, ...it }: Row) => it);
/** Almost the age of this world. */
const longAgo = () => ({ startTime: now - 49 * day });

const rules: readonly Rule[] = [
  {
    name: "fundingRates",
    rows: (it) => it.rates,
    at: seconds,
    first: "oldest",
    keeps: "oldest",
    default: 1000,
    args: longAgo,
  },
  {
    name: "marketStats",
    rows: (it) => it.stats,
    at: iso("timestamp"),
    first: "oldest",
    keeps: "oldest",
    default: 1000,
    args: longAgo,
  },
  { name: "candles", rows: itself, at: (it) => it.time, first: "oldest", keeps: "newest", default: 2500 },
  {
    name: "fundingOverview",
    rows: of("SOL"),
    at: seconds,
    first: "oldest",
    keeps: "newest",
    default: 500,
    limit: "perMarketLimit",
    args: longAgo,
  },
  { name: "userPnl", rows: itself, at: ended, first: "oldest", keeps: "newest", default: 1000 },
  { name: "traderPnl", rows: itself, at: ended, first: "oldest", keeps: "newest", default: 1000 },
  { name: "portfolioValues", rows: itself, at: ended, first: "oldest", keeps: "newest", default: 1440 },
  { name: "marketPnl", rows: of("SOL"), at: ended, first: "oldest", keeps: "newest", default: 1000 },
  {
    name: "timeWeightedReturns",
    rows: periods,
    at: ended,
    first: "oldest",
    keeps: "newest",
    default: null,
    args: () => ({ resolution: "5m" }),
  },
  { name: "liquidationHistory", rows: data, at: seconds, first: "newest", keeps: "newest", default: 100 },
  { name: "fundingHistory", rows: events, at: seconds, first: "newest", keeps: "newest", default: 100 },
  { name: "fundingHourly", rows: events, at: seconds, first: "newest", keeps: "newest", default: 50 },
  { name: "marketFills", rows: data, at: iso("timestamp"), first: "newest", keeps: "newest", default: 100 },
  {
    name: "userCollateralHistory",
    rows: data,
    at: iso("timestamp"),
    first: "newest",
    keeps: "newest",
    default: null,
  },
  { name: "orderHistory", rows: data, at: iso("placedAt"), first: "newest", keeps: "newest", default: null },
  {
    name: "tradesHistory",
    rows: data,
    at: iso("timestamp"),
    first: "newest",
    keeps: "newest",
    default: null,
  },
  { name: "tradesV2", rows: data, at: iso("timestamp"), first: "newest", keeps: "newest", default: null },
  { name: "ordersV2", rows: data, at: iso("createdAt"), first: "newest", keeps: "newest", default: null },
];

describe.each(rules.map((it) => [it.name, it] as const))("%s", (name, rule) => {
  const { rows, at, first, keeps } = rule;
  const given = () => rule.args?.() ?? {};

  test(`comes ${first} first; a limit keeps the ${keeps}; ${rule.default ?? "?"} without one`, async () => {
    const few = { [rule.limit ?? "limit"]: 7 };
    const many = { [rule.limit ?? "limit"]: name === "liquidationHistory" ? 100 : 90 };
    const all = rows(await get(name, { ...given(), ...many }));
    const times = all.map(at);
    const sorted = [...times].sort((a, b) => (first === "oldest" ? a - b : b - a));
    expect(times).toEqual(sorted);
    expect(all.length).toBeGreaterThan(80);
    const some = rows(await get(name, { ...given(), ...few }));
    const fromStart = (keeps === "oldest") === (first === "oldest");
    expect(some).toEqual(fromStart ? all.slice(0, 7) : all.slice(-7));
    if (rule.default !== null) expect(rows(await get(name, given()))).toHaveLength(rule.default);
  });
});

test("windows include both their ends, but for public fills, which leave the last instant out", async () => {
  const inclusive: readonly [EndpointName, (reply: Row) => Row[], (row: Row) => number][] = [
    ["fundingRates", (it) => it.rates, seconds],
    ["marketStats", (it) => it.stats, iso("timestamp")],
    ["candles", itself, (it) => it.time],
    ["fundingOverview", of("SOL"), seconds],
    ["fundingHistory", events, seconds],
    ["ordersV2", data, iso("createdAt")],
    ["portfolioValues", itself, ended],
    ["traderPnl", itself, ended],
  ];
  for (const [name, rows, at] of inclusive) {
    const times = [...new Set(rows(await get(name)).map(at))].sort((a, b) => a - b);
    const [startTime, endTime] = [times[1]!, times.at(-2)!];
    const inside = [...new Set(rows(await get(name, { startTime, endTime })).map(at))].sort((a, b) => a - b);
    expect(inside.length, name).toBeGreaterThan(2);
    expect([inside[0], inside.at(-1)], name).toEqual([startTime, endTime]);
  }
  const fills = (await get("marketFills")).data.map(iso("timestamp"));
  const [endTime, startTime] = [fills[3], fills[10]];
  const inside = (await get("marketFills", { startTime, endTime })).data.map(iso("timestamp"));
  expect([inside[0], inside.at(-1)]).toEqual([fills[4], startTime]);
});

test("without a window: an hour of statistics, seven days of funding", async () => {
  const stats = (await get("marketStats")).stats.map(iso("timestamp"));
  expect([stats[0], stats.at(-1)]).toEqual([Math.ceil((now - hour) / minute) * minute, now - (now % minute)]);
  const rates = (await get("fundingRates")).rates.map(seconds);
  expect(rates).toHaveLength(7 * 24);
  expect(rates[0]).toBeGreaterThanOrEqual(now - 7 * day);
  expect(of("SOL")(await get("fundingOverview"))).toHaveLength(7 * 24);
  // An end before all rows is valid and returns nothing.
  expect((await get("fundingRates", { endTime: now - 8 * day })).rates).toEqual([]);
});

test("a year is the longest range, and no longer", async () => {
  for (const name of [
    "fundingRates",
    "fundingOverview",
    "userPnl",
    "traderPnl",
    "portfolioValues",
    "marketPnl",
  ] as const) {
    const range = (ms: number) => ({ startTime: now - ms, endTime: now });
    await get(name, range(365 * day));
    await expect(get(name, range(365 * day + 1))).rejects.toThrow("at most 365 days");
  }
  // Without an end the window reaches until now.
  const path = `/v1/funding/SOL/rates?startTime=${now - 365 * day - 1}`;
  expect((await ask(simulator, path)).json).toEqual({
    error: "invalid_request: startTime to endTime must be at most 365 days",
  });
});

test("points and rows of a filter are those of the whole that fit it", async () => {
  const all = (await get("orderHistory")).data;
  for (const status of ["filled", "active", "FILLED", "open", "cancelled"]) {
    const wanted = status.toLowerCase().replace("open", "active");
    const some = (await get("orderHistory", { orderStatus: status })).data;
    expect(some).toEqual(all.filter((it: Row) => it.status === wanted));
  }
  const liquidated = (await get("liquidationHistory", { subaccountIndex: 5 })).data;
  expect(liquidated.map((it: Row) => it.subaccountIndex)).toEqual([5]);
  expect((await get("liquidationHistory", { symbol: "btc" })).data).toEqual([]);
  expect((await get("liquidationHistory", { symbol: "gold" })).data).toHaveLength(100);
  expect((await get("liquidationHistory", { pdaIndex: 1 })).data).toEqual([]);
  const markets = await get("marketPnl", { symbols: ["sol", "NONE"], limit: 2 });
  expect(markets.map((it: Row) => [it.symbol, it.points.length])).toEqual([["SOL", 2]]);
  const repeated = `/v1/traders/${known.traderPubkey}/pnl/markets?resolution=1d&symbols=SOL&symbols=BTC`;
  expect((await ask(simulator, repeated)).json.map((it: Row) => it.symbol).sort()).toEqual(["BTC", "SOL"]);
  const book = `/v1/view/orderbook/SOL`;
  expect((await ask(simulator, book)).json.splines).toBeUndefined();
  for (const spelling of ["include_splines", "includeSplines"]) {
    const { json } = await ask(simulator, `${book}?${spelling}=true`);
    expect(json.splines).toHaveLength(1);
    const plain = (await ask(simulator, book)).json;
    expect(json.bids[0][1]).toBeGreaterThan(plain.bids[0][1]);
  }
});
