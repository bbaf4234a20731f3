/**
 * Everything that an exchange can do wrong, on each endpoint that the daemon uses, one endpoint at a time. The daemon
 * lives, says what is wrong once, goes on with everything else, and recovers by itself; nothing is ended or acknowledged
 * that should not be.
 */
import { expect, test, vi } from "vitest";
import { every, type House, openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

interface Place {
  readonly name: string;
  readonly path: string;
  /** Makes the daemon need it, when it is not asked on a schedule. */
  readonly need?: (house: House) => Promise<unknown>;
  /** Fields without which an answer, or the first row of it, cannot be read. */
  readonly vital?: readonly string[];
}

const sources = [
  "traderState",
  "markets",
  "notifications",
  "liquidations",
  "exchangeStatus",
  "collateral",
  "traderView",
  "orders",
  "fills",
  "funding",
  "fundingRates",
  "marketConfig",
  "pnl",
  "orderbook",
  "calendars",
] as const;

function places(house: House): readonly Place[] {
  const { authority, traderPda } = house.trader();
  const session = (action: string) => () => house.call("session", { authority, action });
  const filled = () => house.call("notification", { trader: "main", notificationType: "stop_loss_executed" });
  return [
    { name: "traderState", path: `/v1/trader/state/${authority}`, vital: ["snapshot.subaccounts"] },
    { name: "traderView", path: `/v1/view/trader/${traderPda}`, vital: ["riskTier"] },
    { name: "fundingHourly", path: `/v1/users/${authority}/funding-hourly` },
    { name: "liquidationHistory", path: `/v1/users/${authority}/liquidation-history` },
    { name: "collateralHistory", path: `/v1/users/${authority}/collateral-history` },
    { name: "orderHistory", path: `/v1/trader/${authority}/order-history` },
    { name: "tradesHistory", path: `/v1/trader/${authority}/trades-history` },
    { name: "exchangeStatus", path: "/v1/view/exchange/status", vital: ["active"] },
    { name: "markets", path: "/v1/view/exchange/markets", vital: ["0.symbol"] },
    { name: "latestMarketsStats", path: "/v1/markets/stats/latest", vital: ["markets.0.symbol"] },
    { name: "fundingRates", path: "/v1/funding/*" },
    { name: "orderbook", path: "/v1/view/orderbook/*" },
    { name: "nextMarketCalendarTransition", path: "/v1/market/*" },
    { name: "notifications", path: `/v1/traders/${traderPda}/notifications` },
    {
      name: "ackNotifications",
      path: `/v1/traders/${traderPda}/notifications/ack/notifications`,
      need: filled,
    },
    { name: "nonce", path: "/v1/auth/nonce", need: session("revoke"), vital: ["message"] },
    { name: "login", path: "/v1/auth/login/wallet", need: session("revoke"), vital: ["access_token"] },
    { name: "refresh", path: "/v1/auth/refresh", need: session("expire-access"), vital: ["access_token"] },
  ];
}

/** A position whose alert fires all the while, and a bot that hears of it. */
async function watching(
  interval = "5s",
): Promise<{ house: House; run: Awaited<ReturnType<House["start"]>> }> {
  const house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  await house.bring("SOL", 0.08);
  const run = await house.start({
    schedules: every(interval, sources),
    channels: { chat: house.chat() },
    ruleOverrides: { Drawdown: { enabled: false }, LosingFast: { enabled: false } },
  });
  await house.clock.advance(12_000);
  expect(house.headlines()).toHaveLength(1);
  return { house, run };
}

type Status = ReturnType<Awaited<ReturnType<House["start"]>>["daemon"]["status"]>;

function well({ schedules, watch, acknowledgements }: Status): boolean {
  return (
    schedules.every(({ failuresInRow }) => failuresInRow === 0) &&
    watch.wallets.every(({ signedIn }) => signedIn) &&
    acknowledgements.waiting + acknowledgements.due === 0
  );
}

/** The position's alert stands, and no word of an end has left. */
async function expectStanding(house: House, where: string): Promise<void> {
  const alerts = await house.read((store) => store.alerts({ limit: 1_000 }));
  const [near, ...more] = alerts.filter(({ rule }) => rule === "LiquidationNear");
  expect([near?.state, more], where).toEqual(["firing", []]);
  const ends = /RESOLVED|CLOSED|LIQUIDATED|FLIPPED|NO LONGER/;
  // The alert about missing data names the nearest position, and ends with the fault.
  const ofPosition = (line: string) => /SOL long|main\/0\.0\/SOL/.test(line) && !/No data\b/.test(line);
  const wrong = house.headlines().filter((line) => ofPosition(line) && ends.test(line));
  expect(wrong, where).toEqual([]);
}

/** Longest wait for a source to be tried again after its fault is over, ms. */
const recoveryMs = 150_000;

interface Kind {
  readonly name: string;
  readonly fault: (place: Place) => object | null;
  /** Between polls. Default 5 s. */
  readonly every?: string;
  /** Its duration, ms. */
  readonly lastsMs: number;
  /** Most lines in the log about it, each of them once. Default 3: a read, a session, and why it still is so. */
  readonly lines?: number;
  /** The exchange did what it was asked, although it did not say so. */
  readonly carriedOut?: boolean;
}

const kinds: readonly Kind[] = [
  {
    name: "429",
    fault: () => ({ status: 429, error: "rate_limited", retryAfter: 2 }),
    lastsMs: 90_000,
    // It slows the whole daemon down to a request a second: others may get no turn for a while, and each says so.
    every: "30s",
    lines: 8,
  },
  { name: "500", fault: () => ({ status: 500, error: "boom" }), lastsMs: 25_000 },
  { name: "503", fault: () => ({ status: 503 }), lastsMs: 25_000 },
  { name: "slow answers", fault: () => ({ delayMs: 40_000 }), lastsMs: 60_000 },
  { name: "hang-ups", fault: () => ({ drop: "request" }), lastsMs: 25_000 },
  {
    name: "answers that are lost",
    fault: () => ({ drop: "reply" }),
    lastsMs: 25_000,
    carriedOut: true,
  },
  {
    name: "answers that break off",
    fault: () => ({ drop: "body" }),
    lastsMs: 25_000,
    carriedOut: true,
  },
  { name: "truncated JSON", fault: () => ({ body: '{"slot": 12, "tra' }), lastsMs: 25_000 },
  {
    name: "records of another kind",
    fault: () => ({ body: '{"surprise": true}' }),
    lastsMs: 25_000,
  },
  {
    name: "records without a field",
    fault: ({ vital }) => (vital ? { omit: vital } : null),
    lastsMs: 25_000,
  },
];

test.each(kinds)("$name, on each endpoint", async (kind) => {
  const { house, run } = await watching(kind.every);
  await using _ = house;
  for (const place of places(house)) {
    const fault = kind.fault(place);
    // Any 200 confirms an acknowledgement, whatever its body says.
    if (fault === null || (place.name === "ackNotifications" && "body" in fault)) continue;
    const where = `${kind.name} on ${place.name}`;
    const lines = house.log.length;
    const { acked } = await house.inbox();
    await house.call("fault", { path: place.path, ...fault });
    await place.need?.(house);
    await house.clock.advance(kind.lastsMs);
    const hits = house.simulator.faults.list()[0]?.hits;
    // A refresh that was answered is not repeated: a sign-in follows.
    const tries = place.name === "refresh" ? 1 : 2;
    expect(hits, `${where}: tries`).toBeGreaterThanOrEqual(tries);

    const said = house.warnings(lines);
    expect(said.length, `${where}:\n${said.join("\n")}`).toBeLessThanOrEqual(kind.lines ?? 3);
    expect(new Set(said).size, `${where}:\n${said.join("\n")}`).toBe(said.length);
    await expectStanding(house, where);
    if (!kind.carriedOut && place.name === "ackNotifications")
      expect((await house.inbox()).acked, where).toEqual(acked);

    house.simulator.faults.clear();
    await house.clock
      .until(() => well(run.daemon.status()), recoveryMs)
      .catch((error: Error) => {
        const { schedules, watch, acknowledgements } = run.daemon.status();
        const ill = schedules.filter(({ failuresInRow }) => failuresInRow > 0);
        throw new Error(
          `${where}: ${error.message}: ${JSON.stringify([ill, watch.wallets, acknowledgements])}`,
        );
      });
    await expectStanding(house, `after ${where}`);
  }
  // Everything that came was acknowledged in the end.
  const { open } = await house.inbox();
  expect(open).toEqual([]);
  expect(house.simulator.requests.query("/v1/*").count).toBeGreaterThan(100);
});

/** The requests made once, at the first sight of a wallet or market. */
function past(house: House): readonly Place[] {
  const { authority, traderPda } = house.trader();
  return [
    { name: "portfolioValues", path: `/v1/traders/${traderPda}/portfolio-values` },
    { name: "userPnl", path: `/v1/users/${authority}/pnl` },
    { name: "marketPnl", path: `/v1/traders/${traderPda}/pnl/markets` },
    { name: "candles", path: "/v1/candles/*" },
    { name: "collateralAssets", path: "/v1/collateral/assets", vital: ["assets"] },
  ];
}

test.each(kinds)("$name, where the past is asked for at the first start", async (kind) => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  await house.bring("SOL", 0.08);
  for (const place of past(house)) {
    const fault = kind.fault(place);
    if (fault !== null) await house.call("fault", { path: place.path, ...fault });
  }
  const { daemon } = await house.start({ schedules: every("5s", sources), channels: { chat: house.chat() } });
  await house.clock.advance(kind.lastsMs);
  // What matters is not held up by it.
  expect(house.headlines().filter((line) => /FIRING warning: main: SOL long is 8%/.test(line))).toHaveLength(
    1,
  );
  const said = house.warnings();
  // Candles and the collateral assets are read on schedules as well, and each refusal lowers the ceiling of all requests:
  // each source that waits for its turn logs one line.
  expect(said.length, said.join("\n")).toBeLessThanOrEqual((kind.lines ?? 6) + 6);
  expect(new Set(said).size, said.join("\n")).toBe(said.length);
  house.simulator.faults.clear();
  await house.clock.until(() => well(daemon.status()), recoveryMs);
  await expectStanding(house, kind.name);
});

test("the endpoints in use are all among those that are made to fail", async () => {
  const { house } = await watching();
  await using _ = house;
  for (const place of places(house)) await place.need?.(house);
  await house.clock.advance(60_000);
  const fits = (path: string) =>
    [...places(house), ...past(house)].some((place) =>
      place.path.endsWith("*") ? path.startsWith(place.path.slice(0, -1)) : path === place.path,
    );
  const asked = Object.keys(house.simulator.requests.query("/v1/*").counts);
  expect(asked.filter((path) => !fits(path))).toEqual([]);
});

test("fields that nobody knows are no trouble on any endpoint", async () => {
  const { house, run } = await watching();
  await using _ = house;
  const lines = house.log.length;
  for (const place of places(house)) {
    const set = place.name === "markets" ? { "0.surprise": { deep: [1] } } : { surprise: { deep: [1] } };
    if (place.name !== "ackNotifications") await house.call("fault", { path: place.path, set });
  }
  for (const place of places(house)) await place.need?.(house);
  await house.clock.advance(60_000);
  expect(house.warnings(lines)).toEqual([]);
  expect(well(run.daemon.status())).toBe(true);
  expect((await house.inbox()).open).toEqual([]);
});

test("one odd row costs only itself: the notifications beside it are told and acknowledged", async () => {
  const { house } = await watching();
  await using _ = house;
  const lines = house.log.length;
  const { traderPda } = house.trader();
  for (let i = 0; i < 3; i++) {
    await house.call("notification", { trader: "main", notificationType: "stop_loss_executed" });
  }
  await house.call("fault", {
    path: `/v1/traders/${traderPda}/notifications`,
    set: { "items.1": { id: [] } },
  });
  await house.clock.advance(60_000);
  // Those of one reading are one message.
  const told = async () => {
    const messages = await house.read((store) => store.messages({}));
    const ours = messages.filter(({ receiver, status }) => receiver === "chat" && status === "delivered");
    const alerts = ours.flatMap(({ content }) => content.items.map(({ change }) => change.alert));
    return alerts.filter(({ rule }) => rule === "StopLossExecuted").length;
  };
  expect(await told()).toBe(2);
  expect((await house.inbox()).acked).toHaveLength(2);
  expect(house.warnings(lines)).toHaveLength(1);
  house.simulator.faults.clear();
  await house.clock.advance(60_000);
  expect(await told()).toBe(3);
  expect((await house.inbox()).open).toEqual([]);
});
