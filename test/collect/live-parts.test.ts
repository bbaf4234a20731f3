/** The parts of the stream's feed by themselves: which price is newer, when what is noted is handed on, who asks when. */
import { describe, expect, test } from "vitest";
import { demandOf, scheduleSettings, schedulesMs } from "../../src/collect/index.ts";
import { realSchedulesMs } from "../../src/collect/schedule/demand.ts";
import { Coalescer } from "../../src/collect/stream/coalesce.ts";
import { InboxTrust } from "../../src/collect/stream/inbox-trust.ts";
import { LivePrices } from "../../src/collect/stream/live-prices.ts";
import { StreamOutages } from "../../src/collect/stream/outages.ts";
import { SpreadReads } from "../../src/collect/stream/spread-reads.ts";
import type { MarketPrices } from "../../src/domain/account.ts";
import { FakeClock } from "../support/clock.ts";

const row = (exchangeMs: number, markPriceUsd: number, symbol = "SOL"): MarketPrices => ({
  symbol,
  exchangeMs,
  markPriceUsd,
  oraclePriceUsd: markPriceUsd,
  openInterestUnits: 1,
  dayVolumeUsd: 1,
  prevDayMarkPriceUsd: 1,
  statedFundingRate: 0,
});
const marks = (rows: readonly MarketPrices[]) => rows.map((one) => one.markPriceUsd);

describe("prices from two sides", () => {
  test.each<[string, number, number, number, readonly number[]]>([
    // The stream told 2 at second 10 of the exchange, at 1,000 ms here.
    ["of a later second replaces", 11_000, 900, 1_100, [3]],
    ["of the same second, asked for afterwards, replaces", 10_900, 1_001, 1_100, [3]],
    ["of the same second, asked for before, gives way", 10_900, 999, 1_100, [2]],
    ["of an earlier second, asked for before, gives way", 9_000, 999, 1_100, [2]],
    ["of an earlier second, asked for afterwards, is left out", 9_000, 1_001, 1_100, []],
  ])("a poll %s", (_name, exchangeMs, askedMs, _atMs, expected) => {
    const prices = new LivePrices();
    expect(prices.takeLive(row(10_000, 2), 1_000)).toBe(true);
    expect(marks(prices.takePoll([row(exchangeMs, 3)], askedMs))).toEqual(expected);
  });

  test("the stream of an earlier second than either told is old", () => {
    const prices = new LivePrices();
    prices.takePoll([row(12_345, 1)], 0);
    expect(prices.takeLive(row(11_000, 2), 10)).toBe(false);
    expect(prices.takeLive(row(12_000, 3, "sol"), 20)).toBe(true);
    expect(prices.takeLive(row(11_000, 4), 30)).toBe(false);
  });

  test("two polls in a row are believed against something that the stream told once, and not while it tells", () => {
    const prices = new LivePrices();
    const poll = (second: number) => marks(prices.takePoll([row(second * 1_000, second)], second * 1_000));
    prices.takeLive(row(14_000, 1), 10_500);
    expect([poll(11), poll(12), poll(13)]).toEqual([[], [12], [13]]);
    // And the stream goes on from there.
    expect(prices.takeLive(row(13_000, 3), 13_500)).toBe(true);
    // Polls that are always behind a stream that tells are behind.
    for (let second = 20; second < 30; second++) {
      prices.takeLive(row(second * 1_000 + 2_000, 4), second * 1_000 - 100);
      expect(poll(second)).toEqual([]);
    }
    // One that stands still proves nothing.
    prices.takeLive(row(40_000, 5), 32_000);
    expect([33_000, 35_000, 37_000].map((ms) => prices.takePoll([row(31_000, 6)], ms))).toEqual([[], [], []]);
  });

  test("a poll that was ahead of its time once does not silence the stream", () => {
    const prices = new LivePrices();
    prices.takePoll([row(3_600_000, 1)], 0);
    expect(prices.takeLive(row(10_000, 2), 100)).toBe(false);
    expect(marks(prices.takePoll([row(12_000, 3)], 2_000))).toEqual([3]);
    expect(prices.takeLive(row(11_000, 4), 2_100)).toBe(false);
    expect(prices.takeLive(row(13_000, 5), 3_000)).toBe(true);
  });

  test("only a market that the stream told of shows that it does not any more", () => {
    const prices = new LivePrices();
    expect(prices.movedSince([row(20_000, 2)])).toBe(false);
    prices.takeLive(row(10_000, 1), 0);
    expect(prices.movedSince([row(20_000, 1)])).toBe(false);
    expect(prices.movedSince([row(10_500, 2)])).toBe(false);
    expect(prices.movedSince([row(20_000, 2)])).toBe(true);
  });
});

describe("handing on", () => {
  test.each([
    ["that is quick leaves ten milliseconds between", 1, 10],
    ["that takes long leaves four times as long", 300, 1_200],
    ["that takes for ever leaves two seconds", 5_000, 2_000],
  ])("%s", async (_name, costMs, pauseMs) => {
    const clock = new FakeClock();
    const begun: number[] = [];
    const coalescer: Coalescer = new Coalescer(clock, () => {
      begun.push(clock.elapsedMs());
      coalescer.changed();
      return clock.sleep(costMs);
    });
    coalescer.changed();
    await clock.advance(4 * (costMs + pauseMs));
    expect(begun.slice(0, 4)).toEqual([0, 1, 2, 3].map((n) => n * (costMs + pauseMs)));
    await clock.finish(coalescer.stop());
    const { length } = begun;
    await clock.advance(60_000);
    expect(begun).toHaveLength(length);
  });

  test("sets no timer when nothing has to wait, and takes what arrived together as one", async () => {
    const clock = new FakeClock();
    let handed = 0;
    const coalescer = new Coalescer(clock, async () => void handed++);
    for (const _ of [1, 2, 3]) {
      coalescer.changed();
      coalescer.changed();
      expect(clock.pending).toBe(0);
      await clock.settle();
      await clock.advance(1_000);
    }
    expect(handed).toBe(3);
    coalescer.changed();
    await coalescer.stop();
    await clock.settle();
    expect(handed).toBe(3);
  });

  test("a change among 100 a second waits for 10 ms at most while judging is quick", async () => {
    const clock = new FakeClock();
    const waits: number[] = [];
    let notedMs: number[] = [];
    const coalescer = new Coalescer(clock, async () => {
      waits.push(...notedMs.map((atMs) => clock.elapsedMs() - atMs));
      notedMs = [];
    });
    for (let update = 0; update < 100; update++) {
      notedMs.push(clock.elapsedMs());
      coalescer.changed();
      await clock.advance(update % 3 === 0 ? 2 : 14);
    }
    await clock.advance(100);
    expect(waits).toHaveLength(100);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10);
  });
});

test("what many need is asked at a quarter of the ceiling, worst first, and not of those read since", async () => {
  const clock = new FakeClock();
  const asked: string[] = [];
  const read = new Map<string, number>();
  const spread = new SpreadReads({
    clock,
    ratePerSecond: () => 8,
    marginRatio: (wallet) => (wallet === "c" ? 0.9 : 0.1),
    ask: (_source, wallet) => void asked.push(`${wallet} ${clock.elapsedMs()}`),
    readMs: (_source, wallet) => read.get(wallet) ?? Number.NEGATIVE_INFINITY,
  });
  await clock.advance(100);
  spread.add("traderState", ["a", "b", "c"]);
  spread.add("traderState", ["a"]);
  expect(asked).toEqual(["c 100"]);
  read.set("b", 150);
  await clock.advance(5_000);
  expect(asked).toEqual(["c 100", "a 600"]);
});

test("an outage of the stream is said when it lasts, and then its end; not for want of a session", async () => {
  const clock = new FakeClock();
  const said: string[] = [];
  let exchangeIsDown = true;
  const log = {
    debug: () => {},
    info: (_fields: object, text: string) => void said.push(text),
    warn: (_fields: object, text: string) => void said.push(text),
  };
  const outages = new StreamOutages(
    clock,
    log,
    () => exchangeIsDown,
    () => 10_000,
  );
  expect(outages.down(null, "restart", "lost")).toBe(true);
  expect(outages.down(null, "restart", "lost")).toBe(false);
  await clock.advance(14_000);
  outages.up(null);
  outages.down("main", "401", "signed-out");
  await clock.advance(60_000);
  expect(said).toEqual([]);
  outages.down("main", "cannot be reached", "lost");
  await clock.advance(60_000);
  expect(said).toEqual([]);
  exchangeIsDown = false;
  await clock.advance(60_000);
  outages.up("main");
  expect(said).toEqual([
    "the stream of main is not connected, and polls go on: cannot be reached",
    "the stream of main is connected again after 3m",
  ]);
});

describe("whenStreaming", () => {
  const parse = (notifications: unknown) => scheduleSettings.safeParse({ notifications });

  test("is at least as long as every, and of notifications alone", () => {
    expect(parse({ every: "10s", whenStreaming: "1m" }).success).toBe(true);
    expect(parse({ every: "10s", whenStreaming: "5s" }).error?.issues[0]?.message).toContain(
      "at least as long",
    );
    expect(scheduleSettings.safeParse({ fills: { every: "10s", whenStreaming: "1m" } }).success).toBe(false);
  });

  test("is what freshness is measured against where there may be streams, and nothing where not", () => {
    const settings = scheduleSettings.parse({});
    expect(schedulesMs(settings, 0).notifications).toBe(10_000);
    expect(schedulesMs(settings, 0, true).notifications).toBe(60_000);
    const input = { settings, requestsPerSecond: 20, wallets: [], nowMs: 0 };
    expect(realSchedulesMs(input).notifications).toBe(10_000);
    expect(realSchedulesMs({ ...input, streams: true }).notifications).toBe(60_000);
    // Without a stream everybody has to be polled as often as said.
    expect(demandOf(input).sources.find((one) => one.source === "notifications")?.everyMs).toBe(10_000);
  });
});

describe("what an inbox shows and the stream never told", () => {
  const item = (eventIndex: number, createdAt: number, source = "event") =>
    ({
      source,
      id: `${eventIndex}`,
      createdAt,
      slot: 1,
      slotIndex: 0,
      instructionIndex: 0,
      eventIndex,
      recipientIndex: 0,
    }) as never;
  const polled = (trust: InboxTrust, items: readonly never[], atMs = 100_000) =>
    trust.polled("main", "A", items, atMs);

  test.each<[string, never, number]>([
    ["counts", item(1, 60_000), 1],
    ["may be of before the connection came up", item(1, 9_000), 0],
    ["may be of the moment in which the subscription took effect", item(1, 19_000), 0],
    ["may be on its way", item(1, 95_000), 0],
    ["may have been told under another id", item(1, 60_000, "general"), 0],
  ])("%s", (_how, one, missed) => {
    const trust = new InboxTrust();
    trust.up("main", 10_000);
    expect(polled(trust, [one])).toBe(missed);
    expect(trust.doubted("main")).toBe(missed > 0);
    expect(polled(trust, [one])).toBe(0);
  });

  test("counts nothing while the connection never stood, and nothing that was told", () => {
    const trust = new InboxTrust();
    expect(polled(trust, [item(1, 60_000)])).toBe(0);
    trust.up("main", 10_000);
    trust.received("main", "A", item(1, 60_000));
    expect(polled(trust, [item(1, 60_000), item(2, 60_000)])).toBe(1);
    expect([trust.doubted("main"), trust.doubted("hedge")]).toEqual([true, false]);
    // A connection that came up is no proof; an item that is told is one.
    trust.up("main", 110_000);
    expect(trust.doubted("main")).toBe(true);
    trust.received("main", "A", item(3, 120_000));
    expect(trust.doubted("main")).toBe(false);
  });
});
