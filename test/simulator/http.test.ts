import { statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allEndpoints, type EndpointName, encodeRequest, endpoints } from "../../src/contract/index.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type BadSettings, runSimulator, type Simulator } from "../../src/simulator/index.ts";
import { readKeyFile } from "../../src/wallet/keypair-file.ts";
import { ask, quiet, read, signIn, sim, start } from "./support.ts";

const living = { seed: 5, traders: 4, walk: true, pastMs: 12 * 3_600_000 } as const;

test("every read answers what its schema accepts", async () => {
  await using simulator = await quiet(living);
  await sim(simulator, "advance", { ms: 60_000 });
  await sim(simulator, "notification", {
    trader: "main",
    source: "admin",
    notificationType: "maintenance",
    body: "x",
  });
  await sim(simulator, "notification", {
    trader: "main",
    source: "general",
    notificationType: "account",
    body: "y",
  });
  const { authority, traderPda } = simulator.traders[0]!;
  const bearer = (await signIn(simulator)).access_token;
  const known: Record<string, unknown> = {
    authority,
    traderPubkey: traderPda,
    symbol: "SOL",
    limit: 20,
    timeframe: "5m",
    resolution: "1d",
    marketCalendarId: "simulated_commodities",
  };
  for (const endpoint of allEndpoints) {
    if (endpoint.method !== "GET") continue;
    const required = Object.entries(endpoint.params).filter(([, it]) => it.required);
    const args = Object.fromEntries(required.map(([name]) => [name, known[name]]));
    if (endpoint.path.includes("calendar") && "symbol" in args) args.symbol = "GOLD";
    const { target } = encodeRequest(endpoint, args as never);
    await read(simulator, endpoint.name as EndpointName, target, bearer);
  }
});

test("figures agree with each other", async () => {
  await using simulator = await quiet(living);
  const { authority, traderPda } = simulator.traders[1]!;
  const get = (name: EndpointName, args: object) =>
    read(simulator, name, encodeRequest(endpoints[name], args as never).target);
  const view = await get("traderView", { traderPubkey: traderPda });
  const [pnl] = (
    await get("traderPnl", { traderPubkey: traderPda, resolution: "1d", includeLatest: true })
  ).slice(-1);
  const fills = (await get("tradesHistory", { authority, limit: 1000 })).data.filter(
    (it: { subaccountIndex: number }) => it.subaccountIndex === 0,
  );
  const sum = (name: string, rows: Record<string, string>[]) =>
    rows.reduce((total, it) => total + Number(it[name]), 0);
  expect(pnl.cumulativePnl).toBeCloseTo(sum("realizedPnl", fills), 4);
  expect(pnl.unrealizedPnl).toBeCloseTo(Number(view.unrealizedPnl.ui), 4);
  const funding = (await get("fundingHourly", { authority, limit: 200 })).events;
  if (!simulator.traders[1] || view.positions.length === 0) throw new Error("nothing to compare");
  expect(pnl.cumulativeFundingPayment).toBeCloseTo(sum("fundingPayment", funding), 4);
  const [value] = (
    await get("portfolioValues", { traderPubkey: traderPda, resolution: "1h", includeLatest: true })
  ).slice(-1);
  expect(value.value).toBeCloseTo(Number(view.portfolioValue.ui), 4);
  const rates = (await get("fundingRates", { symbol: "SOL" })).rates;
  expect(rates).toHaveLength(12);
  for (const row of funding.filter((it: { symbol: string }) => it.symbol === "SOL")) {
    const rate = rates.find((it: { timestamp: number }) => it.timestamp === row.timestamp);
    expect(row.fundingRatePercentage).toBe(rate.fundingRatePercentage);
  }
  const candles = await get("candles", { symbol: "SOL", timeframe: "1m", limit: 3 });
  const stats = await get("latestMarketStats", { symbol: "SOL" });
  expect(candles.at(-1).close).toBe(stats.mark_price);
});

test("cursors lead through all rows once, while new ones arrive, and on to the newer ones", async () => {
  await using simulator = await quiet();
  const { authority } = simulator.traders[0]!;
  await sim(simulator, "trader", { name: "a" });
  const a = simulator.traders.find((it) => it.name === "a")!;
  let amount = 0;
  const deposit = () =>
    sim(simulator, "collateral", { authority: a.authority, amount: String(++amount * 10) });
  for (let i = 0; i < 25; i++) await deposit();
  const path = `/v1/users/${a.authority}/collateral-history?limit=4`;
  const seen: number[] = [];
  let page = await read(simulator, "userCollateralHistory", path);
  const newer = page.prevCursor;
  for (;;) {
    seen.push(...page.data.map((it: { collateralAfter: number }) => it.collateralAfter / 1e7));
    if (!page.hasMore) break;
    await deposit();
    page = await read(simulator, "userCollateralHistory", `${path}&nextCursor=${page.nextCursor}`);
  }
  expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => 25 - i));
  expect(page.nextCursor).toBeNull();
  const fresh: number[] = [];
  let next = await read(simulator, "userCollateralHistory", `${path}&prevCursor=${newer}`);
  for (;;) {
    fresh.unshift(...next.data.map((it: { collateralAfter: number }) => it.collateralAfter / 1e7));
    if (!next.hasMore) break;
    next = await read(simulator, "userCollateralHistory", `${path}&prevCursor=${next.prevCursor}`);
  }
  expect(fresh).toEqual([31, 30, 29, 28, 27, 26]);
  const nothing = await read(simulator, "userCollateralHistory", `${path}&prevCursor=${next.prevCursor}`);
  expect(nothing).toMatchObject({ data: [], hasMore: false, prevCursor: next.prevCursor });
  expect((await ask(simulator, `${path}&nextCursor=rubbish`)).status).toBe(400);
  expect((await ask(simulator, `/v1/users/${authority}/collateral-history`)).status).toBe(400);
});

test("notifications page to older ones; acknowledging up to an instant leaves what came at it and later", async () => {
  await using simulator = await quiet();
  const { traderPda } = simulator.traders[0]!;
  const bearer = (await signIn(simulator)).access_token;
  for (let i = 0; i < 5; i++) {
    await sim(simulator, "notification", { trader: "main", source: "general", notificationType: `n${i}` });
    await sim(simulator, "advance", { ms: 1_000 });
  }
  const path = `/v1/traders/${traderPda}/notifications`;
  const types = (page: { items: { notificationType: string }[] }) =>
    page.items.map((it) => it.notificationType);
  const first = await read(simulator, "notifications", `${path}?limit=3`, bearer);
  expect(types(first)).toEqual(["n4", "n3", "n2"]);
  const second = await read(simulator, "notifications", `${path}?limit=3&cursor=${first.nextCursor}`, bearer);
  expect([types(second), second.nextCursor]).toEqual([["n1", "n0"], null]);
  const body = { beforeTimestamp: new Date(Date.parse(start) + 2_000).toISOString() };
  expect((await ask(simulator, `${path}/ack/up-to`, { body, bearer })).status).toBe(200);
  expect(types(await read(simulator, "notifications", `${path}?unackedOnly=true`, bearer))).toEqual([
    "n4",
    "n3",
    "n2",
  ]);
});

test("invalid requests are refused as in the contract", async () => {
  await using simulator = await quiet();
  const { authority, traderPda } = simulator.traders[0]!;
  const outcome = async (path: string, options: Parameters<typeof ask>[2] = {}) => {
    const { status, json } = await ask(simulator, path, options);
    expect(json.error).toBeTypeOf("string");
    return status;
  };
  expect(await outcome("/v1/nothing")).toBe(404);
  expect(await outcome("/")).toBe(404);
  expect(await outcome("/v1/market/NONE/mark-price")).toBe(404);
  expect(await outcome("/v1/markets/stats/latest", { method: "POST" })).toBe(405);
  expect(await outcome("/v1/trader/state/rubbish")).toBe(400);
  expect(await outcome(`/v1/trader/state/${authority}?traderPdaIndex=-1`)).toBe(400);
  expect(await outcome(`/v1/users/${authority}/funding-hourly?limit=201`)).toBe(400);
  expect(await outcome(`/v1/users/${authority}/liquidation-history?cursor=bmV3`)).toBe(400);
  expect(await outcome(`/v1/view/trader/${authority}`)).toBe(400);
  expect(await outcome("/v1/auth/login/wallet", { raw: "{" })).toBe(400);
  expect(await outcome("/v1/auth/login/wallet", { raw: "[]" })).toBe(400);
  expect(await outcome("/v1/auth/login/wallet", { method: "POST" })).toBe(400);
  expect(await outcome("/v1/auth/login/wallet", { raw: JSON.stringify({ x: "y".repeat(1_048_576) }) })).toBe(
    413,
  );
  const bearer = (await signIn(simulator)).access_token;
  const ack = `/v1/traders/${traderPda}/notifications/ack/notifications`;
  expect(await outcome(ack, { body: { items: [] }, bearer })).toBe(400);
  expect(await outcome(ack, { body: { items: [{ type: "event", slot: 1 }] }, bearer })).toBe(400);
});

test("a wallet that never traded has an empty, cold account", async () => {
  await using simulator = await quiet({ traders: 0 });
  const wallet = simulator.world.house.address;
  const state = await read(simulator, "traderState", `/v1/trader/state/${wallet}`);
  expect(state.snapshot.capabilities.state).toBe("cold");
  expect(state.snapshot.subaccounts).toMatchObject([{ subaccountIndex: 0, collateral: "0", positions: [] }]);
  const page = await read(simulator, "fundingHourly", `/v1/users/${wallet}/funding-hourly`);
  expect(page).toEqual({ events: [], nextCursor: null, prevCursor: null, hasMore: false });
});

test("faults refuse, lose, cut and change answers, as often as configured", async () => {
  await using simulator = await quiet();
  const path = "/v1/view/exchange/status";
  const get = () => ask(simulator, path);
  const fault = (body: object) => sim(simulator, "fault", { path, ...body });
  const clear = () => ask(simulator, "/sim/fault", { method: "DELETE" });

  await fault({ path: "/v1/view/*", status: 429, retryAfter: 2, error: "rate_limited", times: 2 });
  const refused = await get();
  expect([refused.status, refused.json, refused.headers.get("retry-after")]).toEqual([
    429,
    { error: "rate_limited" },
    "2",
  ]);
  expect((await get()).status).toBe(429);
  expect((await get()).status).toBe(200);
  expect((await ask(simulator, "/sim/fault")).json).toMatchObject([{ times: 0, hits: 2 }]);

  await fault({ method: "post", status: 500 });
  expect((await get()).status).toBe(200);
  await clear();
  await fault({ body: '{"active": tr' });
  const rubbish = await get();
  expect([rubbish.status, rubbish.text]).toEqual([200, '{"active": tr']);
  await clear();
  await fault({ drop: true });
  await expect(get()).rejects.toThrow();
  await clear();
  await fault({ drop: "body" });
  await expect(get()).rejects.toThrow();
  await clear();
  await fault({ omit: ["gated"], set: { extra: 1, active: "yes" } });
  expect((await get()).json).toEqual({ active: "yes", withdrawalsAvailable: true, extra: 1 });
  await clear();

  // The answer of a refresh is lost, but the token is used.
  const tokens = await signIn(simulator);
  await fault({ path: "/v1/auth/refresh", drop: "reply", times: 1 });
  const refresh = () => ask(simulator, "/v1/auth/refresh", { body: { refresh_token: tokens.refresh_token } });
  await expect(refresh()).rejects.toThrow();
  expect((await refresh()).json).toEqual({ error: "invalid_refresh_token" });

  const before = performance.now();
  await fault({ delayMs: 60, times: 1 });
  await get();
  expect(performance.now() - before).toBeGreaterThan(50);
});

test("requests are counted by path, with their queries, and control calls are not", async () => {
  await using simulator = await quiet();
  await ask(simulator, "/v1/view/exchange/status");
  await ask(simulator, "/v1/market/SOL/stats?limit=3");
  await ask(simulator, "/v1/market/SOL/stats?limit=0");
  const all = (await ask(simulator, "/sim/requests")).json;
  expect(all.counts).toEqual({ "/v1/view/exchange/status": 1, "/v1/market/SOL/stats": 2 });
  const some = (await ask(simulator, "/sim/requests?path=/v1/market/*")).json;
  expect(some).toMatchObject({
    count: 2,
    total: 3,
    requests: [{ query: "limit=3", status: 200 }, { status: 400 }],
  });
  await ask(simulator, "/sim/requests", { method: "DELETE" });
  expect((await ask(simulator, "/sim/requests")).json.total).toBe(0);
});

test("above its ceiling the simulator answers 429 with Retry-After, and time helps", async () => {
  await using simulator = await quiet({ requestsPerSecond: 2 });
  const statuses = async () => (await ask(simulator, "/v1/view/exchange/status")).status;
  expect([await statuses(), await statuses(), await statuses()]).toEqual([200, 200, 429]);
  const refused = await ask(simulator, "/v1/view/exchange/status");
  expect([refused.json, refused.headers.get("retry-after")]).toEqual([{ error: "rate_limited" }, "1"]);
  await sim(simulator, "advance", { ms: 500 });
  expect([await statuses(), await statuses()]).toEqual([200, 429]);
});

test("the date and every time are simulated", async () => {
  await using simulator = await quiet();
  await sim(simulator, "advance", { ms: 3_600_000 });
  const answer = await ask(simulator, "/v1/markets/stats/latest");
  expect(answer.headers.get("date")).toBe("Mon, 05 Oct 2026 16:00:00 GMT");
  expect(answer.json.markets[0].timestamp_ms).toBe(String(Date.parse("2026-10-05T16:00:00Z")));
});

test("invalid control calls are refused with the reason", async () => {
  await using simulator = await quiet();
  const problem = async (call: string, body: object) => {
    const answer = await ask(simulator, `/sim/${call}`, { body });
    expect(answer.status).toBe(400);
    return answer.json.error;
  };
  expect(await problem("mark-price", { symbol: "NONE", price: "1" })).toMatch(
    /no such market: NONE; there are SOL/,
  );
  expect(await problem("mark-price", { symbol: "SOL", price: "one" })).toMatch(/price: /);
  expect(await problem("position", { symbol: "SOL", size: "1" })).toMatch(/authority: required/);
  expect(await problem("position", { trader: "nobody", symbol: "SOL", size: "1" })).toMatch(
    /no such trader: nobody/,
  );
  expect(await problem("position", { trader: "main", symbol: "SOL", size: "1.001" })).toMatch(/at most 2/);
  expect(await problem("trader", { name: "house" })).toMatch(/house is taken/);
  expect(await problem("trader", { authority: simulator.traders[0]!.authority })).toMatch(/there already/);
  expect(await problem("session", { trader: "main", action: "kill" })).toMatch(/action: /);
  expect(await problem("advance", { ms: 1, also: 2 })).toMatch(/also/);
  expect((await ask(simulator, "/sim/nothing", { body: {} })).status).toBe(404);
  expect((await ask(simulator, "/sim/advance")).status).toBe(405);
});

test.each([
  ["a page of another origin", { origin: "https://example.org" }],
  ["a page without an origin", { origin: "null" }],
])("control calls of %s are refused", async (_who, headers) => {
  await using simulator = await quiet();
  const symbol = "SOL";
  const refused = await ask(simulator, "/sim/mark-price", { body: { symbol, price: "1" }, headers });
  expect([refused.status, refused.json.error]).toEqual([403, "Control calls are not taken from web pages"]);
  expect((await ask(simulator, "/sim/state", { headers })).status).toBe(403);
  const [{ mark_price }] = (await ask(simulator, "/v1/markets/stats/latest")).json.markets;
  expect(mark_price).not.toBe(1);
});

test("control calls under another name than this machine's own are refused", async () => {
  await using simulator = await quiet();
  const { port } = new URL(simulator.url);
  const statusFor = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path: "/sim/state", headers: { host } };
      get(options, (response) => resolve(response.resume().statusCode)).on("error", reject);
    });
  expect(await statusFor(`rebound.example.org:${port}`)).toBe(403);
  for (const host of ["localhost", "127.0.0.1", `[::1]:${port}`]) expect(await statusFor(host)).toBe(200);
});

test("a simulator that others can reach takes no control calls", async () => {
  await using simulator = await quiet({ host: "0.0.0.0" });
  const reachable = { url: simulator.url.replace("0.0.0.0", "127.0.0.1") } as Simulator;
  expect((await ask(reachable, "/v1/view/exchange/status")).status).toBe(200);
  for (const path of ["/sim/state", "/sim/requests"]) expect((await ask(reachable, path)).status).toBe(403);
  expect((await ask(reachable, "/sim/advance", { body: { ms: 1 } })).status).toBe(403);
});

test("a scenario plays at its moments, and again when it loops", async () => {
  const scenario = `
loop: 60s
steps:
  - { at: 10s, call: mark-price, with: { symbol: SOL, price: "140" } }
  - { at: 40s, call: mark-price, with: { symbol: SOL, price: "151" } }
  - { at: 50s, call: collateral, with: { trader: nobody, amount: "1" } }
`;
  const problems: string[] = [];
  await using simulator = await quiet({ scenario, onProblem: (it) => problems.push(it) });
  const mark = async () => (await ask(simulator, "/v1/market/SOL/mark-price")).json.markPrice.price;
  const seen: number[] = [];
  for (const ms of [9_999, 1, 29_999, 1, 30_000, 30_000]) {
    await sim(simulator, "advance", { ms });
    seen.push(await mark());
  }
  expect(seen).toEqual([151.35, 140, 140, 151, 140, 151]);
  expect(problems).toEqual(["scenario, collateral: no such trader: nobody; POST /sim/trader makes one"]);
});

test("as a program it prints one line, writes keys for their owner only, and refuses what it cannot use", async () => {
  const folder = await mkdtemp(join(tmpdir(), "simulator-"));
  const lines: string[] = [];
  const out = { write: (text: string) => lines.push(text) };
  const keysDir = join(folder, "keys");
  const simulator = await runSimulator(
    { port: "0", traders: "2", walk: "off", keysDir, seed: "9" },
    out,
    out,
  );
  try {
    expect(lines).toHaveLength(1);
    const { url, traders } = JSON.parse(lines[0]!);
    expect(url).toBe(simulator.url);
    expect(traders.map((it: { name: string }) => it.name)).toEqual(["main", "trader-2"]);
    for (const { authority, keyFile } of traders) {
      expect(statSync(keyFile).mode & 0o777).toBe(0o600);
      expect(readKeyFile(keyFile).address).toBe(authority);
    }
  } finally {
    await simulator.stop();
  }
  const file = join(folder, "scenario.yaml");
  await writeFile(
    file,
    "- { at: 10s, call: mark-price }\n- { at: soon, call: mark-price }\n- { at: 1s, call: dance }\n",
  );
  const mistakes = (raw: object) =>
    runSimulator(raw as never, out, out).then(String, (it) => (it as BadSettings).problems);
  expect(await mistakes({ port: 0, scenario: file })).toEqual([
    expect.stringMatching(/scenario\.yaml: line 2: 1\.at: must be a duration/),
    expect.stringMatching(/scenario\.yaml: line 3: 2\.call: /),
  ]);
  expect(await mistakes({ port: -1, speed: "fast", walk: "maybe" })).toHaveLength(3);
  expect(await mistakes({ scenario: join(folder, "none.yaml") })).toEqual([expect.stringMatching(/ENOENT/)]);
  expect(await mistakes({ scenario: "/dev/zero" })).toEqual([expect.stringMatching(/is no file/)]);
  await rm(folder, { recursive: true });
});

test("no request makes it stumble", { timeout: 30_000 }, async () => {
  await using simulator = await quiet({ traders: 2 });
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  const random = seededRandom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const { authority, traderPda } = simulator.traders[0]!;
  const bearer = (await signIn(simulator)).access_token;
  const odd = [
    "",
    "-1",
    "0",
    "1e9",
    "NaN",
    "%00",
    "%ff",
    "..",
    "null",
    "9".repeat(40),
    "ü",
    authority,
    traderPda,
    "SOL",
  ];
  odd.push("bmV3ZXIsMQ", "b2xkZXIsOTk5OTk5OTk5OTk5OTk5", "2026-01-01T00:00:00Z", "1d", "true");
  const values: unknown[] = [
    null,
    1,
    -1,
    "x",
    [],
    {},
    [{}],
    true,
    1e300,
    authority,
    [{ type: "admin", id: 1 }],
  ];
  for (let i = 0; i < 600; i++) {
    const endpoint = pick(allEndpoints);
    const path = endpoint.path.replaceAll(/\{\w+\}/g, () => encodeURI(pick(odd)));
    const names = Object.values(endpoint.params).map((it) => it.wire);
    const wires = [...Object.keys(endpoint.params), ...names.filter((it) => it !== null)];
    const query = wires.filter(() => random() < 0.4).map((it) => `${it}=${encodeURI(pick(odd))}`);
    const body = Object.fromEntries(wires.filter(() => random() < 0.6).map((it) => [it, pick(values)]));
    const answer = await ask(simulator, `${path}?${query.join("&")}`, {
      method: endpoint.method,
      bearer: random() < 0.8 ? bearer : pick(odd.slice(0, 8)),
      ...(endpoint.method === "POST" ? { body: random() < 0.9 ? body : pick(values) } : {}),
    });
    if (answer.status >= 500) {
      throw new Error(`seed ${seed}: ${endpoint.name} ${path}?${query.join("&")}: ${answer.text}`);
    }
  }
});
