/** Order books, trading hours and candles: what is made of the records, of which markets they are read, and how often. */
import { describe, expect, test } from "vitest";
import type { WantedMarkets } from "../../src/collect/index.ts";
import { demandOf, scheduleSettings } from "../../src/collect/index.ts";
import { sessionOf } from "../../src/collect/translate/calendars.ts";
import { dailyVolatilityOf, externalPriceOf } from "../../src/collect/translate/candles.ts";
import { depthOf } from "../../src/collect/translate/orderbook.ts";
import { type EndpointName, endpoints, parseReply, type RecordFor } from "../../src/contract/index.ts";
import { example } from "../contract/example.ts";
import { Rig } from "./rig.ts";

/** A record as the client hands it out. */
function read<N extends EndpointName>(name: N, json: unknown): RecordFor<N> {
  const reply = parseReply(endpoints[name] as never, json);
  if (!reply.ok) throw new Error(reply.problem.message);
  return reply.record as RecordFor<N>;
}

const hourMs = 3_600_000;

describe("an order book", () => {
  test("of the contract's example: best prices, and the notional within 50 bps of the middle", () => {
    const depth = depthOf(read("orderbook", example("orderbook")));
    expect(depth).toMatchObject({ bid: 151.31, ask: 151.37 });
    if ("problem" in depth) throw new Error(depth.problem);
    expect(depth.bidDepth50BpsUsd).toBeCloseTo(151.31 * 87.59 + 151.3 * 416.16, 6);
    expect(depth.askDepth50BpsUsd).toBeCloseTo(151.37 * 64.02 + 151.4 * 512.5, 6);
  });

  type Levels = [number, number][];
  const none = Number.POSITIVE_INFINITY;
  test.each<[string, Levels, Levels, number | null, [number, number, number, number] | null]>([
    ["levels at 50 bps count", [[99.5, 2]], [[100.5, 3]], null, [99.5, 100.5, 199, 301.5]],
    [
      "further ones do not",
      [
        [100, 1],
        [99, 50],
      ],
      [
        [100.1, 1],
        [101, 50],
      ],
      null,
      [100, 100.1, 100, 100.1],
    ],
    [
      "the order of levels is not relied on",
      [
        [99, 1],
        [99.99, 1],
      ],
      [
        [102, 1],
        [100.01, 1],
      ],
      null,
      [99.99, 100.01, 99.99, 100.01],
    ],
    ["nobody bids: the stated middle", [], [[100, 2]], 99.9, [0, 100, 0, 200]],
    ["nobody bids and no middle: from the best ask", [], [[100, 2]], null, [0, 100, 0, 200]],
    ["nobody asks", [[100, 2]], [], null, [100, none, 200, 0]],
    ["nobody at all", [], [], 100, [0, none, 0, 0]],
    [
      "a level without size or price is none",
      [
        [120, 0],
        [99.9, 1],
        [0, 5],
      ],
      [
        [80, 0],
        [100.1, 1],
      ],
      null,
      [99.9, 100.1, 99.9, 100.1],
    ],
    ["crossed: no book", [[101, 1]], [[100, 1]], 100.5, null],
    ["locked: no book", [[100, 1]], [[100, 1]], 100, null],
  ])("%s", (_name, bids, asks, mid, expected) => {
    const depth = depthOf({ bids, asks, mid });
    if (expected === null) {
      expect(depth).toEqual({ problem: expect.stringContaining("crossed") });
      return;
    }
    const [bid, ask, bidDepth50BpsUsd, askDepth50BpsUsd] = expected;
    expect(depth).toEqual({ bid, ask, bidDepth50BpsUsd, askDepth50BpsUsd });
  });
});

describe("a calendar", () => {
  const record = read("nextMarketCalendarTransition", example("calendar-transition"));
  const nextMs = Date.parse("2026-10-05T21:00:00Z");
  const words: string[] = [];
  const onUnknown = (field: string, word: string) => void words.push(`${field}=${word}`);

  test("of the contract's example", () => {
    expect(sessionOf(record, nextMs - hourMs, onUnknown)).toEqual({
      sessionState: "open",
      nextTransitionMs: nextMs,
    });
    expect(words).toEqual([]);
  });

  test("a transition that has passed is not the next one", () => {
    expect(sessionOf(record, nextMs, onUnknown).nextTransitionMs).toBe(null);
    expect(sessionOf({ ...record, utcNextTransition: null }, 0, onUnknown).nextTransitionMs).toBe(null);
  });

  test("a word that is not known here reads as other, and is reported", () => {
    expect(sessionOf({ ...record, currentState: "halfDay" }, 0, onUnknown).sessionState).toBe("other");
    expect(words).toEqual(["currentState=halfDay"]);
  });
});

describe("candles", () => {
  const [first] = read("candles", example("candles"));
  const at = (hour: number, close: number, over: object = {}) => ({
    ...first!,
    time: hour * hourMs,
    close,
    markClose: close,
    ...over,
  });
  const elsewhere = (hour: number, close: number, externalSource: string | null, over: object = {}) =>
    at(hour, close, { externalSource, ...over });

  test.each([
    ["no other venue", [at(1, 150)], null],
    ["the newest of one", [elsewhere(1, 140, "a"), elsewhere(2, 150, "a"), at(2, 1)], 150],
    ["in whatever order", [elsewhere(2, 150, "a"), elsewhere(1, 140, "a")], 150],
    ["between two", [elsewhere(2, 150, "a"), elsewhere(1, 151, "b")], 150.5],
    ["the middle of three", [elsewhere(2, 9, "a"), elsewhere(1, 151, "b"), elsewhere(1, 150, "c")], 150],
    ["without a name", [elsewhere(2, 150, null, { isExternal: true })], 150],
    ["a price of 0 is none", [elsewhere(2, 0, "a")], null],
  ])("the price on other venues: %s", (_name, candles, expected) => {
    expect(externalPriceOf(candles)).toBe(expected);
  });

  test("how much a mark moves in a day: of steps of 1 % up and down an hour, √24 %", () => {
    const candles = Array.from({ length: 49 }, (_, hour) => at(hour, hour % 2 === 0 ? 100 : 101));
    const step = Math.log(1.01);
    const nowMs = 100 * hourMs;
    expect(dailyVolatilityOf(candles, hourMs, nowMs)).toBeCloseTo(step * Math.sqrt(24), 12);
    // Neither the candle that is not over nor those of other venues say anything about the mark.
    const more = [...candles, elsewhere(10, 500, "a"), at(49, 900)];
    expect(dailyVolatilityOf(more, hourMs, 49.5 * hourMs)).toBeCloseTo(step * Math.sqrt(24), 12);
    expect(dailyVolatilityOf(candles.toReversed(), hourMs, nowMs)).toBeCloseTo(step * Math.sqrt(24), 12);
    // An hour that is missing is part of a longer step.
    const gap = candles.filter((_, hour) => hour !== 11 && hour !== 12);
    expect(dailyVolatilityOf(gap, hourMs, nowMs)).toBeCloseTo(step * Math.sqrt((24 * 46) / 48), 12);
    expect(dailyVolatilityOf(candles.slice(0, 24), hourMs, nowMs)).toBe(null);
    expect(dailyVolatilityOf(candles.slice(0, 25), hourMs, nowMs)).not.toBe(null);
  });

  test("the mark's own close is taken where the candle tells one", () => {
    const candles = Array.from({ length: 30 }, (_, hour) => at(hour, 100, { markClose: 50 + (hour % 2) }));
    const traded = candles.map((one) => ({ ...one, markClose: null }));
    expect(dailyVolatilityOf(candles, hourMs, 100 * hourMs)).toBeGreaterThan(0.05);
    expect(dailyVolatilityOf(traded, hourMs, 100 * hourMs)).toBe(0);
  });
});

describe("from the exchange", () => {
  const wanted: { orderbook: WantedMarkets; calendars: WantedMarkets; candles: WantedMarkets } = {
    orderbook: new Set(["SOL"]),
    calendars: new Set(["SOL", "GOLD"]),
    candles: "all",
  };
  const reading = (which: Partial<typeof wanted> = wanted, schedules: object = {}) =>
    Rig.start({ schedules, wantedMarkets: (source) => which[source] ?? new Set() });

  test("only what is wanted, each at its own pace", async () => {
    await using rig = await reading();
    const daemon = await rig.boot();
    await rig.clock.advance(60_000);
    expect(daemon.of("failed")).toEqual([]);
    expect(new Set(daemon.of("depth").map((one) => one.symbol))).toEqual(new Set(["SOL"]));
    expect(daemon.of("depth").length).toBeGreaterThanOrEqual(4);
    expect(daemon.of("depth").length).toBeLessThanOrEqual(5);
    const { bid, ask, bidDepth50BpsUsd, askDepth50BpsUsd } = daemon.of("depth").at(-1)!;
    expect(bid).toBeLessThan(ask);
    expect(bidDepth50BpsUsd).toBeGreaterThan(1_000);
    expect(askDepth50BpsUsd).toBeGreaterThan(1_000);
    expect(new Set(daemon.of("external").map((one) => one.symbol))).toEqual(
      new Set(["SOL", "BTC", "ETH", "GOLD"]),
    );
    // Commodities are traded nowhere else.
    for (const { symbol, externalPriceUsd, dailyVolatility } of daemon.of("external")) {
      if (symbol === "GOLD") expect(externalPriceUsd).toBe(null);
      else expect(externalPriceUsd).toBeGreaterThan(1);
      // Two hours of past say nothing of a day.
      expect(dailyVolatility).toBe(null);
    }
    const { sources } = daemon.collectors.demand();
    const perSecond = (source: string) => sources.find((one) => one.source === source)?.requestsPerSecond;
    expect(perSecond("orderbook")).toBeCloseTo(1 / 15, 9);
    expect(perSecond("candles")).toBeCloseTo(4 / 300, 9);
    expect(daemon.collectors.figures().failedPolls).toBe(0);
  });

  test("how much a market moves is read once an hour, its price elsewhere each time", async () => {
    await using rig = await Rig.start({
      simulator: { pastMs: 36 * hourMs, walk: true },
      schedules: { candles: { every: "1m" } },
      wantedMarkets: (source) => (source === "candles" ? new Set(["BTC"]) : new Set()),
    });
    const daemon = await rig.boot();
    await rig.clock.advance(5_000);
    // By the hour alone: the second is that of now. One more reads the past of the market.
    const before = rig.asked("/v1/candles/BTC");
    await rig.clock.advance(10 * 60_000);
    expect(rig.asked("/v1/candles/BTC") - before).toBe(10);
    const told = daemon.of("external");
    expect(told.length).toBeGreaterThanOrEqual(11);
    // The simulated market is set to move 50 % in a year, 2.6 % in a day.
    for (const { dailyVolatility } of told) {
      expect(dailyVolatility).toBeGreaterThan(0.01);
      expect(dailyVolatility).toBeLessThan(0.06);
    }
  });

  test("nothing is asked of what nobody needs", async () => {
    await using rig = await reading({});
    await rig.boot();
    await rig.clock.advance(60_000);
    expect(rig.asked("/v1/view/orderbook/*")).toBe(0);
    expect(rig.asked("/v1/market/*")).toBe(0);
  });

  test("a market without a calendar is always open, and is not asked again before the next day", async () => {
    await using rig = await reading(wanted, { calendars: { every: "10m" } });
    const daemon = await rig.boot();
    await rig.clock.advance(35 * 60_000);
    const sol = daemon.of("calendar").filter((one) => one.symbol === "SOL");
    expect(sol.length).toBeGreaterThanOrEqual(3);
    expect(sol.at(-1)).toMatchObject({ sessionState: "open", nextTransitionMs: null });
    expect(daemon.failed("calendars")).toEqual([]);
    expect(rig.asked("/v1/market/SOL/next-market-calendar-transition")).toBe(1);
    expect(rig.asked("/v1/market/GOLD/next-market-calendar-transition")).toBeGreaterThanOrEqual(3);
  });

  test("the schedules list what is read, and nothing that nobody needs", async () => {
    await using rig = await reading({ candles: new Set(["SOL"]) });
    const daemon = await rig.boot();
    await rig.clock.advance(30_000);
    const listed = new Set(daemon.collectors.status().map(({ source }) => source));
    expect(listed.has("candles")).toBe(true);
    for (const source of ["orderbook", "calendars", "portfolio"] as const)
      expect(listed.has(source), source).toBe(false);
    for (const source of ["markets", "traderState", "collateral", "orders"] as const)
      expect(listed.has(source), source).toBe(true);
  });

  test("what is known without asking does not make an exchange that is unwell look well", async () => {
    await using rig = await reading(wanted, { calendars: { every: "10s" } });
    const daemon = await rig.boot();
    await rig.clock.advance(5_000);
    await rig.call("fault", { path: "/v1/*", status: 200, body: '{"half of' });
    await rig.clock.advance(120_000);
    expect(daemon.collectors.outage()).not.toBe(null);
    const schedule = daemon.collectors.status().find(({ source }) => source === "calendars");
    expect(schedule?.failuresInRow).toBeGreaterThan(2);
  });

  test("that a commodity's calendar is not found is a read that failed", async () => {
    await using rig = await reading({ calendars: new Set(["GOLD"]) });
    await rig.call("fault", { path: "/v1/market/GOLD/*", status: 404, error: "not here" });
    const daemon = await rig.boot();
    await rig.clock.advance(20_000);
    expect(daemon.of("calendar")).toEqual([]);
    expect(daemon.failed("calendars")[0]).toMatchObject({ symbol: "GOLD", reason: "refused" });
  });

  test("a transition is looked at when it is due", async () => {
    await using rig = await reading({ calendars: new Set(["GOLD"]) });
    await rig.call("market", { symbol: "GOLD", session: "open", nextTransitionMs: 20 * 60_000 });
    const nextMs = Math.floor(rig.clock.nowMs()) + 20 * 60_000;
    const daemon = await rig.boot();
    await rig.clock.advance(10 * 60_000);
    expect(daemon.of("calendar").at(-1)).toMatchObject({ sessionState: "open", nextTransitionMs: nextMs });
    const before = daemon.of("calendar").length;
    await rig.clock.advance(9 * 60_000);
    expect(daemon.of("calendar")).toHaveLength(before);
    await rig.clock.advance(65_000);
    expect(daemon.of("calendar")).toHaveLength(before + 1);
    expect(daemon.of("calendar").at(-1)).toMatchObject({
      sessionState: "afterHours",
      nextTransitionMs: null,
    });
  });

  test("one book that cannot be read costs only itself, and a crossed one is none", async () => {
    await using rig = await reading({ orderbook: new Set(["SOL", "BTC", "ETH"]) });
    await rig.call("fault", { path: "/v1/view/orderbook/SOL", status: 404, error: "not here" });
    const body = { slot: 1, symbol: "BTC", bids: [[101, 1]], asks: [[100, 1]], mid: 100 };
    await rig.call("fault", { path: "/v1/view/orderbook/BTC", status: 200, body });
    const daemon = await rig.boot();
    await rig.clock.advance(5_000);
    expect(new Set(daemon.of("depth").map((one) => one.symbol))).toEqual(new Set(["ETH"]));
    const failed = daemon.failed("orderbook");
    expect(failed.find((one) => one.symbol === "SOL")).toMatchObject({ reason: "refused" });
    expect(failed.find((one) => one.symbol === "BTC")).toMatchObject({
      reason: "bad-record",
      detail: "BTC: the book is crossed: a bid of 101 over an ask of 100",
    });
  });
});

test("books are asked for after the accounts: a ceiling that is too low stretches them first", () => {
  const settings = scheduleSettings.parse({});
  const wallet = { watchOnly: false, pdaIndices: [0], accounts: 2 };
  const demand = demandOf({
    settings,
    requestsPerSecond: 3,
    wallets: [wallet],
    markets: 4,
    marketReads: { orderbook: 60, calendars: 2, candles: 30 },
    nowMs: 0,
  });
  const stretch = (source: string) => {
    const one = demand.sources.find((it) => it.source === source)!;
    return one.effectiveMs / one.everyMs;
  };
  expect(stretch("traderState")).toBe(1);
  expect(stretch("notifications")).toBe(1);
  expect(stretch("orderbook")).toBeGreaterThan(1.5);
});
