/** Collecting from the simulator, end to end: what is asked, when, what is made of it, and what goes wrong. */
import { describe, expect, test } from "vitest";
import { Rig } from "./rig.ts";

const often = {
  traderState: { every: "1s" },
  markets: { every: "1s" },
  traderView: { every: "1s" },
  notifications: { every: "1s" },
  liquidations: { every: "1s" },
  funding: { every: "1s" },
  fundingRates: { every: "1s" },
  collateral: { every: "1s" },
  orders: { every: "1s" },
  fills: { every: "1s" },
  marketConfig: { every: "1s" },
  exchangeStatus: { every: "1s" },
};

/** The same for all, and seldom enough that a long trouble is soon lived through. */
const steady = Object.fromEntries(Object.keys(often).map((source) => [source, { every: "5s" }]));

const maintenance = { source: "admin", notificationType: "maintenance", title: "Pause", body: "At six." };

test("everything is asked once within two seconds of the start, what risk needs first", async () => {
  await using rig = await Rig.start();
  const daemon = await rig.boot();
  await rig.clock.advance(2_000);
  const kinds = daemon.observations
    .filter((one) => !(one.kind === "events" && one.cursor?.name.startsWith("first/")))
    .map((one) => one.kind);
  expect(daemon.of("failed")).toEqual([]);
  expect(kinds.slice(0, 4).sort()).toEqual(["accounts", "collateralAssets", "marketConfig", "prices"]);
  expect(kinds).toContain("exchangeStatus");
  await rig.clock.advance(2_000);
  expect(daemon.of("traderView").length).toBe(daemon.of("accounts")[0]!.subaccounts.length);
  expect(daemon.of("fundingRate").length).toBe(daemon.of("marketConfig")[0]!.markets.length);
  const sources = new Set(daemon.of("events").map((one) => one.source));
  expect([...sources].sort()).toEqual([
    "collateral",
    "fills",
    "funding",
    "liquidations",
    "notifications",
    "orders",
  ]);
  expect(daemon.log).toEqual([]);
});

test("a wallet that is only watched is read without a session, and its inbox is left alone", async () => {
  await using rig = await Rig.start({ watchOnly: true });
  const daemon = await rig.boot();
  await rig.clock.advance(30_000);
  expect(daemon.of("accounts").length).toBeGreaterThan(4);
  expect(daemon.of("failed")).toEqual([]);
  expect(rig.asked("/v1/auth*")).toBe(0);
  const asked = Object.keys(rig.simulator.requests.query(undefined).counts);
  expect(asked.filter((path) => path.includes("notifications"))).toEqual([]);
  expect(daemon.collectors.status().some((one) => one.source === "notifications")).toBe(false);
});

test("what happened before the first start is stored in silence; what comes after it is not", async () => {
  await using rig = await Rig.start();
  const { authority } = rig.main;
  await rig.call("collateral", { authority, amount: "50000" });
  await rig.call("notification", {
    authority,
    source: "general",
    notificationType: "account",
    body: "before",
  });
  await rig.clock.advance(60_000);
  const first = await rig.boot(often);
  await rig.clock.advance(10_000);
  expect(first.events().length).toBeGreaterThan(2);
  expect(first.events().filter((one) => !one.backfilled)).toEqual([]);

  await rig.call("collateral", { authority, amount: "51000" });
  await rig.call("notification", {
    authority,
    source: "general",
    notificationType: "account",
    body: "after",
  });
  await rig.clock.advance(3_000);
  const live = first.events().filter((one) => !one.backfilled);
  expect(live.map((one) => one.kind).sort()).toEqual(["collateral", "notification"]);
  await first.stop();

  // While nobody watches.
  await rig.call("notification", {
    authority,
    source: "general",
    notificationType: "account",
    body: "missed",
  });
  await rig.clock.advance(3_600_000);
  const second = await rig.boot(often);
  await rig.clock.advance(10_000);
  const missed = second.events("notification");
  expect(missed.map((one) => [one.fields.body, one.backfilled])).toEqual([["missed", false]]);
});

test("a start that ends before any history is read is the first: what comes in the stop after it is told", async () => {
  await using rig = await Rig.start();
  const { authority } = rig.main;
  for (const path of ["/v1/users/*", "/v1/traders/*", `/v1/trader/${authority}/*`])
    await rig.call("fault", { path, status: 503 });
  const first = await rig.boot(often);
  await rig.clock.advance(3_000);
  expect(first.of("accounts").length).toBeGreaterThan(0);
  expect(first.of("events").filter(({ coversMs }) => coversMs !== undefined)).toEqual([]);
  await first.stop();
  rig.simulator.faults.clear();
  await rig.clock.advance(30_000);
  await rig.call("collateral", { authority, amount: "777" });
  await rig.clock.advance(30_000);
  const second = await rig.boot(often);
  await rig.clock.advance(5_000);
  const told = second.events("collateral").filter(({ backfilled }) => !backfilled);
  expect(told.length).toBe(1);
  await second.stop();
});

describe("the inbox", () => {
  test("an announcement is an event of each wallet whose inbox shows it", async () => {
    await using rig = await Rig.start({ traders: 8 });
    const daemon = await rig.boot({ notifications: { every: "1s" } });
    await rig.clock.advance(5_000);
    await rig.call("notification", maintenance);
    await rig.clock.advance(10_000);
    const told = daemon.events("notification").filter((one) => one.inbox?.source === "admin");
    expect(new Set(told.map(({ wallet }) => wallet)).size).toBe(8);
    expect(told).toHaveLength(8);
    expect(told[0]).toMatchObject({ backfilled: false, fields: { title: "Pause", type: "maintenance" } });
  });

  test("unacknowledged items are counted, each once, and the count follows", async () => {
    await using rig = await Rig.start();
    const { authority } = rig.main;
    const daemon = await rig.boot({ notifications: { every: "1s" } });
    await rig.clock.advance(5_000);
    const unacked = () => daemon.of("events").findLast((one) => one.unacked !== undefined)?.unacked;
    expect(unacked()).toBe(0);
    await rig.call("notification", maintenance);
    await rig.call("notification", { authority, source: "general", notificationType: "account", body: "x" });
    await rig.clock.advance(2_000);
    expect(unacked()).toBe(2);
    const item = daemon.events("notification")[0]!.inbox!;
    await rig.clock.finish(
      daemon.exchange.client.ackNotifications(
        { traderPubkey: item.traderPubkey, items: [item.item] as never },
        { wallet: "main" },
      ),
    );
    await rig.clock.advance(2_000);
    expect(unacked()).toBe(1);
    // Of more than a page, what its newest page shows counts at once.
    for (let n = 0; n < 70; n++)
      await rig.call("notification", {
        authority,
        source: "general",
        notificationType: "account",
        body: `${n}`,
      });
    await rig.clock.advance(61_000);
    expect(unacked()).toBe(71);
    const newest = daemon.events("notification").find((one) => JSON.stringify(one).includes('"69"'))!.inbox!;
    await rig.clock.finish(
      daemon.exchange.client.ackNotifications(
        { traderPubkey: newest.traderPubkey, items: [newest.item] as never },
        { wallet: "main" },
      ),
    );
    await rig.clock.advance(2_000);
    expect(unacked()).toBe(70);
  });

  test("more than a thousand unacknowledged items, and those that somebody else acknowledged, are all found", async () => {
    await using rig = await Rig.start();
    const { authority } = rig.main;
    const first = await rig.boot({ notifications: { every: "1s" } });
    await rig.clock.advance(5_000);
    await first.stop();
    for (let i = 0; i < 1_200; i++) {
      await rig.call("notification", {
        authority,
        source: "general",
        notificationType: "account",
        body: String(i),
      });
    }
    const wallet = rig.simulator.world.wallets.get(authority)!;
    for (const [i, one] of wallet.notifications.all().entries()) if (i % 7 === 0) one.acked = true;
    await rig.clock.advance(3_600_000);
    const second = await rig.boot({ notifications: { every: "1s" } });
    await rig.clock.advance(60_000);
    const bodies = second.events("notification").map((one) => Number(one.fields.body));
    expect(bodies.length).toBe(1_200);
    expect(new Set(bodies).size).toBe(1_200);
    expect(second.events("notification").every((one) => !one.backfilled)).toBe(true);
  });

  test("a new trader account's inbox is read as soon as the account is seen", async () => {
    await using rig = await Rig.start();
    const { authority } = rig.main;
    const daemon = await rig.boot({ notifications: { every: "10m" }, traderState: { every: "1s" } });
    await rig.clock.advance(5_000);
    await rig.call("collateral", { authority, subaccountIndex: 4, amount: "100" });
    await rig.call("notification", {
      authority,
      subaccountIndex: 4,
      source: "event",
      notificationType: "order_filled",
    });
    await rig.clock.advance(3_000);
    expect(daemon.events("notification")).toMatchObject([{ subaccount: 4, pdaIndex: 0 }]);
  });

  test("a type that nobody knows is told as it is", async () => {
    await using rig = await Rig.start();
    const { authority } = rig.main;
    const daemon = await rig.boot({ notifications: { every: "1s" } });
    await rig.clock.advance(5_000);
    const data = { level: "high" };
    await rig.call("notification", { authority, source: "event", notificationType: "margin_call", data });
    await rig.clock.advance(2_000);
    expect(daemon.events("notification")).toMatchObject([
      {
        fields: { type: "margin_call" },
        data: { level: "high" },
        inbox: { notificationType: "margin_call" },
      },
    ]);
  });
});

const paths = [
  ["traderState", "/v1/trader/state/*"],
  ["markets", "/v1/markets/stats/latest"],
  ["marketConfig", "/v1/view/exchange/markets"],
  ["exchangeStatus", "/v1/view/exchange/status"],
  ["traderView", "/v1/view/trader/*"],
  ["notifications", "/v1/traders/*"],
  ["liquidations", "/v1/users/*"],
  ["funding", "/v1/users/*"],
  ["collateral", "/v1/users/*"],
  ["orders", "/v1/trader/*"],
  ["fills", "/v1/trader/*"],
  ["fundingRates", "/v1/funding/*"],
] as const;

const faults = [
  ["429 with Retry-After", { status: 429, error: "too many requests", retryAfter: "2" }, "rate-limited"],
  ["500", { status: 500, error: "internal error" }, "server-error"],
  ["503", { status: 503, error: "unavailable" }, "server-error"],
  ["an answer that is too slow", { delayMs: 60_000 }, "timeout"],
  ["hanging up", { drop: "request" }, "unreachable"],
  ["truncated JSON", { body: '{"items": [{"so' }, "bad-record"],
  ["a record of another kind", { body: { unexpected: true, symbol: 5 } }, null],
] as const;

describe.each(faults)("%s", (_name, fault, reason) => {
  test("on each endpoint in use: said once, told each time, over by itself", async () => {
    await using rig = await Rig.start();
    const daemon = await rig.boot(steady);
    await rig.clock.advance(10_000);
    expect(daemon.of("failed")).toEqual([]);
    for (const path of new Set(paths.map(([, one]) => one))) await rig.call("fault", { path, ...fault });
    await rig.clock.advance(90_000);
    const lines = daemon.log.length;
    if (reason !== null) {
      for (const [source] of paths) {
        const failed = daemon.failed(source);
        expect(failed.length, source).toBeGreaterThan(0);
        expect(failed.at(-1)!.detail, source).not.toMatch(/eyJ|refresh/);
        expect(
          failed.map((one) => one.reason),
          source,
        ).toContain(reason);
      }
    }
    // Once each, with a second line where the trouble changed its form.
    expect(lines).toBeLessThanOrEqual(paths.length * 3);
    await rig.clock.advance(60_000);
    expect(daemon.log.length - lines).toBeLessThanOrEqual(3);

    rig.simulator.faults.clear();
    const before = daemon.observations.length;
    await rig.clock.advance(150_000);
    expect(daemon.collectors.status().filter((one) => one.failuresInRow > 0)).toEqual([]);
    const after = daemon.observations.slice(before);
    for (const kind of [
      "accounts",
      "prices",
      "marketConfig",
      "exchangeStatus",
      "traderView",
      "fundingRate",
      "events",
    ])
      expect(after.map((one) => one.kind)).toContain(kind);
    expect(daemon.collectors.figures().failedPolls).toBe(0);
  });
});

describe("records that do not fit", () => {
  test("a whole record: failed, counted, kept once, the rest goes on", async () => {
    await using rig = await Rig.start();
    const daemon = await rig.boot(often);
    await rig.clock.advance(10_000);
    await rig.call("fault", { path: "/v1/trader/state/*", omit: ["snapshot.subaccounts.0.collateral"] });
    await rig.clock.advance(30_000);
    const failed = daemon.failed("traderState");
    expect(failed.length).toBeGreaterThan(2);
    expect(failed[0]!.detail).toContain("snapshot.subaccounts[0].collateral");
    expect(daemon.kept).toMatchObject([
      { endpoint: "traderState", wallet: "main", field: "snapshot.subaccounts[0].collateral" },
    ]);
    expect(daemon.kept[0]!.body).toContain("subaccounts");
    expect(daemon.collectors.figures().badRecords).toBe(failed.length);
    expect(daemon.log.filter((one) => one.message.includes("not known here")).length).toBe(1);
    expect(daemon.of("prices").length).toBeGreaterThan(30);
  });

  test("a row of a list costs only itself", async () => {
    await using rig = await Rig.start();
    const daemon = await rig.boot(often);
    await rig.call("fault", { path: "/v1/markets/stats/latest", omit: ["markets.0.mark_price"] });
    await rig.clock.advance(10_000);
    const all = daemon.of("marketConfig")[0]!.markets.length;
    expect(daemon.of("prices").every((one) => one.markets.length === all - 1)).toBe(true);
    expect(daemon.failed("markets")).toEqual([]);
    expect(daemon.kept).toMatchObject([{ endpoint: "latestMarketsStats", field: "markets[0].mark_price" }]);
    expect(daemon.collectors.figures().badRecords).toBe(daemon.of("prices").length);
  });

  test.each([
    ["collateral", "/v1/users/*"],
    ["fill", "/v1/trader/*"],
  ] as const)(
    "a row of the history of %s far ahead of the ledger costs only itself until its slot is right",
    async (kind, path) => {
      await using rig = await Rig.start();
      const { authority } = rig.main;
      const daemon = await rig.boot(often);
      await rig.clock.advance(10_000);
      const news = () => daemon.events(kind).filter(({ backfilled }) => !backfilled);
      await rig.call("fault", { path, set: { "data.0.slot": 1_780_000_000 } });
      if (kind === "fill")
        await rig.call("order", { authority, symbol: "SOL", side: "bid", price: "1000", size: "1" });
      else await rig.call("collateral", { authority, amount: "50000" });
      await rig.clock.advance(10_000);
      expect(news()).toEqual([]);
      expect(daemon.log.filter((one) => one.message.includes("slot that cannot be")).length).toBe(1);
      expect(daemon.kept.filter(({ problem }) => problem.includes("slot that cannot be"))).toHaveLength(1);
      rig.simulator.faults.clear();
      await rig.clock.advance(10_000);
      expect(news()).toHaveLength(1);
      expect(news()[0]!.slot).toBeLessThan(1_000_000_000);
    },
  );

  test("unknown fields pass, unknown words read as other and are said once", async () => {
    await using rig = await Rig.start();
    const daemon = await rig.boot(often);
    await rig.call("fault", {
      path: "/v1/view/exchange/markets",
      set: { "0.marketStatus": "hibernating", "0.somethingNew": { a: 1 } },
    });
    await rig.clock.advance(10_000);
    expect(daemon.of("marketConfig").at(-1)!.markets[0]!.status).toBe("other");
    expect(daemon.log.map((one) => one.message)).toEqual([expect.stringContaining('reads as "other"')]);
    expect(daemon.kept).toEqual([]);
  });
});

test("the past of wallets and markets is read once, and again for the time when nobody watched", async () => {
  await using rig = await Rig.start({ simulator: { walk: true, pastMs: 3 * 86_400_000 } });
  const first = await rig.boot();
  const startMs = rig.clock.nowMs();
  await rig.clock.advance(60_000);
  const ticks = first.of("backfill").flatMap((one) => one.ticks);
  const of = (owner: string, series: string) =>
    ticks.filter((one) => one.owner === owner && one.series.includes(series)).map((one) => one.atMs);
  for (const [owner, series] of [
    ["main/0.0", "trader.equity"],
    ["markets", "market[SOL].markPrice"],
    ["fundingRates", "market[SOL].fundingRate"],
  ] as const) {
    const times = of(owner, series);
    expect(times.length, series).toBeGreaterThan(60);
    expect(Math.min(...times)).toBeLessThan(startMs - 2 * 86_400_000);
    expect(Math.max(...times)).toBeLessThanOrEqual(startMs + 60_000);
  }
  for (const one of first.of("backfill")) {
    const times = one.ticks.map((tick) => tick.atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  }
  expect(first.of("failed")).toEqual([]);
  const asked = rig.asked("/v1/candles/*");
  await first.stop();

  await rig.clock.advance(6 * 3_600_000);
  const second = await rig.boot();
  await rig.clock.advance(60_000);
  expect(rig.asked("/v1/candles/*")).toBe(asked);
  const missed = second.of("backfill").flatMap((one) => one.ticks);
  expect(missed.length).toBeGreaterThan(20);
  const [equity, byMarket] = ["trader.equity", "pnl["].map((name) =>
    missed.filter((one) => one.series[0]!.startsWith(name)),
  );
  expect(equity!.length + byMarket!.length).toBe(missed.length);
  expect(equity!.every((one) => one.atMs >= startMs)).toBe(true);
  // By the hour; the last one before the stop was not over long enough to be asked for.
  expect(byMarket!.every((one) => one.atMs > startMs - 2 * 3_600_000)).toBe(true);
  const hours = byMarket!.map((one) => `${one.owner} ${one.series[0]} ${one.atMs}`);
  expect(hours.length).toBeGreaterThan(5);
  expect(new Set(hours).size).toBe(hours.length);
});

test("a session that is revoked costs no poll, and public reads never notice", async () => {
  await using rig = await Rig.start({ simulator: { accessTtlMs: 60_000, refreshTtlMs: 600_000 } });
  const { authority } = rig.main;
  const daemon = await rig.boot();
  for (let minute = 0; minute < 20; minute++) {
    await rig.clock.advance(60_000);
    if (minute % 5 === 2) await rig.call("session", { authority, action: "revoke" });
    if (minute % 5 === 4) await rig.call("session", { authority, action: "rotate-elsewhere" });
  }
  expect(daemon.of("failed")).toEqual([]);
});

test("collateral, orders, fills and funding of a living world are told, each row once", async () => {
  await using rig = await Rig.start({
    simulator: { walk: true, activity: true, pastMs: 3_600_000 },
    traders: 3,
  });
  const daemon = await rig.boot(often);
  await rig.clock.advance(300_000);
  const all = daemon.events();
  const names = all.map((one) => `${one.kind}/${one.key}`);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, authority } of rig.simulator.traders) {
    const wallet = rig.simulator.world.wallets.get(authority)!;
    const told = (kind: string) => all.filter((one) => one.kind === kind && one.wallet === name).length;
    expect(told("fill")).toBe(wallet.fills.size);
    expect(told("collateral")).toBe(wallet.collateral.size);
    expect(told("funding")).toBe(wallet.funding.size);
    expect(told("liquidation")).toBe(wallet.liquidations.size);
  }
  expect(daemon.of("failed")).toEqual([]);
});
